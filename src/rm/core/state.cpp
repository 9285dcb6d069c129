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
    return left < right;        /* n1 and n01 are two nodes */
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
    return {since_ms - job.spec.priority * config.priority_weight_ms, job.id};
}

int64_t State::delay_of(uint32_t uid) const
{
    auto found = uses.find(uid);
    return found == uses.end() ? 0 : found->second.delay_ms;
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

namespace {

/* By the nodes' names, which decide where nothing else does. */
constexpr auto is_before = [](const Share &a, const Share &b) {
    return std::pair(a.node->position, a.cores) < std::pair(b.node->position, b.cores);
};

}  // namespace

/* A whole node is booked once, whatever the job has on it.  In the order of is_before: by marks,
 * since grown jobs have no order, and this is called often. */
void State::make_whole(Shares &shares) const
{
    const FreeCores &nodes = free_cores();
    bool in_order = true;
    for (size_t i = 1; i < shares.size(); i++)
        in_order = in_order && shares[i - 1].node->position < shares[i].node->position;
    if (!in_order) {
        PositionMarks marks(nodes.positions());
        for (const Share &share : shares)
            marks.add(share.node->position);
        shares.clear();
        marks.each([&](uint32_t position) { shares.push_back({&nodes.node(position), 0}); });
    }
    for (Share &share : shares)
        share.cores = share.node->cores;
}

void leave_differences(Shares &left, Shares &right)
{
    if (std::is_sorted(left.begin(), left.end(), is_before) &&
        std::is_sorted(right.begin(), right.end(), is_before)) {
        Shares left_alone, right_alone;
        auto l = left.begin(), r = right.begin();
        while (l != left.end() && r != right.end()) {
            if (l->node == r->node && l->cores == r->cores)
                ++l, ++r;
            else if (is_before(*l, *r))
                left_alone.push_back(*l++);
            else
                right_alone.push_back(*r++);
        }
        left_alone.insert(left_alone.end(), l, left.end());
        right_alone.insert(right_alone.end(), r, right.end());
        left = std::move(left_alone);
        right = std::move(right_alone);
        return;
    }
    auto same = [](const Share &a, const Share &b) {
        return a.node == b.node && a.cores == b.cores;
    };
    auto [left_from, right_from] =
        std::mismatch(left.begin(), left.end(), right.begin(), right.end(), same);
    left.erase(left.begin(), left_from);
    right.erase(right.begin(), right_from);
}

Shares State::shares(const JobSpec &spec, const Blocks &blocks) const
{
    Shares shares;
    shares.reserve(blocks.size());
    for (const Block &block : blocks) {
        if (const Node *where = node(block.node))
            shares.push_back({where, block.processes * spec.cores_per_process});
    }
    if (spec.whole_nodes)
        make_whole(shares);
    return shares;
}

Shares State::shares(const Job &job) const
{
    if (!is_allocated(job.state))
        return {};
    Shares all;
    all.reserve(job.blocks.size());
    auto add = [&](const Blocks &blocks) {
        for (const Block &block : blocks)
            all.push_back({node(block.node), block.processes * job.spec.cores_per_process});
    };
    add(job.blocks);
    if (job.adaptation)
        add(job.adaptation->joining);
    for (const Departure &departure : job.departures)
        add(departure.blocks);
    if (job.slots)
        add(slots_of(job));
    if (job.spec.whole_nodes)
        make_whole(all);
    return all;
}

Booking::Booking(Shares all) : shares(std::move(all))
{
    for (const Share &share : shares) {
        cores += share.cores;
        whole = whole && share.cores == share.node->cores;
    }
}

const Booking &State::booking(JobId id) const
{
    static const Booking nothing;
    auto found = booked_.find(id);
    return found == booked_.end() ? nothing : found->second;
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

/* The step itself reports slots that it has got. */
bool is_impatient(const Job &job)
{
    if (job.state != JobState::RUNNING || !job.size_request || !job.size_request->waits)
        return false;
    return job.size() < job.size_request->minimum || job.size() > job.size_request->maximum;
}

/* Whether more of its processes would fit into the whole nodes that it has. */
bool is_roomy(const State &state, const Job &job)
{
    if (!job.spec.whole_nodes)
        return false;
    auto fills = [&](const Node &node, int processes) {
        int most = node.cores / job.spec.cores_per_process;
        if (job.spec.processes_per_node > 0)
            most = std::min(most, job.spec.processes_per_node);
        return processes >= most;
    };
    bool each_fills = job.departures.empty() && count_slots(job) == 0;
    for (const Block &block : job.blocks)
        each_fills = each_fills && fills(*state.node(block.node), block.processes);
    if (each_fills)
        return false;
    PositionRanks ranks(state.free_cores().positions());
    Blocks all = present(job);
    for (const Block &block : all)
        ranks.mark(state.node(block.node)->position);
    std::vector<std::pair<const Node *, int>> processes(ranks.count());
    for (const Block &block : all) {
        const Node *node = state.node(block.node);
        auto &[of, sum] = processes[ranks.rank(node->position)];
        of = node;
        sum += block.processes;
    }
    return std::any_of(processes.begin(), processes.end(),
                       [&](const auto &entry) { return !fills(*entry.first, entry.second); });
}

/* How many cores it could give at most. */
int64_t spare_cores(const State &state, const Job &job)
{
    int spare = job.size() - size_at_least(job.spec, 1);
    if (!job.spec.whole_nodes || spare <= 0)
        return int64_t{std::max(spare, 0)} * job.spec.cores_per_process;
    PositionRanks nodes(state.free_cores().positions());
    int64_t cores = 0;
    for (const Block &block : job.blocks) {
        const Node *node = state.node(block.node);
        if (node && nodes.mark(node->position))
            cores += node->cores;
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

/* After a change for which the job has stood still for so long nobody changes it for nobody's sake
 * for so long, so that it stands still for a tenth of any ten minutes at most
 * (SPEC-performance K4): with a longer pause than this between two such changes n of them that take
 * more than the tenth take more than the ten minutes together. */
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
        facts.prioritised = job.spec.priority != 0;
    }
    facts.allocated = is_allocated(job.state);
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
    Facts now = facts(job);
    auto [known, is_new] = facts_.try_emplace(job.id);
    replace(job.id, known->second, now);
    known->second = std::move(now);
}

void State::unindex(const Job &job)
{
    auto known = facts_.find(job.id);
    if (known == facts_.end())
        return;
    replace(job.id, known->second, Facts());
    facts_.erase(known);
}

void State::replace(JobId id, const Facts &old, const Facts &now)
{
    note_changes(old, now);
    count(old, -1);
    count(now, 1);
    bool needs_the_same = old.queued.has_value() == now.queued.has_value() &&
        old.shape == now.shape && old.least == now.least;
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
    changes_.slot_requests |= old.wished != now.wished || old.impatient != now.impatient;
}

void State::enqueue(const Facts &facts)
{
    if (!facts.queued)
        return;
    auto [shape, is_new] = indices_.shapes.try_emplace(facts.shape);
    if (is_new)
        shape->second.capacity = capacity_when_empty(facts.shape, true);
    shape->second.jobs.insert({facts.least, facts.queued->job});
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
    indices_.queue.erase(facts.uid, *facts.queued);
    indices_.runnable.erase(facts.uid, *facts.queued);
}

/* Of one that needs the same as before. */
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

/* Jobs whose smallest size lies between the former capacity and the present one can run now, or
 * cannot any more. */
void State::find_runnable()
{
    for (auto &[shape, queue] : indices_.shapes) {
        int capacity = capacity_when_empty(shape, true);
        int low = std::min(capacity, queue.capacity), high = std::max(capacity, queue.capacity);
        auto end = queue.jobs.lower_bound({high + 1, 0});
        for (auto job = queue.jobs.lower_bound({low + 1, 0}); job != end; ++job) {
            const Facts &facts = facts_.at(job->second);
            if (job->first <= capacity)
                indices_.runnable.insert(facts.uid, turn_of(facts.uid), *facts.queued);
            else
                indices_.runnable.erase(facts.uid, *facts.queued);
        }
        queue.capacity = capacity;
    }
}

int State::capacity_when_empty(const Shape &shape, bool up_only) const
{
    int64_t capacity = 0;
    for (const auto &[cores, nodes] : up_only ? indices_.up_nodes : indices_.known_nodes) {
        int here = cores / shape.cores_per_process;
        if (shape.processes_per_node > 0)
            here = std::min(here, shape.processes_per_node);
        capacity += int64_t{here} * nodes;
    }
    return static_cast<int>(std::min<int64_t>(capacity, std::numeric_limits<int>::max() - 1));
}

/* So many jobs and cores more. */
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

/* ---- what is booked ------------------------------------------------------------ */

namespace {

/* Of shares in the order of the nodes, each node once: those that are there before or now alone. */
template <class Visit> void each_difference(const Shares &before, const Shares &now, Visit visit)
{
    auto old = before.begin();
    for (const Share &share : now) {
        for (; old != before.end() && old->node->position < share.node->position; ++old)
            visit(*old, -1);
        bool known = old != before.end() && old->node == share.node;
        if (known && old->cores == share.cores) {
            ++old;
            continue;
        }
        if (known)
            visit(*old++, -1);
        visit(share, 1);
    }
    for (; old != before.end(); ++old)
        visit(*old, -1);
}

}  // namespace

void State::book(const Job &job)
{
    free_cores();               /* so that the nodes have their positions */
    Booking now(shares(job)), &booked = booked_[job.id];
    count_use(job.spec.uid, 0, now.cores - booked.cores);
    if (booked.shares.empty() || now.shares.empty()) {
        book(booked.shares, -1);
        book(now.shares, 1);
    } else if (job.spec.whole_nodes) {
        each_difference(booked.shares, now.shares, [this](const Share &share, int sign) {
            book(*const_cast<Node *>(share.node), sign * share.cores);
        });
    } else {
        Shares less = booked.shares, more = now.shares;
        leave_differences(less, more);
        book(less, -1);
        book(more, 1);
    }
    booked = std::move(now);
    if (booked.shares.empty())
        booked_.erase(job.id);
    changes_.capacity = true;
}

void State::book(const Shares &shares, int sign)
{
    for (const Share &share : shares)
        book(*const_cast<Node *>(share.node), sign * share.cores);
}

void State::book(Node &node, int cores)
{
    NodeState state = node.state();
    bool was_empty = node.used == 0;
    node.used += cores;
    indices_.nodes.used_cores += cores;
    if (state == NodeState::DRAINING)
        indices_.nodes.drained += (node.used == 0) - was_empty;
    if (state != NodeState::UP)
        return;
    indices_.free_cores -= cores;
    free_cores_.set(node, node.free());
}

const FreeCores &State::free_cores() const
{
    if (stale_)
        free_cores_.rebuild(nodes);
    stale_ = false;
    return free_cores_;
}

/* ---- nodes ------------------------------------------------------------ */

void State::index(Node &node)
{
    size_t number = node.name.number();
    by_number_.resize(std::max(by_number_.size(), number + 1));
    by_number_[number] = &node;
    count(node, 1);
}

void State::unindex(const Node &node)
{
    by_number_[node.name.number()] = nullptr;
    count(node, -1);
}

/* The counts that depend on Node::used. */
void State::count_booked(const Node &node, int sign)
{
    indices_.free_cores += sign * node.free();
    indices_.nodes.used_cores += sign * node.used;
    if (node.state() == NodeState::DRAINING && node.used == 0)
        indices_.nodes.drained += sign;
}

void State::count(const Node &node, int sign)
{
    auto count_kind = [&](std::map<int, int> &kinds) {
        if ((kinds[node.cores] += sign) == 0)
            kinds.erase(node.cores);
    };
    count_booked(node, sign);
    indices_.nodes.states[static_cast<size_t>(node.state())] += sign;
    indices_.nodes.cores += sign * node.cores;
    if (node.state() == NodeState::UP) {
        indices_.up_cores += sign * node.cores;
        count_kind(indices_.up_nodes);
    }
    if (node.removed)
        indices_.removed_nodes += sign;
    else
        count_kind(indices_.known_nodes);
    find_runnable();
    stale_ = true;
    changes_.capacity = true;
}

std::string why_waiting(const State &state, const Job &job)
{
    if (job.held)
        return job.held_by_administrator ? "held by an administrator" : "held";
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
        return "its time to begin has not come";
    if (job.task && job.task->waits)
        return "the limit of its array: " +
            std::to_string(state.arrays.at(job.task->array).limit) + " tasks run at once";
    if (state.full_users.contains(job.spec.uid)) {
        auto user = state.of_user(job.spec.uid);
        return "the limit of a user: " + std::to_string(user.running) + " jobs run, with " +
               std::to_string(user.cores) + " cores";
    }
    if (job.offer_after_ms > state.now_ms)
        return job.reason.empty() ? "pauses" : job.reason;
    int64_t cores = int64_t{size_at_least(job.spec, 1)} * job.spec.cores_per_process;
    if (cores > state.indices().up_cores)
        return "nodes are down or draining";
    const Job *first = first_in_queue(state);
    return !first || first->id == job.id ? "resources" : WAITS_BEHIND;
}

const Job *first_in_queue(const State &state)
{
    const auto &queue = state.indices().queue;
    return queue.empty() ? nullptr : &state.jobs.at(queue.begin()->job);
}

}  // namespace elastic::rm
