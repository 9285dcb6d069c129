/* See replay.h. */

#include "store/replay.h"

#include "core/core.h"

namespace elastic::rm {

namespace {

/* Records from `record.number` on are read in blocks. */
class StoredRecords {
  public:
    explicit StoredRecords(Store &store) : store_(store) {}

    /* Null: there is none with this number. */
    const Json *find(uint64_t number)
    {
        if (next_ >= block_.size() || block_[next_]["seq"] != number) {
            auto records = store_.records({number, BLOCK, 0, ""});
            block_ = records ? std::move(records.value()) : std::vector<Json>();
            next_ = 0;
        }
        return !block_.empty() && block_[next_]["seq"] == number ? &block_[next_++] : nullptr;
    }

  private:
    static constexpr size_t BLOCK = 1000;
    Store &store_;
    std::vector<Json> block_;
    size_t next_ = 0;
};

/* Texts for people: another version may have other words for the same decision. */
constexpr const char *TEXTS[] = {"reason", "what"};

/* Data that an older elasticd has stored (a specification, a configuration, numbers of a
 * decision) lack newer fields: these get their defaults, or are not compared. */
bool is_same_data(Json stored, Json replayed)
{
    for (const char *name : TEXTS) {
        if (stored.is_object())
            stored.erase(name);
        replayed.erase(name);
    }
    for (const char *name : {"spec", "config", "why"}) {
        if (!replayed.contains(name) || !replayed[name].is_object())
            continue;
        Json known = stored.value(name, Json());
        if (!known.is_object() && std::string_view(name) != "why")
            continue;
        Json filled = replayed[name];
        if (known.is_object())
            filled.update(known);
        stored[name] = filled;
    }
    return stored == replayed;
}

bool is_same(const Record &record, const Json &row)
{
    return row["time_ms"] == record.time_ms && row["event"] == record.event &&
           is_same_data(row["data"], record.whole_data()) &&
           row["job"] == (record.job ? Json(record.job) : Json()) &&
           row["node"] == (record.node.empty() ? Json() : Json(record.node));
}

/* A user's oldest jobs are deleted with all their records (limits.bytes_per_user). */
bool is_discarded(Store &store, JobId job)
{
    auto launch = store.launch(job);
    RecordQuery query;
    query.job = job;
    query.limit = 1;
    auto records = store.records(query);
    return launch && records && (!launch.value() || records.value().empty());
}

}  // namespace

Result<Replay> replay(Store &store)
{
    Core core;
    Replay result;
    StoredRecords stored(store);
    std::string error = store.each_event(0, [&](const Event &event) -> std::string {
        if (event.seq != core.state().seq + 1)
            return "the events before it are no longer kept (history.keep): a replay needs all";
        result.events++;
        for (const Action &action : core.handle(event)) {
            auto record = std::get_if<Record>(&action);
            if (!record || !result.difference.empty())
                continue;
            result.records++;
            const Json *row = stored.find(record->number);
            if (!row && record->job && is_discarded(store, record->job))
                continue;
            if (!row || !is_same(*record, *row))
                result.difference = "record " + std::to_string(record->number) + " of event " +
                    std::to_string(event.seq) + " differs: stored " +
                    (row ? row->dump() : "nothing") + ", replayed " + write(*record).dump();
        }
        return "";
    });
    if (!error.empty())
        return Error{error};
    return result;
}

}  // namespace elastic::rm
