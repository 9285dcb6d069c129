/*
 * Sizes of a job by its share of MPI time: the range vector of Compres 2017, and sizes with which
 * all jobs of a set end together.  Pure.  Performance specification, clauses R and T.
 *
 * Ratios in parts per million (ppm), times in milliseconds, sizes in processes.
 */

#ifndef ELASTIC_RM_CORE_POLICY_SIZE_RANGE_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_SIZE_RANGE_H_INCLUDED

#include "core/config.h"
#include "core/job.h"

namespace elastic::rm {

/* R2: must be reduced to its only size, whether or not a job waits.  R3: may have any size of
 * the range.  R4: keeps its size. */
enum class RangeKind { REDUCE, OPTIONAL, KEEP };
template <> struct NamesOf<RangeKind> {
    static constexpr const char *names[] = {"reduce", "optional", "keep"};
};

struct SizeRange {
    RangeKind kind = RangeKind::KEEP;
    int low = 0, high = 0;
    bool operator==(const SizeRange &) const = default;
    ELASTIC_FIELDS(kind, low, high)
};

/* Ratio of MPI time to computing time at a size. */
struct SizeMtct {
    int size = 0;
    int64_t mtct_ppm = 0;
    bool operator==(const SizeMtct &) const = default;
    ELASTIC_FIELDS(size, mtct_ppm)
};

/* Input of the range, besides the sizes that the job can have. */
struct RangeNumbers {
    int size = 0;
    int unit = 1; /* processes of a node, for a job of whole nodes; else 1 (R5) */
    bool has_data = false;
    int64_t mtct_ppm = 0, recent_mtct_ppm = 0; /* since the last commit; of the last samples */
    int64_t upper_ppm = 0, lower_ppm = 0;
    int ceiling = 0; /* the smallest size that was too large; 0: none (R6) */
    /* the greatest size below it and below the present one that was not too large; 0: none */
    int proven = 0;
    RangeTarget target = RangeTarget::DOUBLE;
    std::vector<SizeMtct> measured; /* MODEL: other measured sizes in this phase, rising */
    ELASTIC_FIELDS(size, unit, has_data, mtct_ppm, recent_mtct_ppm, upper_ppm, lower_ppm, ceiling,
                   proven, target, measured)
};
SizeRange size_range(const JobSpec &spec, const RangeNumbers &numbers);

/* The other measured sizes of the job in its present phase. */
std::vector<SizeMtct> measured_mtct(const Performance &known, int present_size);

/* The smallest size at which the job was above `upper_ppm` in its present phase, since
 * `since_ms`; 0: none. */
int ceiling_of(const Performance &known, int64_t upper_ppm, int64_t since_ms);
/* The greatest size of the job in that time that is below `size` and below the ceiling, if there
 * is one; 0: none. */
int proven_of(const Performance &known, int64_t since_ms, int ceiling, int size);

/* ---- all end together (T) -------------------------------------------------------------------- */

/* A job with `work` process-milliseconds and a size from `low` to `high`, both allowed; if they
 * are equal, its only size.  Each `unit` of processes occupies `unit_cores`; the last unit may
 * be partly used (R5). */
struct Balanced {
    const JobSpec *spec = nullptr;
    int64_t work = 0;
    int low = 0, high = 0;
    int unit = 1, unit_cores = 1;
    int64_t cores(int size) const { return int64_t{(size + unit - 1) / unit} * unit_cores; }
};

struct Balance {
    int64_t end_ms = 0; /* time from now until all have ended */
    std::vector<int> sizes; /* in the order of the jobs */
};

/* T4: the shortest time, in whole milliseconds, in which all can end on this number of cores,
 * and the smallest sizes that suffice for it.  Nullopt: the smallest sizes alone need more
 * cores, or there are no jobs. */
std::optional<Balance> balance(const std::vector<Balanced> &jobs, int64_t cores);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_SIZE_RANGE_H_INCLUDED */
