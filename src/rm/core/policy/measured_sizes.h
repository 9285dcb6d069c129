/*
 * Policy `measured` (policy_measured.h): the sizes of one job, from its own measurement alone.
 */

#ifndef ELASTIC_RM_CORE_MEASURED_SIZES_H_INCLUDED
#define ELASTIC_RM_CORE_MEASURED_SIZES_H_INCLUDED

#include "core/policy/size_rules.h"
#include "core/scaling.h"

namespace elastic::rm {

/* All input for the sizes of one job, as of its newest sample; part of the record of each
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
/* For cores that others can use; for cores that would idle otherwise. */
enum class Floor { EFFICIENT, IDLE };
/* The size beyond which the job must not grow (rounded down); its present size: it must not
 * grow. */
int64_t measured_most(const MeasuredNumbers &numbers, Floor floor);
/* The size to which the job must release processes; 0: none. */
int64_t measured_least(const MeasuredNumbers &numbers, Floor floor);

/* Maximum size for the start of a run of the program (X3). */
int64_t measured_start(const Learned &learned, int64_t efficiency_ppm);

/* No measurement shows that it needs its last processes, and a test pays. */
bool is_doubtful(const MeasuredNumbers &numbers);

/* A trial changes the size at most by this factor, up or down. */
constexpr int TRIAL = 2;
/* A smaller gain is not worth a change: with noisy samples, the best size varies by this part. */
constexpr int64_t WORTH_PERCENT = 125;
/* Maximum standstill of a reduction: this part of the time since the last change (K3). */
constexpr int64_t STANDSTILL_PART = 10;

/* Its speed is known, at least in part. */
bool is_known(const Scaling &scaling);
/* More processes than it has give no gain. */
bool has_reached_end(const Scaling &scaling);
/* The sizes at which the next processes gain enough are much greater than its own. */
bool is_worth_growing(const MeasuredNumbers &numbers);
/* Maximum size for a growth by an exchange, which must gain enough: without a margin. */
int64_t most_without_margin(const MeasuredNumbers &numbers);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_MEASURED_SIZES_H_INCLUDED */
