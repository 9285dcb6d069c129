/* A mix of jobs and their programs, and its simulated run under a policy. */

#ifndef ELASTIC_RM_SIM_MIX_H_INCLUDED
#define ELASTIC_RM_SIM_MIX_H_INCLUDED

#include "core/config.h"
#include "core/job.h"
#include "core/metrics.h"

namespace elastic::rm {

/* One job of a mix, and its program: `work_ms` is its time on one process; the part `serial` of
 * it does not become shorter with more processes.  The program probes for adaptations every
 * `probe_ms`, and stands still `standstill_ms` for each. */
struct MixJob {
    int64_t submit_ms = 0;
    JobSpec spec;
    int64_t work_ms = 1000;
    int serial_permille = 0;
    int64_t probe_ms = 100;
    int64_t standstill_ms = 50;
    ELASTIC_FIELDS(submit_ms, spec, work_ms, serial_permille, probe_ms, standstill_ms)
};

/* Simulates the mix under `policy`, unchanged or with every job rigid at its preferred (else
 * maximum) size. */
RunMetrics simulate_mix(const std::vector<MixJob> &mix, int nodes, int cores, PolicyKind policy,
                        bool as_rigid);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_MIX_H_INCLUDED */
