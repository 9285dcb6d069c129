/* See snapshot_writer.h. */

#include "daemon/snapshot_writer.h"

#include <algorithm>

namespace elastic::rm {

namespace {

constexpr size_t OBJECTS = 40;          /* in a part: nodes or jobs; some 3 ms */
constexpr int64_t PARTS_TIDIED = 2;     /* in one call */

}  // namespace

bool SnapshotWriter::is_due() const
{
    const State &state = core_.state();
    uint64_t events = std::max<uint64_t>(events_, state.jobs.size());
    return phase_ == Phase::IDLE && state.seq - last_seq_ >= events;
}

void SnapshotWriter::begin(int64_t now_ms)
{
    seq_ = core_.state().seq;
    time_ms_ = now_ms;
    parts_ = 0;
    head_ = core_.begin_snapshot();
    phase_ = seq_ == last_seq_ ? Phase::TIDY : Phase::TIDY_FIRST;
}

Result<bool> SnapshotWriter::go_on(Store &store)
{
    if (phase_ == Phase::IDLE)
        return false;
    if (phase_ == Phase::TAKE)
        return take(store);
    auto more = store.tidy_snapshots(PARTS_TIDIED);
    if (!more)
        phase_ = Phase::IDLE;
    else if (!more.value())
        phase_ = phase_ == Phase::TIDY_FIRST ? Phase::TAKE : Phase::IDLE;
    return more ? Result<bool>(phase_ != Phase::IDLE) : more;
}

Result<bool> SnapshotWriter::take(Store &store)
{
    Json part = core_.next_part(OBJECTS);
    std::string error = part.is_null() ? store.write_snapshot(seq_, time_ms_, head_, parts_)
                                       : store.write_snapshot_part(seq_, parts_++, part);
    if (!error.empty()) {
        phase_ = Phase::IDLE;
        return Error{error};
    }
    if (part.is_null()) {
        last_seq_ = seq_;
        phase_ = Phase::TIDY;
    }
    return true;
}

}  // namespace elastic::rm
