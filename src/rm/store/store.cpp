/* See store.h. */

#include "store/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "store/schema.h"
#include "store/statement.h"

namespace elastic::rm {

namespace {

constexpr const char *SCHEMA = R"(
CREATE TABLE event (seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, body TEXT NOT NULL,
                    sum INTEGER);
CREATE TABLE snapshot (seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, body BLOB NOT NULL,
                       sum INTEGER, parts INTEGER NOT NULL DEFAULT 0);
CREATE TABLE snapshot_part (seq INTEGER NOT NULL, number INTEGER NOT NULL, body BLOB NOT NULL,
                            sum INTEGER NOT NULL, PRIMARY KEY (seq, number));
CREATE TABLE launch (seq INTEGER PRIMARY KEY, job INTEGER UNIQUE, uid INTEGER NOT NULL,
                     body TEXT NOT NULL, script TEXT NOT NULL, last INTEGER);
CREATE INDEX launch_of_array ON launch (job) WHERE last IS NOT NULL;
CREATE TABLE record (number INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, event TEXT NOT NULL,
                     job INTEGER, node TEXT, data TEXT NOT NULL, uid INTEGER);
CREATE INDEX record_of_user ON record (uid, number) WHERE uid IS NOT NULL;
CREATE INDEX record_without_job ON record (number) WHERE job IS NULL;
CREATE INDEX record_of_job ON record (job, number) WHERE job IS NOT NULL;
CREATE INDEX record_of_node ON record (node, number) WHERE node IS NOT NULL;
CREATE TABLE ended (job INTEGER PRIMARY KEY, uid INTEGER NOT NULL, submitted_ms INTEGER NOT NULL,
                    ended_ms INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX ended_of_user ON ended (uid, job);
CREATE INDEX ended_by_submission ON ended (submitted_ms);
CREATE INDEX ended_by_end ON ended (ended_ms);
CREATE TABLE clock (id INTEGER PRIMARY KEY, boot TEXT NOT NULL, boot_ms INTEGER NOT NULL,
                    clock_ms INTEGER NOT NULL);
)";
/* The bytes of each user's rows until they are deleted: approximately, with the overhead of the
 * file. */
constexpr const char *USED = R"(
CREATE TABLE IF NOT EXISTS used (uid INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);
CREATE TRIGGER IF NOT EXISTS launch_comes AFTER INSERT ON launch BEGIN
    INSERT INTO used VALUES (NEW.uid, length(CAST(NEW.body AS BLOB))
            + length(CAST(NEW.script AS BLOB)))
        ON CONFLICT (uid) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER IF NOT EXISTS launch_changes AFTER UPDATE OF body ON launch BEGIN
    UPDATE used SET bytes = bytes + length(CAST(NEW.body AS BLOB)) - length(CAST(OLD.body AS BLOB))
        WHERE uid = NEW.uid;
END;
CREATE TRIGGER IF NOT EXISTS launch_goes AFTER DELETE ON launch BEGIN
    UPDATE used SET bytes = bytes - length(CAST(OLD.body AS BLOB))
        - length(CAST(OLD.script AS BLOB))
        WHERE uid = OLD.uid;
END;
CREATE TRIGGER IF NOT EXISTS record_comes AFTER INSERT ON record WHEN NEW.uid IS NOT NULL BEGIN
    INSERT INTO used VALUES (NEW.uid, length(CAST(NEW.data AS BLOB)) + 400)
        ON CONFLICT (uid) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER IF NOT EXISTS record_goes AFTER DELETE ON record WHEN OLD.uid IS NOT NULL BEGIN
    UPDATE used SET bytes = bytes - length(CAST(OLD.data AS BLOB)) - 400 WHERE uid = OLD.uid;
END;
CREATE TRIGGER IF NOT EXISTS ended_comes AFTER INSERT ON ended BEGIN
    INSERT INTO used VALUES (NEW.uid, length(CAST(NEW.body AS BLOB)) + 200)
        ON CONFLICT (uid) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER IF NOT EXISTS ended_goes AFTER DELETE ON ended BEGIN
    UPDATE used SET bytes = bytes - length(CAST(OLD.body AS BLOB)) - 200 WHERE uid = OLD.uid;
END;
)";
/* Rows of version 1 have no sum, and are not checked. */
constexpr const char *FROM_VERSION_1 = R"(
BEGIN;
ALTER TABLE event ADD COLUMN sum INTEGER;
ALTER TABLE snapshot ADD COLUMN sum INTEGER;
CREATE TABLE clock (id INTEGER PRIMARY KEY, boot TEXT NOT NULL, boot_ms INTEGER NOT NULL,
                    clock_ms INTEGER NOT NULL);
PRAGMA user_version = 2;
COMMIT;
)";
constexpr const char *FROM_VERSION_2 = R"(
BEGIN;
ALTER TABLE snapshot ADD COLUMN parts INTEGER NOT NULL DEFAULT 0;
CREATE TABLE snapshot_part (seq INTEGER NOT NULL, number INTEGER NOT NULL, body BLOB NOT NULL,
                            sum INTEGER NOT NULL, PRIMARY KEY (seq, number));
PRAGMA user_version = 3;
COMMIT;
)";
/* Each record has its job's user from this version on. */
constexpr const char *FROM_VERSION_3 = R"(
BEGIN;
ALTER TABLE record ADD COLUMN uid INTEGER;
UPDATE record SET uid = (SELECT launch.uid FROM launch WHERE launch.job = record.job)
    WHERE job IS NOT NULL;
CREATE INDEX record_of_user ON record (uid, number) WHERE uid IS NOT NULL;
CREATE INDEX record_without_job ON record (number) WHERE job IS NULL;
PRAGMA user_version = 4;
COMMIT;
)";
/* With the tables and triggers of USED, which have been made before. */
constexpr const char *FROM_VERSION_4 = R"(
BEGIN;
DELETE FROM used;
INSERT INTO used SELECT uid, sum(bytes) FROM (
    SELECT uid, length(CAST(body AS BLOB)) + length(CAST(script AS BLOB)) AS bytes FROM launch
    UNION ALL SELECT uid, length(CAST(data AS BLOB)) + 400 FROM record WHERE uid IS NOT NULL
    UNION ALL SELECT uid, length(CAST(body AS BLOB)) + 200 FROM ended) GROUP BY uid;
PRAGMA user_version = 5;
COMMIT;
)";
/* A launch may be that of many jobs from this version on. */
constexpr const char *FROM_VERSION_5 = R"(
BEGIN;
ALTER TABLE launch ADD COLUMN last INTEGER;
CREATE INDEX launch_of_array ON launch (job) WHERE last IS NOT NULL;
PRAGMA user_version = 6;
COMMIT;
)";
constexpr const char *STEPS_OF_VERSIONS[] = {FROM_VERSION_1, FROM_VERSION_2, FROM_VERSION_3,
                                             FROM_VERSION_4, FROM_VERSION_5};
/* Launches of arrays of which no ended task is stored any more, and none is still to end. */
constexpr const char *DISCARD_ARRAYS =
    "DELETE FROM launch WHERE last IS NOT NULL AND json_type(body, '$.environment') IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM ended WHERE ended.job BETWEEN launch.job AND launch.last)";
constexpr int USED_SINCE = 5, SNAPSHOTS_KEPT = 2;

/* Fowler, Noll and Vo's, 32 bits: of a row's number and its body. */
int64_t sum_of(uint64_t seq, std::string_view body)
{
    uint32_t sum = 2166136261u;
    auto add = [&sum](unsigned char byte) { sum = (sum ^ byte) * 16777619u; };
    for (int shift = 0; shift < 64; shift += 8)
        add(static_cast<unsigned char>(seq >> shift));
    for (char c : body)
        add(static_cast<unsigned char>(c));
    return sum;
}

/* Of one part of a snapshot. */
int64_t sum_of(uint64_t seq, uint64_t number, std::string_view body)
{
    return sum_of(seq + (number << 40), body);
}

std::string_view text_of(const std::vector<uint8_t> &bytes)
{
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

std::string dump(const Json &json)
{
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string make_folder(const std::string &folder)
{
    std::error_code code;
    auto parent = std::filesystem::path(folder).parent_path();
    std::filesystem::create_directories(parent, code);
    /* Jobs of others run scripts that lie below; they cannot list what is there. */
    if (mkdir(folder.c_str(), geteuid() == 0 ? 0711 : 0700) != 0 && errno != EEXIST)
        return "cannot make the state directory " + folder + ": " + strerror(errno);
    struct stat status = {};
    if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
        return folder + " is not a directory: choose another state_dir";
    if (status.st_uid != geteuid() || (status.st_mode & 022) != 0)
        return "the state directory " + folder +
            " belongs to somebody else or can be written by others: "
            "choose another state_dir, or repair its owner and mode (0700, of root 0711)";
    return "";
}

Result<Descriptor> lock_folder(const std::string &folder)
{
    std::string name = folder + "/lock";
    Descriptor lock(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock.is_open())
        return Error{"cannot open " + name + ": " + strerror(errno)};
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        char holder[32] = "";
        [[maybe_unused]] ssize_t bytes = pread(lock.get(), holder, sizeof holder - 1, 0);
        holder[strcspn(holder, "\n")] = '\0';
        return Error{
            "another elasticd" +
            (*holder ? " (process " + std::string(holder) + ")" : std::string()) +
            " uses the store in " + folder + ": stop that one, or give this one another state_dir"};
    }
    std::string pid = std::to_string(getpid()) + "\n";
    if (ftruncate(lock.get(), 0) != 0 || pwrite(lock.get(), pid.data(), pid.size(), 0) < 0)
        return Error{"cannot write " + name + ": " + strerror(errno)};
    return lock;
}

int64_t pragma(sqlite3 *database, const char *name)
{
    sqlite3_stmt *statement = nullptr;
    std::string sql = std::string("PRAGMA ") + name;
    int64_t value = -1;
    if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

std::string execute(sqlite3 *database, const std::string &sql)
{
    char *message = nullptr;
    if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message) == SQLITE_OK)
        return "";
    std::string text = message ? message : sqlite3_errmsg(database);
    sqlite3_free(message);
    return text;
}

/* Makes or checks the tables. */
std::string prepare_schema(sqlite3 *database, const std::string &file)
{
    bool is_new = pragma(database, "user_version") == 0 &&
        pragma(database, "application_id") == 0 && pragma(database, "schema_version") == 0;
    /* Of a store that is there nothing is written before it is known to be ours. */
    std::string error = is_new ? execute(database, "PRAGMA auto_vacuum = INCREMENTAL") : "";
    if (error.empty())
        error = execute(
            database,
            "PRAGMA recursive_triggers = ON;"
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000;"
            "PRAGMA journal_size_limit = 67108864; PRAGMA foreign_keys = ON;");
    if (!error.empty())
        return "cannot use the store " + file + ": " + error;
    int64_t version = pragma(database, "user_version");
    int64_t application = pragma(database, "application_id");
    if (is_new) {
        error = execute(
            database,
            "BEGIN;" + std::string(SCHEMA) + USED +
                "PRAGMA application_id = " + std::to_string(STORE_APPLICATION_ID) +
                "; PRAGMA user_version = " + std::to_string(STORE_VERSION) + "; COMMIT;");
        return error.empty() ? "" : "cannot make the store " + file + ": " + error;
    }
    if (application != STORE_APPLICATION_ID)
        return file + " is not a store of elasticd: choose another state_dir";
    if (version > STORE_VERSION)
        return "the store " + file + " was written by a newer elasticd (store version " +
            std::to_string(version) + ", this one knows " + std::to_string(STORE_VERSION) +
            "): start that one, or give another state_dir";
    if (version < 1)
        return "the store " + file + " has the unknown version " + std::to_string(version);
    for (; version < STORE_VERSION; version++) {
        if (version == USED_SINCE - 1)
            error = execute(database, USED);
        if (error.empty())
            error = execute(database, STEPS_OF_VERSIONS[version - 1]);
        if (!error.empty())
            return "cannot bring the store " + file + " to version " +
                std::to_string(STORE_VERSION) + ": " + error;
    }
    constexpr int64_t NONE = 0;
    /* Of a former version: once.  Without it the file does not become smaller, no more. */
    if (pragma(database, "auto_vacuum") == NONE)
        execute(database, "PRAGMA auto_vacuum = INCREMENTAL; VACUUM");
    return "";
}

}  // namespace

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
    std::string error = make_folder(folder);
    if (!error.empty())
        return Error{error};
    auto lock = lock_folder(folder);
    if (!lock)
        return Error{lock.error()};
    std::string file = folder + "/" + STORE_FILE;
    /* For nobody else's eyes from birth on; SQLite gives the files beside it the same mode. */
    Descriptor made(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!made.is_open() || fchmod(made.get(), 0600) != 0)
        return Error{"cannot open the store " + file + ": " + strerror(errno)};
    made.reset();               /* before SQLite locks it: a close would end the locks */
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
        if (!row.bind(dump(record.whole_data())).done())
            return problem("write");
    }
    for (const EndedRow &ended : batch.ended) {
        Statement row(prepare("INSERT OR REPLACE INTO ended VALUES (?, ?, ?, ?, ?)"));
        row.bind(static_cast<int64_t>(ended.job))
            .bind(int64_t{ended.uid})
            .bind(ended.submitted_ms)
            .bind(ended.ended_ms);
        if (!row.bind(dump(ended.body)).done())
            return problem("write");
        /* of an array when all its tasks have ended */
        Statement launch(prepare(
            "UPDATE launch SET body = json_remove(body, '$.environment') WHERE job = "
            LAUNCH_OF("?1") " AND (last IS NULL OR last - job + 1 = "
            "(SELECT count(*) FROM ended WHERE ended.job BETWEEN launch.job AND launch.last))"));
        if (!launch.bind(static_cast<int64_t>(ended.job)).done())
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
            .bind(dump(launch.body));
        if (!row.bind(launch.script).done())
            return problem("write");
    }
    for (const Event &event : batch.events) {
        Statement row(prepare("INSERT INTO event VALUES (?, ?, ?, ?)"));
        std::string body = dump(to_json(event));
        row.bind(static_cast<int64_t>(event.seq))
            .bind(event.time_ms)
            .bind(body)
            .bind(sum_of(event.seq, body));
        if (!row.done())
            return problem("write");
    }
    return "";
}

/* Within a log that is written in order: whatever is on the disk, all that was written before is
 * there as well. */
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

std::string Store::write_snapshot_part(uint64_t seq, uint64_t number, const Json &part)
{
    if (std::string error = synchronise(false); !error.empty())
        return error;
    std::vector<uint8_t> bytes = Json::to_cbor(part);
    Statement row(prepare("INSERT OR REPLACE INTO snapshot_part VALUES (?, ?, ?, ?)"));
    row.bind(static_cast<int64_t>(seq)).bind(static_cast<int64_t>(number)).bind(bytes);
    return row.bind(sum_of(seq, number, text_of(bytes))).done() ? "" : problem("write");
}

Result<bool> Store::tidy_snapshots(int64_t parts_max)
{
    if (std::string error = synchronise(false); !error.empty())
        return Error{error};
    Statement row(prepare(
        "DELETE FROM snapshot_part WHERE rowid IN (SELECT rowid FROM snapshot_part "
        "WHERE seq NOT IN (SELECT seq FROM snapshot) LIMIT ?)"));
    if (!row.bind(parts_max).done())
        return Error{problem("write")};
    return sqlite3_changes(database_) >= parts_max;
}

std::string Store::write_snapshot(uint64_t seq, int64_t time_ms, const Json &head, uint64_t parts)
{
    if (std::string error = synchronise(true); !error.empty())
        return error;
    std::vector<uint8_t> bytes = Json::to_cbor(head);
    Statement row(prepare("INSERT OR REPLACE INTO snapshot VALUES (?, ?, ?, ?, ?)"));
    row.bind(static_cast<int64_t>(seq)).bind(time_ms).bind(bytes).bind(sum_of(seq, text_of(bytes)));
    if (!row.bind(static_cast<int64_t>(parts)).done())
        return problem("write");
    Statement old(prepare("DELETE FROM snapshot WHERE seq NOT IN (SELECT seq FROM snapshot ORDER "
                          "BY seq DESC LIMIT ?)"));
    return old.bind(int64_t{SNAPSHOTS_KEPT}).done() ? "" : problem("write");
}

/* The number of the first row that is not before the time: times rise with the numbers, so that
 * no index over them is needed, and no remaining row is read. */
Result<uint64_t> Store::first_since(const std::string &table, const std::string &number,
                                    int64_t time_ms)
{
    auto low = read_number(("SELECT coalesce(min(" + number + "), 1) FROM " + table).c_str());
    auto last = read_number(("SELECT coalesce(max(" + number + "), 0) FROM " + table).c_str());
    if (!low || !last)
        return Error{problem("read")};
    std::string sql = "SELECT time_ms, " + number + " FROM " + table + " WHERE " + number +
        " >= ? ORDER BY " + number + " LIMIT 1";
    uint64_t first = low.value(), end = last.value() + 1;
    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        Statement row(prepare(sql.c_str()));
        if (!row.bind(static_cast<int64_t>(middle)).row())
            return Error{problem("read")};
        if (row.number(0) < time_ms)
            first = static_cast<uint64_t>(row.number(1)) + 1;
        else
            end = middle;
    }
    return first;
}

Result<bool> Store::remove_before(int64_t time_ms, int64_t rows_max)
{
    auto event = first_since("event", "seq", time_ms),
         record = first_since("record", "number", time_ms);
    if (!event || !record)
        return Error{problem("read")};
    bool more = false;
    auto discard = [&](const char *sql, int64_t before) {
        Statement statement(prepare(sql));
        bool done = statement.bind(before).bind(rows_max).done();
        more = more || sqlite3_changes(database_) >= rows_max;
        return done;
    };
    bool done = run("BEGIN IMMEDIATE").empty() &&
        discard("DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE seq < ?1 AND seq <= "
               "(SELECT coalesce(min(seq), 0) FROM snapshot) ORDER BY seq LIMIT ?2)",
               static_cast<int64_t>(event.value())) &&
        discard("DELETE FROM record WHERE number IN (SELECT number FROM record WHERE number < ?1 "
               "ORDER BY number LIMIT ?2)",
               static_cast<int64_t>(record.value())) &&
        discard("DELETE FROM launch WHERE last IS NULL AND job IN (SELECT job FROM ended "
               "WHERE ended_ms < ?1 ORDER BY ended_ms, job LIMIT ?2)",
               time_ms) &&
        discard("DELETE FROM ended WHERE job IN (SELECT job FROM ended WHERE ended_ms < ?1 "
               "ORDER BY ended_ms, job LIMIT ?2)",
               time_ms) &&
        run(DISCARD_ARRAYS).empty() &&
        run("COMMIT").empty();
    if (done)
        return more;
    std::string error = problem("write");
    run("ROLLBACK");
    return Error{error};
}

Result<int64_t> Store::used_bytes(uint32_t uid)
{
    Statement row(prepare("SELECT coalesce(sum(bytes), 0) FROM used WHERE uid = ?"));
    if (!row.bind(int64_t{uid}).row())
        return Error{problem("read")};
    return row.number(0);
}

Result<std::vector<uint32_t>> Store::users_above(int64_t bytes)
{
    Statement row(prepare("SELECT uid FROM used WHERE bytes > ?"));
    row.bind(bytes);
    std::vector<uint32_t> users;
    while (row.row())
        users.push_back(static_cast<uint32_t>(row.number(0)));
    if (row.failed())
        return Error{problem("read")};
    return users;
}

/* Its records first: of a job that is still among the ended ones the next call takes the rest. */
Result<bool> Store::remove_oldest_of(uint32_t uid, int64_t rows_max)
{
    if (std::string error = run("BEGIN IMMEDIATE"); !error.empty())
        return Error{error};
    bool found = false, done = true;
    for (int64_t left = rows_max; done && left > 0;) {
        Statement oldest(prepare("SELECT job FROM ended WHERE uid = ? ORDER BY job LIMIT 1"));
        if (!oldest.bind(int64_t{uid}).row())
            break;
        found = true;
        int64_t job = oldest.number(0);
        Statement records(prepare("DELETE FROM record WHERE number IN "
                                  "(SELECT number FROM record WHERE job = ? LIMIT ?)"));
        done = records.bind(job).bind(left).done();
        bool is_whole = sqlite3_changes(database_) < left;
        left -= sqlite3_changes(database_) + 1;
        for (const char *sql :
             {"DELETE FROM launch WHERE last IS NULL AND job = ?",
              "DELETE FROM ended WHERE job = ?"}) {
            Statement row(prepare(sql));
            done = done && (!is_whole || row.bind(job).done());
        }
        done = done && run(DISCARD_ARRAYS).empty();
    }
    if (done && run("COMMIT").empty())
        return found;
    std::string error = problem("write");
    run("ROLLBACK");
    return Error{error};
}

Result<std::optional<int64_t>> Store::time_of_oldest(int64_t events)
{
    Statement row(prepare("SELECT time_ms FROM event ORDER BY seq LIMIT 1 OFFSET ?"));
    if (row.bind(events).row())
        return std::optional<int64_t>(row.number(0));
    return row.failed() ? Result<std::optional<int64_t>>(Error{problem("read")})
                        : std::optional<int64_t>();
}

Store::Pages Store::pages()
{
    int64_t size = pragma(database_, "page_size"), unused = pragma(database_, "freelist_count");
    return {(pragma(database_, "page_count") - unused) * size, unused * size};
}

std::string Store::return_pages(int64_t pages)
{
    if (std::string error = synchronise(false); !error.empty())
        return error;
    std::string error =
        execute(database_, "PRAGMA incremental_vacuum(" + std::to_string(pages) + ")");
    return error.empty() ? "" : problem("write");
}

Result<std::optional<Store::Snapshot>> Store::last_snapshot(uint64_t below)
{
    Statement row(
        prepare("SELECT seq, body, sum, parts FROM snapshot WHERE seq < ? ORDER BY seq DESC"));
    row.bind(static_cast<int64_t>(below));
    bool damaged = false;
    while (row.row()) {
        auto seq = static_cast<uint64_t>(row.number(0));
        std::string text = row.text(1);
        Snapshot snapshot{seq, Json::from_cbor(text, true, false), {}};
        bool is_good = !snapshot.head.is_discarded() &&
            (row.is_null(2) || row.number(2) == sum_of(seq, text));
        auto parts = is_good ? read_parts(static_cast<uint64_t>(row.number(3)), snapshot)
                             : Result<bool>(false);
        if (!parts)
            return Error{parts.error()};
        if (parts.value())
            return std::optional<Snapshot>(std::move(snapshot));
        damaged = true;
    }
    if (row.failed())
        return Error{problem("read")};
    if (damaged)
        return Error{
            "the store " + folder_ + "/store.sqlite is damaged: none of its snapshots can be read"};
    return std::optional<Snapshot>();
}

/* False: they are not all there as they were written. */
Result<bool> Store::read_parts(uint64_t count, Snapshot &snapshot)
{
    Statement row(prepare("SELECT number, body, sum FROM snapshot_part WHERE seq = ? AND number < "
                          "? ORDER BY number"));
    row.bind(static_cast<int64_t>(snapshot.seq)).bind(static_cast<int64_t>(count));
    while (row.row()) {
        uint64_t number = snapshot.parts.size();
        std::string text = row.text(1);
        snapshot.parts.push_back(Json::from_cbor(text, true, false));
        if (static_cast<uint64_t>(row.number(0)) != number ||
            snapshot.parts.back().is_discarded() ||
            row.number(2) != sum_of(snapshot.seq, number, text))
            return false;
    }
    if (row.failed())
        return Error{problem("read")};
    return snapshot.parts.size() == count;
}

std::string Store::each_event(uint64_t seq, const std::function<std::string(const Event &)> &take,
                              uint64_t *bad)
{
    uint64_t unused = 0, &blamed = bad ? *bad : unused;
    blamed = 0;
    Statement row(prepare("SELECT seq, body, sum FROM event WHERE seq > ? ORDER BY seq"));
    row.bind(static_cast<int64_t>(seq));
    uint64_t before = 0;
    while (row.row()) {
        auto number = static_cast<uint64_t>(row.number(0));
        std::string where = "event " + std::to_string(number) + " of the store " + folder_ +
            "/store.sqlite";
        if (before && number != before + 1)
            return where + " follows event " + std::to_string(before) +
                ": those between are missing";
        before = blamed = number;
        std::string body = row.text(1);
        Json json = Json::parse(body, nullptr, false);
        if (json.is_discarded() || (!row.is_null(2) && row.number(2) != sum_of(number, body)))
            return where + " is damaged";
        auto event = event_from_json(json);
        if (event && event.value().seq != number)
            return where + " is damaged";
        std::string error = event ? take(event.value()) : event.error();
        if (!error.empty())
            return where + ": " + error;
        blamed = 0;
    }
    return row.failed() ? problem("read") : "";
}

/* Without it the jobs that came later would have other numbers. */
Result<std::optional<Submit>> Store::submission(uint64_t seq)
{
    Statement row(prepare("SELECT launch.uid, record.data, launch.last - launch.job "
                          "FROM launch LEFT JOIN record "
                          "ON record.job = launch.job AND record.event = 'submitted' "
                          "WHERE launch.seq = ? AND launch.job IS NOT NULL"));
    row.bind(static_cast<int64_t>(seq));
    if (!row.row())
        return row.failed() ? Result<std::optional<Submit>>(Error{problem("read")})
                            : std::optional<Submit>();
    Json data = Json::parse(row.text(1), nullptr, false);
    auto spec = parse<JobSpec>(data.is_object() ? data.value("spec", Json()) : Json());
    Submit submit{"restored-" + std::to_string(seq), spec ? spec.value() : JobSpec()};
    if (!spec) {                /* its owner checks it before it runs */
        submit.spec.uid = static_cast<uint32_t>(row.number(0));
        submit.spec.user = std::to_string(submit.spec.uid);
        submit.spec.name = "damaged";
        if (row.number(2) > 0)
            submit.spec.array = "0-" + std::to_string(row.number(2));
        submit.spec.held = true;
    }
    return std::optional<Submit>(submit);
}

std::string Store::quarantine(uint64_t seq, const EventContent &instead)
{
    std::string error = execute(database_,
                                "CREATE TABLE IF NOT EXISTS quarantined "
                                "(seq INTEGER, time_ms INTEGER, body TEXT, sum INTEGER)");
    if (!error.empty())
        return problem("write");
    Statement old(prepare("SELECT time_ms FROM event WHERE seq = ?"));
    if (!old.bind(static_cast<int64_t>(seq)).row())
        return old.failed() ? problem("read") : "the store has no event " + std::to_string(seq);
    std::string body = dump(to_json(Event{seq, old.number(0), instead}));
    error = run("BEGIN IMMEDIATE");
    for (const char *sql :
         {"INSERT INTO quarantined SELECT seq, time_ms, body, sum FROM event WHERE seq = ?1",
          "UPDATE event SET body = ?2, sum = ?3 WHERE seq = ?1",
          "DELETE FROM snapshot WHERE seq >= ?1"}) {
        Statement row(prepare(sql));
        row.bind(static_cast<int64_t>(seq));
        if (strstr(sql, "?2"))
            row.bind(body).bind(sum_of(seq, body));
        if (error.empty() && !row.done())
            error = problem("write");
    }
    if (error.empty())
        error = run("COMMIT");
    if (!error.empty() && sqlite3_get_autocommit(database_) == 0)
        run("ROLLBACK");
    return error;
}

Result<std::optional<SteadyClock::Mark>> Store::clock()
{
    using Mark = std::optional<SteadyClock::Mark>;
    Statement row(prepare("SELECT boot, boot_ms, clock_ms FROM clock"));
    if (!row.row())
        return row.failed() ? Result<Mark>(Error{problem("read")}) : Result<Mark>(Mark());
    return Mark(SteadyClock::Mark{row.text(0), row.number(1), row.number(2)});
}

Result<std::optional<LaunchRow>> Store::launch(JobId job)
{
    Statement row(
        prepare("SELECT seq, uid, body, script FROM launch WHERE job = " LAUNCH_OF("?1")));
    row.bind(static_cast<int64_t>(job));
    if (!row.row())
        return row.failed() ? Result<std::optional<LaunchRow>>(Error{problem("read")})
                            : std::optional<LaunchRow>();
    return std::optional<LaunchRow>(
        LaunchRow{static_cast<uint64_t>(row.number(0)), static_cast<uint32_t>(row.number(1)),
                  Json::parse(row.text(2), nullptr, false), row.text(3)});
}

Result<std::vector<Json>> Store::records(const RecordQuery &query)
{
    const char *sql = query.job ? "SELECT number, time_ms, event, job, node, data FROM record "
                                  "WHERE number >= ?1 AND job = ?3 "
                                  "ORDER BY number LIMIT ?2"
        : !query.node.empty()
        ? "SELECT number, time_ms, event, job, node, data FROM record WHERE number >= ?1 "
          "AND node = ?3 ORDER BY number LIMIT ?2"
        : "SELECT number, time_ms, event, job, node, data FROM record "
          "WHERE number >= ?1 ORDER BY number LIMIT ?2";
    Statement row(prepare(sql));
    row.bind(static_cast<int64_t>(query.since)).bind(static_cast<int64_t>(query.limit));
    if (query.job)
        row.bind(static_cast<int64_t>(query.job));
    else if (!query.node.empty())
        row.bind(query.node);
    std::vector<Json> records;
    while (row.row())
        records.push_back({{"seq", row.number(0)},
                           {"time_ms", row.number(1)},
                           {"event", row.text(2)},
                           {"job", row.is_null(3) ? Json() : Json(row.number(3))},
                           {"node", row.is_null(4) ? Json() : Json(row.text(4))},
                           {"data", Json::parse(row.text(5), nullptr, false)}});
    if (row.failed())
        return Error{problem("read")};
    return records;
}

Result<std::vector<Store::LaunchSize>> Store::launch_sizes()
{
    /* As bytes: the length of a text would be counted through all of it. */
    Statement row(prepare(
        "WITH RECURSIVE task (job, last, uid, bytes) AS (SELECT job, coalesce(last, job), uid, "
        "(length(CAST(body AS BLOB)) + length(CAST(script AS BLOB))) "
        "/ (coalesce(last, job) - job + 1) FROM launch WHERE job IS NOT NULL "
        "UNION ALL SELECT job + 1, last, uid, bytes FROM task WHERE job < last) "
        "SELECT job, uid, bytes FROM task WHERE job NOT IN (SELECT job FROM ended)"));
    std::vector<LaunchSize> sizes;
    while (row.row())
        sizes.push_back({static_cast<JobId>(row.number(0)), static_cast<uint32_t>(row.number(1)),
                         row.number(2)});
    if (row.failed())
        return Error{problem("read")};
    return sizes;
}

Result<uint64_t> Store::read_number(const char *sql)
{
    Statement row(prepare(sql));
    if (!row.row())
        return Error{problem("read")};
    return static_cast<uint64_t>(row.number(0));
}

Result<uint64_t> Store::oldest_record()
{
    return read_number("SELECT coalesce(min(number), 1) FROM record");
}

Result<uint64_t> Store::last_record()
{
    return read_number("SELECT coalesce(max(number), 0) FROM record");
}

Result<std::vector<Json>> Store::ended(const EndedQuery &query)
{
    std::string sql = "SELECT body FROM ended WHERE job > ?1";
    if (query.before)
        sql += " AND job < " + std::to_string(query.before);
    if (query.uid)
        sql += " AND uid = " + std::to_string(*query.uid);
    if (!query.ids.empty()) {
        sql += " AND job IN (";
        for (size_t i = 0; i < query.ids.size(); i++)
            sql += (i ? "," : "") + std::to_string(query.ids[i]);
        sql += ")";
    }
    sql += query.newest_first ? " ORDER BY job DESC LIMIT ?2" : " ORDER BY job LIMIT ?2";
    /* Not stored: the numbers in it differ each time. */
    sqlite3_stmt *statement = nullptr;
    sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr);
    std::vector<Json> jobs;
    std::string error;
    {
        Statement row(statement);
        row.bind(static_cast<int64_t>(query.after)).bind(static_cast<int64_t>(query.limit));
        while (row.row())
            jobs.push_back(Json::parse(row.text(0), nullptr, false));
        if (row.failed())
            error = problem("read");
    }
    sqlite3_finalize(statement);
    if (!error.empty())
        return Error{error};
    return jobs;
}

}  // namespace elastic::rm
