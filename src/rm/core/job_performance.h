/*
 * The use of time by the processes of a job, from samples of its step (operation `performance` of
 * the step protocol): sums in, ratios out.  Pure.  Clauses J3-J6 of the performance specification.
 *
 * Whole numbers: times in microseconds or milliseconds, ratios in parts per million (ppm).  All
 * data is of one epoch, except the history.  Sums are those of the step, over all ranks and since
 * the last commit; the time between two samples is an *interval*.
 */

#ifndef ELASTIC_RM_CORE_PERFORMANCE_H_INCLUDED
#define ELASTIC_RM_CORE_PERFORMANCE_H_INCLUDED

#include <optional>

#include "core/fields.h"

namespace elastic::rm {

constexpr int64_t PPM = 1000000;
constexpr int64_t MTCT_MAX_PPM = 1000 * PPM;    /* of a loop that does nothing but MPI */
constexpr int64_t SAMPLE_SUM_MAX = int64_t{1} << 53;
constexpr size_t SAMPLE_LOOPS_MAX = 8;          /* those that take longest */
constexpr size_t LOOP_KEY_BYTES_MAX = 32;
constexpr const char *PROBE_LOOP = "probe";    /* key of the loop that probes */
constexpr size_t LOOP_NAME_BYTES_MAX = 40;
constexpr size_t PERFORMANCE_HISTORY_MAX = 64;
constexpr int MONITOR_WINDOW_MAX = 64;

struct LoopSums {
    int64_t iterations = 0, loop_us = 0, mpi_us = 0;
    bool operator==(const LoopSums &) const = default;
    ELASTIC_FIELDS(iterations, loop_us, mpi_us)
};

/* A distributed loop: all processes have measured it. */
struct LoopSample {
    std::string key, parent;    /* parent: empty: none */
    LoopSums sums;
    int64_t ratio_min_ppm = 0, ratio_max_ppm = 0;       /* of one rank's time in MPI */
    std::string name = {};      /* for people: where it is; empty: not known */
    bool operator==(const LoopSample &) const = default;
    ELASTIC_FIELDS(key, parent, sums, ratio_min_ppm, ratio_max_ppm, name)
};

/* Position of a program with phases (clause L1 of the EPOP specification), of its last process. */
struct PhasePosition {
    int64_t element = 0;        /* which phase */
    bool is_rigid = false;      /* no adaptation can come in it */
    int64_t iteration = 0, total = -1;  /* from 0, of how many; -1: not known */
    int64_t iteration_us = -1;  /* how long one takes; -1: not known */
    bool operator==(const PhasePosition &) const = default;
    ELASTIC_FIELDS(element, is_rigid, iteration, total, iteration_us)
};

struct Sample {
    uint64_t epoch = 0;
    int size = 0;               /* of the world */
    int processes = 0;          /* of these, that have been queried */
    int64_t probes = 0;         /* since the last commit, of the process with the fewest */
    int64_t epoch_ms = 0;       /* since the last commit */
    std::vector<LoopSample> loops;
    std::optional<PhasePosition> position =
        std::nullopt; /* nothing: not in a phase that is known */
    ELASTIC_FIELDS(epoch, size, processes, probes, epoch_ms, loops, position)
};

/* Of one size. */
struct Interval {
    int64_t until_ms = 0;       /* of the core's clock */
    int size = 0;
    int64_t ms = 0, probes = 0;
    LoopSums phase;             /* nothing: not measured */
    std::string key;            /* of the phase's loop; empty: not measured */
    ELASTIC_FIELDS(until_ms, size, ms, probes, phase, key)
};

/* Makes one of two of the same size and loop. */
void join(Interval &left, const Interval &right);

/* Of the intervals' MTCT. */
struct MtctStatistics {
    int64_t count = 0, sum_ppm = 0;
    int64_t squares = 0;        /* of hundreds of ppm: 64 bits hold them */
    int64_t min_ppm = 0, max_ppm = 0;
    void add(int64_t mtct_ppm);
    int64_t mean_ppm() const { return count > 0 ? sum_ppm / count : 0; }
    int64_t deviation_ppm() const;      /* standard deviation */
    ELASTIC_FIELDS(count, sum_ppm, squares, min_ppm, max_ppm)
};

/* Between the present size and another one that has been measured, at least a quarter off. */
struct MeasuredStep {
    int size = 0;               /* the other one; 0: there is none */
    int64_t gain_ppm = 0;       /* what the larger of both has brought of a proportional gain */
    bool operator==(const MeasuredStep &) const = default;
    ELASTIC_FIELDS(size, gain_ppm)
};

/* How its speed follows its size, at one size: found by scaling_of (scaling.h). */
struct Scaling {
    int size = 1;               /* of the job; of one that waits: 1 */
    int64_t serial_ppm = 0;     /* of a round: what more processes do not make shorter */
    int64_t serial_below_ppm = 0;       /* and what the last ones of these have not made shorter */
    int samples = 0;            /* intervals that agree */
    int sizes = 0;              /* at which it has been measured in this phase */
    int proven_least = 0, proven_most = 0;      /* the extremes of these; 0: none */
    int end = 0;                /* more processes than these bring nothing; 0: not known */
    int64_t error_ppm = 0;      /* by so much, at its size, the measured speed may be wrong */
    bool hinted = false;        /* by the user, and not measured */
    /* To the nearest ones, by rounds alone, without MPI time. */
    MeasuredStep below = {}, above = {};
    bool operator==(const Scaling &) const = default;
    ELASTIC_FIELDS(size, serial_ppm, serial_below_ppm, samples, sizes, proven_least,
                   proven_most, end, error_ppm, hinted, below, above)
};

struct Performance {
    Sample newest;
    int64_t sampled_ms = 0;     /* of the core's clock */
    int64_t samples = 0;        /* since the last commit */
    /* key of the loop that the job's time goes into; empty: none is distributed */
    std::string phase;
    LoopSums phase_began;       /* its sums when it became the phase */
    std::vector<Interval> window;       /* the last ones of this phase that are measured */
    MtctStatistics statistics;  /* of all intervals of this phase */
    /* of all epochs, neighbours put together where there are too many */
    std::vector<Interval> history;
    bool interrupted = false;   /* it was suspended since the last sample */
    /* The last result of scaling_of; follows from the rest, so that it is not stored.  Every
     * change of the rest resets it. */
    mutable std::optional<Scaling> scaling;
    ELASTIC_FIELDS(newest, sampled_ms, samples, phase, phase_began, window, statistics, history,
                   interrupted)
};

/* Empty, or what cannot be. */
std::string check(const PhasePosition &position);
std::string check(const Sample &sample);
std::string check(const Performance &known);

/* Whether the sample changes anything: it is later than what is known of its epoch.  False also if
 * it cannot be. */
bool is_change(const Performance &known, const Sample &sample);
/* Precondition: is_change.  `window`: how many intervals count. */
void take(Performance &known, const Sample &sample, int64_t now_ms, size_t window);
/* A commit: nothing is known of the new world, but what was before. */
void invalidate_epoch(Performance &known, uint64_t epoch);

/* MPI time / computing time (J4), at most MTCT_MAX_PPM; nothing: there was no time. */
std::optional<int64_t> mtct_ppm(const LoopSums &sums);
/* MPI time / time. */
std::optional<int64_t> mpi_share_ppm(const LoopSums &sums);

/* Of the phase (J5): since it became that, and what the last intervals come to. */
LoopSums phase_sums(const Performance &known);
std::optional<int64_t> accumulated_mtct_ppm(const Performance &known);
std::optional<int64_t> recent_mtct_ppm(const Performance &known);
/* Null: the phase has not been sampled. */
const LoopSample *phase_loop(const Performance &known);
/* Data of the phase at the present size, for display: `iterations` of each process, in the mean. */
struct MeasuredLoop {
    std::string key, name;
    int processes = 0;
    int64_t samples = 0, iterations = 0, iteration_us = 0;
    ELASTIC_FIELDS(key, name, processes, samples, iterations, iteration_us)
};
/* Nothing: the phase has not been sampled. */
std::optional<MeasuredLoop> measured_loop(const Performance &known);
/* "solver+0x1a2b (32 ranks, 412 iterations of 0.50 s)" */
std::string describe(const MeasuredLoop &loop);
/* J6: enough to decide by. */
bool has_data(const Performance &known);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_PERFORMANCE_H_INCLUDED */
