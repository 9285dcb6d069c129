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
    void leave_draining_nodes();
    void look_at_others();
    void look_at_waiting();
    bool start(const Job &job);
    bool wait_for_cores(const Job &job);
    bool shrink_for(const JobSpec &spec, int want, bool below_share);
    int shrink_to(const Job &donor, int from, int less, int floor) const;
    int fill_nodes(const Job &job, int from, int size) const;
    std::vector<const Job *> may_shrink();
    int floor(const Job &job, bool below_share) const;
    int shrunk(const Job &job) const;
    void release(Space &space, const Job &job, int from, int to) const;
    void claim(const JobSpec &spec, int size);
    bool go_ahead(const Job &job);

    void spread();
    void add_running(const std::set<JobId> &jobs, std::vector<Growth> &growing);
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
    std::optional<Reservation> reservation_;
    bool others_wait_ = false;
};

Decisions Pass::run()
{
    const State::Indices &indices = state_.indices();
    size_t sharers = indices.placed.size() +
                     std::min(indices.queue.size(),
                              static_cast<size_t>(state_.config.backfill_depth) + 1);
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
    return std::move(decisions_);
}

/* What jobs give back without being asked for more. */
void Pass::expect_settling()
{
    soon_ = now_;
    for (JobId id : state_.indices().settling) {
        const Job &job = state_.jobs.at(id);
        std::vector<Share> before = state_.shares(job);
        if (job.state == JobState::COMPLETING) {
            soon_.give(before);
            continue;
        }
        Job after = job;
        after.departures.clear();
        if (after.adaptation)
            after.blocks = without(job.blocks, job.adaptation->leave);
        soon_.give(before);
        soon_.take(state_.shares(after));
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
            away += state_.nodes.at(block.node).state() == NodeState::UP ? 0 : block.processes;
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
    const State::Indices &indices = state_.indices();
    int looked_at = 0;
    for (const QueueKey &key : indices.queue) {
        if (now_.total() <= 0 && indices.spare_cores == 0 && indices.settling.empty()) {
            others_wait_ = true;
            return;
        }
        const Job &job = state_.jobs.at(key.job);
        if (job.offer_after_ms > state_.now_ms)
            continue;
        if (first_ && ++looked_at > state_.config.backfill_depth)
            return;
        if (first_) {
            others_wait_ = true;
            go_ahead(job);
        } else if (!start(job) && runnable(state_, job.spec, lowest(job.spec))) {
            others_wait_ = true;
            if (!wait_for_cores(job))
                first_ = &job;
        }
    }
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
    soon_.place(spec, size);
    now_.limit(soon_);
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

std::vector<const Job *> Pass::may_shrink()
{
    std::vector<const Job *> jobs;
    for (JobId id : state_.indices().elastic) {
        const Job &job = state_.jobs.at(id);
        if (moved_.contains(id) || shrunk(job) <= lowest(job.spec))
            continue;
        if (job.offer_after_ms > state_.now_ms)
            decisions_.look_again_at(job.offer_after_ms);
        else
            jobs.push_back(&job);
    }
    std::stable_sort(jobs.begin(), jobs.end(), [this](const Job *a, const Job *b) {
        return shrunk(*a) * a->spec.cores_per_process > shrunk(*b) * b->spec.cores_per_process;
    });
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

/* At least `less` less, if its floor allows it; `from`: it cannot give anything. */
int Pass::shrink_to(const Job &donor, int from, int less, int floor) const
{
    int to = std::max(size_at_most(donor.spec, from - less), floor);
    if (!donor.spec.whole_nodes)
        return to;
    for (;; to = std::max(size_at_most(donor.spec, to - 1), floor)) {
        int filled = fill_nodes(donor, from, to);
        if (filled < from)
            return filled;
        if (to <= floor)
            return from;
    }
}

/* The greatest size below `from` that needs no other nodes than `size` does: a node that stays is of no
 * use to others. */
int Pass::fill_nodes(const Job &job, int from, int size) const
{
    auto nodes = [&](int processes) {
        std::set<std::string> names;
        int leaving = job.size() - processes;
        for (const Block &block : without(job.blocks, choose_leaving(state_, job.blocks, leaving)))
            names.insert(block.node);
        return names;
    };
    std::set<std::string> kept = nodes(size);
    for (;;) {
        int more = size_at_least(job.spec, size + 1);
        if (more == 0 || more > from || nodes(more) != kept)
            return size;
        size = more;
    }
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
    add_running(may_take ? state_.indices().elastic : state_.indices().roomy, growing);
    fill_own_nodes(growing);
    if (idle) {
        grow_to_level(growing);
        grow_by_steps(growing);
    }
    emit(growing);
}

void Pass::add_running(const std::set<JobId> &jobs, std::vector<Growth> &growing)
{
    for (JobId id : jobs) {
        const Job &job = state_.jobs.at(id);
        int size = job.size();
        if (size >= cap(job) || shrinks_.contains(id) || moved_.contains(id))
            continue;
        int64_t from_ms = std::max(job.offer_after_ms, job.grow_after_ms);
        if (job.last_adapted_ms != NEVER)
            from_ms = std::max(from_ms, job.last_adapted_ms + state_.config.offer_pause_ms);
        if (from_ms > state_.now_ms)
            decisions_.look_again_at(from_ms);
        else
            growing.push_back({&job, false, size, cap(job), {}});
    }
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
    if (!can_start && !can_grow && !can_fill && !can_move && !can_give)
        return {};
    return Pass(state).run();
}

}  // namespace elastic::rm
