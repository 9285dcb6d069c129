/* See study_policies.h. */

#include "sim/traces/study_policies.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/policy/policy_fill.h"

namespace elastic::rm {

namespace {

int preferred_size(const JobSpec &spec)
{
    return size_at_most(spec, spec.preferred > 0 ? spec.preferred : spec.maximum);
}

/* ---- sizes at start and growth --------------------------------------------------------------- */

class StudySizes : public SizeRules {
  public:
    int most(const State &, const Job &job) const override
    {
        return std::max(job.spec.maximum, job.size());
    }
    bool may_give(const State &, const Job &) const override { return true; }
    int reduced(const State &, const Job &) const override { return 0; }
    Json why(const State &, const Job &, int, const char *) const override { return nullptr; }
    std::string words(const State &, const Job &, int) const override { return "idle cores"; }
};

class PreferredSizes : public StudySizes {
  public:
    explicit PreferredSizes(bool grows_beyond) : grows_beyond_(grows_beyond) {}
    int first_size(const State &, const Job &job) const override
    {
        return preferred_size(job.spec);
    }
    int most(const State &state, const Job &job) const override
    {
        return grows_beyond_ ? StudySizes::most(state, job)
                             : std::max(preferred_size(job.spec), job.size());
    }

  private:
    bool grows_beyond_;
};

/* ---- donors and recipients ------------------------------------------------------------------- */

/* The value of a core decreases with its distance above the size; 1 is the size's own last core. */
double worth_above(int size, int core)
{
    int above = core - size;
    return above >= 0 ? 1.0 / (1 + above) : 1.0 - above;
}

class AboveLeast : public Gain {
  public:
    double gain(const State &, const Job &job, int from, int to) const override
    {
        return worth_above(size_at_least(job.spec, 1), std::max(from, to));
    }
};

class AbovePreferred : public Gain {
  public:
    double gain(const State &, const Job &job, int from, int to) const override
    {
        return worth_above(preferred_size(job.spec), std::max(from, to));
    }
};

class PartOfRange : public Gain {
  public:
    double gain(const State &, const Job &job, int from, int to) const override
    {
        int least = size_at_least(job.spec, 1), range = std::max(job.spec.maximum - least, 1);
        return 2 - static_cast<double>(std::max(from, to) - least) / range;
    }
};

using StudyPolicies = std::array<std::pair<const char *, const Policy *>, 5>;

const StudyPolicies &study_policies()
{
    static const PreferredSizes observed(false), exceeded(true);
    static const StudySizes least;
    static const AboveLeast above_least;
    static const AbovePreferred above_preferred;
    static const PartOfRange part_of_range;
    static const Fill keep_pref(equal_gain(), observed), pref(equal_gain(), exceeded),
        min_common_pool(above_least, least), pref_common_pool(above_preferred, exceeded),
        average_steal_agreement(part_of_range, least);
    static const StudyPolicies all = {{
        {"keep-pref", &keep_pref},
        {"pref", &pref},
        {"min-common-pool", &min_common_pool},
        {"pref-common-pool", &pref_common_pool},
        {"average-steal-agreement", &average_steal_agreement},
    }};
    return all;
}

}  // namespace

std::vector<std::string> study_policy_names()
{
    std::vector<std::string> names;
    for (const auto &[name, policy] : study_policies())
        names.emplace_back(name);
    return names;
}

const Policy *study_policy(const std::string &name)
{
    for (const auto &[known, policy] : study_policies()) {
        if (name == known)
            return policy;
    }
    return nullptr;
}

bool has_preferred_sizes(const std::string &name)
{
    return name == "keep-pref" || name == "pref" || name == "pref-common-pool";
}

}  // namespace elastic::rm
