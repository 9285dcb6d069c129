/* See invariants.h. */

#include "core/invariants.h"

#include <set>

#include "core/invariant_gpus.h"
#include "core/invariant_nodes.h"
#include "core/job_contradictions.h"
#include "core/policy/policies.h"
#include "core/pending_changes.h"
#include "core/policy/measured_worth.h"
#include "core/record.h"
#include "core/scaling.h"

namespace elastic::rm {

namespace {

using Violations = std::vector<std::string>;

void check_job(const State &state, const Job &job, Violations &wrong)
{
    std::string name = "job " + std::to_string(job.id) + " (" + to_string(job.state) + ") ";
    bool allocated = is_allocated(job.state);
    /* the program may report its sizes after a change of size, or just before it */
    bool any_size = !job.spec.program_sizes.empty();
    if (allocated && !any_size && !is_own_size(job.spec, job.size()))
        wrong.push_back(name + "has size " + std::to_string(job.size()));
    if (std::string why = contradiction(job); !why.empty())
        wrong.push_back(name + why);
    if (job.adaptation && job.state != JobState::ADAPTING && job.state != JobState::COMPLETING)
        wrong.push_back(name + "has an adaptation");
    if (job.adaptation) {
        const Adaptation &change = *job.adaptation;
        int size = job.size() - static_cast<int>(change.leave.size()) +
                   count_processes(change.joining);
        if (size != change.size || (!any_size && !is_own_size(job.spec, size)))
            wrong.push_back(name + "is to get size " + std::to_string(change.size) + ", really " +
                            std::to_string(size));
        bool is_malleable =
            job.spec.elasticity == Elasticity::MALLEABLE && job.mode == StepMode::ADAPTIVE;
        if (!is_malleable && !change.by_program)
            wrong.push_back(name + "adapts and is not malleable");
    }
    if (!allocated && !job.departures.empty())
        wrong.push_back(name + "has departures");
    if (job.slots && !allocated)
        wrong.push_back(name + "has slots beside no world");
    if (!job.names.empty() && !allocated)
        wrong.push_back(name + "has names, and no processes");
    for (const PublishedName &entry : job.names) {
        if (state.owner_of_name(job.spec.uid, entry.name) != &job)
            wrong.push_back(name + "has the name " + entry.name + ", and so has another job");
    }
    int world = job.adaptation ? std::max(job.size(), job.adaptation->size) : job.size();
    if (count_slots(job) > 0 && world + count_slots(job) > most_processes(job.spec))
        wrong.push_back(name + "has " + std::to_string(world) + " processes and " +
                        std::to_string(count_slots(job)) + " slots beside them");
    if (job.state == JobState::PENDING && !job.blocks.empty())
        wrong.push_back(name + "is on nodes");
    if (job.acquiring && job.state != JobState::STARTING)
        wrong.push_back(name + "acquires nodes");
    if (job.releasing && job.state != JobState::COMPLETING)
        wrong.push_back(name + "releases nodes");
    bool waits = job.state == JobState::STARTING || job.state == JobState::ADAPTING ||
                 job.state == JobState::COMPLETING || !job.departures.empty();
    if (waits && job.deadline_ms == NEVER)
        wrong.push_back(name + "waits without a deadline");
    if (job.performance &&
        (job.performance->newest.epoch != job.epoch || !check(*job.performance).empty()))
        wrong.push_back(name + "is measured wrongly: " + check(*job.performance));
    for (const Dependency &each : job.waits_for) {
        auto other = state.state_of(each);
        bool its_turn =
            std::any_of(state.turns.begin(), state.turns.end(), [&](const Turn &turn) {
                return turn.job == each.job && turn.array == each.array;
            });
        bool is_open = other && dependency_state(each.kind, *other) == DependencyState::OPEN;
        if (job.state != JobState::PENDING || (!is_open && !its_turn))
            wrong.push_back(name + "waits for " + describe(each) + " in vain");
    }
    if (job.deferred && (job.state != JobState::PENDING || job.deadline_ms != job.spec.begin_ms))
        wrong.push_back(name + "waits for no time");
    if (is_end(job.state) != (job.ended_ms != NEVER))
        wrong.push_back(name + "has a wrong time of its end");
    for (const Block &block : job.blocks) {
        if (block.processes < 1 || (allocated && !state.node(block.node)))
            wrong.push_back(name + "has a wrong block on " + block.node);
        if (allocated && job.spec.exclude.contains(block.node))
            wrong.push_back(name + "has processes on " + block.node + ", which it excludes");
    }
    for (const NodeName &listed : job.spec.nodelist) {
        if (job.state == JobState::STARTING &&
            std::ranges::find(job.blocks, listed, &Block::node) == job.blocks.end())
            wrong.push_back(name + "starts without a process on " + listed);
    }
}

/* Each job's processes on a node, counted again; a whole node belongs to one job. */
void check_nodes(const State &state, Violations &wrong)
{
    std::map<std::string, int> used, jobs;
    std::map<std::string, bool> exclusive;
    GpuInvariants gpus;
    for (const auto &[id, job] : state.jobs) {
        std::map<std::string, int> own;
        for (const Share &share : state.shares(job))
            own[share.node->name] += share.cores;
        for (const auto &[node, cores] : own) {
            used[node] += cores;
            jobs[node]++;
            exclusive[node] = exclusive[node] || job.spec.whole_nodes;
        }
        gpus.see(job, wrong);
    }
    for (const auto &[name, node] : state.nodes) {
        if (node.used != used[name] || node.used > node.cores || node.used < 0)
            wrong.push_back("node " + name + " of " + std::to_string(node.cores) + " cores: " +
                            std::to_string(node.used) + " are booked, jobs have " +
                            std::to_string(used[name]));
        if (node.gpus_used != gpus.booked[name])
            wrong.push_back("node " + name + " has booked other GPUs than its jobs have");
        if (exclusive[name] && jobs[name] > 1)
            wrong.push_back("node " + name + " is shared and belongs to a whole-node job");
        if (node.removed && node.used == 0)
            wrong.push_back("node " + name + " is not forgotten");
    }
}

void check_indices(const State &state, Violations &wrong)
{
    State again;
    again.config = state.config;
    again.uses = state.uses;
    again.full_users = state.full_users;
    again.arrays = state.arrays;
    for (const auto &[name, node] : state.nodes) {
        Node &copy = again.nodes.emplace(name, node).first->second;
        copy.used = 0;
        copy.gpus_used = 0;
        again.index(copy);
    }
    for (const auto &[id, job] : state.jobs) {
        again.index(job);
        again.book(job);
    }
    if (again.indices() != state.indices() || !(again.free_cores() == state.free_cores()))
        wrong.push_back("the indices are not those of the jobs and nodes");
    for (const auto &[uid, user] : state.indices().users) {
        if (state.config.user_running_max > 0 && user.running > state.config.user_running_max)
            wrong.push_back("user " + std::to_string(uid) + " has " + std::to_string(user.running) +
                            " running jobs");
    }
    size_t ends = 0, requests = 0, submissions = 0;
    for (const auto &[id, job] : state.jobs) {
        ends += is_end(job.state);
        submissions += !job.request.empty();        /* for an array: that of its first task */
        auto found = state.requests.find(job.request);
        requests += found != state.requests.end() && found->second == id;
    }
    if (ends != state.finished.size())
        wrong.push_back("the list of finished jobs has a wrong length");
    if (requests != submissions || requests != state.requests.size())
        wrong.push_back("the list of submit requests is not that of the jobs");
}

/* The counts of an array are those of its tasks, and its limit is respected. */
void check_arrays(const State &state, Violations &wrong)
{
    std::map<JobId, JobArray> counts;
    std::map<JobId, int> allocated, waiting, ready;
    for (const auto &[id, job] : state.jobs) {
        if (!job.task)
            continue;
        JobArray &array = counts[job.task->array];
        array.tasks++;
        array.started += job.task->counted;
        array.ended += is_end(job.state);
        allocated[job.task->array] += is_allocated(job.state);
        ready[job.task->array] += is_queued(job);
        waiting[job.task->array] += is_ready(job) && job.task->waits;
        if (!state.array(job.task->array))
            wrong.push_back("job " + std::to_string(id) + " is a task of no array");
    }
    for (const auto &[id, array] : state.arrays) {
        const JobArray &known = counts[id];
        if (known.tasks != array.tasks - array.discarded || known.tasks == 0 ||
            known.started != array.started - array.discarded ||
            known.ended != array.ended - array.discarded || !check(array).empty())
            wrong.push_back("the counts of array " + std::to_string(id) + " are wrong");
        int admitted = allocated[id] + ready[id];
        if (array.limit > 0 && admitted > array.limit)
            wrong.push_back("array " + std::to_string(id) + " is above its limit");
        if (array.limit > 0 && admitted < array.limit && waiting[id] > 0)
            wrong.push_back("array " + std::to_string(id) + " is below its limit, and tasks wait");
    }
}

/* The stored performance of a job follows from its samples. */
void check_known(const State &state, const Job &job, Violations &wrong)
{
    Job again = job;
    again.worth.reset();
    if (again.performance)
        again.performance->scaling.reset();
    std::string name = "job " + std::to_string(job.id);
    if (scaling_of(again) != scaling_of(job))
        wrong.push_back(name + " has the scaling of former samples");
    if (job.worth && *job.worth != find_worth(state, again))
        wrong.push_back(name + " is worth what it was before");
    if (!state.indices().freeing.contains(job.id))
        return;
    Shares freed = state.booked(job.id), kept = state.shares(job.spec, pending_blocks(job));
    leave_differences(freed, kept);
    const State::Freed &known = state.freed_soon(job);
    if (freed != known.freed || kept != known.kept)
        wrong.push_back(name + " is about to free what it would have freed before");
}

}  // namespace

std::vector<std::string> violations(const State &state)
{
    Violations wrong;
    for (const auto &[id, job] : state.jobs) {
        check_job(state, job, wrong);
        check_known(state, job, wrong);
    }
    check_nodes(state, wrong);
    check_indices(state, wrong);
    check_arrays(state, wrong);
    Decisions decisions = policy(state.config.policy).decide(state);
    if (state.starts_pause())
        decisions.starts.clear();
    for (const Start &each : decisions.starts)
        wrong.push_back("the policy, run again, wants to start job " + std::to_string(each.job));
    for (const Change &each : decisions.changes)
        wrong.push_back("the policy, run again, wants job " + std::to_string(each.job) +
                        " to have " + std::to_string(each.size) + " processes: " + each.reason);
    return wrong;
}

/* ---- histories ------------------------------------------------------------ */

namespace {

/* The source of a request that needs an answer. */
struct Asker {
    const std::string *request = nullptr;
    template <class Content> void operator()(const Content &content)
    {
        if constexpr (requires { std::string(content.request); })
            request = &content.request;
    }
};

}  // namespace

std::vector<std::string> Monitor::watch(const Event &event, const Actions &actions,
                                        const State &state)
{
    Asker asker;
    std::visit(asker, event.content);
    unanswered_.clear();
    if (asker.request)
        unanswered_[*asker.request] = 1;
    for (const Action &action : actions)
        std::visit([&](const auto &each) { see(each, state); }, action);
    for (const auto &[request, count] : unanswered_) {
        if (count != 0)
            wrong("request " + request + " is not answered");
    }
    return std::exchange(wrong_, {});
}

void Monitor::see(const Answer &answer, const State &)
{
    if (--unanswered_[answer.request] < 0)
        wrong("an answer without a request: " + answer.request);
    if ((answer.code == AnswerCode::OK) != answer.message.empty())
        wrong("an answer with a wrong message: " + answer.message);
}

void Monitor::see(const Record &record, const State &state)
{
    if (record.number <= last_record_) {        /* after a restart */
        if (to_json(Action(record)) != to_json(Action(records_.at(record.number))))
            wrong("record " + std::to_string(record.number) + " is another one now");
        return;
    }
    if (record.number != ++last_record_)
        wrong("record " + std::to_string(record.number) + " follows " +
              std::to_string(last_record_ - 1));
    records_[record.number] = record;
    if (record.event == record::ALLOCATED)
        allocated(record, state);
    else if (record.event == record::REQUESTED)
        begin_change(record), allocated(record, state);
    else if (record.event == record::COMMITTED || record.event == record::WITHDRAWN ||
             record.event == record::FAILED)
        end_change(record);
    else if (record.event == record::LEFT && record.data["epoch"] != ++jobs_[record.job].epoch)
        wrong("epochs of job " + std::to_string(record.job) + " do not follow each other");
    else if (record.event == record::SIZE_REQUESTED)
        begin_size_request(record);
    else if (record.event == record::REQUEST_ENDED)
        end_size_request(record);
    else if (record.event == record::ENDED && std::exchange(jobs_[record.job].ended, true))
        wrong("job " + std::to_string(record.job) + " ends twice");
}

void Monitor::begin_size_request(const Record &record)
{
    if (record.data.at("kind") == to_string(RequestKind::SLOTS)) {
        if (!jobs_[record.job].slot_requests.insert(record.data.at("wish").get<uint64_t>()).second)
            wrong("job " + std::to_string(record.job) + " makes a request twice");
        return;
    }
    uint64_t open =
        std::exchange(jobs_[record.job].size_request, record.data.at("wish").get<uint64_t>());
    if (open != 0)
        wrong("job " + std::to_string(record.job) + " has two wishes, " + std::to_string(open) +
              " is still open");
}

void Monitor::end_size_request(const Record &record)
{
    uint64_t size_request = record.data.at("wish").get<uint64_t>();
    if (record.data.contains("kind")) {
        if (jobs_[record.job].slot_requests.erase(size_request) == 0)
            wrong("a request of job " + std::to_string(record.job) + " ends that is not open");
        return;
    }
    if (std::exchange(jobs_[record.job].size_request, 0) != size_request)
        wrong("request " + std::to_string(size_request) + " of job " + std::to_string(record.job) +
              " ends twice, or was never made");
}

namespace {

/* The part of a record `placed` that does not follow from its `why` (X1); empty: all follows. */
std::string wrong_start(const Record &record)
{
    Json why = record.data.value("why", Json());
    if (!why.is_object() || !why.contains("rule"))
        return "has no rule";
    std::string rule = why["rule"];
    why.erase("rule");
    auto numbers = parse<StartNumbers>(why);
    if (!numbers)
        return numbers.error();
    auto follows = start_rule(numbers.value());
    if (!follows || rule != to_string(*follows))
        return std::string("is not what follows: ") +
               (follows ? to_string(*follows) : "it waits");
    return gives_size(numbers.value(), record.data["size"]) ? "" : "gives it another size";
}

/* The rule of a record `requested`; empty: an unknown rule. */
std::string rule_of(const Record &record)
{
    static const std::set<std::string> RULES = {"reduce",   "expand", "balance", "make_room",
                                                "backfill", "drain",  "user",    "wish"};
    const Json why = record.data.value("why", Json());
    std::string rule = why.is_object() ? why.value("rule", "") : "";
    return RULES.contains(rule) ? rule : "";
}

}  // namespace

/* Whether present allocations are allowed. */
void Monitor::allocated(const Record &record, const State &state)
{
    const Job *by = state.job(record.job);
    for (const Block &block : record.blocks) {
        const Node *node = state.node(block.node);
        if (!node || node->state() != NodeState::UP)
            wrong("job " + std::to_string(record.job) + " is allocated on " + block.node +
                  ", which is not up");
        if (by && !may_use(by->spec, block.node))
            wrong("job " + std::to_string(record.job) + " of partition " + by->spec.partition +
                  " is allocated on " + block.node);
    }
    History &job = jobs_[record.job];
    if (record.event != record::ALLOCATED)
        return;
    if (std::string why = by ? wrong_nodes(state, *by, record.blocks) : ""; !why.empty())
        wrong("job " + std::to_string(record.job) + " starts " + why);
    if (std::string why = by ? wrong_distribution(state, by->spec, record.blocks) : "";
        !why.empty())
        wrong("job " + std::to_string(record.job) + " starts " + why);
    if (std::string what = wrong_start(record); !what.empty())
        wrong("why job " + std::to_string(record.job) + " starts " + what + ": " +
              record.data.dump());
    if (record.data["step"] != job.step + 1)
        wrong("steps of job " + std::to_string(record.job) + " do not follow each other");
    if (job.ended || job.open)
        wrong("job " + std::to_string(record.job) + " starts after its end, or while it adapts");
    job.step++;
    job.epoch = 0;
}

namespace {

/* Whether neither a request nor a waiting job led to the change. */
bool is_optional(const Json &requested, const std::string &rule)
{
    bool grows = requested["size"] > requested["old_size"];
    return !requested["by_user"].get<bool>() && (rule == "balance" || (grows && rule != "wish"));
}

}  // namespace

void Monitor::begin_change(const Record &record)
{
    History &job = jobs_[record.job];
    if (job.open)
        wrong("changes of job " + std::to_string(record.job) + " nest");
    if (record.data["request"] != job.request + 1)
        wrong("requests of job " + std::to_string(record.job) + " do not follow each other");
    job.request++;
    job.open = true;
    std::string rule = rule_of(record);
    if (rule.empty())
        wrong("a change of job " + std::to_string(record.job) + " has no rule: " +
              record.data.dump());
    job.optional = is_optional(record.data, rule);
}

/* For a change that has been committed now. */
void Monitor::stood_still(History &job, const Record &record)
{
    constexpr int64_t WINDOW_MS = 600000;
    int64_t from_ms = record.time_ms - WINDOW_MS, sum_ms = 0;
    job.still.emplace_back(record.time_ms, record.data["standstill_ms"].get<int64_t>());
    while (job.still.front().first <= from_ms)
        job.still.pop_front();
    for (const auto &[until_ms, standstill_ms] : job.still)
        sum_ms += std::clamp<int64_t>(until_ms - from_ms, 0, standstill_ms);
    /* The cost of the first one is unknown in advance. */
    if (job.still.size() > 1 && sum_ms > WINDOW_MS / 10)
        wrong("job " + std::to_string(record.job) + " has stood still for " +
              std::to_string(sum_ms) + " ms of ten minutes for nobody's sake");
}

void Monitor::end_change(const Record &record)
{
    History &job = jobs_[record.job];
    if (!job.open || record.data["request"] != job.request)
        wrong("a request of job " + std::to_string(record.job) +
              " ends twice, or without having begun");
    job.open = false;
    if (record.event == record::COMMITTED && record.data["epoch"] != ++job.epoch)
        wrong("epochs of job " + std::to_string(record.job) + " do not follow each other");
    if (record.event == record::COMMITTED && job.optional)
        stood_still(job, record);
}

void Monitor::see(const ResizeStep &resize, const State &state)
{
    const Job *job = state.job(resize.job);
    if (!job || !job->adaptation)
        return wrong("a resize without an adaptation");
    int before = -1;
    for (int rank : resize.leave) {
        if (rank <= before || rank >= job->size())
            wrong("job " + std::to_string(resize.job) + ": rank " + std::to_string(rank) +
                  " is to leave");
        before = rank;
    }
}

std::vector<std::string> Monitor::finish(const State &state) const
{
    std::vector<std::string> open;
    for (const auto &[id, job] : state.jobs) {
        if (!is_end(job.state))
            open.push_back("job " + std::to_string(id) + " has no end: " + to_string(job.state) +
                           ", " + why_waiting(state, job));
    }
    for (const auto &[id, job] : jobs_) {
        if (job.open)
            open.push_back("request " + std::to_string(job.request) + " of job " +
                           std::to_string(id) + " has no end");
        if (!job.slot_requests.empty())
            open.push_back("a request for slots of job " + std::to_string(id) + " has no end");
        if (job.size_request)
            open.push_back("request " + std::to_string(job.size_request) + " of job " +
                           std::to_string(id) + " has no end");
    }
    return open;
}

}  // namespace elastic::rm
