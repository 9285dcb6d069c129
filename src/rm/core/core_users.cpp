/*
 * See core_impl.h: limits of users and their groups, and fair share.
 *
 * Limits: policies do not know them.  Their decisions are reduced here to the limits of the user
 * and of the groups of the job.  A user is full if the next job of the user does not fit into the
 * limits.  Then no job of this user is in the queue until a user uses less, or changes a request
 * (let_in).  If the next job waits for cores, no job of this user grows: it would take the cores
 * that the next job needs.  A group is full, too, if the job does not fit into its limits: its
 * members get no more cores, so that they do not overtake the job.  For whole nodes the booked
 * cores count, which are known only when they are booked: the last job may exceed the limit of
 * cores.
 *
 * Budgets of groups: every event first counts the time since the last one, with the cores that the
 * group has booked in it.  So the counts follow from the events alone, and a restart continues
 * them.
 *
 * Fair share: the use of each user is counted in intervals (a 1024th of the half-life) and at the
 * end of each job, with the size that the job has then.  A user with all of the recorded use is
 * delayed by Config::fair_share_ms, others by their part of it.  All values are whole numbers, so
 * that a replayed log gives the same values.
 */

#include "core/core_impl.h"
#include "core/placement.h"
#include "core/user_limits.h"

namespace elastic::rm {

namespace {

constexpr int64_t INTERVALS = 1024;     /* in a half-life */
/* one of this number of parts expires in each: (1 - 1/1478)^1024 = 1/2 */
constexpr int64_t FORGOTTEN = 1478;
constexpr int64_t DELAY_STEP_MS = 1000; /* smaller changes do not sort the queue again */
constexpr int64_t CORES_MAX = int64_t{1} << 20, SPAN_MAX_MS = int64_t{1} << 38,
                  USE_MAX = int64_t{1} << 60;

/* The first of them, in rank order. */
Blocks first_of(const Blocks &blocks, int processes)
{
    Blocks first;
    for (const Block &block : blocks) {
        int here = std::min(block.processes, processes);
        if (here > 0)
            first.push_back({block.node, here});
        processes -= here;
    }
    return first;
}

}  // namespace

/* ---- limits ---------------------------------------------------------------------------------- */

/* Whether the user is full for a reason other than the number of running jobs. */
bool Core::Impl::waits_for_cores(uint32_t uid) const
{
    return state.full_users.contains(uid) &&
           UserLimits(state).allow_a_job_of(uid);
}

/* Number of further cores that all limits allow. */
int64_t Core::Impl::cores_left(const JobSpec &spec) const
{
    auto is_full = [&](const std::string &name) { return state.full_groups.contains(name); };
    bool keeps_for_next = state.config.user_cores_max > 0 && waits_for_cores(spec.uid);
    if (keeps_for_next || std::ranges::any_of(spec.groups, is_full))
        return 0;
    return UserLimits(state).cores_left(spec);
}

/* Maximum number of cores of one job, and the user or group with that limit. */
int64_t Core::Impl::cores_max(const JobSpec &spec, std::string &whose) const
{
    int64_t least = INT64_MAX;
    auto limit = [&](int64_t most, const std::string &who) {
        if (most > 0 && most < least) {
            least = most;
            whose = who;
        }
    };
    limit(state.config.user_cores_max, "a user");
    for (const std::string &name : spec.groups) {
        if (const GroupLimit *group = find_group(state.config.groups, name))
            limit(group->cores_max, "group " + name);
    }
    return least;
}

/* False: its user may not have it now.  If only a smaller allocation is allowed, the start is
 * reduced to it. */
bool Core::Impl::limit_start(const Job &job, Start &start)
{
    const Config &config = state.config;
    uint32_t uid = job.spec.uid;
    if (config.user_running_max == 0 && config.user_cores_max == 0 && job.spec.groups.empty())
        return true;
    if (state.full_users.contains(uid))
        return false;
    int wanted = count_processes(start.blocks);
    int64_t most = cores_left(job.spec) / job.spec.cores_per_process;
    int size = most >= wanted ? wanted : size_at_most(job.spec, static_cast<int>(most));
    UserLimits limits(state);
    int64_t least = int64_t{size_at_least(job.spec, 1)} * job.spec.cores_per_process;
    auto admits = [&](const std::string &name) { return limits.allow_in_group(name, least); };
    if (size > 0 && limits.allow_a_job_of(uid) && std::ranges::all_of(job.spec.groups, admits)) {
        if (size < wanted) {
            start.blocks = first_of(start.blocks, size);
            start.numbers.user_most = static_cast<int>(most);
        }
        return true;
    }
    for (const std::string &group : job.spec.groups) {
        if (!admits(group))
            state.full_groups.insert(group);
    }
    state.requeue(uid, [&] { state.full_users.insert(uid); });
    return false;
}

/* The same for a change of size.  A change that is not allowed is not tried again for some time. */
bool Core::Impl::limit_growth(Job &job, Change &change)
{
    int more = change.size - job.size();
    int64_t most = more > 0 ? cores_left(job.spec) / job.spec.cores_per_process : more;
    if (more <= most)
        return true;
    int size = size_at_most(job.spec, job.size() + static_cast<int>(most));
    if (size > job.size() && change.leave.empty()) {
        change.joining = first_of(change.joining, size - job.size());
        change.size = size;
        change.loaned = std::min(change.loaned, size - job.size());
        return true;
    }
    update(job, [&] { job.grow_after_ms = state.now_ms + state.config.refusal_pause_ms; });
    return false;
}

/* Full users and groups may no longer be full. */
void Core::Impl::let_in()
{
    if (!std::exchange(eased_, false))
        return;
    state.full_groups.clear();
    const std::set<uint32_t> full = state.full_users;
    for (uint32_t uid : full)
        state.requeue(uid, [&] { state.full_users.erase(uid); });
}

/* ---- budgets of groups ----------------------------------------------------------------------- */

/* A new period begins with nothing used.  Of jobs that run on, its part counts. */
void Core::Impl::count_group_times()
{
    std::map<std::string, GroupTime> counted;
    for (const GroupLimit &limit : state.config.groups) {
        if (limit.budget_ms == 0)
            continue;
        auto known = state.group_times.find(limit.name);
        GroupTime time = known == state.group_times.end() ? GroupTime{limit.name, 0, state.now_ms}
                                                          : known->second;
        int64_t begin_ms = period_end_ms(limit, state.now_ms) - limit.period_ms;
        if (time.until_ms < begin_ms) {
            eased_ = eased_ || state.is_spent(limit);
            time.until_ms = begin_ms;
            time.core_ms = 0;
        }
        int64_t cores = std::min(state.of_group(limit.name).cores, CORES_MAX);
        int64_t span_ms = std::min(state.now_ms - time.until_ms, SPAN_MAX_MS);
        time.core_ms = std::min(time.core_ms + cores * span_ms, USE_MAX);
        time.until_ms = state.now_ms;
        counted.emplace(limit.name, std::move(time));
    }
    state.group_times = std::move(counted);
}

/* The next period of a group whose jobs wait for it; NEVER: there is none. */
int64_t Core::Impl::budgets_change_ms() const
{
    int64_t next_ms = NEVER;
    for (const GroupLimit &limit : state.config.groups) {
        if (state.is_spent(limit) && state.of_group(limit.name).jobs > 0)
            next_ms = earlier(next_ms, period_end_ms(limit, state.now_ms));
    }
    return next_ms;
}

/* ---- fair share ------------------------------------------------------------------------------ */

int64_t Core::Impl::use_interval_ms() const
{
    return std::max<int64_t>(state.config.fair_share_half_life_ms / INTERVALS, 1);
}

/* Adds the use of the job since the last count. */
void Core::Impl::add_use(const Job &job)
{
    if (state.config.fair_share_ms == 0)
        return;
    int64_t cores = 0, since_ms = std::max(state.uses_at_ms, job.started_ms);
    for (const Share &share : state.booked(job.id))
        cores += share.cores;
    Use &use = state.uses[job.spec.uid];
    use.uid = job.spec.uid;
    int64_t span_ms = std::clamp<int64_t>(state.now_ms - since_ms, 0, SPAN_MAX_MS);
    use.core_ms = std::min(use.core_ms + std::min(cores, CORES_MAX) * span_ms, USE_MAX);
}

void Core::Impl::count_use()
{
    if (state.config.fair_share_ms == 0)
        return;
    if (state.uses_at_ms == NEVER)
        state.uses_at_ms = state.now_ms;
    int64_t intervals = (state.now_ms - state.uses_at_ms) / use_interval_ms();
    if (intervals == 0)
        return;
    for (auto &[uid, use] : state.uses)
        for (int64_t i = 0; i < intervals && use.core_ms >= FORGOTTEN; i++)
            use.core_ms -= use.core_ms / FORGOTTEN;
    for (JobId id : state.indices().allocated)
        add_use(state.jobs.at(id));
    state.uses_at_ms = state.now_ms;
    set_delays();
}

void Core::Impl::set_delays()
{
    double all = 0;
    for (const auto &[uid, use] : state.uses)
        all += static_cast<double>(use.core_ms);
    for (auto &entry : state.uses) {
        Use &use = entry.second;
        double part = all > 0 ? static_cast<double>(use.core_ms) / all : 0;
        auto steps = static_cast<int64_t>(
            part * static_cast<double>(state.config.fair_share_ms / DELAY_STEP_MS));
        if (steps * DELAY_STEP_MS != use.delay_ms)
            state.requeue(use.uid, [&] { use.delay_ms = steps * DELAY_STEP_MS; });
    }
}

}  // namespace elastic::rm
