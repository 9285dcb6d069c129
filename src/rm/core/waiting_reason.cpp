/* See state.h: the reason why a job waits, as text for users. */

#include "core/placement.h"

namespace elastic::rm {

namespace {

/* "reservation one", "reservations one, two" */
std::string reservations_of(const Partition &partition)
{
    std::string names = partition.without.size() == 1 ? "reservation " : "reservations ";
    for (const std::string &each : partition.without)
        names += (&each == &partition.without.front() ? "" : ", ") + each;
    return names;
}

/* For a job that may have no nodes because of reservations. */
std::string why_reserved(const State &state, const JobSpec &spec)
{
    if (spec.reservation.empty())
        return "Reserved: " + reservations_of(*spec.in) +
               " needs its nodes before its time limit would end";
    const NodeReservation *own = state.reservation(spec.reservation);
    std::string name = "reservation " + spec.reservation;
    if (!own)
        return "Reserved: there is no " + name + " any more";
    if (own->from_ms > state.now_ms)
        return "Reserved: " + name + " has not begun";
    if (own->until_ms <= state.now_ms)
        return "Reserved: " + name + " has ended";
    return "Reserved: its time limit would end after " + name +
           " ('elastic update JOB -t TIME' changes it)";
}

/* For a job that names nodes; empty: enough of them are up. */
std::string why_nodes_are_missing(const State &state, const JobSpec &spec)
{
    if (std::string missing = state.missing_node(spec); !missing.empty()) {
        const Node *node = state.node(missing);
        std::string why = node ? node->why() : "";
        return "ReqNodeNotAvail: node " + missing + " of its node list " +
               (node ? std::string("is ") + to_string(node->state()) : "does not exist any more") +
               (why.empty() ? "" : " (" + why + ")");
    }
    bool lacks = !any_node_will_do(spec) &&
        state.capacity_when_empty(spec, true) < size_at_least(spec, 1);
    if (!lacks)
        return "";
    bool is_reduced = spec.reservation.empty() && spec.in && !spec.in->without.empty();
    if (is_reduced &&
        state.capacity_when_empty(state.unreserved(spec), true) >= size_at_least(spec, 1))
        return why_reserved(state, spec);
    std::string which = needs_gpus(spec) ? "with GPUs" : "that it does not exclude";
    if (!spec.reservation.empty())
        which = "of reservation " + spec.reservation;
    else if (!nodes_of_partition(spec).empty())
        which = "of partition " + spec.partition + (spec.exclude.empty() ? "" : " " + which);
    else if (spec.exclude.empty() && !needs_gpus(spec))
        return "ReqNodeNotAvail: it needs " + std::to_string(spec.nodes) +
               (spec.nodes == 1 ? " whole node" : " whole nodes") +
               ", and nodes are down or draining";
    return "ReqNodeNotAvail: nodes " + which + " are down or draining";
}

/* For a partition that starts no jobs. */
std::string why_partition_is_closed(const Partition &partition)
{
    if (partition.state == PartitionState::DOWN)
        return "PartitionDown: partition " + partition.name + " is down";
    return "PartitionNotAvail: " +
           (partition.name.empty()
                ? "it names no partition, and none is the default"
                : "there is no partition " + partition.name + " any more") +
           " ('elastic update JOB --partition NAME' moves it)";
}

/* A limit of a user, or of one of the groups of a job. */
struct Limited {
    std::string who;
    int64_t running, running_max, cores, cores_max;
    bool is_full = false;       /* another member waits for it */
    std::string budget = "";    /* if it is used up */
};

/* "3000 of 3000 core minutes in this period, which ends in 4:30 h"; empty: it is not used up. */
std::string used_budget(const State &state, const GroupLimit &limit)
{
    constexpr int64_t MINUTE_MS = 60000, MINUTES_MAX = 6000;
    if (!state.is_spent(limit))
        return "";
    bool in_minutes = limit.budget_ms < MINUTES_MAX * MINUTE_MS;
    int64_t unit_ms = MINUTE_MS * (in_minutes ? 1 : 60);
    int64_t left_min =
        (period_end_ms(limit, state.now_ms) - state.now_ms + MINUTE_MS - 1) / MINUTE_MS;
    std::string minutes = std::to_string(left_min % 60);
    return std::to_string(state.group_times.at(limit.name).core_ms / unit_ms) + " of " +
           std::to_string(limit.budget_ms / unit_ms) + " core " +
           (in_minutes ? "minutes" : "hours") + " in this period, which ends in " +
           std::to_string(left_min / 60) + ":" + (minutes.size() < 2 ? "0" : "") + minutes + " h";
}

/* "the limit of user ann: 2 of 2 running jobs, 7 of 8 cores" */
std::string describe(const Limited &limited)
{
    std::string used;
    auto add = [&](int64_t number, int64_t most, const char *what) {
        if (most > 0)
            used += (used.empty() ? ": " : ", ") + std::to_string(number) + " of " +
                    std::to_string(most) + what;
    };
    add(limited.running, limited.running_max, " running jobs");
    add(limited.cores, limited.cores_max, " cores");
    if (!limited.budget.empty())
        used += (used.empty() ? ": " : ", ") + limited.budget;
    return "the limit of " + limited.who + used;
}

/* The first limit that the job would exceed; else it waits for an earlier job that would exceed
 * it. */
std::string why_user_is_full(const State &state, const JobSpec &spec)
{
    auto user = state.of_user(spec.uid);
    std::vector<Limited> all = {
        {"user " + (spec.user.empty() ? std::to_string(spec.uid) : spec.user), user.running,
         state.config.user_running_max, user.cores, state.config.user_cores_max}};
    for (const std::string &name : spec.groups) {
        const GroupLimit *group = find_group(state.config.groups, name);
        GroupUse use = state.of_group(name);
        if (group)
            all.push_back({"group " + name, use.running, group->running_max, use.cores,
                           group->cores_max, state.full_groups.contains(name),
                           used_budget(state, *group)});
    }
    int64_t cores = int64_t{size_at_least(spec, 1)} * spec.cores_per_process;
    auto exceeds = [&](const Limited &each) {
        return (each.running_max > 0 && each.running >= each.running_max) ||
               (each.cores_max > 0 && each.cores + cores > each.cores_max) ||
               !each.budget.empty();
    };
    auto first = std::ranges::find_if(all, exceeds);
    if (first == all.end())
        first = std::ranges::find_if(all, [&](const Limited &each) {
            return each.is_full;
        });
    if (first != all.end())
        return describe(*first);
    return describe(all.front());
}

/* Whether it could start now if it needed no GPUs. */
bool lacks_gpus_alone(const State &state, const JobSpec &spec)
{
    if (!needs_gpus(spec))
        return false;
    int size = size_at_least(spec, 1);
    JobSpec without = spec;
    without.gpus_per_process = without.gpus_per_node = 0;
    Space now(state);
    return now.fits(without, size) && !now.fits(spec, size);
}

}  // namespace

std::string why_waiting(const State &state, const Job &job)
{
    if (job.held)
        return job.held_by_administrator ? "held by an administrator" : "held";
    if (job.spec.in && job.spec.in->state == PartitionState::RESERVED)
        return why_reserved(state, job.spec);
    if (job.spec.in && !starts_jobs(*job.spec.in))
        return why_partition_is_closed(*job.spec.in);
    if (!job.waits_for.empty()) {
        const Dependency &first = job.waits_for.front();
        constexpr const char *WHAT[] = {"starts", "ends", "ends without error", "fails"};
        static_assert(std::size(WHAT) == std::size(NamesOf<DependencyKind>::names));
        std::string what = WHAT[static_cast<size_t>(first.kind)];
        std::string who = first.array ? "each task of array " : "job ";
        size_t more = job.waits_for.size() - 1;
        return "waits until " + who + std::to_string(first.job) + " " + what +
               (more ? ", and for " + std::to_string(more) + " more" : "");
    }
    if (job.deferred)
        return "its begin time has not been reached";
    if (job.task && job.task->waits)
        return "the limit of its array: " +
            std::to_string(state.arrays.at(job.task->array).limit) + " tasks run at once";
    if (state.full_users.contains(job.spec.uid))
        return why_user_is_full(state, job.spec);
    if (state.starts_pause())
        return state.start_pause.reason;
    if (job.offer_after_ms > state.now_ms)
        return job.reason.empty() ? "pauses" : job.reason;
    if (std::string why = why_nodes_are_missing(state, job.spec); !why.empty())
        return why;
    int64_t cores = int64_t{size_at_least(job.spec, 1)} * job.spec.cores_per_process;
    if (cores > state.indices().up_cores)
        return "nodes are down or draining";
    const Job *first = first_in_queue(state, job);
    if (first && first->id != job.id)
        return WAITS_BEHIND;
    if (lacks_gpus_alone(state, job.spec))
        return "resources: GPUs";
    bool is_reduced = job.spec.in && !job.spec.in->without.empty();
    return is_reduced ? "resources: other nodes are for " + reservations_of(*job.spec.in)
                      : "resources";
}

const Job *first_in_queue(const State &state, const Job &waiting)
{
    constexpr int EXAMINED_MAX = 100;
    const auto &queue = state.indices().queue;
    int left = waiting.spec.in ? EXAMINED_MAX : 0;
    for (auto next = queue.begin(); left > 0 && next != queue.end(); ++next, left--) {
        const Job &job = state.jobs.at(next->job);
        if (queue_of(job.spec) == queue_of(waiting.spec))
            return &job;
    }
    return queue.empty() ? nullptr : &state.jobs.at(queue.begin()->job);
}

}  // namespace elastic::rm
