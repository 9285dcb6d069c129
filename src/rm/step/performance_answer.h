/*
 * The answer of a step to the operation `performance` (doc/developer/step-protocol.md), read by
 * tables like all messages of a step (field_rules.h): bounded, with the types of the protocol.  Its
 * values may still be false.  Pure.
 */

#ifndef ELASTIC_RM_PERFORMANCE_ANSWER_H_INCLUDED
#define ELASTIC_RM_PERFORMANCE_ANSWER_H_INCLUDED

#include "core/job_performance.h"

namespace elastic::rm {

struct SlowRank {
    uint64_t rank = 0;
    std::string host;
    double mpi_ratio = 0;
};

struct LoopAnswer {
    std::string key, parent;    /* parent: empty: none */
    std::string name, ranks;    /* for people */
    uint64_t processes = 0;
    uint64_t iterations = 0, loop_us = 0, mpi_us = 0;   /* sums over the ranks */
    uint64_t measured_every = 0;        /* 0: not reported */
    std::optional<double> ratio_min, ratio_max;
    std::vector<SlowRank> slowest;
    std::vector<std::string> items;
    uint64_t items_total = 0;
};

struct Straggler {
    uint64_t rank = 0;
    std::string host;
    uint64_t iteration = 0;
};

/* Position of a program with phases. */
struct PhaseAnswer {
    uint64_t element = 0;       /* its number in the program */
    std::string name;           /* for people; empty: not known yet */
    bool is_rigid = false;      /* known to be rigid */
    uint64_t processes = 0;     /* processes in it */
    uint64_t iteration = 0, iteration_max = 0; /* minimum and maximum of their iterations, from 0 */
    std::optional<double> total, iteration_us;
    std::vector<Straggler> stragglers;
};

struct PerformanceAnswer {
    bool available = false;
    std::string reason;         /* if unavailable: the reason */
    uint64_t epoch = 0, size = 0, processes = 0, stale = 0;
    uint64_t probes = 0, ms = 0;        /* since the last commit */
    std::optional<double> per_second, recent_per_second;
    std::optional<PhaseAnswer> phase;   /* nullopt: in no phase, or not a program with phases */
    std::vector<LoopAnswer> loops;
};

/* The answer, or the invalid field.  Precondition: it is an object. */
Result<PerformanceAnswer> read_performance(const Json &answer);
/* In the protocol's form, for people. */
Json to_json(const PerformanceAnswer &answer);
Json to_json(const PhaseAnswer &phase);

/* The part for the core: the longest of the loops that all processes have measured.  Empty:
 * unavailable or invalid.  `epoch_offset` is the number of epochs of earlier mpiexecs of the
 * step. */
std::optional<Sample> sample_of(const PerformanceAnswer &answer, uint64_t epoch_offset);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_PERFORMANCE_ANSWER_H_INCLUDED */
