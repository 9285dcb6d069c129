/*
 * When which step is asked what its processes do with their time, and the newest answer of each
 * (SPEC-performance J2).
 *
 * Adaptive running steps are asked every `interval_ms`, the first two times after their start or a
 * commit in half of it.  All together at most SAMPLES_PER_S times a second: with very many steps
 * the interval grows.  Besides, a step is asked when somebody looks; of that the core does not
 * hear.  Only the newest answer is kept, as long as the step runs: what lasts is the core's
 * (core/performance.h).  With interval 0 steps are told to measure nothing.
 *
 * Owner of its timer.  On the daemon's loop.
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
    /* the least between two questions, and while a step cannot be asked */
    static constexpr int64_t LOOK_MS = 1000;
    static constexpr int64_t WRITE_MS = 1000;   /* how often processes write down their loops */

    /* Asks the job's step, whose processes are to write down their loops so often.  False: it
     * cannot be asked now. */
    using Ask = std::function<bool(JobId, uint32_t step, int64_t write_ms)>;

    /* What it follows: the loop's time, or a test's. */
    class Time {
      public:
        virtual ~Time() = default;
        virtual int64_t now_ms() const = 0;
        virtual Loop::TimerId after(int64_t delay_ms, Loop::Task task) = 0;
        virtual void cancel(Loop::TimerId id) = 0;
    };

    Sampler(Loop &loop, int64_t interval_ms, Ask ask);
    Sampler(std::unique_ptr<Time> time, int64_t interval_ms, Ask ask);
    ~Sampler();
    Sampler(const Sampler &) = delete;
    Sampler &operator=(const Sampler &) = delete;

    /* After every change of a job.  Null: there is no such job any more. */
    void look_at(JobId id, const Job *job);
    /* An answer.  True: the core is to hear of it. */
    bool take(JobId id, uint32_t step, const PerformanceAnswer &answer);

    struct Newest {
        PerformanceAnswer answer;
        int64_t at_ms = 0;      /* monotonic_ms */
    };
    /* Null: none is known. */
    const Newest *newest(JobId id) const;
    /* Somebody looks at it. */
    void ask_soon(JobId id);
    bool is_on() const { return interval_ms_ > 0; }

    struct Counts {
        uint64_t taken = 0, unavailable = 0;
    };
    const Counts &counts() const { return counts_; }

  private:
    struct Entry {
        uint32_t step = 0;
        uint64_t epoch = 0;
        int soon = 0;           /* samples that are still taken in half of the interval */
        int64_t due_ms = NEVER, asked_ms = NEVER;
        bool tell = false;      /* the core is to hear of the next answer */
        std::optional<Newest> newest;
    };
    static constexpr int SOON = 2;

    void set_due(JobId id, Entry &entry, int64_t due_ms);
    void ask_due(JobId id, Entry &entry, int64_t now_ms);
    void update_timer();
    void tick();

    std::unique_ptr<Time> time_;
    int64_t interval_ms_;
    Ask ask_;
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
