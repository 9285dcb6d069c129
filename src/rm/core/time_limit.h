/* The time limit of a job: its own, or the default of its partition or of the site. */

#ifndef ELASTIC_RM_CORE_TIME_LIMIT_H_INCLUDED
#define ELASTIC_RM_CORE_TIME_LIMIT_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

/* Milliseconds; 0: none. */
int64_t time_limit(const State &state, const JobSpec &spec);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_TIME_LIMIT_H_INCLUDED */
