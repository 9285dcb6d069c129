/* See schema.h: the tables, and the conversions from former versions to this one. */

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
/* The bytes of each user's rows until they are deleted: approximate, including the overhead of
 * the file. */
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
/* Rows of version 1 have no checksum, and are not checked. */
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
/* A launch may belong to many jobs from this version on. */
constexpr const char *FROM_VERSION_5 = R"(
BEGIN;
ALTER TABLE launch ADD COLUMN last INTEGER;
CREATE INDEX launch_of_array ON launch (job) WHERE last IS NOT NULL;
PRAGMA user_version = 6;
COMMIT;
)";
constexpr const char *STEPS_OF_VERSIONS[] = {FROM_VERSION_1, FROM_VERSION_2, FROM_VERSION_3,
                                             FROM_VERSION_4, FROM_VERSION_5};
constexpr int USED_SINCE = 5;

}  // namespace

std::string prepare_schema(sqlite3 *database, const std::string &file)
{
    bool is_new = read_pragma(database, "user_version") == 0 &&
        read_pragma(database, "application_id") == 0 &&
        read_pragma(database, "schema_version") == 0;
    /* Nothing is written to an existing file before it is known to be a store of elasticd. */
    std::string error = is_new ? execute(database, "PRAGMA auto_vacuum = INCREMENTAL") : "";
    if (error.empty())
        error = execute(
            database,
            "PRAGMA recursive_triggers = ON;"
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000;"
            "PRAGMA journal_size_limit = 67108864; PRAGMA foreign_keys = ON;");
    if (!error.empty())
        return "cannot use the store " + file + ": " + error;
    int64_t version = read_pragma(database, "user_version");
    int64_t application = read_pragma(database, "application_id");
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
    /* From a former version: done once.  Otherwise the file only does not become smaller. */
    if (read_pragma(database, "auto_vacuum") == NONE)
        execute(database, "PRAGMA auto_vacuum = INCREMENTAL; VACUUM");
    return "";
}

}  // namespace elastic::rm
