/* The policies that elasticd has. */

#ifndef ELASTIC_RM_CORE_POLICIES_H_INCLUDED
#define ELASTIC_RM_CORE_POLICIES_H_INCLUDED

#include "core/policy/policy.h"

namespace elastic::rm {

const Policy &policy(PolicyKind kind);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICIES_H_INCLUDED */
