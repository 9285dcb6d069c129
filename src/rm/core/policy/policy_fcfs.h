/* First come, first served: a job that does not fit blocks the later ones in its partition. */

#ifndef ELASTIC_RM_CORE_POLICY_FCFS_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_FCFS_H_INCLUDED

#include "core/policy/policy.h"

namespace elastic::rm {

class Fcfs : public Policy {
  public:
    Decisions decide(const State &state) const override;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_FCFS_H_INCLUDED */
