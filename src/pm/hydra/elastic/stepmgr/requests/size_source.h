/*
 * Size requests of --adapt-schedule or --adapt-policy.  Returns the request that
 * is due, and the time of the next one.  Pure; times are milliseconds on the step manager's clock.
 *
 * An entry of a schedule is offered once, committed or not.  A policy waits for the interval after
 * each adaptation, at least RETRY_MS after one that was not committed.  It stops after FAILURES_MAX
 * of these in a row.
 */

#ifndef ELASTIC_SIZE_SOURCE_H_INCLUDED
#define ELASTIC_SIZE_SOURCE_H_INCLUDED

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepmgr/common/schedule.h"
#include "stepmgr/common/size_request.h"
#include "stepmgr/requests/adapt_policy.h"
#include "stepmgr/stepmgr.h"

namespace elastic {

class SizeSource {
  public:
    static constexpr int64_t RETRY_MS = 1000;
    static constexpr int FAILURES_MAX = 3;
    static constexpr int64_t SKIP_MS = 10;      /* min delay after a skipped offer */

    static Result<SizeSource> create(const step_config &config);

    bool any() const { return policy_ || !schedule_.empty(); }
    /* --adapt-range without a policy: the sizes for which requests are accepted. */
    const std::optional<Range> &requests_range() const { return requests_range_; }
    /* --adapt-range, with or without a policy. */
    const std::optional<Range> &range() const { return range_; }
    /* Limits the range to sizes that the program can use.  False: no size is left. */
    bool limit(const Range &hinted);
    Policy *policy() { return policy_ ? &*policy_ : nullptr; }
    bool is_schedule() const { return !schedule_.empty(); }

    /* The processes are launched: `launch_ms` is the zero of schedule times. */
    void launched(int64_t launch_ms);
    /* The first offer may be made from now on. */
    void adaptive(int64_t now_ms);

    /* Time of the next offer, possibly in the past.  Nothing: there is none. */
    std::optional<int64_t> due() const;
    /* Takes the offer that is due, for a world of `present` processes; a policy offers sizes of the
     * rule only. */
    std::optional<SizeRequest> take(int64_t now_ms, int present,
                                    const ProgramSizes *rule = nullptr);

    /* The offer that was taken cannot be made now. */
    void postpone(int64_t now_ms);

    /* The first and the last entry of the schedule that have not been taken, from 1; none: first >
     * last. */
    std::pair<size_t, size_t> left() const { return {next_entry_ + 1, schedule_.size()}; }

    /* An adaptation of any origin has ended.  True: the policy stops with this one. */
    bool ended(int64_t now_ms, bool committed);

  private:
    std::vector<ScheduleEntry> schedule_;
    size_t next_entry_ = 0;
    std::optional<Policy> policy_;
    std::optional<Range> given_range_, range_, requests_range_;
    int64_t interval_ms_ = 0, launch_ms_ = 0, not_before_ms_ = 0;
    int failures_ = 0;
};

}  // namespace elastic

#endif /* ELASTIC_SIZE_SOURCE_H_INCLUDED */
