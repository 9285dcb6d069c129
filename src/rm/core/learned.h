/*
 * Results of ended jobs, by program, so that the next run of the same program by the same user with
 * the same arguments need not measure them again: the speed at each size, in the loop that took
 * most time, and the cost of adaptations (clause K1 of the performance specification).  They decide
 * the first size of the next run (X3).  Pure; part of the state, so that replay and snapshots
 * contain it.
 *
 * Bounded: only the programs that ended last are stored; for each, only its last sizes; for each
 * size, a limited time, so that new samples still change its value.
 */

#ifndef ELASTIC_RM_CORE_LEARNED_H_INCLUDED
#define ELASTIC_RM_CORE_LEARNED_H_INCLUDED

#include "core/job.h"

namespace elastic::rm {

constexpr size_t LEARNED_PROGRAMS_MAX = 200, LEARNED_SIZES_MAX = 8;
constexpr int64_t LEARNED_MS_MAX = 600000;      /* for each size */

struct Learned {
    uint32_t uid = 0;
    std::string program;                /* JobSpec::program */
    int64_t ended_ms = 0;               /* end of the last run */
    std::vector<Interval> sizes;        /* one interval for each size, rising, all of one loop */
    /* as in Job; NEVER: it has not adapted */
    int64_t mean_standstill_ms = NEVER, mean_duration_ms = NEVER;
    ELASTIC_FIELDS(uid, program, ended_ms, sizes, mean_standstill_ms, mean_duration_ms)
};
using LearnedPrograms = std::map<std::pair<uint32_t, std::string>, Learned>;

/* Empty, or the error in the data. */
std::string check(const Learned &learned);
/* Results of earlier runs of the job's program; null: none. */
const Learned *find_learned(const LearnedPrograms &programs, const Job &job);

/* Stores results when the step of the job has ended. */
void learn(LearnedPrograms &programs, const Job &job, int64_t now_ms);
/* Applies results when the step of the job starts and has no measurements yet. */
void recall(const LearnedPrograms &programs, Job &job);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_LEARNED_H_INCLUDED */
