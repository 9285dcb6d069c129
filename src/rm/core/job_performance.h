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
constexpr size_t SAMPLE_LOOPS_MAX = 8;          /* the loops that take longest */
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
    /* minimum and maximum of the ranks' time in MPI */
    int64_t ratio_min_ppm = 0, ratio_max_ppm = 0;
    std::string name = {};      /* for people: position in the program; empty: unknown */
    bool operator==(const LoopSample &) const = default;
    ELASTIC_FIELDS(key, parent, sums, ratio_min_ppm, ratio_max_ppm, name)
};

/* Position of a program with phases (clause L1 of the EPOP specification), taken from its last
 * process. */
struct PhasePosition {
    int64_t element = 0;        /* number of the phase */
    bool is_rigid = false;      /* no adaptation is possible in it */
    int64_t iteration = 0, total = -1;  /* current one from 0, and their number; -1: unknown */
    int64_t iteration_us = -1;  /* duration of one iteration; -1: unknown */
    bool operator==(const PhasePosition &) const = default;
    ELASTIC_FIELDS(element, is_rigid, iteration, total, iteration_us)
};

struct Sample {
    uint64_t epoch = 0;
    int size = 0;               /* of the world */
    int processes = 0;          /* of these, processes that were queried */
    int64_t probes = 0;         /* since the last commit, of the process with the fewest */
    int64_t epoch_ms = 0;       /* since the last commit */
    std::vector<LoopSample> loops;
    std::optional<PhasePosition> position =
        std::nullopt; /* nullopt: not in a known phase */
    ELASTIC_FIELDS(epoch, size, processes, probes, epoch_ms, loops, position)
};

/* Measurements at one size. */
struct Interval {
    int64_t until_ms = 0;       /* by the core's clock */
    int size = 0;
    int64_t ms = 0, probes = 0;
    LoopSums phase;             /* nullopt: not measured */
    std::string key;            /* of the phase's loop; empty: not measured */
    ELASTIC_FIELDS(until_ms, size, ms, probes, phase, key)
};

/* Merges two intervals of the same size and loop. */
void join(Interval &left, const Interval &right);

/* Statistics of the intervals' MTCT. */
struct MtctStatistics {
    int64_t count = 0, sum_ppm = 0;
    int64_t squares = 0;        /* of hundreds of ppm, so that 64 bits suffice */
    int64_t min_ppm = 0, max_ppm = 0;
    void add(int64_t mtct_ppm);
    int64_t mean_ppm() const { return count > 0 ? sum_ppm / count : 0; }
    int64_t deviation_ppm() const;      /* standard deviation */
    ELASTIC_FIELDS(count, sum_ppm, squares, min_ppm, max_ppm)
};

/* Comparison of the present size with another measured one, which differs by at least a quarter. */
struct MeasuredStep {
    int size = 0;               /* the other one; 0: there is none */
    int64_t gain_ppm = 0; /* measured gain of the larger size, as a part of the proportional gain */
    bool operator==(const MeasuredStep &) const = default;
    ELASTIC_FIELDS(size, gain_ppm)
};

/* Dependence of speed on size, at one size: computed by scaling_of (scaling.h). */
struct Scaling {
    int size = 1;               /* of the job; of one that waits: 1 */
    int64_t serial_ppm = 0;     /* part of a round that more processes do not shorten */
    int64_t serial_below_ppm = 0; /* part that the last of these processes have not shortened */
    int samples = 0;            /* intervals that agree */
    int sizes = 0;              /* number of measured sizes in this phase */
    int proven_least = 0, proven_most = 0;      /* the extremes of these; 0: none */
    int end = 0;                /* more processes than these give no gain; 0: unknown */
    int64_t error_ppm = 0;      /* possible error of the measured speed at its size */
    bool hinted = false;        /* given by the user, not measured */
    /* Comparison with the nearest measured sizes, by rounds alone, without MPI time. */
    MeasuredStep below = {}, above = {};
    bool operator==(const Scaling &) const = default;
    ELASTIC_FIELDS(size, serial_ppm, serial_below_ppm, samples, sizes, proven_least,
                   proven_most, end, error_ppm, hinted, below, above)
};

struct Performance {
    Sample newest;
    int64_t sampled_ms = 0;     /* by the core's clock */
    int64_t samples = 0;        /* since the last commit */
    /* key of the loop that takes most of the job's time; empty: none is distributed */
    std::string phase;
    LoopSums phase_began;       /* sums of that loop when it became the phase */
    std::vector<Interval> window;       /* the last measured intervals of this phase */
    MtctStatistics statistics;  /* of all intervals of this phase */
    /* of all epochs; neighbours are merged if there are too many */
    std::vector<Interval> history;
    bool interrupted = false;   /* it was suspended since the last sample */
    /* The last result of scaling_of; follows from the rest, so that it is not stored.  Every
     * change of the rest resets it. */
    mutable std::optional<Scaling> scaling;
    ELASTIC_FIELDS(newest, sampled_ms, samples, phase, phase_began, window, statistics, history,
                   interrupted)
};

/* Empty, or the error in the position. */
std::string check(const PhasePosition &position);
std::string check(const Sample &sample);
std::string check(const Performance &known);

/* Whether the sample changes anything: it is later than the known data of its epoch.  False also
 * for an impossible sample. */
bool is_change(const Performance &known, const Sample &sample);
/* Precondition: is_change.  `window`: number of intervals that count. */
void take(Performance &known, const Sample &sample, int64_t now_ms, size_t window);
/* After a commit: nothing is known of the new world; the history is kept. */
void invalidate_epoch(Performance &known, uint64_t epoch);

/* MPI time / computing time (J4), at most MTCT_MAX_PPM; nullopt: no time. */
std::optional<int64_t> mtct_ppm(const LoopSums &sums);
/* MPI time / time. */
std::optional<int64_t> mpi_share_ppm(const LoopSums &sums);

/* Sums of the phase (J5): since it became the phase, and over the last intervals. */
LoopSums phase_sums(const Performance &known);
std::optional<int64_t> accumulated_mtct_ppm(const Performance &known);
std::optional<int64_t> recent_mtct_ppm(const Performance &known);
/* Null: the phase has not been sampled. */
const LoopSample *phase_loop(const Performance &known);
/* Data of the phase at the present size, for display: `iterations` is the mean over the
 * processes. */
struct MeasuredLoop {
    std::string key, name;
    int processes = 0;
    int64_t samples = 0, iterations = 0, iteration_us = 0;
    ELASTIC_FIELDS(key, name, processes, samples, iterations, iteration_us)
};
/* Nullopt: the phase has not been sampled. */
std::optional<MeasuredLoop> measured_loop(const Performance &known);
/* "solver+0x1a2b (32 ranks, 412 iterations of 0.50 s)" */
std::string describe(const MeasuredLoop &loop);
/* J6: there is enough data for a decision. */
bool has_data(const Performance &known);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_PERFORMANCE_H_INCLUDED */
