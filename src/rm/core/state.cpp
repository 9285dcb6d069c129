/* See state.h. */

#include "core/state.h"

#include <cctype>
#include <cstring>

#include "core/position_ranks.h"

namespace elastic::rm {

bool NaturalLess::operator()(const std::string &left, const std::string &right) const
{
    const char *a = left.c_str(), *b = right.c_str();
    auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    while (*a && *b) {
        if (digit(*a) && digit(*b)) {
            while (*a == '0')
                a++;
            while (*b == '0')
                b++;
            size_t length_a = strspn(a, "0123456789"), length_b = strspn(b, "0123456789");
            if (length_a != length_b)
                return length_a < length_b;
            if (int order = strncmp(a, b, length_a))
                return order < 0;
            a += length_a;
            b += length_b;
        } else if (*a != *b) {
            return static_cast<unsigned char>(*a) < static_cast<unsigned char>(*b);
        } else {
            a++;
            b++;
        }
    }
    if (*a || *b)
        return *b != 0;
    return left < right;        /* n1 and n01 are different nodes */
}

const Job *State::job(JobId id) const
{
    auto found = jobs.find(id);
    return found == jobs.end() ? nullptr : &found->second;
}

const JobArray *State::array(JobId id) const
{
    auto found = arrays.find(id);
    return found == arrays.end() ? nullptr : &found->second;
}

std::optional<JobState> State::state_of(const Dependency &dependency) const
{
    const JobArray *tasks = dependency.array ? array(dependency.job) : nullptr;
    const Job *other = dependency.array ? nullptr : job(dependency.job);
    return tasks ? std::optional(rm::state_of(*tasks))
        : other  ? std::optional(other->state)
                 : std::nullopt;
}

const Node *State::node(const std::string &name) const
{
    auto found = nodes.find(name);
    return found == nodes.end() ? nullptr : &found->second;
}

QueueKey State::queue_key(const Job &job) const
{
    QueueKey own = own_key(job);
    return {own.key + delay_of(job.spec.uid), own.job};
}

/* Without the delay of its user. */
QueueKey State::own_key(const Job &job) const
{
    int64_t since_ms = job.eligible_ms == NEVER ? job.submitted_ms : job.eligible_ms;
    int priority = job.spec.priority + (job.spec.in ? job.spec.in->priority : 0);
    return {since_ms - priority * config.priority_weight_ms, job.id};
}

int64_t State::delay_of(uint32_t uid) const
{
    auto found = uses.find(uid);
    return found == uses.end() ? 0 : found->second.delay_ms;
}

GroupUse State::of_group(const std::string &name) const
{
    auto found = indices_.groups.find(name);
    return found == indices_.groups.end() ? GroupUse() : found->second;
}

State::Indices::OfUser State::of_user(uint32_t uid) const
{
    auto found = indices_.users.find(uid);
    return found == indices_.users.end() ? Indices::OfUser() : found->second;
}

const Job *State::owner_of_name(uint32_t uid, const std::string &name) const
{
    for (JobId id : indices_.allocated) {
        const Job *candidate = job(id);
        if (candidate->spec.uid == uid &&
            std::ranges::find(candidate->names, name, &PublishedName::name) !=
                candidate->names.end())
            return candidate;
    }
    return nullptr;
}

/* ---- indices ------------------------------------------------------------ */

namespace {

bool may_be_offered(const Job &job)
{
    return job.state == JobState::RUNNING && job.spec.elasticity == Elasticity::MALLEABLE &&
           job.mode == StepMode::ADAPTIVE && !(job.spec.usable && job.spec.usable->empty()) &&
           !is_in_rigid_phase(job) && !is_modified(job);
}

bool wants_slots(const Job &job)
{
    bool runs = job.state == JobState::RUNNING || job.state == JobState::ADAPTING;
    return runs && job.slots &&
           std::ranges::any_of(job.slots->slot_requests, [&](const SlotRequest &size_request) {
               return open_slots(job, size_request) > 0;
           });
}

bool frees_soon(const Job &job)
{
    return is_allocated(job.state) &&
           (job.state == JobState::COMPLETING || !job.departures.empty() ||
            (job.adaptation && !job.adaptation->leave.empty() && !is_overdue(job)));
}

/* The step itself reports slots that it has received. */
bool is_impatient(const Job &job)
{
    if (job.state != JobState::RUNNING || !job.size_request || !job.size_request->waits)
        return false;
    return job.size() < job.size_request->minimum || job.size() > job.size_request->maximum;
}

/* Whether more of its processes would fit into its whole nodes. */
bool is_roomy(const State &state, const Job &job)
{
    if (!job.spec.whole_nodes)
        return false;
    const FreeCores &nodes = state.free_cores();
    int cores = 0, most = 0;    /* usually the same for all nodes */
    auto fills = [&](uint32_t position, int processes) {
        if (nodes.cores(position) != cores) {
            cores = nodes.cores(position);
            most = cores / job.spec.cores_per_process;
            if (job.spec.processes_per_node > 0)
                most = std::min(most, job.spec.processes_per_node);
        }
        return processes >= most;
    };
    bool each_fills = job.departures.empty() && count_slots(job) == 0;
    for (const Block &block : job.blocks)
        each_fills = each_fills && fills(nodes.position(block.node), block.processes);
    if (each_fills)
        return false;
    PositionRanks ranks(nodes.positions());
    Blocks all = present(job);
    for (const Block &block : all)
        ranks.mark(nodes.position(block.node));
    std::vector<std::pair<uint32_t, int>> processes(ranks.count());
    for (const Block &block : all) {
        uint32_t position = nodes.position(block.node);
        auto &[of, sum] = processes[ranks.rank(position)];
        of = position;
        sum += block.processes;
    }
    return std::any_of(processes.begin(), processes.end(),
                       [&](const auto &entry) { return !fills(entry.first, entry.second); });
}

/* The maximum number of cores that it could release. */
int64_t spare_cores(const State &state, const Job &job)
{
    int spare = job.size() - size_at_least(job.spec, 1);
    if (!job.spec.whole_nodes || spare <= 0)
        return int64_t{std::max(spare, 0)} * job.spec.cores_per_process;
    const FreeCores &nodes = state.free_cores();
    PositionMarks marks(nodes.positions());
    int64_t cores = 0;
    for (const Block &block : job.blocks) {
        uint32_t position = nodes.position(block.node);
        if (position != PositionSet::NONE && marks.add(position))
            cores += nodes.cores(position);
    }
    return cores;
}

template <class Set, class Value> void move_value(Set &set, const std::optional<Value> &old,
                                                  const std::optional<Value> &now, JobId id)
{
    if (old == now)
        return;
    if (old)
        set.erase(std::pair(*old, id));
    if (now)
        set.insert(std::pair(*now, id));
}

void move_member(std::set<JobId> &set, bool old, bool now, JobId id)
{
    if (old && !now)
        set.erase(id);
    else if (now && !old)
        set.insert(id);
}

/* The pause after a change with this standstill, during which the job is not changed unless
 * another job needs it.  So the job stands still at most for a tenth of any ten minutes
 * (SPEC-performance K4): the pause between two such changes is so long that n changes which
 * exceed the tenth together exceed the ten minutes. */
int64_t pause_after(int64_t standstill_ms)
{
    constexpr int64_t WINDOW_MS = 600000, STILL_MAX_MS = WINDOW_MS / 10;
    constexpr int64_t FOR_GOOD_MS = int64_t{366} * 86400 * 1000;
    if (standstill_ms >= STILL_MAX_MS)
        return FOR_GOOD_MS;
    int64_t rest_ms = STILL_MAX_MS - standstill_ms;
    return (standstill_ms * (WINDOW_MS - STILL_MAX_MS) + rest_ms - 1) / rest_ms;
}

}  // namespace

int64_t State::growth_from_ms(const Job &job) const
{
    int64_t from_ms = std::max(job.offer_after_ms, job.grow_after_ms);
    bool is_waited_for = job.size_request && job.size_request->waits;
    if (job.last_adapted_ms == NEVER || is_waited_for)
        return from_ms;
    int64_t standstill_ms = std::max<int64_t>(job.mean_standstill_ms, 0);
    if (job.last_change)
        standstill_ms = std::max(standstill_ms, job.last_change->standstill_ms);
    int64_t pause_ms = config.offer_pause_ms;
    if (size_wished(job) == 0)  /* else its program has requested it */
        pause_ms = std::max(pause_ms, pause_after(standstill_ms));
    return std::max(from_ms, job.last_adapted_ms + pause_ms);
}

State::Facts State::facts(const Job &job) const
{
    Facts facts;
    facts.state = job.state;
    facts.committed = job.committed;
    facts.withdrawn = job.withdrawn;
    facts.failed = job.failed;
    if (is_queued(job) || is_allocated(job.state))
        facts.uid = job.spec.uid;
    for (const Dependency &dependency : job.waits_for)
        facts.waits_for.push_back({dependency.job, dependency.array});
    if (job.task && arrays.at(job.task->array).limit > 0) {
        facts.array = job.task->array;
        facts.ready = is_ready(job);
        facts.array_waits = job.task->waits;
    }
    if (is_queued(job)) {
        facts.queued = own_key(job);
        facts.shape = shape_of(job.spec);
        facts.least = size_at_least(job.spec, 1);
        facts.partition = queue_of(job.spec);
        facts.prioritised =
            job.spec.priority != 0 || (job.spec.in && job.spec.in->priority != 0);
    }
    facts.allocated = is_allocated(job.state);
    if (!is_end(job.state))
        facts.groups = job.spec.groups;
    facts.wants_slots = wants_slots(job);
    facts.modified =
        job.state == JobState::RUNNING && is_modified(job) && job.size_request->target > 0;
    facts.impatient = is_impatient(job);
    facts.freeing = frees_soon(job);
    if (job.deadline_ms != NEVER)
        facts.deadline_ms = job.deadline_ms;
    if (job.limit_at_ms != NEVER)
        facts.limit_ms = job.limit_at_ms;
    facts.elastic = may_be_offered(job);
    if (!facts.elastic)
        return facts;
    int size = job.size();
    facts.roomy = is_roomy(*this, job);
    facts.borrows = job.loaned > 0;
    facts.spare_cores = spare_cores(*this, job);
    if (size > size_at_least(job.spec, 1)) {
        facts.donor = -int64_t{size} * job.spec.cores_per_process;
        facts.pause_ms = job.offer_after_ms;
    }
    facts.wished = size_wished(job);
    if (size >= largest_wanted(job))
        return facts;
    facts.growth_ms = growth_from_ms(job);
    if (job.spec.preferred == 0 || size < job.spec.preferred || facts.wished > 0)
        facts.needy_ms = facts.growth_ms;
    return facts;
}

void State::index(const Job &job)
{
    job.worth.reset();
    freed_.erase(job.id);
    Facts now = facts(job);
    Facts &known = facts_.add(job.id).first;
    replace(job.id, known, now);
    known = std::move(now);
}

void State::unindex(const Job &job)
{
    const Facts *known = facts_.find(job.id);
    if (!known)
        return;
    replace(job.id, *known, Facts());
    freed_.erase(job.id);
    facts_.erase(job.id);
}

void State::replace(JobId id, const Facts &old, const Facts &now)
{
    note_changes(old, now);
    count(old, -1);
    count(now, 1);
    bool needs_the_same = old.queued.has_value() == now.queued.has_value() &&
        old.shape == now.shape && old.least == now.least && old.partition == now.partition;
    if (!needs_the_same) {
        dequeue(old);
        enqueue(now);
    } else if (old.queued != now.queued) {
        move_in_queue(old, now);
    }
    move_member(indices_.slot_wishers, old.wants_slots, now.wants_slots, id);
    move_member(indices_.modified, old.modified, now.modified, id);
    move_member(indices_.impatient, old.impatient, now.impatient, id);
    move_member(indices_.prioritised, old.prioritised, now.prioritised, id);
    for (const Awaited &other : old.waits_for)
        indices_.dependents.erase(std::pair(other, id));
    for (const Awaited &other : now.waits_for)
        indices_.dependents.insert(std::pair(other, id));
    move_in_array(id, old, false);
    move_in_array(id, now, true);
    move_member(indices_.allocated, old.allocated, now.allocated, id);
    count_use(old.allocated ? old.uid : now.uid, now.allocated - old.allocated, 0);
    count_groups(old.groups, {-1, old.allocated ? -1 : 0, 0});
    count_groups(now.groups, {1, now.allocated ? 1 : 0, 0});
    move_member(indices_.freeing, old.freeing, now.freeing, id);
    move_member(indices_.elastic, old.elastic, now.elastic, id);
    move_member(indices_.roomy, old.roomy, now.roomy, id);
    move_member(indices_.borrowers, old.borrows, now.borrows, id);
    move_member(indices_.wishers, old.wished > 0, now.wished > 0, id);
    move_value(indices_.deadlines, old.deadline_ms, now.deadline_ms, id);
    move_value(indices_.limits, old.limit_ms, now.limit_ms, id);
    move_value(indices_.donors, old.donor, now.donor, id);
    move_value(indices_.pauses, old.pause_ms, now.pause_ms, id);
    move_value(indices_.growers, old.growth_ms, now.growth_ms, id);
    move_value(indices_.needy, old.needy_ms, now.needy_ms, id);
    indices_.spare_cores += now.spare_cores - old.spare_cores;
}

void State::move_in_array(JobId id, const Facts &facts, bool in)
{
    if (facts.array == 0 || (!facts.allocated && !facts.ready))
        return;
    auto array = indices_.arrays.try_emplace(facts.array).first;
    auto &[allocated, queued, waiting] = array->second;
    allocated += facts.allocated ? (in ? 1 : -1) : 0;
    auto &tasks = facts.array_waits ? waiting : queued;
    if (facts.ready)
        move_member(tasks, !in, in, id);
    if (array->second == Indices::OfArray())
        indices_.arrays.erase(array);
    changed_arrays_.insert(facts.array);
}

void State::count(const Facts &facts, int sign)
{
    if (!facts.state)
        return;
    JobCounts &jobs = indices_.jobs;
    jobs.states[static_cast<size_t>(*facts.state)] += sign;
    jobs.committed += sign * static_cast<int64_t>(facts.committed);
    jobs.withdrawn += sign * static_cast<int64_t>(facts.withdrawn);
    jobs.failed += sign * static_cast<int64_t>(facts.failed);
}

void State::note_changes(const Facts &old, const Facts &now)
{
    for (const Facts *each : {&old, &now}) {
        if (each->queued)
            changes_.queue = std::min(
                changes_.queue, {each->queued->key + delay_of(each->uid), each->queued->job});
        if (each->limit_ms && old.limit_ms != now.limit_ms)
            changes_.limit_ms = std::min(changes_.limit_ms, *each->limit_ms);
    }
    /* A job that ends releases all cores, not only those about to be released. */
    bool gives_more = now.freeing && old.state != now.state;
    changes_.capacity |= old.allocated != now.allocated || old.freeing != now.freeing || gives_more;
    changes_.sizes |= old.elastic != now.elastic || old.roomy != now.roomy ||
        old.donor != now.donor || old.pause_ms != now.pause_ms || old.growth_ms != now.growth_ms ||
        old.spare_cores != now.spare_cores;
    bool wished_earlier = now.wished > 0 &&     /* policies that ignore other sizes fulfil these */
        (old.pause_ms != now.pause_ms || old.growth_ms != now.growth_ms);
    changes_.slot_requests |=
        old.wished != now.wished || old.impatient != now.impatient || wished_earlier;
}

void State::enqueue(const Facts &facts)
{
    if (!facts.queued)
        return;
    auto [shape, is_new] = indices_.shapes.try_emplace(facts.shape);
    if (is_new)
        shape->second.capacity = capacity_when_empty(facts.shape, true);
    shape->second.jobs.insert({facts.least, facts.queued->job});
    if (!facts.partition.empty())
        indices_.partitions[facts.partition]++;
    indices_.queue.insert(facts.uid, turn_of(facts.uid), *facts.queued);
    if (facts.least <= shape->second.capacity)
        indices_.runnable.insert(facts.uid, turn_of(facts.uid), *facts.queued);
}

void State::dequeue(const Facts &facts)
{
    if (!facts.queued)
        return;
    auto shape = indices_.shapes.find(facts.shape);
    shape->second.jobs.erase({facts.least, facts.queued->job});
    if (shape->second.jobs.empty())
        indices_.shapes.erase(shape);
    if (!facts.partition.empty() && --indices_.partitions[facts.partition] == 0)
        indices_.partitions.erase(facts.partition);
    indices_.queue.erase(facts.uid, *facts.queued);
    indices_.runnable.erase(facts.uid, *facts.queued);
}

/* For a job whose requirements have not changed. */
void State::move_in_queue(const Facts &old, const Facts &now)
{
    auto move = [&](UserQueues &queues) {
        queues.erase(old.uid, *old.queued);
        queues.insert(now.uid, turn_of(now.uid), *now.queued);
    };
    move(indices_.queue);
    if (now.least <= indices_.shapes.at(now.shape).capacity)
        move(indices_.runnable);
}

/* Updates jobs whose smallest size lies between the former capacity and the present one: they
 * can run now, or no longer. */
void State::find_runnable()
{
    for (auto &[shape, queue] : indices_.shapes) {
        int capacity = capacity_when_empty(shape, true);
        int low = std::min(capacity, queue.capacity), high = std::max(capacity, queue.capacity);
        auto end = queue.jobs.lower_bound({high + 1, 0});
        for (auto job = queue.jobs.lower_bound({low + 1, 0}); job != end; ++job) {
            const Facts &facts = *facts_.find(job->second);
            if (job->first <= capacity)
                indices_.runnable.insert(facts.uid, turn_of(facts.uid), *facts.queued);
            else
                indices_.runnable.erase(facts.uid, *facts.queued);
        }
        queue.capacity = capacity;
    }
}

/* Adds these numbers of jobs and cores. */
void State::count_use(uint32_t uid, int running, int64_t cores)
{
    if (running == 0 && cores == 0)
        return;
    auto user = indices_.users.try_emplace(uid).first;
    user->second.running += running;
    user->second.cores += cores;
    if (user->second == Indices::OfUser())
        indices_.users.erase(user);
}

/* The same for the groups of a job. */
void State::count_groups(const std::vector<std::string> &groups, const GroupUse &more)
{
    for (const std::string &name : groups) {
        auto group = indices_.groups.try_emplace(name).first;
        group->second.jobs += more.jobs;
        group->second.running += more.running;
        group->second.cores += more.cores;
        if (group->second == GroupUse())
            indices_.groups.erase(group);
    }
}

}  // namespace elastic::rm
