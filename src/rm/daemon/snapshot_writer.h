/*
 * Snapshots of the core, taken and written in parts, so that neither takes long at once with many
 * jobs.  All parts of a snapshot describe the state after one event, even if later events have
 * changed it.
 *
 * The number of events between two snapshots is at least the number of jobs: the cost of a snapshot
 * grows with the number of jobs, so its share in the cost of an event is bounded.
 *
 * Owner of the snapshot in progress.  Runs on the daemon's loop, which calls go_on() repeatedly.
 */

#ifndef ELASTIC_RM_SNAPSHOT_WRITER_H_INCLUDED
#define ELASTIC_RM_SNAPSHOT_WRITER_H_INCLUDED

#include <string>

#include "core/core.h"
#include "store/store.h"

namespace elastic::rm {

class SnapshotWriter {
  public:
    /* `last_seq`: the event of the last snapshot; `events`: minimum number of events between two
     * snapshots. */
    SnapshotWriter(Core &core, uint64_t last_seq, uint64_t events)
        : core_(core), last_seq_(last_seq), events_(events)
    {
    }

    bool is_due() const;
    /* Drops a snapshot in progress.  All rows that follow from events up to now must be stored. */
    void begin(int64_t now_ms);
    /* Writes a bounded part of the snapshot, or removes a part of former ones.  False: there is
     * nothing left to do. */
    Result<bool> go_on(Store &store);

  private:
    enum class Phase { TIDY_FIRST, TAKE, TIDY, IDLE };
    Result<bool> take(Store &store);

    Core &core_;
    uint64_t last_seq_, events_;
    Phase phase_ = Phase::IDLE;
    Json head_;
    uint64_t seq_ = 0, parts_ = 0;      /* of the snapshot in progress */
    int64_t time_ms_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SNAPSHOT_WRITER_H_INCLUDED */
