/*
 * A large machine under full load, around one core: the queue is always full, each start is
 * reported, each change of size is performed, a new job follows each job that ends.  Nothing fails
 * and nothing is checked, so that the measured time is that of the core alone (`make bench`).
 *
 * All results depend only on the load and its seed.
 */

#ifndef ELASTIC_RM_SIM_BUSY_MACHINE_H_INCLUDED
#define ELASTIC_RM_SIM_BUSY_MACHINE_H_INCLUDED

#include <queue>
#include <random>

#include "core/core.h"

namespace elastic::rm {

struct Load {
    PolicyKind policy = PolicyKind::EASY;
    int nodes = 10000, cores = 4;
    bool slurm = false;         /* whole nodes, which a back end acquires and releases */
    int running = 1000;         /* approximate number of jobs that fill the machine */
    int waiting = 100000;
    uint64_t seed = 1;
    bool digest = false;        /* sum up all actions: for comparing decisions, not for measuring */
};

/* Cost of single events, in microseconds of processor time. */
struct Cost {
    int64_t events = 0;
    double mean_us = 0, p99_us = 0, max_us = 0;
    std::string slowest;        /* its kind of event */
    int running = 0;            /* number of jobs at the end */
    int64_t decisions = 0;      /* starts and changes of size */
};

class BusyMachine {
  public:
    explicit BusyMachine(const Load &load);

    /* Handles `events`, or as many as fit into the time. */
    Cost measure(int64_t events, double seconds_max);
    const Core &core() const { return core_; }
    /* Digest of all actions so far, in their order (FNV-1a of their JSON); only with
     * Load::digest. */
    uint64_t digest() const { return digest_; }

  private:
    struct Happening {
        int64_t time_ms;
        uint64_t order;
        EventContent content;
        bool operator>(const Happening &other) const
        {
            return std::pair(time_ms, order) > std::pair(other.time_ms, other.order);
        }
    };

    int64_t between(int64_t low, int64_t high);
    JobSpec some_job();
    void submit();
    void after(int64_t ms, EventContent content);
    bool next();
    void notify(EventContent content);
    void sum_up(const Action &action);

    void perform(const StartStep &action);
    void perform(const ResizeStep &action);
    void perform(const CancelRequest &action);
    void perform(const SignalStep &action);
    void perform(const AcquireNodes &action);
    void perform(const ReleaseNodes &action);
    void perform(const SetTimer &action);
    void perform(const RemoveJob &) {}
    void perform(const Answer &) {}
    void perform(const Record &) {}
    void perform(const QueryStep &) {}
    void perform(const RefuseSizeRequest &) {} /* size requests do not occur here */
    void perform(const GrantSlots &) {}
    void perform(const LimitStep &) {}
    void perform(const SuspendStep &) {}

    Load load_;
    std::mt19937_64 random_;
    Core core_;
    int64_t now_ms_ = 1000000;
    uint64_t order_ = 0, timer_ = 0, submitted_ = 0;
    std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
    bool measuring_ = false;
    std::vector<std::pair<float, const char *>> costs_us_;
    int64_t decisions_ = 0;
    uint64_t digest_ = 0xcbf29ce484222325;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_BUSY_MACHINE_H_INCLUDED */
