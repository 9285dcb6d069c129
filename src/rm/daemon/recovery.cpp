/* See recovery.h. */

#include "daemon/recovery.h"

#include "base/crash_note.h"
#include "base/log.h"
#include "base/loop.h"
#include "step/step_spec.h"
#include "store/derive.h"

namespace elastic::rm {

namespace {

constexpr uint64_t TIMELINE_RECORDS = 200000;   /* number of newest records that are read */
constexpr size_t RECORDS_AT_ONCE = 10000;
constexpr int REPAIRS_MAX = 1000;

class Recovery {
  public:
    Recovery(Store &store, bool repairs) : store_(store), repairs_(repairs) {}
    uint64_t bad_seq() const { return bad_seq_; }

    /* Empty, or the error. */
    std::string read();
    std::string write_derived();
    Recovered take() { return std::move(recovered_); }

  private:
    std::string read_timeline();
    std::string from(const std::optional<Store::Snapshot> &snapshot);
    std::string replay(const Event &event);
    std::string repair(const std::string &wrong);
    std::string read_quota();
    const State &state() const { return recovered_.core.state(); }

    Store &store_;
    Recovered recovered_;
    Batch derived_;
    bool repairs_;
    uint64_t bad_seq_ = 0;              /* the event that caused the error; 0: none */
    uint64_t last_record_ = 0;
};

/* After an unusable snapshot there may be a usable older one, and the events after it. */
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
        for (int repaired = 0; !wrong.empty() && bad_seq_ && repairs_ && repaired < REPAIRS_MAX;
             repaired++) {
            if (std::string error = repair(wrong); !error.empty())
                return error;
            wrong = from(snapshot.value());
        }
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
            since = row["seq"].get<uint64_t>() + 1;
            if (!row["data"].is_object()) {
                log_line(LogLevel::ERROR, "a record of the store is damaged and left out",
                         {{"record", row["seq"]}});
                continue;
            }
            Record record{row["seq"], row["time_ms"], row["event"],
                          row["job"].is_null() ? 0 : row["job"].get<JobId>(),
                          row["node"].is_null() ? "" : row["node"].get<std::string>(), row["data"]};
            record.find_members();
            try {
                recovered_.timeline.add(record);
            } catch (const std::exception &exception) {
                log_line(LogLevel::ERROR, "a record of the store is damaged and left out",
                         {{"record", record.number}, {"error", exception.what()}});
            }
        }
    }
}

/* Rows that may not have been written before the crash are derived again. */
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
        }, &bad_seq_);
    if (!error.empty())
        return error;
    for (const Record &record : derived_.records)
        if (record.number > last_record_)
            recovered_.timeline.add(record);
    return "";
}

std::string Recovery::repair(const std::string &wrong)
{
    auto submission = store_.submission(bad_seq_);
    if (!submission)
        return submission.error();
    EventContent instead = Timer{};
    if (submission.value())
        instead = *submission.value();
    if (std::string error = store_.quarantine(bad_seq_, instead); !error.empty())
        return error;
    log_line(LogLevel::ERROR, wrong + "; it is put into quarantine",
             {{"seq", bad_seq_},
              {"instead", submission.value() ? "the submission as its rows have it" : "nothing"},
              {"advice", "check the disk; the previous content is in the table quarantined"}});
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
        return std::string("elasticd fails at this event (") + exception.what() +
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

bool is_to_blame(Store &store, uint64_t seq)
{
    Recovery recovery(store, false);
    return !recovery.read().empty() && recovery.bad_seq() == seq;
}

Result<Recovered> recover(Store &store, bool repairs)
{
    Recovery recovery(store, repairs);
    std::string error = recovery.read();
    if (!error.empty())
        return Error{
            error +
            "\nNothing was changed, and all running steps continue.  doc/admin/elasticd.md (\"A "
            "store that cannot be read\") describes what to do; elasticd --quarantine-event NUMBER "
            "removes an event that cannot be used"};
    error = recovery.write_derived();
    if (!error.empty())
        return Error{error};
    return recovery.take();
}

}  // namespace elastic::rm
