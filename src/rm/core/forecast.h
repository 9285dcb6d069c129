/*
 * Forecast of the start of a waiting job: the latest time, if no other job comes before it and all
 * jobs use their whole time limits.  It counts all that a start needs: cores (and memory as cores),
 * GPUs, listed and excluded nodes, the nodes of the partition, reservations, and the limits of the
 * user and of groups.  With `fill` and `measured`, malleable jobs give cores as the
 * reservation of the first waiting job assumes (clause X3 of the performance specification); with
 * `efficient` they only return loans.  For display; no decision depends on it.  Pure.
 */

#ifndef ELASTIC_RM_CORE_FORECAST_H_INCLUDED
#define ELASTIC_RM_CORE_FORECAST_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

struct Forecast {
    /* NEVER: unknown (jobs without a time limit, a long queue before it) */
    int64_t start_ms = NEVER;
    JobId waits_for = 0;        /* the job whose end frees the cores; 0: none */
};

Forecast forecast(const State &state, JobId id);
/* For a job that does not exist yet: the forecast if it were submitted now. */
Forecast forecast_of_new(const State &state, const JobSpec &spec);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_FORECAST_H_INCLUDED */
