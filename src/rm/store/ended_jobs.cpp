/* See ended_jobs.h. */

#include "store/ended_jobs.h"

#include <sqlite3.h>

#include <memory>

#include "store/schema.h"
#include "store/store.h"

namespace elastic::rm {

namespace {

constexpr int BUSY_TIMEOUT_MS = 5000;

struct Close {
    void operator()(sqlite3 *database) const { sqlite3_close(database); }
    void operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Rows = std::unique_ptr<sqlite3_stmt, Close>;

Rows select(const Database &database, const char *sql)
{
    sqlite3_stmt *statement = nullptr;
    sqlite3_prepare_v2(database.get(), sql, -1, &statement, nullptr);
    return Rows(statement);
}

/* -1: it cannot be read. */
int64_t number(const Database &database, const char *sql)
{
    Rows rows = select(database, sql);
    return rows && sqlite3_step(rows.get()) == SQLITE_ROW ? sqlite3_column_int64(rows.get(), 0)
                                                          : -1;
}

/* Empty, or why it is not a store that this version can read. */
std::string wrong_with(const Database &database, const std::string &file)
{
    int64_t application = number(database, "PRAGMA application_id"),
            version = number(database, "PRAGMA user_version");
    if (application == -1)
        return "cannot read " + file + ": " + sqlite3_errmsg(database.get());
    if (application != STORE_APPLICATION_ID)
        return file + " is not a store of elasticd";
    if (version < 1 || version > STORE_VERSION)
        return "the store " + file + " has version " + std::to_string(version) +
            ", this program knows 1 to " + std::to_string(STORE_VERSION);
    return "";
}

}  // namespace

Result<StoredJobs> read_ended_jobs(const std::string &folder)
{
    std::string file = folder + "/" + STORE_FILE;
    sqlite3 *opened = nullptr;
    int code = sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
    Database database(opened);
    if (code != SQLITE_OK)
        return Error{"cannot open the store " + file + ": " + sqlite3_errstr(code)};
    sqlite3_busy_timeout(database.get(), BUSY_TIMEOUT_MS);
    if (std::string wrong = wrong_with(database, file); !wrong.empty())
        return Error{wrong};
    StoredJobs ended;
    Rows rows = select(database, "SELECT body FROM ended ORDER BY job");
    int step = rows ? sqlite3_step(rows.get()) : SQLITE_ERROR;
    for (; step == SQLITE_ROW; step = sqlite3_step(rows.get())) {
        const auto *text = static_cast<const char *>(sqlite3_column_blob(rows.get(), 0));
        auto bytes = static_cast<size_t>(sqlite3_column_bytes(rows.get(), 0));
        auto job = parse<Job>(Json::parse(text ? std::string(text, bytes) : "", nullptr, false));
        if (job)
            ended.jobs.push_back(std::move(job.value()));
        else
            ended.unreadable++;
    }
    if (step != SQLITE_DONE)
        return Error{"cannot read the store " + file + ": " + sqlite3_errmsg(database.get())};
    return ended;
}

}  // namespace elastic::rm
