/* See policy_fill.h. */

#include "core/policy_fill.h"

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
    void look_at_waiting();
    bool start(const Job &job);
    bool wait_for_cores(const Job &job);
    bool shrink_for(const Job &job, int want, bool below_share);
    std::vector<const Job *> may_shrink() const;
    int floor(const Job &job, bool below_share) const;
    int shrunk(const Job &job) const;
    void release(Space &space, const Job &job, int from, int to) const;
    void claim(const JobSpec &spec, int size);
    bool go_ahead(const Job &job);

    void spread();
    void add_running(std::vector<Growth> &growing);
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
    look_at_waiting();
    for (const auto &[id, size] : shrinks_) {
        const Job &job = state_.jobs.at(id);
        decisions_.changes.push_back({id, size,
                                      choose_leaving(state_, job.blocks, job.size() - size),
                                      {}, "cores for a waiting job"});
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
    if (shrink_for(job, want, false)) {
        claim(job.spec, want);
        return true;
    }
    if (!shrink_for(job, least, true))
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

std::vector<const Job *> Pass::may_shrink() const
{
    std::vector<const Job *> jobs;
    for (JobId id : state_.indices().elastic) {
        const Job &job = state_.jobs.at(id);
        if (job.offer_after_ms <= state_.now_ms && !moved_.contains(id) &&
            shrunk(job) > lowest(job.spec))
            jobs.push_back(&job);
    }
    std::stable_sort(jobs.begin(), jobs.end(), [this](const Job *a, const Job *b) {
        return shrunk(*a) * a->spec.cores_per_process > shrunk(*b) * b->spec.cores_per_process;
    });
    return jobs;
}

/* Takes as little as possible, from the largest first; several rounds, since what is given need
 * not be what the waiting job can use (whole nodes, several cores per process). */
bool Pass::shrink_for(const Job &job, int want, bool below_share)
{
    Space trial = soon_;
    std::map<JobId, int> planned;
    std::vector<const Job *> donors = may_shrink();
    int room = trial.room(job.spec);
    for (bool progress = true; room < want && progress;) {
        progress = false;
        for (const Job *donor : donors) {
            int from = planned.contains(donor->id) ? planned[donor->id] : shrunk(*donor);
            int cores = (want - room) * job.spec.cores_per_process;
            int less = (cores + donor->spec.cores_per_process - 1) / donor->spec.cores_per_process;
            int to = std::max(size_at_most(donor->spec, from - less), floor(*donor, below_share));
            if (to >= from)
                continue;
            release(trial, *donor, from, to);
            planned[donor->id] = to;
            progress = true;
            room = trial.room(job.spec);
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

/* A first job that will start soon would only take the cores back. */
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
    if (idle && worth_growing())
        add_running(growing);
    if (idle) {
        grow_to_level(growing);
        grow_by_steps(growing);
    }
    emit(growing);
}

void Pass::add_running(std::vector<Growth> &growing)
{
    for (JobId id : state_.indices().elastic) {
        const Job &job = state_.jobs.at(id);
        int size = job.size();
        if (size >= cap(job) || shrinks_.contains(id) || moved_.contains(id))
            continue;
        int64_t from_ms = job.offer_after_ms;
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
    Blocks own = growth.starts ? growth.blocks : append(growth.job->blocks, growth.blocks);
    int more = size - growth.size;
    if (more <= 0 || !now_.fits(spec, more, own))
        return false;
    growth.blocks = append(std::move(growth.blocks), now_.place(spec, more, own));
    growth.size = size;
    return true;
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
            Blocks own = each.starts ? each.blocks : append(each.job->blocks, each.blocks);
            grow(each, size_at_most(each.job->spec,
                                    std::min(size, each.size + now_.room(each.job->spec, own))));
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
    bool can_move = indices.draining_nodes > 0 && !indices.elastic.empty();
    if (!can_start && !can_grow && !can_move)
        return {};
    return Pass(state).run();
}

}  // namespace elastic::rm
