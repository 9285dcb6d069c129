/* See fill_donors.h. */

#include "core/policy/fill_donors.h"

#include "core/position_ranks.h"

namespace elastic::rm {

bool Donors::shrink_for(const JobSpec &spec, int want, DonorLimit limit, JobId whom)
{
    if (!may_shrink_)
        may_shrink_ = find_donors();
    int capacity = plan_.soon.capacity(spec);
    if (capacity >= want || may_shrink_->empty())
        return capacity >= want;
    Trial trial{plan_.soon, capacity, {}};
    if (plan_.any_loan)
        shrink(trial, spec, want, DonorLimit::LOANS);
    if (limit != DonorLimit::LOANS)
        shrink(trial, spec, want, limit);
    if (trial.capacity < want)
        return false;
    plan_.soon = std::move(trial.space);
    may_shrink_.reset();
    for (const auto &[id, size] : trial.planned) {
        plan_.shrinks[id] = size;
        if (whom != 0)
            plan_.frees_cores_for[id].push_back(whom);
    }
    return true;
}

/* Several rounds, because the waiting job may not be able to use all released cores (whole
 * nodes, several cores per process). */
void Donors::shrink(Trial &trial, const JobSpec &spec, int want, DonorLimit limit)
{
    for (bool progress = true; trial.capacity < want && progress;) {
        progress = false;
        for (const Job *donor : *may_shrink_) {
            auto planned = trial.planned.find(donor->id);
            int from = planned == trial.planned.end() ? plan_.shrunk(*donor) : planned->second;
            int cores = (want - trial.capacity) * spec.cores_per_process;
            int less = (cores + donor->spec.cores_per_process - 1) / donor->spec.cores_per_process;
            int least = floor(*donor, limit), to = shrink_to(*donor, from, less, least);
            if (to >= from || !helps(trial.space, spec, *donor, from, least))
                continue;
            release(trial.space, *donor, from, to);
            trial.planned[donor->id] = to;
            progress = true;
            trial.capacity = trial.space.capacity(spec);
            if (trial.capacity >= want)
                break;
        }
    }
}

/* In the order of donation: the largest first, by the sizes that they will have. */
std::vector<const Job *> Donors::find_donors()
{
    std::vector<std::pair<int64_t, JobId>> order;       /* cores, negative */
    for (const auto &[id, size] : plan_.shrinks) {
        const Job &job = state_.jobs.at(id);
        if (size > lowest(job.spec) && job.offer_after_ms <= state_.now_ms)
            order.emplace_back(-int64_t{size} * job.spec.cores_per_process, id);
    }
    std::sort(order.begin(), order.end());
    std::vector<const Job *> jobs;
    auto planned = order.begin();
    for (const auto &donor : state_.indices().donors) {
        for (; planned != order.end() && *planned < donor; ++planned)
            jobs.push_back(&state_.jobs.at(planned->second));
        const Job &job = state_.jobs.at(donor.second);
        if (!plan_.is_planned(job) &&
            job.offer_after_ms <= state_.now_ms &&
            (job.loaned > 0 || plan_.rules.may_give(state_, job)))
            jobs.push_back(&job);
    }
    for (; planned != order.end(); ++planned)
        jobs.push_back(&state_.jobs.at(planned->second));
    if (!plan_.gain.is_constant())
        sort_by_gain(jobs);
    recheck_when_one_may();
    return jobs;
}

/* By their gain from the next cores that they would release. */
void Donors::sort_by_gain(std::vector<const Job *> &donors) const
{
    std::vector<std::pair<double, const Job *>> order;
    for (const Job *job : donors) {
        int size = plan_.shrunk(*job);
        order.emplace_back(plan_.gain.gain(state_, *job, size, size_at_most(job->spec, size - 1)),
                           job);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    for (size_t i = 0; i < donors.size(); i++)
        donors[i] = order[i].second;
}

void Donors::recheck_when_one_may()
{
    const auto &pauses = state_.indices().pauses;
    for (auto paused = pauses.upper_bound({state_.now_ms, std::numeric_limits<JobId>::max()});
         paused != pauses.end(); ++paused) {
        const Job &job = state_.jobs.at(paused->second);
        if (plan_.moved.contains(job.id) || plan_.shrunk(job) <= lowest(job.spec))
            continue;
        plan_.decisions.recheck_at(paused->first);
        break;
    }
}

int Donors::floor(const Job &job, DonorLimit limit) const
{
    int own = plan_.own_size(job);
    if (limit == DonorLimit::LOANS || (job.loaned > 0 && !plan_.rules.may_give(state_, job)))
        return own;
    if (limit == DonorLimit::MINIMUM)
        return lowest(job.spec);
    int share = size_at_least(job.spec, plan_.fair_shares.size(job.spec));
    /* its share may exceed its maximum */
    return std::min(share > 0 ? share : job.spec.maximum, own);
}

/* Shrinks it by at least `less`, if its floor allows it; `from`: it cannot release any.  With
 * whole nodes it keeps as few as possible, but filled: a partly used node is of no use to
 * others. */
int Donors::shrink_to(const Job &donor, int from, int less, int floor)
{
    int to = std::max(size_at_most(donor.spec, from - less), floor);
    if (!donor.spec.whole_nodes)
        return to;
    const std::vector<Emptied> &emptied = emptied_by(donor);
    auto is_later = [](int leaving, const Emptied &each) { return leaving < each.leaving; };
    int present = donor.size();
    for (;;) {
        auto next = std::upper_bound(emptied.begin(), emptied.end(), present - to, is_later);
        int full =
            next == emptied.begin() ? from : std::min(from, present - std::prev(next)->leaving);
        int filled = std::max(to, size_at_most(donor.spec, full));
        if (filled < from)
            return filled;
        if (to <= floor || next == emptied.end())
            return from;
        to = std::max(size_at_most(donor.spec, std::min(to - 1, present - next->leaving)), floor);
    }
}

namespace {

/* Visits the job's blocks in the order in which their processes leave (choose_leaving), with the
 * number that left before. */
template <class Visit> void each_leaving(const State &state, const Job &job, Visit visit)
{
    const FreeCores &nodes = state.free_cores();
    int leaving = 0;
    for (bool up : {false, true}) {
        if (!up && nodes.all_usable())
            continue;
        for (auto block = job.blocks.rbegin(); block != job.blocks.rend(); ++block) {
            uint32_t position = nodes.position(block->node);
            if (nodes.usable(position) != up)
                continue;
            visit(position, leaving, block->processes);
            leaving += block->processes;
        }
    }
}

}  // namespace

/* For a job that names nodes or needs GPUs: whether the donor can leave a node that this job can
 * use.  While listed nodes have no capacity, only these count. */
bool Donors::helps(const Space &space, const JobSpec &spec, const Job &donor, int from,
                   int to) const
{
    auto is_full = [&](const NodeName &node) {
        return space.capacity_within(spec, {{node, 0}}) == 0;
    };
    if (any_node_will_do(spec))
        return true;
    bool lacks = std::ranges::any_of(spec.nodelist, is_full), helps = false;
    int first = donor.size() - from, end = donor.size() - to;
    each_leaving(state_, donor, [&](uint32_t position, int before, int processes) {
        const Node &node = state_.free_cores().node(position);
        int leaving = std::min(before + processes, end) - std::max(before, first);
        bool leaves = leaving > 0;
        int gpus = leaves ? leaving * donor.spec.gpus_per_process : 0;
        bool counts = !lacks || (spec.nodelist.contains(node.name) && is_full(node.name));
        helps = helps || (leaves && counts && space.may_help(spec, node, gpus));
    });
    return helps;
}

/* The job keeps a whole node with slots beside its world. */
void Donors::keep_slots(const Job &job, std::vector<Emptied> &emptied)
{
    for (const Block &block : slots_of(job))
        std::erase_if(emptied, [&](const Emptied &each) { return block.node == each.node->name; });
}

const std::vector<Donors::Emptied> &Donors::emptied_by(const Job &job)
{
    auto [known, is_new] = emptied_.try_emplace(job.id);
    std::vector<Emptied> &emptied = known->second;
    if (!is_new)
        return emptied;
    const FreeCores &nodes = state_.free_cores();
    PositionRanks left(nodes.positions());
    bool each_once = true;
    emptied.reserve(job.blocks.size());
    each_leaving(state_, job, [&](uint32_t position, int before, int processes) {
        each_once = left.mark(position) && each_once;
        emptied.push_back({before + processes, &nodes.node(position)});
    });
    if (each_once) {
        keep_slots(job, emptied);
        return emptied;
    }
    /* It has left a node when the last of its processes there has left. */
    std::vector<int> last(left.count());
    for (const Emptied &each : emptied)
        last[left.rank(each.node->position)] = each.leaving;
    std::erase_if(emptied, [&](const Emptied &each) {
        return each.leaving != last[left.rank(each.node->position)];
    });
    keep_slots(job, emptied);
    return emptied;
}

/* Releases the booking of processes that leave between the two sizes. */
void Donors::release(Space &space, const Job &job, int from, int to)
{
    int first = job.size() - from, end = job.size() - to;
    Shares given;
    if (job.spec.whole_nodes) {
        for (const Emptied &each : emptied_by(job)) {
            if (each.leaving > first && each.leaving <= end)
                given.push_back({each.node, each.node->cores});
        }
    } else {
        each_leaving(state_, job, [&](uint32_t position, int before, int processes) {
            int here = std::min(before + processes, end) - std::max(before, first);
            if (here > 0)
                given.push_back({&state_.free_cores().node(position),
                                 here * job.spec.cores_per_process,
                                 here * job.spec.gpus_per_process});
        });
    }
    space.give(given);
}

}  // namespace elastic::rm
