/* See busy_machine.h. */

#include "sim/busy_machine.h"

#include <numeric>

#include "base/processor_time.h"

namespace elastic::rm {

namespace {

constexpr int64_t ANSWER_MS = 200, CHANGE_MS = 2000;

/* The number of jobs over all events is much larger than `running`: run time of one job, in ms. */
constexpr int64_t RUN_MIN_MS = 600000, RUN_MAX_MS = 7200000;

}  // namespace

BusyMachine::BusyMachine(const Load &load) : load_(load), random_(load.seed)
{
    Config config;
    config.policy = load.policy;
    config.asynchronous_nodes = load.slurm;
    config.whole_nodes = load.slurm;
    config.jobs_max = 2 * (load.waiting + load.nodes * load.cores);
    notify(Configure{config});
    for (int i = 0; i < load.nodes; i++)
        notify(NodeUp{"node" + std::to_string(i), load.cores});
    for (int i = 0; i < load.waiting + load.running; i++)
        submit();
    /* Runs until the first jobs, which all have started at one time, have ended. */
    while (now_ms_ < 1000000 + RUN_MAX_MS / 8 && next()) {
    }
}

int64_t BusyMachine::between(int64_t low, int64_t high)
{
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

/* One in fifty is ten times as large as the others. */
JobSpec BusyMachine::some_job()
{
    JobSpec spec;
    spec.name = "job";
    int unit = load_.slurm ? load_.cores : 1;
    int64_t mean = int64_t{load_.nodes} * load_.cores / unit / load_.running;
    int64_t size = between(std::max<int64_t>(mean / 4, 1), std::max<int64_t>(2 * mean * 6 / 7, 1));
    if (between(1, 50) == 1)
        size = std::min(10 * size, int64_t{load_.nodes} * load_.cores / unit / 2);
    spec.minimum = spec.maximum = static_cast<int>(size) * unit;
    spec.elasticity = static_cast<Elasticity>(between(0, 2));
    if (spec.elasticity != Elasticity::RIGID)
        spec.maximum = spec.minimum * static_cast<int>(between(1, 4));
    if (load_.slurm) {
        spec.size_rule = SizeRule::MULTIPLE;
        spec.size_multiple = unit;
    }
    spec.preferred = spec.minimum;
    spec.time_limit_ms = between(RUN_MIN_MS, RUN_MAX_MS) * 2;
    return spec;
}

void BusyMachine::submit()
{
    notify(Submit{"s" + std::to_string(++submitted_), some_job()});
}

void BusyMachine::after(int64_t ms, EventContent content)
{
    happenings_.push({now_ms_ + ms, order_++, std::move(content)});
}

/* The next event; each job that ends is followed by a new one. */
bool BusyMachine::next()
{
    if (happenings_.empty())
        return false;
    Happening happening = happenings_.top();
    happenings_.pop();
    now_ms_ = std::max(now_ms_, happening.time_ms);
    if (std::holds_alternative<Timer>(happening.content) && happening.order != timer_)
        return true;            /* replaced by another one */
    if (const StepEnded *end = std::get_if<StepEnded>(&happening.content)) {
        const Job *job = core_.state().job(end->job);
        if (!job || !is_allocated(job->state) || job->step != end->step)
            return true;
        notify(std::move(happening.content));
        submit();
        return true;
    }
    notify(std::move(happening.content));
    return true;
}

void BusyMachine::notify(EventContent content)
{
    Event event{core_.state().seq + 1, now_ms_, std::move(content)};
    double from = measuring_ ? processor_seconds() : 0;
    Actions actions = core_.handle(event);
    if (measuring_)
        costs_us_.emplace_back((processor_seconds() - from) * 1e6, name_of(event.content));
    for (const Action &action : actions) {
        if (load_.digest)
            sum_up(action);
        std::visit([this](const auto &each) { perform(each); }, action);
    }
}

void BusyMachine::sum_up(const Action &action)
{
    for (unsigned char c : to_json(action).dump())
        digest_ = (digest_ ^ c) * 0x100000001b3;
}

void BusyMachine::perform(const StartStep &action)
{
    decisions_++;
    after(ANSWER_MS, StepStarted{{action.job, action.step}});
    if (core_.state().jobs.at(action.job).spec.elasticity == Elasticity::MALLEABLE)
        after(2 * ANSWER_MS, StepAdaptive{{action.job, action.step}});
    after(between(RUN_MIN_MS, RUN_MAX_MS), StepEnded{action.job, action.step, 0, ""});
}

void BusyMachine::perform(const ResizeStep &action)
{
    decisions_++;
    after(ANSWER_MS, StepAccepted{action.job, action.step, action.request, action.request});
    after(CHANGE_MS, StepCommitted{action.job, action.step, action.request, action.epoch + 1, 1});
    if (!action.leave.empty())
        after(CHANGE_MS + ANSWER_MS, StepFreed{action.job, action.step, action.epoch + 1});
}

void BusyMachine::perform(const CancelRequest &action)
{
    after(ANSWER_MS, StepWithdrawn{{action.job, action.step, action.request, "cancelled"}});
}

void BusyMachine::perform(const SignalStep &action)
{
    after(ANSWER_MS, StepEnded{action.job, action.step, 128 + action.signal, "", true});
}

void BusyMachine::perform(const AcquireNodes &action)
{
    after(ANSWER_MS, NodesAcquired{action.job, action.step, action.request, action.blocks});
}

void BusyMachine::perform(const ReleaseNodes &action)
{
    after(ANSWER_MS, NodesReleased{action.job, action.step, action.request, action.all});
}

void BusyMachine::perform(const SetTimer &action)
{
    timer_ = order_;
    if (action.at_ms != NEVER)
        after(std::max<int64_t>(action.at_ms - now_ms_, 0), Timer{});
}

Cost BusyMachine::measure(int64_t events, double seconds_max)
{
    costs_us_.clear();
    decisions_ = 0;
    measuring_ = true;
    double until = processor_seconds() + seconds_max;
    while (static_cast<int64_t>(costs_us_.size()) < events && processor_seconds() < until &&
           next()) {}
    measuring_ = false;
    Cost cost;
    cost.events = static_cast<int64_t>(costs_us_.size());
    cost.running = static_cast<int>(core_.state().indices().allocated.size());
    cost.decisions = decisions_;
    if (costs_us_.empty())
        return cost;
    std::sort(costs_us_.begin(), costs_us_.end());
    for (const auto &[us, kind] : costs_us_)
        cost.mean_us += static_cast<double>(us) / static_cast<double>(cost.events);
    cost.p99_us = costs_us_[costs_us_.size() * 99 / 100].first;
    cost.max_us = costs_us_.back().first;
    cost.slowest = costs_us_.back().second;
    return cost;
}

}  // namespace elastic::rm
