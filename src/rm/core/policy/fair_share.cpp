/* See fair_share.h. */

#include "core/policy/fair_share.h"

#include "core/policy/policy.h"

namespace elastic::rm {

namespace {

constexpr int64_t UNIT = 1 << 16;       /* parts of a core or GPU in these computations */
constexpr int64_t ROUNDING = 16;        /* of these: their error */
constexpr int PASSES = 8;

/* The cores or GPUs of nodes that the same kinds of jobs may use, and the parts that these get. */
struct Pool {
    int64_t amount = 0;
    std::vector<int64_t> parts = {};
};
using Pools = std::map<std::vector<size_t>, Pool>;      /* by these kinds */

/* Divides it again: the kinds whose jobs have least get more, until all are equal. */
void divide_again(const std::vector<size_t> &kinds, Pool &pool, const std::vector<int64_t> &jobs,
                  std::vector<int64_t> &sums)
{
    for (size_t i = 0; i < pool.parts.size(); i++)
        sums[kinds[i]] -= pool.parts[i];
    std::vector<size_t> order = kinds;
    std::ranges::sort(order, [&](size_t a, size_t b) {
        return sums[a] * jobs[b] < sums[b] * jobs[a];
    });
    int64_t sum = pool.amount * UNIT, sharers = 0;
    for (size_t kind : order) {
        if (sharers > 0 && sums[kind] * sharers >= sum * jobs[kind])
            break;
        sum += sums[kind];
        sharers += jobs[kind];
    }
    pool.parts.clear();
    for (size_t kind : kinds) {
        pool.parts.push_back(std::max<int64_t>(sum / sharers * jobs[kind] - sums[kind], 0));
        sums[kind] += pool.parts.back();
    }
}

/* What each job of a kind gets.  Pools of few kinds come first: more passes are needed only if
 * pools overlap in part. */
std::vector<int64_t> each_gets(Pools &pools, const std::vector<int64_t> &jobs)
{
    std::vector<Pools::value_type *> order;
    for (Pools::value_type &each : pools)
        order.push_back(&each);
    std::ranges::stable_sort(order, {}, [](const auto *each) { return each->first.size(); });
    std::vector<int64_t> sums(jobs.size());
    for (int pass = 0; pass < (order.size() > 1 ? PASSES : 1); pass++) {
        for (Pools::value_type *each : order)
            divide_again(each->first, each->second, jobs, sums);
    }
    for (size_t i = 0; i < sums.size(); i++)
        sums[i] = (sums[i] / jobs[i] + ROUNDING) / UNIT;
    return sums;
}

}  // namespace

FairShares::Kind FairShares::kind_of(const JobSpec &spec)
{
    bool some_nodes = spec.in && !spec.in->nodes.empty();
    return {some_nodes ? spec.in.get() : nullptr, needs_gpus(spec), spec.exclude};
}

FairShares::Shares FairShares::jobs_of_kinds() const
{
    Shares shares;
    for (JobId id : state_.indices().allocated)
        shares[kind_of(state_.jobs.at(id).spec)].jobs++;
    const auto &queue = state_.indices().queue;
    int left = waiting_sharers(state_);
    for (auto next = queue.begin(); left > 0 && next != queue.end(); ++next, left--)
        shares[kind_of(state_.jobs.at(next->job).spec)].jobs++;
    return shares;
}

int FairShares::size(const JobSpec &spec) const
{
    Kind kind = kind_of(spec);
    if (!shares_ || !shares_->contains(kind)) {
        shares_ = jobs_of_kinds();
        int64_t &jobs = (*shares_)[kind].jobs;
        jobs = std::max<int64_t>(jobs, 1);
        divide(*shares_);
    }
    const Share &share = shares_->at(kind);
    int64_t size = share.cores / spec.cores_per_process;
    if (spec.gpus_per_process > 0)
        size = std::min(size, share.gpus / spec.gpus_per_process);
    return static_cast<int>(size);
}

bool FairShares::depend_on_jobs() const
{
    bool differ = state_.is_divided() || state_.free_cores().has_gpus();
    return shares_ && (differ || shares_->size() > 1 || shares_->begin()->first != Kind());
}

void FairShares::divide(Shares &shares) const
{
    if (shares.size() == 1 && shares.begin()->first == Kind()) {
        Share &all = shares.begin()->second;
        all.cores = state_.indices().up_cores / all.jobs;
        return;
    }
    std::vector<int64_t> jobs;
    std::vector<const PositionSet *> within;
    for (const auto &[kind, share] : shares) {
        const Partition *partition = std::get<const Partition *>(kind);
        jobs.push_back(share.jobs);
        within.push_back(partition ? &state_.positions(partition->nodes) : nullptr);
    }
    const FreeCores &nodes = state_.free_cores();
    Pools cores, gpus;
    std::vector<size_t> all, with_gpus;         /* the kinds that may use a node */
    for (uint32_t at = 0; at < nodes.positions(); at++) {
        if (!nodes.usable(at))
            continue;
        const Node &node = nodes.node(at);
        all.clear();
        with_gpus.clear();
        for (size_t i = 0; const auto &[kind, share] : shares) {
            const auto &[partition, needs_gpus, exclude] = kind;
            bool may_use = (!partition || within[i]->next(at) == at) &&
                (!needs_gpus || node.gpus > 0) && !exclude.contains(node.name);
            if (may_use)
                all.push_back(i);
            if (may_use && needs_gpus)
                with_gpus.push_back(i);
            i++;
        }
        if (!all.empty())
            cores[all].amount += node.cores;
        if (!with_gpus.empty())
            gpus[with_gpus].amount += node.gpus;
    }
    std::vector<int64_t> of_cores = each_gets(cores, jobs), of_gpus = each_gets(gpus, jobs);
    for (size_t i = 0; auto &[kind, share] : shares) {
        share.cores = of_cores[i];
        share.gpus = of_gpus[i++];
    }
}

}  // namespace elastic::rm
