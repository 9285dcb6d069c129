/* See store.h: reading events, and the replacement of an event that ends the process. */

#include <sqlite3.h>

#include <cstring>

#include "store/checksum.h"
#include "store/rows.h"

namespace elastic::rm {

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

/* Without it, later jobs would have other numbers. */
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
    std::string body = text_of(to_json(Event{seq, old.number(0), instead}));
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

Result<std::optional<int64_t>> Store::time_of_oldest(int64_t events)
{
    Statement row(prepare("SELECT time_ms FROM event ORDER BY seq LIMIT 1 OFFSET ?"));
    if (row.bind(events).row())
        return std::optional<int64_t>(row.number(0));
    return row.failed() ? Result<std::optional<int64_t>>(Error{problem("read")})
                        : std::optional<int64_t>();
}

Result<std::optional<SteadyClock::Mark>> Store::clock()
{
    using Mark = std::optional<SteadyClock::Mark>;
    Statement row(prepare("SELECT boot, boot_ms, clock_ms FROM clock"));
    if (!row.row())
        return row.failed() ? Result<Mark>(Error{problem("read")}) : Result<Mark>(Mark());
    return Mark(SteadyClock::Mark{row.text(0), row.number(1), row.number(2)});
}

}  // namespace elastic::rm
