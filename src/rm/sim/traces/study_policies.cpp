/* See study_policies.h. */

#include "sim/traces/study_policies.h"

#include "core/policy/policy_fill.h"

namespace elastic::rm {

namespace {

class PreferredSizes : public SizeRules {
  public:
    explicit PreferredSizes(bool grows_beyond) : grows_beyond_(grows_beyond) {}
    int first_size(const State &, const Job &job) const override { return preferred(job.spec); }
    int most(const State &, const Job &job) const override
    {
        int most = grows_beyond_ ? job.spec.maximum : preferred(job.spec);
        return std::max(most, job.size());
    }
    bool may_give(const State &, const Job &) const override { return true; }
    int reduced(const State &, const Job &) const override { return 0; }
    Json why(const State &, const Job &, int, const char *) const override { return nullptr; }
    std::string words(const State &, const Job &, int) const override { return "idle cores"; }

  private:
    static int preferred(const JobSpec &spec)
    {
        return size_at_most(spec, spec.preferred > 0 ? spec.preferred : spec.maximum);
    }

    bool grows_beyond_;
};

}  // namespace

const Policy *study_policy(const std::string &name)
{
    static const PreferredSizes kept(false), exceeded(true);
    static const Fill keep_pref(equal_gain(), kept), pref(equal_gain(), exceeded);
    if (name == "keep-pref")
        return &keep_pref;
    return name == "pref" ? &pref : nullptr;
}

}  // namespace elastic::rm
