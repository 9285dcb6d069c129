/* See recovery.h. */

#include "daemon/recovery.h"

#include "base/crash_note.h"
#include "base/log.h"
#include "base/loop.h"
#include "step/step_spec.h"
#include "store/derive.h"

namespace elastic::rm {

namespace {

constexpr uint64_t TIMELINE_RECORDS = 200000;   /* the newest, that are read */
constexpr size_t RECORDS_AT_ONCE = 10000;

class Recovery {
  public:
    explicit Recovery(Store &store) : store_(store) {}

    /* Empty, or what is wrong. */
    std::string read();
    std::string write_derived();
    Recovered take() { return std::move(recovered_); }

  private:
    std::string read_timeline();
    std::string from(const std::optional<Store::Snapshot> &snapshot);
    std::string replay(const Event &event);
    std::string read_quota();
    const State &state() const { return recovered_.core.state(); }

    Store &store_;
    Recovered recovered_;
    Batch derived_;
    uint64_t last_record_ = 0;
};

/* A snapshot that does not do is not the last word: there may be an older one, and the events after
 * it. */
std::string Recovery::read()
{
    if (std::string error = read_timeline(); !error.empty())
        return error;
    auto mark = store_.clock();
    if (!mark)
        return mark.error();
    for (uint64_t below = INT64_MAX;;) {
        auto snapshot = store_.last_snapshot(below);
        if (!snapshot)
            return snapshot.error();
        std::string wrong = from(snapshot.value());
        if (wrong.empty()) {
            recovered_.clock.start(
                mark.value(), state().now_ms, boot_id(), monotonic_ms(), unix_ms());
            return "";
        }
        if (!snapshot.value())
            return wrong;
        below = snapshot.value()->seq;
        log_line(LogLevel::ERROR, wrong + "; the snapshot before it is tried",
                 {{"snapshot", below}});
    }
}

std::string Recovery::read_timeline()
{
    auto last = store_.last_record();
    if (!last)
        return last.error();
    last_record_ = last.value();
    for (uint64_t since = last_record_ > TIMELINE_RECORDS ? last_record_ - TIMELINE_RECORDS : 1;;) {
        auto records = store_.records({since, RECORDS_AT_ONCE, 0, ""});
        if (!records || records.value().empty())
            return records ? "" : records.error();
        for (const Json &row : records.value()) {
            Record record{row["seq"], row["time_ms"], row["event"],
                          row["job"].is_null() ? 0 : row["job"].get<JobId>(),
                          row["node"].is_null() ? "" : row["node"].get<std::string>(), row["data"]};
            record.find_list();
            recovered_.timeline.add(record);
            since = record.number + 1;
        }
    }
}

/* The rows that may not have been written before the death are derived again. */
std::string Recovery::from(const std::optional<Store::Snapshot> &snapshot)
{
    recovered_.core = Core();
    derived_ = {};
    recovered_.snapshot_seq = snapshot ? snapshot->seq : 0;
    if (snapshot) {
        auto restored = Core::restore(snapshot->head, snapshot->parts);
        if (!restored)
            return "the snapshot in " + store_.folder() + "/store.sqlite: " + restored.error();
        recovered_.core = std::move(restored.value());
    }
    std::string error =
        store_.each_event(recovered_.snapshot_seq, [&](const Event &event) -> std::string {
            if (event.seq != state().seq + 1)
                return "it should follow event " + std::to_string(state().seq) +
                    ": those between are missing";
            return replay(event);
        });
    if (!error.empty())
        return error;
    for (const Record &record : derived_.records)
        if (record.number > last_record_)
            recovered_.timeline.add(record);
    return "";
}

std::string Recovery::replay(const Event &event)
{
    EventInHand in_hand(event.seq);
    try {
        JobId last_job = state().last_job;
        for (const Action &action : recovered_.core.handle(event))
            derive(derived_, state(), event, action, last_job);
        return "";
    } catch (const std::exception &exception) {
        return std::string("the core cannot bear it (") + exception.what() +
            "): " + quarantine_advice(event.seq);
    }
}

std::string Recovery::write_derived()
{
    std::string error = store_.write(derived_);
    return error.empty() ? read_quota() : error;
}

std::string Recovery::read_quota()
{
    auto sizes = store_.launch_sizes();
    if (!sizes)
        return sizes.error();
    for (const Store::LaunchSize &each : sizes.value())
        recovered_.quota.add(each.job, each.uid, each.bytes);
    return "";
}

}  // namespace

Result<Recovered> recover(Store &store)
{
    Recovery recovery(store);
    std::string error = recovery.read();
    if (!error.empty())
        return Error{
            error +
            "\nNothing was changed, and all running steps go on.  doc/admin/elasticd.md (\"A store "
            "that cannot be read\") says what to do; an event that cannot be used is taken out "
            "with elasticd --quarantine-event NUMBER"};
    error = recovery.write_derived();
    if (!error.empty())
        return Error{error};
    return recovery.take();
}

}  // namespace elastic::rm
