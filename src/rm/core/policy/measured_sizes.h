/*
 * Policy `measured` (policy_measured.h): the sizes of one job, by its own measurement alone.
 */

#ifndef ELASTIC_RM_CORE_MEASURED_SIZES_H_INCLUDED
#define ELASTIC_RM_CORE_MEASURED_SIZES_H_INCLUDED

#include "core/policy/size_rules.h"
#include "core/scaling.h"

namespace elastic::rm {

/* All that decides the sizes of one job, as of its newest sample; part of the record of each
 * change. */
struct MeasuredNumbers {
    Scaling scaling;
    bool is_measured = false; /* measured since its last change of size */
    Unit unit;
    int64_t efficiency_ppm = 0, efficiency_idle_ppm = 0; /* of the configuration */
    int64_t remaining_ms = NEVER, since_ms = 0;
    int64_t sample_ms = 0; /* the mean time between samples, since its last change of size */
    AdaptationTimes times;
    ELASTIC_FIELDS(scaling, is_measured, unit, efficiency_ppm, efficiency_idle_ppm, remaining_ms,
                   since_ms, sample_ms, times)
};
MeasuredNumbers measured_numbers(const State &state, const Job &job);

constexpr int64_t RULE_MARGIN_PPM = 100000;
/* Of cores that others can use; of those that idle otherwise. */
enum class Floor { EFFICIENT, IDLE };
/* The job is not to grow beyond it, in reals rounded down; its present size: it is not to grow. */
int64_t measured_most(const MeasuredNumbers &numbers, Floor floor);
/* The size that it is to give processes down to; 0: none. */
int64_t measured_least(const MeasuredNumbers &numbers, Floor floor);

/* With which size, at most, a run of the program is started (X3). */
int64_t measured_start(const Learned &learned, int64_t efficiency_ppm);

/* Nothing shows that it needs its last processes, and it pays to find out. */
bool is_doubtful(const MeasuredNumbers &numbers);

/* At most so many times the present size is tried, and at least such a part of it. */
constexpr int TRIAL = 2;
/* Less than this part more is not worth a change: fitted to noisy samples, the size that is best
 * moves by so much. */
constexpr int64_t WORTH_PERCENT = 125;
/* Of the time since the last change, at most, for a reduction (K3). */
constexpr int64_t STANDSTILL_PART = 10;

/* Something is known of its speed. */
bool is_known(const Scaling &scaling);
/* More processes than it has bring nothing. */
bool has_reached_end(const Scaling &scaling);
/* The sizes at which the next processes bring enough are much greater than its own. */
bool is_worth_growing(const MeasuredNumbers &numbers);
/* Up to which size it is grown by an exchange, which must gain enough: without a margin. */
int64_t most_without_margin(const MeasuredNumbers &numbers);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_MEASURED_SIZES_H_INCLUDED */
