/*
 * The reason why a waiting job starts, and its size: the numbers that decided it, and their
 * consequences.  Part of the record `placed`.  Pure.  Performance specification, clauses X1, Q8.
 *
 * Sizes in processes of the job, times in milliseconds of the core's clock.
 */

#ifndef ELASTIC_RM_CORE_POLICY_START_NUMBERS_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_START_NUMBERS_H_INCLUDED

#include <optional>

#include "core/job.h"

namespace elastic::rm {

/* In queue order, or by backfilling before the first job that cannot start. */
enum class StartRule { START, BACKFILL };
template <> struct NamesOf<StartRule> {
    static constexpr const char *names[] = {"start", "backfill"};
};

/* When another job is to start, and the number of cores that are free then besides its own. */
struct ReservedStart {
    int64_t start_ms = NEVER;   /* NEVER: unknown */
    int64_t cores_left = 0;
    /* The time is unknown, but the nodes or GPUs are known: the job needs certain ones, and no
     * other job may take the free ones of these. */
    bool nodes_known = false;
    ELASTIC_FIELDS(start_ms, cores_left, nodes_known)
};

/* The cores that a backfilled job leaves to the first one. */
struct BackfillNumbers {
    JobId first = 0;
    ReservedStart promised;
    /* earlier start, because others end together (fill_balance.h) */
    std::optional<ReservedStart> expected;
    int64_t end_ms = NEVER;     /* end of the backfilled job; NEVER: no limit */
    ELASTIC_FIELDS(first, promised, expected, end_ms)
};

struct StartNumbers {
    int least = 0;              /* minimum size of a start */
    int wanted = 0;             /* preferred size of a start, if it fits */
    int capacity = 0;               /* number of processes that fit */
    int cores_per_process = 1;
    int fits = 0;               /* one of the first two */
    /* size up to which it may have been grown, into cores that no other job can use */
    int most = 0;
    std::optional<int> user_most;       /* reduced size, by a limit of its user */
    std::optional<BackfillNumbers> backfill;    /* nullopt: it starts in queue order */
    ELASTIC_FIELDS(least, wanted, capacity, cores_per_process, fits, most, user_most, backfill)
};

/* The rule by which it starts; nullopt: it does not start. */
std::optional<StartRule> start_rule(const StartNumbers &numbers);
/* Whether it may have started with that size. */
bool gives_size(const StartNumbers &numbers, int size);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_START_NUMBERS_H_INCLUDED */
