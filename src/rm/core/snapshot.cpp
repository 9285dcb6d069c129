/* See core.h: the state as JSON and back.  Indices are not stored: they follow from the rest. */

#include "core/core_impl.h"
#include "core/job_contradictions.h"

namespace elastic::rm {

namespace {

constexpr int SNAPSHOT_VERSION = 1;

/* The stored form of State. */
struct Stored {
    int version = SNAPSHOT_VERSION;
    Config config;
    int64_t now_ms = 0;
    uint64_t seq = 0;
    std::vector<Job> jobs;
    std::vector<Node> nodes;
    JobId last_job = 0;
    uint64_t records = 0, unexpected = 0;
    int64_t timer_ms = NEVER, next_poll_ms = NEVER, policy_at_ms = NEVER;
    int wanted_nodes = 0;
    std::string wanted_by;
    StartPause start_pause;
    std::vector<Use> uses;
    int64_t uses_at_ms = NEVER;
    std::vector<GroupTime> group_times;
    std::vector<uint32_t> full_users;
    std::vector<std::string> full_groups;
    std::vector<Learned> learned;
    std::vector<JobId> finished;
    std::vector<Turn> turns;
    std::vector<JobArray> arrays;
    JobId to_enter = 0;
    ELASTIC_FIELDS(version, config, now_ms, seq, jobs, nodes, last_job, records, unexpected,
                   timer_ms, next_poll_ms, policy_at_ms, wanted_nodes, wanted_by, uses, uses_at_ms,
                   full_users, learned, finished, turns, arrays, to_enter, full_groups,
                   group_times, start_pause)
};

/* A part of it. */
struct Part {
    std::vector<Node> nodes;
    std::vector<Job> jobs;
    ELASTIC_FIELDS(nodes, jobs)
};

template <class List> void move_to_end(List &list, List &more)
{
    std::move(more.begin(), more.end(), std::back_inserter(list));
}

/* Each task has its array, and each known array has a task. */
std::string contradiction_of_arrays(const Stored &stored)
{
    std::map<JobId, JobArray> arrays;
    for (const JobArray &array : stored.arrays) {
        if (std::string wrong = check(array); !wrong.empty())
            return wrong;
        arrays[array.job] = array;
    }
    std::map<JobId, int> known;
    for (const Job &job : stored.jobs) {
        if (!job.task)
            continue;
        auto array = arrays.find(job.task->array);
        if (array == arrays.end() || job.id < array->first ||
            job.id >= array->first + static_cast<JobId>(array->second.tasks))
            return "job " + std::to_string(job.id) + " is a task of no array";
        known[array->first]++;
    }
    for (const auto &[id, array] : arrays) {
        if (known[id] != array.tasks - array.discarded)
            return "array " + std::to_string(id) + " has " + std::to_string(known[id]) + " tasks";
    }
    return "";
}

bool wrong_count(const Blocks &blocks, const ProcessGpus &gpus)
{
    return !gpus.empty() && gpus.size() != static_cast<size_t>(count_processes(blocks));
}

/* Empty, or a contradiction that the core could not handle. */
std::string contradiction(const Stored &stored)
{
    if (std::string wrong = check(stored.config); !wrong.empty())
        return wrong;
    if (stored.wanted_nodes < 0)
        return "others want " + std::to_string(stored.wanted_nodes) + " nodes";
    if (stored.uses_at_ms < NEVER || stored.uses_at_ms > stored.now_ms)
        return "use is counted up to the future";
    for (const Use &use : stored.uses) {
        if (use.core_ms < 0 || use.core_ms > int64_t{1} << 60 || use.delay_ms < 0 ||
            use.delay_ms > stored.config.fair_share_ms)
            return "user " + std::to_string(use.uid) + " has a wrong use";
    }
    for (const GroupTime &time : stored.group_times) {
        if (time.core_ms < 0 || time.core_ms > int64_t{1} << 60 || time.until_ms < 0 ||
            time.until_ms > stored.now_ms)
            return "group " + time.name + " has a wrong core time";
    }
    for (const Learned &learned : stored.learned)
        if (std::string wrong = check(learned); !wrong.empty())
            return wrong;
    if (stored.learned.size() > LEARNED_PROGRAMS_MAX)
        return "too many programs are stored";
    std::set<std::string> nodes;
    for (const Node &node : stored.nodes)
        nodes.insert(node.name);
    std::set<JobId> ids, ends;
    for (const Job &job : stored.jobs) {
        std::string name = "job " + std::to_string(job.id);
        if (std::string wrong = check(job.spec); !wrong.empty())
            return name + ": " + wrong;
        std::string wrong = job.performance ? check(*job.performance) : "";
        if (wrong.empty() && job.performance && job.performance->newest.epoch != job.epoch)
            wrong = "it is measured in another epoch";
        if (!wrong.empty())
            return name + ": " + wrong;
        if (job.id == 0 || job.id > stored.last_job || !ids.insert(job.id).second)
            return name + " is there twice, or later than the last one";
        if (is_end(job.state))
            ends.insert(job.id);
        Blocks all = job.blocks;
        if (job.adaptation)
            all.insert(all.end(), job.adaptation->joining.begin(), job.adaptation->joining.end());
        for (const Departure &departure : job.departures)
            all.insert(all.end(), departure.blocks.begin(), departure.blocks.end());
        bool wrong_name = std::ranges::any_of(
            job.names, [](const PublishedName &each) { return !check(each).empty(); });
        if (wrong_name || job.names.size() > JOB_NAMES_MAX ||
            (!job.names.empty() && !is_allocated(job.state)))
            return name + " has wrong names";
        if (job.slots) {
            Blocks slots = slots_of(job);
            bool wrong_count = std::ranges::any_of(
                slots, [](const Block &block) { return block.processes < 1; });
            bool wrong_grant = std::ranges::any_of(job.slots->grants, [&](const SlotGrant &grant) {
                return grant.number > job.slots->granted;
            });
            if (!is_allocated(job.state) || wrong_count || wrong_grant)
                return name + " has wrong slots beside its world";
            all.insert(all.end(), slots.begin(), slots.end());
        }
        bool has_wrong_gpus = wrong_count(job.blocks, job.process_gpus) ||
            (job.adaptation && wrong_count(job.adaptation->joining, job.adaptation->gpus)) ||
            std::ranges::any_of(job.departures, [](const Departure &each) {
                return wrong_count(each.blocks, each.gpus);
            });
        if (has_wrong_gpus)
            return name + " has GPUs for another number of processes";
        for (const Block &block : all) {
            if (is_allocated(job.state) && !nodes.contains(block.node))
                return name + " is on node " + block.node + ", which is not known";
        }
        if (std::string why = contradiction(job); !why.empty())
            return name + " " + why;
        if (job.deferred &&
            (job.state != JobState::PENDING || job.deadline_ms != job.spec.begin_ms))
            return name + " waits for no time";
    }
    std::set<Awaited> turns;
    for (const Turn &turn : stored.turns)
        turns.insert({turn.job, turn.array});
    std::map<Awaited, JobState> states;
    for (const Job &job : stored.jobs)
        states[{job.id, false}] = job.state;
    if (std::string wrong = contradiction_of_arrays(stored); !wrong.empty())
        return wrong;
    for (const JobArray &array : stored.arrays)
        states[{array.job, true}] = state_of(array);
    for (const Job &job : stored.jobs) {
        for (const Dependency &each : job.waits_for) {
            const Awaited awaited{each.job, each.array};
            auto other = states.find(awaited);
            bool is_open = other != states.end() &&
                dependency_state(each.kind, other->second) == DependencyState::OPEN;
            if (job.state != JobState::PENDING || (!is_open && !turns.contains(awaited)))
                return "job " + std::to_string(job.id) + " waits for " + describe(each) +
                    " in vain";
        }
    }
    if (std::set<JobId>(stored.finished.begin(), stored.finished.end()) != ends)
        return "the list of finished jobs is not theirs";
    return "";
}

}  // namespace

Json Core::Impl::snapshot() const
{
    Json whole = head();
    for (const auto &[name, node] : state.nodes)
        whole["nodes"].push_back(write(node));
    for (const auto &[id, job] : state.jobs)
        whole["jobs"].push_back(write(job));
    return whole;
}

/* The number of nodes is small enough to copy them at once; their JSON takes longer. */
Json Core::Impl::begin_snapshot()
{
    nodes_left_.clear();
    for (const auto &[name, node] : state.nodes)
        nodes_left_.push_back(node);
    state.jobs.begin_picture();
    return head();
}

Json Core::Impl::next_part(size_t objects_max)
{
    Json nodes = Json::array(), jobs = Json::array();
    for (; !nodes_left_.empty() && nodes.size() < objects_max; nodes_left_.pop_back())
        nodes.push_back(write(nodes_left_.back()));
    if (!nodes.empty())
        return {{"nodes", std::move(nodes)}};
    state.jobs.next_of_picture(objects_max, [&](const Job &job) { jobs.push_back(write(job)); });
    return jobs.empty() ? Json() : Json{{"jobs", std::move(jobs)}};
}

/* All except nodes and jobs, whose number may be very large. */
Json Core::Impl::head() const
{
    Stored stored;
    stored.config = state.config;
    stored.now_ms = state.now_ms;
    stored.seq = state.seq;
    stored.last_job = state.last_job;
    stored.records = state.records;
    stored.unexpected = state.unexpected;
    stored.timer_ms = state.timer_ms;
    stored.next_poll_ms = state.next_poll_ms;
    stored.policy_at_ms = state.policy_at_ms;
    stored.wanted_nodes = state.wanted_nodes;
    stored.wanted_by = state.wanted_by;
    stored.start_pause = state.start_pause;
    for (const auto &[uid, use] : state.uses)
        stored.uses.push_back(use);
    stored.uses_at_ms = state.uses_at_ms;
    for (const auto &[name, time] : state.group_times)
        stored.group_times.push_back(time);
    for (const auto &[key, learned] : state.learned)
        stored.learned.push_back(learned);
    stored.full_groups.assign(state.full_groups.begin(), state.full_groups.end());
    stored.full_users.assign(state.full_users.begin(), state.full_users.end());
    stored.finished.assign(state.finished.begin(), state.finished.end());
    stored.turns.assign(state.turns.begin(), state.turns.end());
    for (const auto &[id, array] : state.arrays)
        stored.arrays.push_back(array);
    stored.to_enter = state.to_enter;
    return write(stored);
}

std::string Core::Impl::restore(const Json &snapshot, const std::vector<Json> &parts)
{
    if (!snapshot.is_object() || !snapshot.contains("version"))
        return "this is not a snapshot of elasticd's core";
    if (snapshot["version"] != SNAPSHOT_VERSION)
        return "the snapshot has version " + snapshot["version"].dump() + ", this elasticd knows " +
               std::to_string(SNAPSHOT_VERSION) + ": start the elasticd that has written it, or a "
               "newer one";
    Result<Stored> parsed = parse<Stored>(snapshot);
    if (!parsed)
        return "the snapshot is broken: " + parsed.error();
    Stored &stored = parsed.value();
    for (const Json &part : parts) {
        Result<Part> more = parse<Part>(part);
        if (!more)
            return "a part of the snapshot is broken: " + more.error();
        move_to_end(stored.nodes, more.value().nodes);
        move_to_end(stored.jobs, more.value().jobs);
    }
    if (std::string wrong = contradiction(stored); !wrong.empty())
        return "the snapshot is broken: " + wrong;
    state = State();
    state.config = stored.config;
    state.set_partitions();
    state.now_ms = stored.now_ms;
    state.reservations_at_ms = state.reservations_change_ms(state.now_ms);
    state.to_enter = stored.to_enter;
    state.seq = stored.seq;
    state.last_job = stored.last_job;
    state.records = stored.records;
    state.unexpected = stored.unexpected;
    state.timer_ms = stored.timer_ms;
    state.next_poll_ms = stored.next_poll_ms;
    state.policy_at_ms = stored.policy_at_ms;
    state.wanted_nodes = stored.wanted_nodes;
    state.wanted_by = stored.wanted_by;
    state.start_pause = stored.start_pause;
    for (const Use &use : stored.uses)
        state.uses[use.uid] = use;
    state.uses_at_ms = stored.uses_at_ms;
    for (const GroupTime &time : stored.group_times)
        state.group_times[time.name] = time;
    for (Learned &learned : stored.learned)
        state.learned.emplace(std::pair(learned.uid, learned.program), std::move(learned));
    state.full_groups.insert(stored.full_groups.begin(), stored.full_groups.end());
    state.full_users.insert(stored.full_users.begin(), stored.full_users.end());
    state.finished.assign(stored.finished.begin(), stored.finished.end());
    state.turns.assign(stored.turns.begin(), stored.turns.end());
    for (Node &node : stored.nodes) {
        node.used = 0;          /* follows from the jobs */
        state.index(state.nodes.emplace(node.name, node).first->second);
    }
    for (const JobArray &array : stored.arrays)
        state.arrays[array.job] = array;
    for (Job &job : stored.jobs) {
        set_program_sizes(job.spec, std::string(job.spec.program_sizes));
        if (!is_end(job.state))
            state.enter(job, job.entered_ms == NEVER ? state.now_ms : job.entered_ms);
        if (!job.request.empty())
            state.requests[job.request] = job.id;
        deal_gpus(job);
        Job &restored = state.jobs.add(job.id);
        restored = std::move(job);
        state.index(restored);
        state.book(restored);
    }
    state.take_changed_arrays();
    return "";
}

}  // namespace elastic::rm
