/* See size_rules.h. */

#include "core/policy/size_rules.h"

#include "core/placement.h"
#include "core/pending_changes.h"

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
    return size_without(job.spec, job.size(), job.loaned);
}

Unit unit_of(const State &state, const JobSpec &spec, const Blocks &blocks)
{
    if (!spec.whole_nodes || blocks.empty())
        return {1, spec.cores_per_process};
    const FreeCores &nodes = state.free_cores();
    uint32_t position = nodes.position(blocks.front().node);
    if (position == PositionSet::NONE)
        return {1, spec.cores_per_process};
    int cores = nodes.cores(position);
    return {std::max(capacity_on(spec, cores, cores, 0), 1), cores};
}

int size_in_units(const JobSpec &spec, const Unit &unit, int64_t most)
{
    int size = size_at_most(spec, static_cast<int>(std::min<int64_t>(most, spec.maximum)));
    int next = size > 0 ? size_at_least(spec, size + 1) : 0;
    bool is_full = next == 0 || unit.count(next) > unit.count(size);
    int less = static_cast<int>(unit.count(size) - 1) * unit.processes;
    int full = is_full ? size : size_at_most(spec, less);
    return full > 0 ? full : size;
}

int one_unit_more(const JobSpec &spec, const Unit &unit, int size)
{
    int next = size_at_least(spec, size + 1);
    return next == 0 ? 0 : size_at_most(spec, static_cast<int>(unit.count(next)) * unit.processes);
}

int one_unit_less(const JobSpec &spec, const Unit &unit, int size)
{
    return size_at_most(spec, static_cast<int>(unit.count(size) - 1) * unit.processes);
}

int size_between(const JobSpec &spec, int size, int64_t most)
{
    return static_cast<int>(std::clamp<int64_t>(most, size, spec.maximum));
}

HeldBecause held_without_data(const Job &job)
{
    constexpr int64_t SAMPLES_MIN = 2;  /* J6: enough for a decision, if some loop is distributed */
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
