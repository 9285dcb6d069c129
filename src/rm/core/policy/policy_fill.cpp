/* See policy_fill.h. */

#include "core/policy/policy_fill.h"

#include <cassert>

namespace elastic::rm {

namespace {

/* A job that starts or grows. */
struct Growth {
    const Job *job;
    bool starts;
    int size;           /* so far */
    int cap;            /* at most */
    Blocks blocks;      /* its place: all of it if it starts, the joining processes if it grows */
};

int lowest(const JobSpec &spec)
{
    return size_at_least(spec, 1);
}

/* One decision: owns the scratch spaces. */
class Pass {
  public:
    explicit Pass(const State &state) : state_(state), now_(state), soon_(now_) {}
    Decisions run();

  private:
    void expect_settling();
    void say_dependence();
    void leave_draining_nodes();
    void look_at_others();
    void look_at_waiting();
    bool help_in_order();
    bool nothing_to_give() const;
    bool start(const Job &job);
    bool wait_for_cores(const Job &job);
    bool shrink_for(const JobSpec &spec, int want, bool below_share);
    int shrink_to(const Job &donor, int from, int less, int floor) const;
    std::vector<int> emptied_at(const Job &job) const;
    std::vector<const Job *> may_shrink();
    int floor(const Job &job, bool below_share) const;
    int shrunk(const Job &job) const;
    void release(Space &space, const Job &job, int from, int to) const;
    void claim(const JobSpec &spec, int size);
    bool go_ahead(const Job &job);

    void spread();
    void add_running(const std::vector<JobId> &jobs, std::vector<Growth> &growing);
    bool may_grow(const Job &job) const;
    std::vector<JobId> growers();
    std::vector<JobId> roomy();
    void fill_own_nodes(std::vector<Growth> &growing);
    static Blocks own(const Growth &growth);
    int cap(const Job &job) const;
    bool worth_growing() const;
    void grow_to_level(std::vector<Growth> &growing);
    void grow_by_steps(std::vector<Growth> &growing);
    bool grow(Growth &growth, int size);
    void emit(std::vector<Growth> &growing);

    const State &state_;
    Decisions decisions_;
    Space now_;         /* what may be booked */
    Space soon_;        /* and what is about to be freed, without what is claimed of it */
    int fair_cores_ = 0;
    std::vector<Growth> starts_;
    std::map<JobId, int> shrinks_;      /* new sizes */
    std::set<JobId> moved_;             /* leave draining nodes */
    std::set<JobId> give_way_;          /* of shrinks_: to somebody else */
    const Job *first_ = nullptr;        /* that cannot be helped now */
    QueueKey looked_until_ = QUEUE_END;
    std::optional<Reservation> reservation_;
    bool others_wait_ = false;
};

Decisions Pass::run()
{
    const State::Indices &indices = state_.indices();
    size_t sharers = indices.placed.size() + static_cast<size_t>(waiting_sharers(state_));
    fair_cores_ =
        static_cast<int>(indices.up_cores / static_cast<int64_t>(std::max<size_t>(sharers, 1)));
    if (indices.draining_nodes > 0)
        leave_draining_nodes();
    expect_settling();
    look_at_others();
    look_at_waiting();
    for (const auto &[id, size] : shrinks_) {
        const Job &job = state_.jobs.at(id);
        std::string reason = give_way_.contains(id) ? "nodes for " + state_.wanted_by
                                                    : "cores for a waiting job";
        decisions_.changes.push_back({id, size,
                                      choose_leaving(state_, job.blocks, job.size() - size),
                                      {}, reason});
    }
    spread();
    say_dependence();
    return std::move(decisions_);
}

void Pass::say_dependence()
{
    if (state_.indices().draining_nodes > 0)
        return decisions_.depends_on.reset();
    Dependence &on = *decisions_.depends_on;
    on = {looked_until_, NEVER, true, waiting_sharers(state_)};
    if (reservation_)
        on.limits_until_ms = reservation_->limits_until_ms();
    if (reservation_ && reservation_->time_ms() != NEVER && worth_growing())
        on.until_ms = reservation_->time_ms() - 2 * state_.config.offer_pause_ms;
}

/* What jobs give back without being asked for more. */
void Pass::expect_settling()
{
    soon_ = now_;
    for (JobId id : state_.indices().settling) {
        const Job &job = state_.jobs.at(id);
        const Shares &before = state_.booked(id);
        if (job.state == JobState::COMPLETING) {
            soon_.give(before);
            continue;
        }
        Blocks after = job.blocks;
        if (job.adaptation)
            after = append(without(job.blocks, job.adaptation->leave), job.adaptation->joining);
        soon_.give(before);
        soon_.take(state_.shares(job.spec, after));
    }
}

/* ---- draining nodes ------------------------------------------------------------ */

void Pass::leave_draining_nodes()
{
    for (JobId id : state_.indices().elastic) {
        const Job &job = state_.jobs.at(id);
        if (job.offer_after_ms > state_.now_ms)
            continue;
        int away = 0;
        for (const Block &block : job.blocks)
            away += state_.node(block.node)->state() == NodeState::UP ? 0 : block.processes;
        if (away == 0)
            continue;
        int staying = job.size() - away;
        Blocks own = without(job.blocks, choose_leaving(state_, job.blocks, away));
        int size = size_at_most(job.spec, std::min(job.size(), staying + now_.room(job.spec, own)));
        if (size == 0 || size < staying)
            continue;
        Change change{id, size, choose_leaving(state_, job.blocks, away), {}, "a node is drained"};
        if (size > staying)
            change.joining = now_.place(job.spec, size - staying, own);
        decisions_.changes.push_back(change);
        moved_.insert(id);
    }
}

/* ---- somebody else ------------------------------------------------------------ */

/* Like a rigid job that is ahead of all others, except that who starts it is not us.  If it cannot have
 * all that it wants, nobody gives way for it in vain, and what idles is left to it. */
void Pass::look_at_others()
{
    if (state_.wanted_nodes == 0)
        return;
    others_wait_ = true;
    JobSpec spec;
    spec.whole_nodes = true;
    spec.processes_per_node = 1;
    int want = state_.wanted_nodes;
    if (soon_.room(spec) < want && state_.indices().spare_cores > 0)
        shrink_for(spec, want, false) || shrink_for(spec, want, true);
    for (const auto &[id, size] : shrinks_)
        give_way_.insert(id);
    int here = std::min(want, now_.room(spec));
    Blocks idle = now_.place(spec, here);
    soon_.take(state_.shares(spec, idle));
    claim(spec, std::min(want - here, soon_.room(spec)));
}

/* ---- waiting jobs ------------------------------------------------------------ */

void Pass::look_at_waiting()
{
    if (!help_in_order())
        return;
    const std::set<QueueKey> &queue = state_.indices().queue;
    looked_until_ = state_.queue_key(*first_);
    int left = state_.config.backfill_depth;
    auto next = queue.upper_bound(looked_until_);
    for (; next != queue.end(); ++next) {
        if (nothing_to_give())
            break;
        looked_until_ = *next;
        const Job &job = state_.jobs.at(next->job);
        if (job.offer_after_ms > state_.now_ms)
            continue;
        if (--left < 0)
            return;
        others_wait_ = true;
        go_ahead(job);
    }
    if (next == queue.end())
        looked_until_ = QUEUE_END;
    else
        others_wait_ = true;
}

/* Those who start, or for whom enough is about to be freed; false: all could be helped. */
bool Pass::help_in_order()
{
    const State::Indices &indices = state_.indices();
    QueueKey last = QUEUE_BEGIN;
    for (const QueueKey &key : indices.runnable) {
        if (nothing_to_give())
            break;
        last = key;
        const Job &job = state_.jobs.at(key.job);
        if (job.offer_after_ms > state_.now_ms || start(job))
            continue;
        others_wait_ = true;
        if (!wait_for_cores(job)) {
            first_ = &job;
            return true;
        }
    }
    if (nothing_to_give() && indices.queue.upper_bound(last) != indices.queue.end()) {
        others_wait_ = true;
        looked_until_ = *indices.queue.upper_bound(last);
    }
    return false;
}

bool Pass::nothing_to_give() const
{
    return now_.total() <= 0 && state_.indices().spare_cores == 0 && state_.indices().settling.empty();
}

bool Pass::start(const Job &job)
{
    int size = lowest(job.spec);
    if (!now_.fits(job.spec, size))
        return false;
    Growth growth{&job, true, size, 0, now_.place(job.spec, size)};
    soon_.take(state_.shares(job.spec, growth.blocks));
    starts_.push_back(std::move(growth));
    return true;
}

/* Whether enough is about to be freed, or can be. */
bool Pass::wait_for_cores(const Job &job)
{
    int least = lowest(job.spec);
    if (soon_.fits(job.spec, least)) {
        claim(job.spec, least);
        return true;
    }
    int64_t cores = int64_t{least} * job.spec.cores_per_process;
    if (state_.indices().spare_cores == 0 || soon_.total() + state_.indices().spare_cores < cores)
        return false;
    int fair = fair_cores_ / job.spec.cores_per_process;
    int share = size_at_most(job.spec, std::min(fair, cap(job)));
    int want = std::max(least, share);
    if (shrink_for(job.spec, want, false)) {
        claim(job.spec, want);
        return true;
    }
    if (!shrink_for(job.spec, least, true))
        return false;
    claim(job.spec, least);
    return true;
}

void Pass::claim(const JobSpec &spec, int size)
{
    now_.limit(soon_, soon_.place(spec, size));
}

/* The size that it has, or will have by what is planned. */
int Pass::shrunk(const Job &job) const
{
    auto planned = shrinks_.find(job.id);
    return planned == shrinks_.end() ? job.size() : planned->second;
}

int Pass::floor(const Job &job, bool below_share) const
{
    int least = lowest(job.spec);
    if (below_share)
        return least;
    return std::max(least, size_at_least(job.spec, fair_cores_ / job.spec.cores_per_process));
}

/* The largest first, by the sizes that they will have. */
std::vector<const Job *> Pass::may_shrink()
{
    const State::Indices &indices = state_.indices();
    std::vector<std::pair<int64_t, JobId>> order;       /* cores, negative */
    for (const auto &[id, size] : shrinks_) {
        const Job &job = state_.jobs.at(id);
        if (size > lowest(job.spec) && job.offer_after_ms <= state_.now_ms)
            order.emplace_back(-int64_t{size} * job.spec.cores_per_process, id);
    }
    std::sort(order.begin(), order.end());
    std::vector<const Job *> jobs;
    auto planned = order.begin();
    for (const auto &donor : indices.donors) {
        for (; planned != order.end() && *planned < donor; ++planned)
            jobs.push_back(&state_.jobs.at(planned->second));
        const Job &job = state_.jobs.at(donor.second);
        if (!shrinks_.contains(job.id) && !moved_.contains(job.id) && job.offer_after_ms <= state_.now_ms)
            jobs.push_back(&job);
    }
    for (; planned != order.end(); ++planned)
        jobs.push_back(&state_.jobs.at(planned->second));
    for (auto paused = indices.pauses.upper_bound({state_.now_ms, std::numeric_limits<JobId>::max()});
         paused != indices.pauses.end(); ++paused) {
        const Job &job = state_.jobs.at(paused->second);
        if (moved_.contains(job.id) || shrunk(job) <= lowest(job.spec))
            continue;
        decisions_.look_again_at(paused->first);
        break;
    }
    return jobs;
}

/* Takes as little as possible, from the largest first; several rounds, since what is given need
 * not be what the waiting job can use (whole nodes, several cores per process). */
bool Pass::shrink_for(const JobSpec &spec, int want, bool below_share)
{
    Space trial = soon_;
    std::map<JobId, int> planned;
    std::vector<const Job *> donors = may_shrink();
    int room = trial.room(spec);
    for (bool progress = true; room < want && progress;) {
        progress = false;
        for (const Job *donor : donors) {
            int from = planned.contains(donor->id) ? planned[donor->id] : shrunk(*donor);
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
    soon_ = std::move(trial);
    for (const auto &[id, size] : planned)
        shrinks_[id] = size;
    return true;
}

/* At least `less` less, if its floor allows it; `from`: it cannot give anything.  Of whole nodes it keeps no
 * more than it must, and as many processes as they hold: a node that stays is of no use to others. */
int Pass::shrink_to(const Job &donor, int from, int less, int floor) const
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

/* How many processes have to leave until the job has left one of its nodes, two, three, ...: in the order of
 * choose_leaving. */
std::vector<int> Pass::emptied_at(const Job &job) const
{
    std::unordered_map<const Node *, int> last;
    int leaving = 0;
    for (bool up : {false, true}) {
        for (auto block = job.blocks.rbegin(); block != job.blocks.rend(); ++block) {
            const Node *node = state_.node(block->node);
            if ((node->state() == NodeState::UP) == up)
                last[node] = leaving += block->processes;
        }
    }
    std::vector<int> emptied;
    for (const auto &[node, count] : last)
        emptied.push_back(count);
    std::sort(emptied.begin(), emptied.end());
    return emptied;
}

void Pass::release(Space &space, const Job &job, int from, int to) const
{
    auto world = [&](int size) {
        return without(job.blocks, choose_leaving(state_, job.blocks, job.size() - size));
    };
    Blocks before = world(from), after = world(to);
    space.give(state_.shares(job.spec, before));
    space.take(state_.shares(job.spec, after));
}

/* Beside the first job's reservation. */
bool Pass::go_ahead(const Job &job)
{
    int size = lowest(job.spec);
    if (!now_.fits(job.spec, size))
        return false;
    if (!reservation_)
        reservation_.emplace(state_, now_, first_->spec, lowest(first_->spec));
    if (!reservation_->allows(now_, job.spec, size))
        return false;
    Growth growth{&job, true, size, 0, reservation_->place(now_, job.spec, size)};
    soon_.take(state_.shares(job.spec, growth.blocks));
    starts_.push_back(std::move(growth));
    return true;
}

/* ---- what idles ------------------------------------------------------------ */

int Pass::cap(const Job &job) const
{
    const JobSpec &spec = job.spec;
    int most = spec.preferred > 0 && others_wait_ ? spec.preferred : spec.maximum;
    return job.wished_size > 0 ? std::min(most, job.wished_size) : most;
}

/* A first job that will start soon would only take the cores back.  While others wait for nodes, whoever gives
 * them gives none to us, and refusals would only make our jobs pause. */
bool Pass::worth_growing() const
{
    return !reservation_ || reservation_->time_ms() == NEVER ||
           reservation_->time_ms() > state_.now_ms + 2 * state_.config.offer_pause_ms;
}

void Pass::spread()
{
    std::vector<Growth> growing;
    bool idle = now_.total() > 0;
    if (idle && first_ && !reservation_)
        reservation_.emplace(state_, now_, first_->spec, lowest(first_->spec));
    for (Growth &each : starts_) {
        /* What cannot be shrunk again must not grow into what is reserved. */
        bool may_grow = each.job->spec.elasticity == Elasticity::MALLEABLE || !first_;
        each.cap = may_grow ? cap(*each.job) : each.size;
        growing.push_back(std::move(each));
    }
    bool may_take = idle && state_.wanted_nodes == 0 && worth_growing();
    add_running(may_take ? growers() : roomy(), growing);
    fill_own_nodes(growing);
    if (idle) {
        grow_to_level(growing);
        grow_by_steps(growing);
    }
    emit(growing);
}

/* In the order of their numbers. */
void Pass::add_running(const std::vector<JobId> &jobs, std::vector<Growth> &growing)
{
    for (JobId id : jobs) {
        const Job &job = state_.jobs.at(id);
        if (may_grow(job))
            growing.push_back({&job, false, job.size(), cap(job), {}});
    }
}

bool Pass::may_grow(const Job &job) const
{
    return job.size() < cap(job) && !shrinks_.contains(job.id) && !moved_.contains(job.id);
}

/* Of all that may grow; of those with idle cores in nodes of their own. */
std::vector<JobId> Pass::growers()
{
    const auto &all = state_.indices().growers;
    auto later = all.upper_bound({state_.now_ms, std::numeric_limits<JobId>::max()});
    std::vector<JobId> ids;
    for (auto each = all.begin(); each != later; ++each)
        ids.push_back(each->second);
    std::sort(ids.begin(), ids.end());
    while (later != all.end() && !may_grow(state_.jobs.at(later->second)))
        ++later;
    if (later != all.end())
        decisions_.look_again_at(later->first);
    return ids;
}

std::vector<JobId> Pass::roomy()
{
    std::vector<JobId> ids;
    for (JobId id : state_.indices().roomy) {
        const Job &job = state_.jobs.at(id);
        int64_t from_ms = state_.growth_from_ms(job);
        if (from_ms <= state_.now_ms)
            ids.push_back(id);
        else if (may_grow(job))
            decisions_.look_again_at(from_ms);
    }
    return ids;
}

bool Pass::grow(Growth &growth, int size)
{
    const JobSpec &spec = growth.job->spec;
    Blocks mine = own(growth);
    int more = size - growth.size;
    if (more <= 0 || !now_.fits(spec, more, mine))
        return false;
    growth.blocks = append(std::move(growth.blocks), now_.place(spec, more, mine));
    growth.size = size;
    return true;
}

Blocks Pass::own(const Growth &growth)
{
    return growth.starts ? growth.blocks : append(present(*growth.job), growth.blocks);
}

/* Whole nodes that a job has cost nothing more, whoever else waits. */
void Pass::fill_own_nodes(std::vector<Growth> &growing)
{
    for (Growth &each : growing) {
        const JobSpec &spec = each.job->spec;
        if (spec.whole_nodes && spec.elasticity != Elasticity::RIGID)
            grow(each, size_at_most(spec, std::min(cap(*each.job),
                                                   each.size + now_.room_within(spec, own(each)))));
    }
}

/* Raises all to the highest common level that the idle cores allow. */
void Pass::grow_to_level(std::vector<Growth> &growing)
{
    auto target = [](const Growth &growth, int level) {
        return std::max(growth.size, size_at_most(growth.job->spec, std::min(level, growth.cap)));
    };
    auto cores = [&](int level) {
        int64_t sum = 0;
        for (const Growth &each : growing)
            sum += int64_t{target(each, level) - each.size} * each.job->spec.cores_per_process;
        return sum;
    };
    int low = 0, high = 0;
    for (const Growth &each : growing)
        high = std::max(high, each.cap);
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (cores(middle) <= now_.total())
            low = middle;
        else
            high = middle - 1;
    }
    for (Growth &each : growing) {
        int size = target(each, low);
        if (size > each.size && !grow(each, size)) {
            int most = each.size + now_.room(each.job->spec, own(each));
            grow(each, size_at_most(each.job->spec, std::min(size, most)));
        }
    }
}

/* What is left goes to the smallest that can use it. */
void Pass::grow_by_steps(std::vector<Growth> &growing)
{
    std::vector<Growth *> order;
    for (Growth &each : growing)
        order.push_back(&each);
    std::stable_sort(order.begin(), order.end(),
                     [](const Growth *a, const Growth *b) { return a->size < b->size; });
    for (bool progress = true; progress && now_.total() > 0;) {
        progress = false;
        for (Growth *each : order) {
            int size = size_at_least(each->job->spec, each->size + 1);
            if (size > 0 && size <= each->cap)
                progress = grow(*each, size) || progress;
        }
    }
}

void Pass::emit(std::vector<Growth> &growing)
{
    for (Growth &each : growing) {
        if (each.starts)
            decisions_.starts.push_back({each.job->id, std::move(each.blocks)});
        else if (!each.blocks.empty())
            decisions_.changes.push_back(
                {each.job->id, each.size, {}, std::move(each.blocks), "idle cores"});
    }
}

}  // namespace

Decisions Fill::decide(const State &state) const
{
    const State::Indices &indices = state.indices();
    bool can_start = !indices.queue.empty() && (indices.free_cores > 0 || indices.spare_cores > 0);
    bool can_grow = indices.free_cores > 0 && !indices.elastic.empty();
    bool can_fill = !indices.roomy.empty();
    bool can_move = indices.draining_nodes > 0 && !indices.elastic.empty();
    bool can_give = state.wanted_nodes > 0 && indices.spare_cores > 0;
    if (can_start || can_grow || can_fill || can_move || can_give)
        return Pass(state).run();
    Decisions nothing;
    bool anybody_could_start = indices.free_cores > 0 || indices.spare_cores > 0;
    nothing.depends_on =
        Dependence{anybody_could_start ? QUEUE_END : QUEUE_BEGIN, NEVER, true, -1};
    return nothing;
}

}  // namespace elastic::rm
