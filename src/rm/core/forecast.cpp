/* See forecast.h. */

#include "core/forecast.h"

#include <list>

#include "core/placement.h"
#include "core/policy/fill_plan.h"
#include "core/policy/policy_efficient.h"
#include "core/time_limit.h"
#include "core/user_limits.h"

namespace elastic::rm {

namespace {

/* Jobs in front of it, without those that do not delay it: with more it is unreliable, and takes
 * long. */
constexpr int DELAYING_MAX = 100, VISITED_MAX = 1000;

/* Cores that running jobs release, under policies that take them (fill_plan.h). */
std::optional<Outlook> outlook_of(const State &state)
{
    PolicyKind kind = state.config.policy;
    if (kind == PolicyKind::FCFS || kind == PolicyKind::EASY)
        return std::nullopt;
    FillPlan plan(state, equal_gain(),
                  kind == PolicyKind::EFFICIENT ? efficient_rules() : any_sizes());
    plan.expect_freed();
    return plan.outlook();
}

/* The size with which it starts; 0: the nodes that it may use cannot hold it. */
int size_at_start(const State &state, const JobSpec &spec)
{
    PolicyKind kind = state.config.policy;
    bool fixed = kind == PolicyKind::FCFS || kind == PolicyKind::EASY;
    int size = !fixed ? size_at_least(spec, 1) : fixed_size(state, spec);
    return size > 0 && runnable(state, spec, size) ? size : 0;
}

/* The same if no node were reserved for others. */
int size_unreserved(const State &state, const JobSpec &spec)
{
    bool is_reduced = !state.config.reservations.empty();
    return size_at_start(state, is_reduced ? state.unreserved(spec) : spec);
}

/* Starts the jobs of the queue in order, each as soon as enough jobs have ended. */
class Course {
  public:
    explicit Course(const State &state) : state_(state), space_(state), now_ms_(state.now_ms),
                                          limits_(state)
    {
        std::optional<Outlook> outlook = outlook_of(state);
        for (const Booking &booking : outlook ? outlook->at_once : std::vector<Booking>())
            space_.give(booking.shares);
        for (JobId id : state.indices().allocated) {
            const Job &job = state.jobs.at(id);
            bool ends = job.state == JobState::COMPLETING;
            int64_t end_ms = ends ? state.now_ms : job.limit_at_ms;
            if (end_ms == NEVER)
                continue;
            bool is_rest = outlook && outlook->at_end.contains(id);
            Booking booking = is_rest ? outlook->at_end.at(id) : state.booking(id);
            int64_t cores = state.booking(id).cores;
            if (ends && outlook)        /* it has released all at once */
                booking = Booking();
            ends_.emplace(std::max(end_ms, state.now_ms),
                          Ending{id, std::move(booking.shares), {&job.spec, cores}});
        }
    }

    /* The specification with the nodes that it may use at the present time of the course: those
     * reserved for others depend on it. */
    JobSpec present_spec(const Job &job) const
    {
        if (state_.config.reservations.empty())
            return job.spec;
        Job then = job;
        state_.enter(then, now_ms_);
        return then.spec;
    }

    /* Whether the limits of its user and their groups allow it now. */
    bool is_allowed(const JobSpec &spec, int size) const
    {
        return limits_.allow(spec, int64_t{size} * spec.cores_per_process);
    }

    /* False: never, as far as known. */
    bool start(const Job &job)
    {
        last_ = 0;
        JobSpec spec = present_spec(job);
        int size = size_at_start(state_, spec), capacity = space_.capacity(spec);
        while (!can_start(spec, size, capacity)) {
            int64_t change_ms = next_change_ms();
            if (change_ms != NEVER && (ends_.empty() || change_ms < ends_.begin()->first)) {
                set_time(change_ms);
                last_ = 0;
                spec = present_spec(job);
                size = size_at_start(state_, spec);
                capacity = space_.capacity(spec);
            } else if (!ends_.empty()) {
                capacity += end_first(spec);
            } else {
                return false;
            }
        }
        const Blocks &blocks = allocated_.emplace_back(space_.allocate(spec, size));
        Shares shares = state_.shares(spec, blocks);
        Started started{&job.spec, Booking(shares).cores};
        count(started, 1);
        if (int64_t limit_ms = time_limit(state_, spec); limit_ms > 0)
            ends_.emplace(now_ms_ + limit_ms, Ending{job.id, std::move(shares), started});
        return true;
    }

    Forecast present() const { return {now_ms_, last_}; }

  private:
    /* A job on nodes, for the limits. */
    struct Started {
        const JobSpec *spec;
        int64_t cores;
    };
    struct Ending {
        JobId job;
        Shares shares;
        Started started;
    };

    bool can_start(const JobSpec &spec, int size, int capacity) const
    {
        bool is_open = !spec.in || starts_jobs(*spec.in);
        return is_open && size > 0 && capacity >= size && is_allowed(spec, size);
    }

    /* Moves the time to the next end of a job; returns the growth of the capacity. */
    int end_first(const JobSpec &spec)
    {
        auto first = ends_.begin();
        set_time(first->first);
        last_ = first->second.job;
        int more = space_.give(first->second.shares, spec);
        count(first->second.started, -1);
        ends_.erase(first);
        return more;
    }

    /* When something else changes than by the end of a job: a reservation begins or ends, or a
     * group has another budget; NEVER: nothing does. */
    int64_t next_change_ms() const
    {
        return earlier(state_.reservations_change_ms(now_ms_), limits_.budgets_change_ms());
    }

    void count(const Started &started, int sign)
    {
        limits_.count(*started.spec, started.cores, sign);
    }

    void set_time(int64_t now_ms)
    {
        now_ms_ = now_ms;
        limits_.set_time(now_ms);
    }

    const State &state_;
    Space space_;
    int64_t now_ms_;
    JobId last_ = 0;
    std::multimap<int64_t, Ending> ends_;
    std::list<Blocks> allocated_;       /* shares point to its elements */
    UserLimits limits_;
};

/* Whether its partition starts no jobs, whatever ends. */
bool is_closed(const State &state, const JobSpec &spec)
{
    const Partition *partition = state.partition(spec.partition);
    return partition ? !starts_jobs(*partition) : !state.config.partitions.empty();
}

/* Whether a job in front of it in the queue comes before it: not one of other nodes, or one that
 * waits for the limit of another user. */
bool delays(const State &state, const Course &course, const Job &job, const Job &wanted)
{
    const JobSpec &spec = job.spec;
    int size = size_unreserved(state, spec);
    bool is_elsewhere = spec.in && wanted.spec.in && !overlap(*spec.in, *wanted.spec.in);
    bool is_other = spec.uid != wanted.spec.uid;
    return size > 0 && !is_elsewhere && !is_closed(state, spec) &&
           !(is_other && (state.full_users.contains(spec.uid) || !course.is_allowed(spec, size)));
}

/* For a job of the queue, or a job that could be added to it. */
Forecast forecast_of(const State &state, const Job &wanted)
{
    if (size_unreserved(state, wanted.spec) == 0 || is_closed(state, wanted.spec))
        return {};
    Course course(state);
    QueueKey own = state.queue_key(wanted);
    int visited = 0, delaying = 0;
    const auto &queue = state.indices().queue;
    for (auto next = queue.begin_of_all(); next != queue.end() && *next < own; ++next) {
        const Job &job = state.jobs.at(next->job);
        if (++visited > VISITED_MAX)
            return {};
        if (delays(state, course, job, wanted) &&
            (++delaying > DELAYING_MAX || !course.start(job)))
            return {};
    }
    return course.start(wanted) ? course.present() : Forecast();
}

}  // namespace

Forecast forecast(const State &state, JobId id)
{
    const Job *wanted = state.job(id);
    return wanted && is_queued(*wanted) ? forecast_of(state, *wanted) : Forecast();
}

Forecast forecast_of_new(const State &state, const JobSpec &spec)
{
    Job job;
    job.id = state.last_job + 1;
    job.spec = spec;
    job.spec.whole_nodes = spec.whole_nodes || state.config.whole_nodes;
    state.enter(job.spec);
    job.submitted_ms = state.now_ms;
    if (spec.held || !spec.dependencies.empty())
        return {};
    Forecast found = forecast_of(state, job);
    if (found.start_ms != NEVER && found.start_ms < spec.begin_ms)
        found = {spec.begin_ms, 0};
    return found;
}

}  // namespace elastic::rm
