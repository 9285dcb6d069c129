/* See forecast.h. */

#include "core/forecast.h"

#include <list>

#include "core/placement.h"
#include "core/policy/fill_plan.h"
#include "core/policy/policy_efficient.h"
#include "core/time_limit.h"

namespace elastic::rm {

namespace {

constexpr int QUEUE_MAX = 100;          /* beyond this position it is unreliable, and takes long */

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

/* Starts the jobs of the queue in order, each as soon as enough jobs have ended. */
class Course {
  public:
    explicit Course(const State &state) : state_(state), space_(state), now_ms_(state.now_ms)
    {
        std::optional<Outlook> outlook = outlook_of(state);
        for (const Booking &booking : outlook ? outlook->at_once : std::vector<Booking>())
            space_.give(booking.shares);
        for (JobId id : state.indices().allocated) {
            const Job &job = state.jobs.at(id);
            bool ends = job.state == JobState::COMPLETING;
            int64_t end_ms = ends ? state.now_ms : job.limit_at_ms;
            if (end_ms == NEVER || (ends && outlook))   /* it has released all at once */
                continue;
            bool is_rest = outlook && outlook->at_end.contains(id);
            const Booking &given = is_rest ? outlook->at_end.at(id) : state.booking(id);
            ends_.emplace(std::max(end_ms, state.now_ms), Ending{id, given.shares});
        }
    }

    /* False: never, as far as known. */
    bool start(const Job &job, int size)
    {
        last_ = 0;
        int capacity = space_.capacity(job.spec);
        for (; capacity < size && !ends_.empty(); ends_.erase(ends_.begin())) {
            const auto &[time_ms, ending] = *ends_.begin();
            now_ms_ = time_ms;
            capacity += space_.give(ending.shares, job.spec);
            last_ = ending.job;
        }
        if (capacity < size)
            return false;
        const Blocks &blocks = allocated_.emplace_back(space_.allocate(job.spec, size));
        if (int64_t limit_ms = time_limit(state_, job.spec); limit_ms > 0)
            ends_.emplace(now_ms_ + limit_ms, Ending{job.id, state_.shares(job.spec, blocks)});
        return true;
    }

    Forecast present() const { return {now_ms_, last_}; }

  private:
    struct Ending {
        JobId job;
        Shares shares;
    };
    const State &state_;
    Space space_;
    int64_t now_ms_;
    JobId last_ = 0;
    std::multimap<int64_t, Ending> ends_;
    std::list<Blocks> allocated_;  /* shares point to its elements */
};

}  // namespace

namespace {

/* For a job of the queue, or a job that could be added to it. */
Forecast forecast_of(const State &state, const Job &wanted)
{
    Course course(state);
    QueueKey own = state.queue_key(wanted);
    int examined = 0;
    auto start = [&](const Job &job, bool &can_run) {
        PolicyKind kind = state.config.policy;
        bool fixed = kind == PolicyKind::FCFS || kind == PolicyKind::EASY;
        int size = !fixed ? size_at_least(job.spec, 1) : fixed_size(state, job.spec);
        can_run = size > 0 && runnable(state, job.spec, size);
        return !can_run || course.start(job, size);
    };
    bool can_run = false;
    for (const QueueKey &key : state.indices().queue) {
        if (++examined > QUEUE_MAX)
            return {};
        if (own <= key)
            break;
        const JobSpec &spec = state.jobs.at(key.job).spec;
        if (spec.in && wanted.spec.in && !overlap(*spec.in, *wanted.spec.in))
            continue;           /* it does not delay the job */
        if (!start(state.jobs.at(key.job), can_run))
            return {};
    }
    return start(wanted, can_run) && can_run ? course.present() : Forecast();
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
    bool is_closed = job.spec.in && !starts_jobs(*job.spec.in);
    if (spec.held || is_closed || !spec.dependencies.empty())
        return {};
    Forecast found = forecast_of(state, job);
    if (found.start_ms != NEVER && found.start_ms < spec.begin_ms)
        found = {spec.begin_ms, 0};
    return found;
}

}  // namespace elastic::rm
