/* See store.h: deletion of old data and of users' data, and the size of the file. */

#include <sqlite3.h>

#include "store/statement.h"
#include "store/store.h"

namespace elastic::rm {

namespace {

/* Launches of arrays without stored ended tasks and without tasks that have not ended. */
constexpr const char *DISCARD_ARRAYS =
    "DELETE FROM launch WHERE last IS NOT NULL "
    "AND CASE WHEN json_valid(body) THEN json_type(body, '$.environment') IS NULL ELSE 0 END "
    "AND NOT EXISTS (SELECT 1 FROM ended WHERE ended.job BETWEEN launch.job AND launch.last)";

}  // namespace

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
    Statement row(prepare("SELECT uid FROM used WHERE CAST(bytes AS INTEGER) > ?"));
    row.bind(bytes);
    std::vector<uint32_t> users;
    while (row.row())
        users.push_back(static_cast<uint32_t>(row.number(0)));
    if (row.failed())
        return Error{problem("read")};
    return users;
}

/* Its records first: while a job is still among the ended ones, the next call deletes the rest. */
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

Store::Pages Store::pages()
{
    int64_t size = read_pragma(database_, "page_size"),
            unused = read_pragma(database_, "freelist_count");
    return {(read_pragma(database_, "page_count") - unused) * size, unused * size};
}

std::string Store::return_pages(int64_t pages)
{
    if (std::string error = synchronise(false); !error.empty())
        return error;
    std::string error =
        execute(database_, "PRAGMA incremental_vacuum(" + std::to_string(pages) + ")");
    return error.empty() ? "" : problem("write");
}

}  // namespace elastic::rm
