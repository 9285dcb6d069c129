/* See trace_replay.h. */

#include "sim/traces/trace_replay.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <deque>
#include <queue>
#include <random>

#include "base/processor_time.h"

namespace elastic::rm {

namespace {

constexpr int64_t PROGRESS_EVERY = 1000; /* number of ended jobs */
constexpr double ROUND_WORK_MS = 100;    /* work between two probes of a program */
/* of one size; then each interval is twice as long as the previous one */
constexpr int64_t SAMPLES_EVEN = 4;
constexpr int SAMPLES_DOUBLINGS_MAX = 20;

/* In the order of events at one time: an end frees cores for a submission. */
enum class Kind { END, JOINED, COMMIT, SAMPLE, SUBMIT, TIMER };

struct Happening {
    int64_t time_ms;
    Kind kind;
    uint64_t order; /* first come, first served */
    size_t job;     /* index in the workload; TIMER: none */
    /* the related change of speed, request or timer; the event is dropped if that has ended */
    uint64_t of;

    bool operator>(const Happening &other) const
    {
        return std::tie(time_ms, kind, order) > std::tie(other.time_ms, other.kind, other.order);
    }
};

/* A running job. */
struct Running {
    JobId id = 0;
    uint32_t step = 0;
    int size = 0;
    double left = 0;  /* work at `since_ms` */
    double speed = 0; /* work per millisecond; 0: it stands still */
    int64_t since_ms = 0;
    /* number of changes of its speed; ends planned before a change are dropped */
    uint64_t changes = 0;
    uint64_t request = 0; /* of the adaptation in progress; 0: none */
    ResizeStep resize;
    /* Of the present epoch; `of`: samples that were planned before a change of size are dropped. */
    struct Epoch {
        uint64_t number = 0, of = 0;
        int64_t began_ms = 0, sampled_ms = 0, samples = 0;
        double rounds = 0, mpi_us = 0;
    } epoch;
};

class Replay {
  public:
    Replay(const Workload &workload, const ReplayOptions &options)
        : workload_(workload), options_(options), running_(workload.jobs.size()),
          noise_(options.seed)
    {
        outcome_.jobs.resize(workload.jobs.size());
        core_.keep_no_history();
        if (options.policy)
            core_.decide_by(*options.policy);
    }

    Outcome run(const std::function<bool(int64_t)> &progress);

  private:
    /* Its result is reported after all present actions of the core. */
    void notify(EventContent content);
    void after(int64_t ms, Kind kind, size_t job, uint64_t of)
    {
        happenings_.push({now_ms_ + ms, kind, order_++, job, of});
    }

    /* Adds the work done and the cores used up to now. */
    void stabilize(size_t index);
    /* From now on it runs at this size; `still`: it does not run, while it adapts. */
    void go_on(size_t index, int size, bool still);
    void note_size(size_t index, int size)
    {
        if (options_.keep_sizes)
            outcome_.sizes.push_back({now_ms_, index, size});
    }

    void happen(const Happening &happening);
    void end(size_t index, int exit_code, bool done);
    void commit(size_t index);
    void begin_epoch(size_t index, uint64_t number);
    void plan_sample(size_t index);
    void sample(size_t index);
    double with_noise(double value);

    void perform(const Answer &action);
    void perform(const StartStep &action);
    void perform(const ResizeStep &action);
    void perform(const CancelRequest &action);
    void perform(const SignalStep &action);
    void perform(const SetTimer &action);
    void perform(const QueryStep &action);
    void perform(const AcquireNodes &) {}
    void perform(const ReleaseNodes &) {}
    void perform(const RefuseSizeRequest &) {} /* size requests do not occur here */
    void perform(const GrantSlots &) {}
    void perform(const LimitStep &) {}
    void perform(const SuspendStep &) {}
    void perform(const Record &) {}
    void perform(const RemoveJob &) {}

    size_t index_of(JobId id) const { return index_[id]; }

    const Workload &workload_;
    const ReplayOptions &options_;
    Core core_;
    std::vector<Running> running_;
    std::vector<size_t> index_ = {0}; /* index of the workload's job, by the core's number */
    std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
    int64_t now_ms_ = 0;
    uint64_t order_ = 0, timer_ = 0, last_change_ = 0;
    std::deque<EventContent> events_;
    size_t submitting_ = 0;
    int64_t ended_ = 0;
    Outcome outcome_;
    std::mt19937_64 noise_;
};

void Replay::notify(EventContent content)
{
    events_.push_back(std::move(content));
    if (events_.size() > 1)
        return;
    for (; !events_.empty(); events_.pop_front()) {
        Event event{core_.state().seq + 1, now_ms_, std::move(events_.front())};
        Actions actions = core_.handle(event);
        outcome_.events++;
        for (const Action &action : actions)
            std::visit([this](const auto &each) { perform(each); }, action);
        if (options_.after_each)
            options_.after_each(core_.state());
    }
}

void Replay::stabilize(size_t index)
{
    Running &job = running_[index];
    auto passed = static_cast<double>(now_ms_ - job.since_ms);
    job.left -= passed * job.speed;
    const Job *booked = core_.state().job(job.id);
    int cores = booked ? booked->spec.cores_per_process : 1;
    outcome_.jobs[index].core_ms += passed * job.size * cores;
    job.since_ms = now_ms_;
}

void Replay::go_on(size_t index, int size, bool still)
{
    Running &job = running_[index];
    job.size = size;
    job.speed = still ? 0 : speed(workload_.jobs[index].speedup, size);
    job.changes = ++last_change_;
    if (!still)
        after(std::max<int64_t>(std::llround(std::ceil(job.left / job.speed)), 0), Kind::END, index,
              job.changes);
}

void Replay::perform(const Answer &action)
{
    if (action.job == 0)
        return;
    if (index_.size() <= action.job)
        index_.resize(action.job + 1);
    index_[action.job] = submitting_;
}

void Replay::perform(const StartStep &action)
{
    size_t index = index_of(action.job);
    Running &job = running_[index];
    if (job.step == action.step) /* it was repeated */
        return;
    job = {action.job, action.step, action.size, workload_.jobs[index].work, 0, now_ms_, 0,
           0,          {},          {}};
    outcome_.jobs[index].start_ms = now_ms_;
    outcome_.jobs[index].first_size = outcome_.jobs[index].last_size = action.size;
    note_size(index, action.size);
    go_on(index, action.size, false);
    notify(StepStarted{{action.job, action.step}});
    if (workload_.jobs[index].spec.elasticity == Elasticity::MALLEABLE) {
        begin_epoch(index, 0);
        notify(StepAdaptive{{action.job, action.step}});
    }
}

void Replay::perform(const ResizeStep &action)
{
    size_t index = index_of(action.job);
    Running &job = running_[index];
    if (job.step != action.step || job.request == action.request)
        return;
    job.request = action.request;
    job.resize = action;
    notify(StepAccepted{action.job, action.step, action.request, action.request});
    after(action.size > job.size ? options_.cost.launch_ms : 0, Kind::JOINED, index,
          action.request);
}

/* Only before all processes have agreed. */
void Replay::perform(const CancelRequest &action)
{
    Running &job = running_[index_of(action.job)];
    if (job.request != action.request || job.speed == 0)
        return;
    job.request = 0;
    notify(StepWithdrawn{{action.job, action.step, action.request, "cancelled"}});
}

void Replay::perform(const SignalStep &action)
{
    size_t index = index_of(action.job);
    if (running_[index].step == action.step && outcome_.jobs[index].end_ms == NEVER)
        end(index, 128 + action.signal, false);
}

void Replay::perform(const QueryStep &action)
{
    if (running_[index_of(action.job)].step == action.step &&
        outcome_.jobs[index_of(action.job)].end_ms == NEVER)
        notify(StepStarted{{action.job, action.step}});
}

void Replay::perform(const SetTimer &action)
{
    timer_ = order_;
    if (action.at_ms != NEVER)
        after(std::max<int64_t>(action.at_ms - now_ms_, 0), Kind::TIMER, 0, timer_);
}

void Replay::end(size_t index, int exit_code, bool done)
{
    Running &job = running_[index];
    stabilize(index);
    job.changes = ++last_change_;
    job.request = 0;
    JobOutcome &outcome = outcome_.jobs[index];
    outcome.end_ms = now_ms_;
    outcome.done = done;
    outcome.last_size = job.size;
    ended_++;
    notify(StepEnded{job.id, job.step, exit_code, "", !done});
}

void Replay::commit(size_t index)
{
    Running &job = running_[index];
    const ResizeStep resize = job.resize;
    int64_t still_ms = options_.cost.standstill_of(job.size, resize.size);
    stabilize(index);
    job.request = 0;
    outcome_.jobs[index].adaptations++;
    outcome_.jobs[index].standstill_ms += still_ms;
    note_size(index, resize.size);
    go_on(index, resize.size, false);
    begin_epoch(index, resize.epoch + 1);
    notify(StepCommitted{resize.job, resize.step, resize.request, resize.epoch + 1, still_ms});
    if (!resize.leave.empty())
        notify(StepFreed{resize.job, resize.step, resize.epoch + 1});
}

/* ---- samples --------------------------------------------------------------------------------- */

void Replay::begin_epoch(size_t index, uint64_t number)
{
    running_[index].epoch = {number, ++last_change_, now_ms_, now_ms_, 0, 0, 0};
    plan_sample(index);
}

void Replay::plan_sample(size_t index)
{
    const Running::Epoch &epoch = running_[index].epoch;
    if (options_.sample_ms == 0)
        return;
    int64_t interval_ms = epoch.samples < 2 ? options_.sample_ms / 2 : options_.sample_ms;
    int64_t doublings = std::clamp<int64_t>(epoch.samples - SAMPLES_EVEN, 0, SAMPLES_DOUBLINGS_MAX);
    after(std::max<int64_t>(interval_ms, 1) << doublings, Kind::SAMPLE, index, epoch.of);
}

double Replay::with_noise(double value)
{
    if (options_.sample_noise == 0)
        return value;
    return value *
        (1 + options_.sample_noise * std::uniform_real_distribution<double>(-1, 1)(noise_));
}

void Replay::sample(size_t index)
{
    const Running &job = running_[index];
    Running::Epoch &epoch = running_[index].epoch;
    /* Unusable if it stands still, or has stood still since the last sample. */
    bool measured = job.speed > 0 && job.since_ms <= epoch.sampled_ms;
    double ms = static_cast<double>(now_ms_ - epoch.sampled_ms);
    epoch.sampled_ms = now_ms_;
    epoch.samples++;
    plan_sample(index);
    if (!measured)
        return;
    epoch.rounds += with_noise(ms * job.speed / ROUND_WORK_MS);
    epoch.mpi_us += std::min(with_noise((1 - job.speed / job.size) * ms), ms) * job.size * 1000;
    Sample sample{
        epoch.number, job.size, job.size, std::llround(epoch.rounds), now_ms_ - epoch.began_ms, {}};
    LoopSums sums{sample.probes * job.size, sample.epoch_ms * job.size * 1000,
                  std::llround(epoch.mpi_us)};
    sums.mpi_us = std::clamp<int64_t>(sums.mpi_us, 0, sums.loop_us);
    sample.loops.push_back({"probe", "", sums, 0, PPM});
    notify(StepSampled{job.id, job.step, std::move(sample)});
}

void Replay::happen(const Happening &happening)
{
    size_t index = happening.job;
    switch (happening.kind) {
        case Kind::TIMER:
            if (happening.of == timer_)
                notify(Timer{});
            return;
        case Kind::SUBMIT:
            submitting_ = index;
            notify(Submit{std::to_string(index), workload_.jobs[index].spec});
            if (index + 1 < workload_.jobs.size())
                after(workload_.jobs[index + 1].submit_ms - now_ms_, Kind::SUBMIT, index + 1, 0);
            return;
        case Kind::END:
            if (happening.of == running_[index].changes)
                end(index, 0, true);
            return;
        case Kind::JOINED:
            if (happening.of != running_[index].request)
                return;
            stabilize(index);
            if (running_[index].left <= 0) /* it ends now */
                return;
            notify(StepReady{running_[index].id, running_[index].step, running_[index].request});
            after(options_.cost.standstill_of(running_[index].size, running_[index].resize.size),
                  Kind::COMMIT, index, running_[index].request);
            go_on(index, running_[index].size, true);
            return;
        case Kind::SAMPLE:
            if (happening.of == running_[index].epoch.of && outcome_.jobs[index].end_ms == NEVER)
                sample(index);
            return;
        case Kind::COMMIT:
            if (happening.of == running_[index].request)
                commit(index);
            return;
    }
}

Outcome Replay::run(const std::function<bool(int64_t)> &progress)
{
    if (workload_.jobs.empty())
        return outcome_;
    now_ms_ = workload_.jobs.front().submit_ms;
    notify(Configure{options_.config});
    assert(core_.state().config == options_.config);
    int64_t number = 0;
    for (const NodeKind &kind : options_.machine.kinds) {
        for (int64_t i = 0; i < kind.nodes; i++)
            notify(NodeUp{"n" + std::to_string(number++), kind.cores});
    }
    after(0, Kind::SUBMIT, 0, 0);
    int64_t reported = 0;
    double from = processor_seconds();
    while (!happenings_.empty() && ended_ < static_cast<int64_t>(workload_.jobs.size())) {
        Happening happening = happenings_.top();
        happenings_.pop();
        now_ms_ = happening.time_ms;
        happen(happening);
        if (progress && ended_ >= reported + PROGRESS_EVERY) {
            reported = ended_;
            if (!progress(ended_))
                break;
        }
    }
    outcome_.processor_seconds = processor_seconds() - from;
    return outcome_;
}

}  // namespace

int64_t AdaptationCost::standstill_of(int old_size, int size) const
{
    /* The moved data is the part that changes its owner; the nodes of the smaller world send or
     * receive it. */
    int small = std::min(old_size, size), large = std::max(old_size, size);
    double moved = bytes_per_core * old_size * (large - small) / large;
    int nodes = (small + cores_per_node - 1) / cores_per_node;
    return standstill_ms + std::llround(moved / (bytes_per_ms * std::max(nodes, 1)));
}

Outcome replay(const Workload &workload, const ReplayOptions &options,
               const std::function<bool(int64_t)> &progress)
{
    return Replay(workload, options).run(progress);
}

}  // namespace elastic::rm
