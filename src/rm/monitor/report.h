/* The metrics of a run, over any set of jobs: for /v1/report.  Pure. */

#ifndef ELASTIC_RM_REPORT_H_INCLUDED
#define ELASTIC_RM_REPORT_H_INCLUDED

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/state.h"

namespace elastic::rm {

/* The input of the metrics. */
struct JobFacts {
    JobId id = 0;
    uint32_t uid = 0;
    JobState state = JobState::PENDING;
    std::string user;
    int64_t submitted_ms = 0, started_ms = NEVER, ended_ms = NEVER;
    int64_t standstill_ms = 0, core_ms = 0;
    uint64_t committed = 0, withdrawn = 0, failed = 0;
};
JobFacts facts_of(const Job &job, int64_t core_ms);

/* The stored jobs that have ended, in no order.  Records of an earlier daemon are read in parts;
 * records of this one may arrive meanwhile. */
class EndedJobs {
  public:
    /* The constant part, for another thread. */
    class Facts {
      public:
        void each(const std::function<void(const JobFacts &)> &visit) const;

      private:
        friend class EndedJobs;
        std::vector<std::shared_ptr<const std::vector<JobFacts>>> chunks_;
        int64_t from_ms_ = 0;
    };

    void load(std::vector<JobFacts> jobs);
    void loaded();
    bool is_complete() const { return is_complete_; }
    void add(JobFacts facts);
    void remove_before(int64_t time_ms);
    Facts facts() const;

  private:
    static constexpr size_t CHUNK = 1024, CHUNKS_MAX = 2000; /* the oldest ones are removed first */
    struct Chunk {
        std::shared_ptr<const std::vector<JobFacts>> facts;
        int64_t last_end_ms;
    };
    void keep(JobFacts facts);

    std::deque<Chunk> chunks_;
    std::vector<JobFacts> newest_;      /* less than a chunk */
    int64_t from_ms_ = 0;               /* jobs that ended before this time are removed */
    std::unordered_set<JobId> new_;     /* used until it is complete */
    bool is_complete_ = false;
};

/* Adds up the values of jobs. */
class Report {
  public:
    explicit Report(int64_t now_ms) : now_ms_(now_ms) {}
    void add(const JobFacts &job);
    /* `cores`: of the machine.  Format: doc/admin/elasticd-api.md. */
    Json json(int64_t cores) const;

  private:
    int64_t now_ms_;
    uint64_t jobs_ = 0, committed_ = 0, withdrawn_ = 0, failed_ = 0;
    int64_t first_ms_ = INT64_MAX, last_ms_ = 0, standstill_ms_ = 0, core_ms_ = 0;
    std::vector<int64_t> waits_ms_, turnarounds_ms_;
    std::array<int64_t, std::size(NamesOf<JobState>::names)> states_ = {};
};

/* The same for each user's jobs: a list of {"user", ...}, the users with the most use first. */
class UserReports {
  public:
    explicit UserReports(int64_t now_ms) : now_ms_(now_ms) {}
    void add(const JobFacts &job);
    Json json(int64_t cores) const;

  private:
    int64_t now_ms_;
    std::map<std::string, Report> users_;
    std::map<std::string, Report>::iterator last_ = users_.end();
};

/* Names of the metrics, their position in a report, and their units, for displays: a list of
 * {"title", "path", "unit"}. */
Json report_metrics();

}  // namespace elastic::rm

#endif /* ELASTIC_RM_REPORT_H_INCLUDED */
