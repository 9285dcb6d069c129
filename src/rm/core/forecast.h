/*
 * When a waiting job starts, as far as can be told: at the latest, if nobody comes before it and
 * all jobs use the whole of their time limits.  With `fill` and `measured` malleable jobs give what
 * they can, as the reservation of the first waiting job counts on it (SPEC-performance X3); with
 * `efficient` what is lent to them alone.  For people; nothing is decided by it.  Pure.
 */

#ifndef ELASTIC_RM_CORE_FORECAST_H_INCLUDED
#define ELASTIC_RM_CORE_FORECAST_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

struct Forecast {
    /* NEVER: it cannot be told (jobs without a time limit, a long queue before it) */
    int64_t start_ms = NEVER;
    JobId waits_for = 0;        /* whose end makes room for it; 0: nobody's */
};

Forecast forecast(const State &state, JobId id);
/* Of a job that is not there, if it were submitted now. */
Forecast forecast_of_new(const State &state, const JobSpec &spec);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_FORECAST_H_INCLUDED */
