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

/* When another job is to start, and how many cores are free then beside its own. */
struct ReservedStart {
    int64_t start_ms = NEVER;   /* NEVER: not known */
    int64_t cores_left = 0;
    /* The time is unknown, but not the nodes or GPUs: it needs certain ones, and nobody takes what
     * is free of them. */
    bool nodes_known = false;
    ELASTIC_FIELDS(start_ms, cores_left, nodes_known)
};

/* The cores that a backfilled job leaves to the first one. */
struct BackfillNumbers {
    JobId first = 0;
    ReservedStart promised;
    std::optional<ReservedStart> expected; /* sooner, since others end together (fill_balance.h) */
    int64_t end_ms = NEVER;     /* of the backfilled job; NEVER: it may run for ever */
    ELASTIC_FIELDS(first, promised, expected, end_ms)
};

struct StartNumbers {
    int least = 0;              /* that it would start with */
    int wanted = 0;             /* the size of its start if that fits */
    int capacity = 0;               /* for so many */
    int cores_per_process = 1;
    int fits = 0;               /* one of the first two */
    int most = 0;               /* so far it may have been grown, into what nobody else can use */
    std::optional<int> user_most;       /* to that it was cut: its user may have no more */
    std::optional<BackfillNumbers> backfill;    /* nothing: it was its turn */
    ELASTIC_FIELDS(least, wanted, capacity, cores_per_process, fits, most, user_most, backfill)
};

/* The rule by which it starts; nothing: it would not. */
std::optional<StartRule> start_rule(const StartNumbers &numbers);
/* Whether it may have been given that size. */
bool gives_size(const StartNumbers &numbers, int size);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_START_NUMBERS_H_INCLUDED */
