/* See fill_donors.h. */

#include "core/policy/fill_donors.h"

namespace elastic::rm {

/* Several rounds, since what is given need not be what the waiting job can use (whole nodes,
 * several cores per process). */
bool Donors::shrink_for(const JobSpec &spec, int want, bool below_share)
{
    std::vector<const Job *> donors = may_shrink();
    int room = plan_.soon.room(spec);
    if (room >= want || donors.empty())
        return room >= want;
    Space trial = plan_.soon;
    std::map<JobId, int> planned;
    for (bool progress = true; room < want && progress;) {
        progress = false;
        for (const Job *donor : donors) {
            int from = planned.contains(donor->id) ? planned[donor->id] : plan_.shrunk(*donor);
            int cores = (want - room) * spec.cores_per_process;
            int less = (cores + donor->spec.cores_per_process - 1) / donor->spec.cores_per_process;
            int to = shrink_to(*donor, from, less, floor(*donor, below_share));
            if (to >= from)
                continue;
            release(trial, *donor, from, to);
            planned[donor->id] = to;
            progress = true;
            room = trial.room(spec);
            if (room >= want)
                break;
        }
    }
    if (room < want)
        return false;
    plan_.soon = std::move(trial);
    for (const auto &[id, size] : planned)
        plan_.shrinks[id] = size;
    return true;
}

/* In the order in which they give: the largest first, by the sizes that they will have. */
std::vector<const Job *> Donors::may_shrink()
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
        if (!plan_.shrinks.contains(job.id) && !plan_.moved.contains(job.id) &&
            job.offer_after_ms <= state_.now_ms && plan_.rules.may_give(state_, job))
            jobs.push_back(&job);
    }
    for (; planned != order.end(); ++planned)
        jobs.push_back(&state_.jobs.at(planned->second));
    if (!plan_.gain.is_constant())
        sort_by_gain(jobs);
    look_again_when_one_may();
    return jobs;
}

/* By what the next cores are worth to them that they would give. */
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

void Donors::look_again_when_one_may()
{
    const auto &pauses = state_.indices().pauses;
    for (auto paused = pauses.upper_bound({state_.now_ms, std::numeric_limits<JobId>::max()});
         paused != pauses.end(); ++paused) {
        const Job &job = state_.jobs.at(paused->second);
        if (plan_.moved.contains(job.id) || plan_.shrunk(job) <= lowest(job.spec))
            continue;
        plan_.decisions.look_again_at(paused->first);
        break;
    }
}

int Donors::floor(const Job &job, bool below_share) const
{
    if (below_share)
        return lowest(job.spec);
    int share = size_at_least(job.spec, plan_.fair_size(job.spec));
    return share > 0 ? share : job.spec.maximum;        /* its share is more than it can have */
}

/* At least `less` less, if its floor allows it; `from`: it cannot give anything.  Of whole nodes it
 * keeps no more than it must, and as many processes as they hold: a node that stays is of no use to
 * others. */
int Donors::shrink_to(const Job &donor, int from, int less, int floor) const
{
    int to = std::max(size_at_most(donor.spec, from - less), floor);
    if (!donor.spec.whole_nodes)
        return to;
    std::vector<int> emptied = emptied_at(donor);
    int present = donor.size();
    for (;;) {
        auto next = std::upper_bound(emptied.begin(), emptied.end(), present - to);
        int full = next == emptied.begin() ? from : std::min(from, present - *std::prev(next));
        int filled = std::max(to, size_at_most(donor.spec, full));
        if (filled < from)
            return filled;
        if (to <= floor || next == emptied.end())
            return from;
        to = std::max(size_at_most(donor.spec, std::min(to - 1, present - *next)), floor);
    }
}

/* How many processes have to leave until the job has left one of its nodes, two, three, ...: in the
 * order of choose_leaving. */
std::vector<int> Donors::emptied_at(const Job &job) const
{
    const FreeCores &nodes = state_.free_cores();
    std::vector<int> last(nodes.positions());  /* by position; 0: nothing of it is there */
    std::vector<uint32_t> positions;
    int leaving = 0;
    for (bool up : {false, true}) {
        for (auto block = job.blocks.rbegin(); block != job.blocks.rend(); ++block) {
            const Node *node = state_.node(block->node);
            if (nodes.usable(*node) != up)
                continue;
            if (last[node->position] == 0)
                positions.push_back(node->position);
            last[node->position] = leaving += block->processes;
        }
    }
    std::vector<int> emptied;
    for (uint32_t position : positions)
        emptied.push_back(last[position]);
    if (!std::is_sorted(emptied.begin(), emptied.end()))
        std::sort(emptied.begin(), emptied.end());
    return emptied;
}

void Donors::release(Space &space, const Job &job, int from, int to) const
{
    auto world = [&](int size) {
        return without(job.blocks, choose_leaving(state_, job.blocks, job.size() - size));
    };
    Shares before = state_.shares(job.spec, world(from)),
           after = state_.shares(job.spec, world(to));
    leave_differences(before, after);
    space.give(before);
    space.take(after);
}

}  // namespace elastic::rm
