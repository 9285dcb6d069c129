/*
 * Sampling of steps: when each step is queried for the use of its time, and its newest answer
 * (clause J2 of the performance specification).
 *
 * Adaptive running steps are queried every `interval_ms`, the first two times after their start or
 * a commit after half of it.  All queries together are at most SAMPLES_PER_S in a second: with
 * very many steps the interval grows.  Besides, a step is queried for a display; the core does not
 * receive these answers.  Only the newest answer is stored, while the step runs: the core stores
 * the history (core/job_performance.h).  With interval 0 steps are instructed to measure nothing.
 *
 * Owner of its timer.  Runs on the daemon's loop.
 */

#ifndef ELASTIC_RM_SAMPLER_H_INCLUDED
#define ELASTIC_RM_SAMPLER_H_INCLUDED

#include <map>
#include <set>

#include "base/loop.h"
#include "base/token_bucket.h"
#include "core/job.h"
#include "step/performance_answer.h"

namespace elastic::rm {

class Sampler {
  public:
    static constexpr double SAMPLES_PER_S = 20, SAMPLES_AT_ONCE = 40;
    /* minimum between two queries, and while a step cannot be queried */
    static constexpr int64_t LOOK_MS = 1000;
    static constexpr int64_t WRITE_MS = 1000;   /* interval at which processes write their loops */

    /* Queries the step of the job, whose processes are to write their loops at this interval.
     * False: a query is impossible now. */
    using Query = std::function<bool(JobId, uint32_t step, int64_t write_ms)>;

    /* The source of time: the loop, or a test. */
    class Time {
      public:
        virtual ~Time() = default;
        virtual int64_t now_ms() const = 0;
        virtual Loop::TimerId after(int64_t delay_ms, Loop::Task task) = 0;
        virtual void cancel(Loop::TimerId id) = 0;
    };

    Sampler(Loop &loop, int64_t interval_ms, Query query);
    Sampler(std::unique_ptr<Time> time, int64_t interval_ms, Query query);
    ~Sampler();
    Sampler(const Sampler &) = delete;
    Sampler &operator=(const Sampler &) = delete;

    /* Call it after every change of a job.  Null: the job does not exist any more. */
    void update(JobId id, const Job *job);
    /* Takes an answer.  True: the core receives it. */
    bool take(JobId id, uint32_t step, const PerformanceAnswer &answer);

    struct Newest {
        PerformanceAnswer answer;
        int64_t at_ms = 0;      /* monotonic_ms */
    };
    /* Null: there is none. */
    const Newest *newest(JobId id) const;
    /* A display needs the data. */
    void query_soon(JobId id);
    bool is_on() const { return interval_ms_ > 0; }

    struct Counts {
        uint64_t taken = 0, unavailable = 0;
    };
    const Counts &counts() const { return counts_; }

  private:
    struct Entry {
        uint32_t step = 0;
        uint64_t epoch = 0;
        int soon = 0;           /* number of samples left at half of the interval */
        int64_t due_ms = NEVER, queried_ms = NEVER;
        bool notify = false;      /* the core receives the next answer */
        std::optional<Newest> newest;
    };
    static constexpr int SOON = 2;

    void set_due(JobId id, Entry &entry, int64_t due_ms);
    void query_due(JobId id, Entry &entry, int64_t now_ms);
    void update_timer();
    void tick();

    std::unique_ptr<Time> time_;
    int64_t interval_ms_;
    Query query_;
    std::map<JobId, Entry> entries_;
    std::set<std::pair<int64_t, JobId>> due_;
    TokenBucket rate_;
    int64_t not_before_ms_ = 0;
    Loop::TimerId timer_ = 0;
    int64_t timer_ms_ = NEVER;
    Counts counts_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SAMPLER_H_INCLUDED */
