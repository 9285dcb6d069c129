/* See size_rules.h. */

#include "core/policy/size_rules.h"

namespace elastic::rm {

namespace {

class AnySizes : public SizeRules {
  public:
    bool allows_all() const override { return true; }
    int most(const State &, const Job &job) const override { return job.spec.maximum; }
    bool may_give(const State &, const Job &) const override { return true; }
    int reduced(const State &, const Job &) const override { return 0; }
    Json why(const State &, const Job &, int, const char *) const override { return nullptr; }
    std::string words(const State &, const Job &, int) const override { return "idle cores"; }
};

}  // namespace

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
