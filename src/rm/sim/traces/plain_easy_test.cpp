/*
 * EASY backfilling a second time, in a simple form: one pool of processors and no records.  On a
 * machine of single-processor nodes the core starts every job at the same time as this form.  No
 * job is ended by its limit.
 *
 * ELASTIC_TRACE names a trace (SWF) that is replayed as well, on the number of such nodes that it
 * states.
 */

#include <gtest/gtest.h>

#include <cstdlib>
#include <list>
#include <queue>
#include <random>

#include "sim/traces/trace_replay.h"

namespace elastic::rm {
namespace {

class PlainEasy {
  public:
    PlainEasy(const std::vector<WorkloadJob> &jobs, int processors)
        : jobs_(jobs), free_(processors), starts_(jobs.size(), NEVER)
    {
        for (size_t i = 0; i < jobs.size(); i++)
            events_.push({jobs[i].submit_ms, 1, i, i});
    }

    std::vector<int64_t> run()
    {
        for (; !events_.empty(); schedule()) {
            auto [time_ms, kind, order, job] = events_.top();
            events_.pop();
            now_ms_ = time_ms;
            if (kind == 1) {
                waiting_.push_back(job);
                continue;
            }
            free_ += jobs_[job].size;
            running_.erase({starts_[job] + limit(job), job});
        }
        return starts_;
    }

  private:
    int64_t limit(size_t job) const { return jobs_[job].spec.time_limit_ms; }

    void start(size_t job)
    {
        free_ -= jobs_[job].size;
        starts_[job] = now_ms_;
        running_.insert({now_ms_ + limit(job), job});
        events_.push({now_ms_ + jobs_[job].run_ms, 0, ++started_, job});
    }

    void schedule()
    {
        while (!waiting_.empty() && jobs_[waiting_.front()].size <= free_) {
            start(waiting_.front());
            waiting_.pop_front();
        }
        if (waiting_.empty() || free_ == 0)
            return;
        /* The time when, by the limits, the first one will fit, and the remaining processors
         * then. */
        int need = jobs_[waiting_.front()].size, then = free_;
        int64_t shadow_ms = now_ms_;
        for (const auto &[end_ms, job] : running_) {
            if (then >= need && end_ms > shadow_ms)
                break;
            shadow_ms = std::max(end_ms, now_ms_);
            then += jobs_[job].size;
        }
        int beside = then - need;
        for (auto next = std::next(waiting_.begin()); next != waiting_.end() && free_ > 0;) {
            int size = jobs_[*next].size;
            bool in_time = now_ms_ + limit(*next) <= shadow_ms;
            if (size > free_ || (!in_time && size > beside)) {
                ++next;
                continue;
            }
            if (!in_time)
                beside -= size;
            start(*next);
            next = waiting_.erase(next);
        }
    }

    /* Time, ends before submissions, first come first served, job. */
    using Event = std::tuple<int64_t, int, size_t, size_t>;
    const std::vector<WorkloadJob> &jobs_;
    int free_;
    std::vector<int64_t> starts_;
    int64_t now_ms_ = 0;
    size_t started_ = 0;
    std::list<size_t> waiting_;
    std::set<std::pair<int64_t, size_t>> running_; /* by the end of their limits */
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

void compare(const Trace &trace, int processors)
{
    WorkloadOptions slot_requests;
    slot_requests.machine = {{{processors, 1}}};
    slot_requests.kill_over_limit = false;
    Workload workload = make_workload(trace, slot_requests);
    ReplayOptions options;
    options.machine = slot_requests.machine;
    options.config.policy = PolicyKind::EASY;
    options.config.finished_max = 0;
    options.config.check_capacity = false;
    options.config.backfill_depth = options.config.jobs_max = std::numeric_limits<int>::max();
    Outcome outcome = replay(workload, options);
    std::vector<int64_t> starts = PlainEasy(workload.jobs, processors).run();
    int64_t different = 0;
    for (size_t i = 0; i < starts.size() && different < 5; i++) {
        EXPECT_EQ(outcome.jobs[i].start_ms, starts[i]) << "job " << i;
        different += outcome.jobs[i].start_ms != starts[i];
    }
}

TEST(PlainEasyTest, every_job_starts_at_the_same_time)
{
    for (unsigned seed = 1; seed <= 20; seed++) {
        std::mt19937_64 random(seed);
        auto draw = [&](int64_t low, int64_t high) {
            return std::uniform_int_distribution<int64_t>(low, high)(random);
        };
        Trace trace;
        int64_t submit_s = 0;
        for (int i = 0; i < 500; i++) {
            submit_s += draw(0, 60);
            int64_t run_s = draw(1, 400),
                    requested_s = std::max<int64_t>(run_s + draw(-20, 300), 1);
            auto processors = static_cast<int>(draw(0, 3) ? draw(1, 8) : draw(8, 40));
            trace.jobs.push_back({i, submit_s, run_s, requested_s, processors, 1});
        }
        SCOPED_TRACE("seed " + std::to_string(seed));
        compare(trace, 40);
    }
}

/* Skipped unless a trace is named. */
TEST(PlainEasyTest, on_a_real_trace)
{
    const char *path = std::getenv("ELASTIC_TRACE");
    if (!path)
        GTEST_SUCCEED() << "no trace was named";
    else if (auto trace = read_trace(path, false); !trace)
        FAIL() << trace.error();
    else
        compare(trace.value(), static_cast<int>(trace.value().max_processors));
}

}  // namespace
}  // namespace elastic::rm
