/* See sampler.h. */

#include "step/sampler.h"

namespace elastic::rm {

namespace {

/* after a start of elasticd the first queries of its steps are spread over this time */
constexpr int64_t SPREAD_MS = 10000;

bool is_sampled(const Job &job)
{
    return job.state == JobState::RUNNING && job.mode == StepMode::ADAPTIVE && job.broken.empty();
}

class LoopTime : public Sampler::Time {
  public:
    explicit LoopTime(Loop &loop) : loop_(loop) {}
    int64_t now_ms() const override { return monotonic_ms(); }
    Loop::TimerId after(int64_t delay_ms, Loop::Task task) override
    {
        return loop_.after(delay_ms, std::move(task));
    }
    void cancel(Loop::TimerId id) override { loop_.cancel(id); }

  private:
    Loop &loop_;
};

}  // namespace

Sampler::Sampler(Loop &loop, int64_t interval_ms, Query query)
    : Sampler(std::make_unique<LoopTime>(loop), interval_ms, std::move(query))
{
}

Sampler::Sampler(std::unique_ptr<Time> time, int64_t interval_ms, Query query)
    : time_(std::move(time)), interval_ms_(interval_ms), query_(std::move(query)),
      rate_(SAMPLES_PER_S, SAMPLES_AT_ONCE)
{
}

Sampler::~Sampler()
{
    time_->cancel(timer_);
}

/* ---- selection and times --------------------------------------------------------------------- */

void Sampler::update(JobId id, const Job *job)
{
    auto found = entries_.find(id);
    if (!job || !is_allocated(job->state)) {
        if (found == entries_.end())
            return;
        set_due(id, found->second, NEVER);
        entries_.erase(found);
        return update_timer();
    }
    if (!is_sampled(*job)) {    /* during an adaptation nothing is known */
        if (found != entries_.end())
            set_due(id, found->second, NEVER);
        return update_timer();
    }
    bool is_new = found == entries_.end();
    Entry &entry = is_new ? entries_[id] : found->second;
    bool is_same = !is_new && entry.step == job->step && entry.epoch == job->epoch;
    if (is_same && entry.due_ms != NEVER)
        return;
    int64_t wait_ms = is_on() ? interval_ms_ / 2 : 0;
    if (is_new && job->performance && is_on())  /* elasticd has been restarted */
        wait_ms = static_cast<int64_t>(id * 7919 %
                                       static_cast<uint64_t>(std::min(SPREAD_MS, interval_ms_)));
    entry.step = job->step;
    entry.epoch = job->epoch;
    entry.soon = SOON;
    set_due(id, entry, time_->now_ms() + wait_ms);
    update_timer();
}

void Sampler::set_due(JobId id, Entry &entry, int64_t due_ms)
{
    if (entry.due_ms != NEVER)
        due_.erase({entry.due_ms, id});
    entry.due_ms = due_ms;
    if (due_ms != NEVER)
        due_.emplace(due_ms, id);
}

void Sampler::update_timer()
{
    int64_t at_ms = due_.empty() ? NEVER : std::max(due_.begin()->first, not_before_ms_);
    if (at_ms == timer_ms_)
        return;
    time_->cancel(std::exchange(timer_, 0));
    timer_ms_ = at_ms;
    if (at_ms != NEVER)
        timer_ = time_->after(at_ms - time_->now_ms(), [this] { tick(); });
}

void Sampler::tick()
{
    timer_ = 0;
    timer_ms_ = NEVER;
    int64_t now_ms = time_->now_ms();
    while (!due_.empty() && due_.begin()->first <= now_ms && not_before_ms_ <= now_ms) {
        JobId id = due_.begin()->second;
        query_due(id, entries_.at(id), now_ms);
    }
    update_timer();
}

void Sampler::query_due(JobId id, Entry &entry, int64_t now_ms)
{
    if (!query_(id, entry.step, is_on() ? WRITE_MS : 0))
        return set_due(id, entry, now_ms + LOOK_MS);
    not_before_ms_ = now_ms + rate_.take(1, now_ms);
    entry.queried_ms = now_ms;
    entry.notify = is_on();
    if (!is_on())               /* it is notified once, and after each commit */
        return set_due(id, entry, NEVER);
    int64_t wait_ms = entry.soon > 0 ? interval_ms_ / 2 : interval_ms_;
    entry.soon = std::max(entry.soon - 1, 0);
    set_due(id, entry, now_ms + wait_ms);
}

void Sampler::query_soon(JobId id)
{
    auto found = entries_.find(id);
    int64_t now_ms = time_->now_ms();
    if (found == entries_.end() || !is_on())
        return;
    Entry &entry = found->second;
    bool too_soon = entry.queried_ms != NEVER && now_ms - entry.queried_ms < LOOK_MS;
    if (!too_soon && query_(id, entry.step, WRITE_MS))
        entry.queried_ms = now_ms;
}

/* ---- answers --------------------------------------------------------------------------------- */

bool Sampler::take(JobId id, uint32_t step, const PerformanceAnswer &answer)
{
    auto found = entries_.find(id);
    if (found == entries_.end() || found->second.step != step || !is_on())
        return false;
    (answer.available ? counts_.taken : counts_.unavailable)++;
    found->second.newest = {answer, time_->now_ms()};
    return std::exchange(found->second.notify, false) && answer.available;
}

const Sampler::Newest *Sampler::newest(JobId id) const
{
    auto found = entries_.find(id);
    return found != entries_.end() && found->second.newest ? &*found->second.newest : nullptr;
}

}  // namespace elastic::rm
