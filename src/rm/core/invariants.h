/*
 * Checks of invariants: of a state (violations) and of a history (Monitor).  For tests and
 * simulations; too slow for every event of a large machine.
 */

#ifndef ELASTIC_RM_CORE_INVARIANTS_H_INCLUDED
#define ELASTIC_RM_CORE_INVARIANTS_H_INCLUDED

#include "core/core.h"

namespace elastic::rm {

/* Violations of the state, empty if there are none: each core is booked at most once, sizes obey
 * the bounds and rules of the jobs, the data of a job fits its state, the indices follow from
 * jobs and nodes, and the checks of the policy pass. */
std::vector<std::string> violations(const State &state);

/*
 * Monitors a core's events and actions: each request of a person has one answer, each accepted
 * change of size one end, each request of a program one end, each accepted job one end; changes of
 * a job never nest, and those that no job waits for take a tenth of any ten minutes at most
 * (clause K4 of the performance specification); epochs are 1, 2, 3, ... per step; no process is
 * allocated on a node that is not up; only existing ranks leave; records are numbered without
 * gaps. The same monitor checks a restart that passes the same event to a restored core again:
 * repeated results must be the same.
 */
class Monitor {
  public:
    /* Call it after each handle(); returns the violations. */
    std::vector<std::string> watch(const Event &event, const Actions &actions, const State &state);
    /* Call it when there are no more events: returns everything that has no end. */
    std::vector<std::string> finish(const State &state) const;

  private:
    void see(const Answer &answer, const State &state);
    void see(const Record &record, const State &state);
    void see(const ResizeStep &resize, const State &state);
    template <class Other> void see(const Other &, const State &) {}
    void begin_change(const Record &record);
    void end_change(const Record &record);
    void begin_size_request(const Record &record);
    void end_size_request(const Record &record);
    void allocated(const Record &record, const State &state);
    struct History;
    void stood_still(History &job, const Record &record);
    void wrong(const std::string &what) { wrong_.push_back(what); }

    struct History {
        uint32_t step = 0;
        uint64_t epoch = 0;
        uint64_t request = 0;   /* last one */
        bool open = false;      /* it has no end yet */
        bool ended = false;
        uint64_t size_request = 0;      /* of the program, that has no end yet; 0: none */
        std::set<uint64_t> slot_requests; /* for slots beside its world, likewise */
        bool optional = false;  /* change in progress for which no job waits */
        /* of such changes: end and duration of the standstill */
        std::deque<std::pair<int64_t, int64_t>> still;
    };
    std::map<JobId, History> jobs_;
    std::map<std::string, int> unanswered_;
    std::map<uint64_t, Record> records_;
    uint64_t last_record_ = 0;
    std::vector<std::string> wrong_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_INVARIANTS_H_INCLUDED */
