/* See store.h: opening and writing. */

#include "store/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "store/checksum.h"
#include "store/rows.h"
#include "store/schema.h"
#include "store/state_folder.h"
#include "store/statement.h"

namespace elastic::rm {

Store::Store(std::string folder, Descriptor lock, sqlite3 *database)
    : folder_(std::move(folder)), lock_(std::move(lock)), database_(database)
{
}

Store::Store(Store &&other) noexcept
    : folder_(std::move(other.folder_)), lock_(std::move(other.lock_)),
      database_(std::exchange(other.database_, nullptr)),
      statements_(std::exchange(other.statements_, {}))
{
}

Store &Store::operator=(Store &&other) noexcept
{
    std::swap(folder_, other.folder_);
    std::swap(lock_, other.lock_);
    std::swap(database_, other.database_);
    std::swap(statements_, other.statements_);
    return *this;
}

Store::~Store()
{
    for (auto &[sql, statement] : statements_)
        sqlite3_finalize(statement);
    sqlite3_close(database_);
}

Result<Store> Store::open(const std::string &folder)
{
    std::string error = make_state_folder(folder);
    if (!error.empty())
        return Error{error};
    auto lock = lock_state_folder(folder);
    if (!lock)
        return Error{lock.error()};
    std::string file = folder + "/" + STORE_FILE;
    /* Not readable for other users from its creation on; SQLite gives its additional files the
     * same mode. */
    Descriptor made(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!made.is_open() || fchmod(made.get(), 0600) != 0)
        return Error{"cannot open the store " + file + ": " + strerror(errno)};
    made.reset();               /* before SQLite locks it: a close would release the locks */
    sqlite3 *database = nullptr;
    int code = sqlite3_open_v2(
        file.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    Store store(folder, std::move(lock.value()), database);
    if (code != SQLITE_OK)
        return Error{"cannot open the store " + file + ": " + sqlite3_errstr(code)};
    error = prepare_schema(database, file);
    if (!error.empty())
        return Error{error};
    return store;
}

sqlite3_stmt *Store::prepare(const char *sql)
{
    sqlite3_stmt *&statement = statements_[sql];
    if (!statement)
        sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    return statement;
}

std::string Store::problem(const char *doing) const
{
    return std::string("cannot ") + doing + " the store " + folder_ +
        "/store.sqlite: " + sqlite3_errmsg(database_);
}

std::string Store::run(const char *sql)
{
    Statement statement(prepare(sql));
    return statement.done() ? "" : problem("write");
}

std::string Store::write_rows(const Batch &batch)
{
    for (const auto &[seq, job, last] : batch.bound) {
        Statement row(prepare(job ? "UPDATE OR IGNORE launch SET job = ?2, last = ?3 WHERE seq = ?1"
                                  : "DELETE FROM launch WHERE seq = ?1"));
        row.bind(static_cast<int64_t>(seq));
        if (job)
            row.bind(static_cast<int64_t>(job));
        if (job && last > job)
            row.bind(static_cast<int64_t>(last));
        if (!row.done())
            return problem("write");
    }
    for (const Record &record : batch.records) {
        Statement row(
            prepare("INSERT OR IGNORE INTO record VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
                    "(SELECT uid FROM launch WHERE job = " LAUNCH_OF("?4") "))"));
        row.bind(static_cast<int64_t>(record.number)).bind(record.time_ms).bind(record.event);
        record.job ? row.bind(static_cast<int64_t>(record.job)) : row.bind_null();
        record.node.empty() ? row.bind_null() : row.bind(record.node);
        if (!row.bind(text_of(record.whole_data())).done())
            return problem("write");
    }
    std::set<int64_t> launches; /* of the ended jobs: tasks of an array have one */
    for (const EndedRow &ended : batch.ended) {
        Statement row(prepare("INSERT OR REPLACE INTO ended VALUES (?, ?, ?, ?, ?)"));
        row.bind(static_cast<int64_t>(ended.job))
            .bind(int64_t{ended.uid})
            .bind(ended.submitted_ms)
            .bind(ended.ended_ms);
        if (!row.bind(text_of(ended.body)).done())
            return problem("write");
        Statement launch(prepare("SELECT " LAUNCH_OF("?1")));
        if (launch.bind(static_cast<int64_t>(ended.job)).row())
            launches.insert(launch.number(0));
    }
    for (int64_t job : launches) {
        /* For an array, when all its tasks have ended.  A damaged row is of no more use. */
        Statement launch(prepare(
            "UPDATE launch SET body = CASE WHEN json_valid(body) THEN "
            "json_remove(body, '$.environment') ELSE '{}' END WHERE job = ?1"
            " AND (last IS NULL OR last - job + 1 = "
            "(SELECT count(*) FROM ended WHERE ended.job BETWEEN launch.job AND launch.last))"));
        if (!launch.bind(job).done())
            return problem("write");
    }
    if (batch.clock) {
        Statement row(prepare("INSERT OR REPLACE INTO clock VALUES (1, ?, ?, ?)"));
        if (!row.bind(batch.clock->boot)
                 .bind(batch.clock->boot_ms)
                 .bind(batch.clock->clock_ms)
                 .done())
            return problem("write");
    }
    for (const LaunchRow &launch : batch.launches) {
        Statement row(prepare("INSERT INTO launch VALUES (?, NULL, ?, ?, ?, NULL)"));
        row.bind(static_cast<int64_t>(launch.seq))
            .bind(int64_t{launch.uid})
            .bind(text_of(launch.body));
        if (!row.bind(launch.script).done())
            return problem("write");
    }
    for (const Event &event : batch.events) {
        Statement row(prepare("INSERT INTO event VALUES (?, ?, ?, ?)"));
        std::string body = text_of(to_json(event));
        row.bind(static_cast<int64_t>(event.seq))
            .bind(event.time_ms)
            .bind(body)
            .bind(sum_of(event.seq, body));
        if (!row.done())
            return problem("write");
    }
    return "";
}

/* Within a log that is written in order: everything written before the stored data is stored as
 * well. */
std::string Store::synchronise(bool at_each_commit)
{
    if (synchronises_ == at_each_commit)
        return "";
    const char *sql = at_each_commit ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL";
    if (!execute(database_, sql).empty())
        return problem("write");
    synchronises_ = at_each_commit;
    return "";
}

std::string Store::write(const Batch &batch)
{
    std::string error = synchronise(!batch.events.empty() || !batch.launches.empty());
    if (error.empty())
        error = run("BEGIN IMMEDIATE");
    if (error.empty())
        error = write_rows(batch);
    if (error.empty())
        error = run("COMMIT");
    if (!error.empty() && sqlite3_get_autocommit(database_) == 0)
        run("ROLLBACK");
    return error;
}

bool Store::is_full() const
{
    return sqlite3_errcode(database_) == SQLITE_FULL || sqlite3_system_errno(database_) == ENOSPC ||
        sqlite3_system_errno(database_) == EDQUOT;
}

std::string Store::probe()
{
    std::string error =
        execute(database_, "PRAGMA user_version = " + std::to_string(STORE_VERSION));
    return error.empty() ? "" : problem("write");
}

}  // namespace elastic::rm
