/*
 * Replays a workload: elasticd's own core decides, its jobs run by their speed-up models, in
 * simulated time.  Nothing fails.
 *
 * The core gets the events of a real elasticd (core/event.h), and its actions are performed: a
 * start takes no time; the joining processes of a growth start in the background, then the job
 * stands still for the cost of its adaptation, and continues at the speed of its new size; a job
 * ends when its work is done, or when the core ends it at its limit.
 *
 * Malleable jobs are sampled as elasticd samples their steps: progress is the work done, and MPI
 * time is the difference to a proportional speed-up.  As the speed of a simulated job does not
 * change at one size, samples of one size come at growing intervals.
 *
 * Deterministic: the workload and the options decide all.
 */

#ifndef ELASTIC_RM_SIM_TRACES_REPLAY_H_INCLUDED
#define ELASTIC_RM_SIM_TRACES_REPLAY_H_INCLUDED

#include <functional>

#include "core/core.h"
#include "sim/traces/outcome.h"

namespace elastic::rm {

/* Cost of an adaptation: the time in which joining processes start in the background, and the
 * time in which all stand still. */
struct AdaptationCost {
    int64_t launch_ms = 1000;
    int64_t standstill_ms = 1; /* agreement to commit, nothing redistributed */
    /* size of the program's data; the larger world's share of it moves */
    double bytes_per_core = 0;
    double bytes_per_ms = 1e6; /* data rate of one node: 1 GB/s */
    int cores_per_node = 1;    /* the mean, if nodes differ */

    int64_t standstill_of(int old_size, int size) const;
};

struct ReplayOptions {
    Config config;
    const Policy *policy = nullptr;     /* replaces config.policy */
    Machine machine;
    AdaptationCost cost;
    /* between two samples; half of it for the first two at a size; 0: none */
    int64_t sample_ms = 60000;
    /* maximum relative error of each interval's speed and MPI time; 0 to 1 */
    double sample_noise = 0;
    uint64_t seed = 1;          /* of the noise */
    bool keep_sizes = false;    /* stores Outcome::sizes */
    /* Called after each event with the state of the core; may be null. */
    std::function<void(const State &)> after_each = nullptr;
};

/* The configuration must pass check().  `progress` is called periodically with the number of
 * ended jobs; it returns whether to continue.  A stopped replay returns its results so far. */
Outcome replay(const Workload &workload, const ReplayOptions &options,
               const std::function<bool(int64_t)> &progress = nullptr);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_REPLAY_H_INCLUDED */
