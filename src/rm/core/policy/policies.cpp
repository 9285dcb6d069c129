/* See policies.h. */

#include "core/policy/policies.h"

#include "core/policy/policy_easy.h"
#include "core/policy/policy_efficient.h"
#include "core/policy/policy_fcfs.h"
#include "core/policy/policy_fill.h"
#include "core/policy/policy_measured.h"

namespace elastic::rm {

const Policy &policy(PolicyKind kind)
{
    static const Fcfs fcfs;
    static const Easy easy;
    static const Fill fill;
    switch (kind) {
        case PolicyKind::FCFS: return fcfs;
        case PolicyKind::EASY: return easy;
        case PolicyKind::FILL: return fill;
        case PolicyKind::EFFICIENT: return efficient_policy();
        case PolicyKind::MEASURED: return measured_policy();
    }
    return fcfs;
}

}  // namespace elastic::rm
