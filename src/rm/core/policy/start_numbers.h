/*
 * Why a waiting job starts, and with which size: the numbers that decided it, and what follows from
 * them alone.  Part of the record `placed`.  Pure.  SPEC-performance X1, Q8.
 *
 * Sizes in processes of the job, times in milliseconds of the core's clock.
 */

#ifndef ELASTIC_RM_CORE_POLICY_START_NUMBERS_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_START_NUMBERS_H_INCLUDED

#include <optional>

#include "core/job.h"

namespace elastic::rm {

/* In the queue's order; or ahead of the first job that cannot start. */
enum class StartRule { START, BACKFILL };
template <> struct NamesOf<StartRule> {
    static constexpr const char *names[] = {"start", "backfill"};
};

/* When another job is to start, and how many cores are free then beside its own. */
struct StartAhead {
    int64_t start_ms = NEVER;   /* NEVER: not known */
    int64_t cores_left = 0;
    ELASTIC_FIELDS(start_ms, cores_left)
};

/* What a job that goes ahead leaves to the first one. */
struct GoingAhead {
    JobId first = 0;
    StartAhead promised;
    std::optional<StartAhead> expected; /* sooner, since others end together (fill_balance.h) */
    int64_t end_ms = NEVER;     /* of the one that goes ahead; NEVER: it may run for ever */
    ELASTIC_FIELDS(first, promised, expected, end_ms)
};

struct StartNumbers {
    int least = 0;              /* that it would start with */
    int wanted = 0;             /* that it starts with where there is room for it */
    int room = 0;               /* for so many */
    int cores_per_process = 1;
    int fits = 0;               /* one of the first two */
    int most = 0;               /* so far it may have been grown, into what nobody else can use */
    std::optional<int> user_most;       /* to that it was cut: its user may have no more */
    std::optional<GoingAhead> ahead;    /* nothing: it was its turn */
    ELASTIC_FIELDS(least, wanted, room, cores_per_process, fits, most, user_most, ahead)
};

/* The rule by which it starts; nothing: it would not. */
std::optional<StartRule> start_rule(const StartNumbers &numbers);
/* Whether it may have been given that size. */
bool gives_size(const StartNumbers &numbers, int size);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_START_NUMBERS_H_INCLUDED */
