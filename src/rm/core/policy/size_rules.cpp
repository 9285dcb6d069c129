/* See size_rules.h. */

#include "core/policy/size_rules.h"

#include "core/placement.h"
#include "core/settling.h"

namespace elastic::rm {

namespace {

class AnySizes : public SizeRules {
  public:
    bool allows_all() const override { return true; }
    int most(const State &, const Job &job) const override { return job.spec.maximum; }
    bool may_give(const State &, const Job &) const override { return true; }
    int reduced(const State &, const Job &) const override { return 0; }
    Json why(const State &, const Job &job, int size, const char *rule) const override
    {
        return {{"rule", rule}, {"size", size}, {"most", largest_wanted(job)}};
    }
    std::string words(const State &, const Job &, int) const override { return "idle cores"; }
};

}  // namespace

int SizeRules::own_size(const State &, const Job &job) const
{
    return size_without(job.spec, job.size(), job.lent);
}

int processes_of_node(const State &state, const Job &job)
{
    const Node *node =
        job.spec.whole_nodes && !job.blocks.empty() ? state.node(job.blocks.front().node) : nullptr;
    return node ? std::max(room_on(job.spec, node->cores, node->cores, 0), 1) : 1;
}

HeldBecause held_without_data(const Job &job)
{
    constexpr int64_t SAMPLES_MIN = 2;  /* J6: enough to decide by, if there is a loop of all */
    bool is_sampled = job.performance && job.performance->samples >= SAMPLES_MIN;
    return is_sampled && job.performance->phase.empty() ? HeldBecause::NOT_SPMD
                                                        : HeldBecause::NO_DATA;
}

const SizeRules &any_sizes()
{
    static const AnySizes rules;
    return rules;
}

}  // namespace elastic::rm
