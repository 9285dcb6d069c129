/* The options of elasticsim. */

#ifndef ELASTIC_RM_SIM_ELASTICSIM_OPTIONS_H_INCLUDED
#define ELASTIC_RM_SIM_ELASTICSIM_OPTIONS_H_INCLUDED

#include <optional>
#include <string>
#include <vector>

#include "sim/traces/trace_replay.h"

namespace elastic::rm {

struct ElasticsimOptions {
    std::string trace, store; /* one of these */
    std::string nodes;
    int cores = 0; /* of each node; 0: as in `nodes` */
    std::string policy, over_limit = "kill", range = "0.25:4", csv, svg;
    std::vector<std::string> policies = {"fill"}; /* in sequence */
    std::vector<std::string> speedups = {"linear"};
    WorkloadOptions workload;
    ReplayOptions replay;
    double adapt_cost_s = -1; /* <0: measured */
    double sample_s = 60, efficiency = 0.5, efficiency_idle = 0;
    double gigabytes_per_core = 0;
    int draws = 1;
    int64_t jobs = 0; /* only the first ones; 0: all */
    bool json = false, strict = false, quiet = false, users = false;
};

/* Writes one entry of `runs` for each policy.  Returns an exit code, after printing, if there is
 * nothing to run. */
std::optional<int> parse_options(int argc, char **argv, std::vector<ElasticsimOptions> &runs);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_ELASTICSIM_OPTIONS_H_INCLUDED */
