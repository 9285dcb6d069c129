/*
 * Time of the processes of a step in computation and in MPI, from their boards, for the operation
 * `performance` of the step protocol.  Pure: rows in, JSON out.  SPEC-performance J1.
 *
 * The data of each process are its probes since the last commit and, of the loop that probes, the
 * measured iterations, the time that they took and the part of it that was spent in MPI
 * (src/mpi/adapt/perf_measure.h).  All loops are as the proxies have merged them (loops.h).
 */

#ifndef ELASTIC_PERFORMANCE_SAMPLE_H_INCLUDED
#define ELASTIC_PERFORMANCE_SAMPLE_H_INCLUDED

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepmgr/common/step_events.h"
#include "stepmgr/proto/loops.h"
#include "stepmgr/proto/payload.h"

namespace elastic {

inline constexpr size_t SLOWEST_RANKS_MAX = 4;
inline constexpr size_t BEHIND_RANKS_MAX = 4;
/* a process that is this number of iterations behind the first one is a straggler */
inline constexpr uint64_t BEHIND_ITERATIONS = 2;

struct ProcessSample {
    int world_rank = 0;
    std::string host;
    PerformanceReport report;
};

/* Probes of the process that has made the fewest, and when that was. */
struct ProbeCount {
    uint32_t epoch = 0;
    int64_t at_ms = 0;
    uint64_t probes = 0;
};
ProbeCount count_probes(const std::vector<ProcessSample> &samples, uint32_t epoch, int64_t now_ms);

/* Progress since the epoch began, and since `previous` if that is of the same epoch. */
Json describe_progress(const ProbeCount &now, int64_t epoch_began_ms,
                       const std::optional<ProbeCount> &previous);

/* For a program that reports its phase (mpi_epop.h): the phase of most processes, by its name in
 * `loops`, and its stragglers; null: nothing is known. */
Json describe_phase(const std::vector<ProcessSample> &samples, const LoopSet &loops);

/* First the loop that probes, as each process reports it now; left out if no process has measured
 * an iteration of it.  Then the other loops, as they were last written. */
Json describe_loops(const std::vector<ProcessSample> &samples, const LoopSet &others);

}  // namespace elastic

#endif /* ELASTIC_PERFORMANCE_SAMPLE_H_INCLUDED */
