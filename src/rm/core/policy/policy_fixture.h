/* For tests of policies: a core with its clock, and the states of its jobs. */

#ifndef ELASTIC_RM_CORE_POLICY_FIXTURE_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_FIXTURE_H_INCLUDED

#include "core/core_driver.h"

namespace elastic::rm {

inline JobState state_of(const CoreDriver &driver, JobId id)
{
    return driver.job(id).state;
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_FIXTURE_H_INCLUDED */
