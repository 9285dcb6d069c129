/*
 * A stock Slurm as the back end: its own commands acquire whole nodes for each job, and release
 * them.
 *
 *   poll        every poll_interval, and after each order, squeue and sinfo report the state
 *   plan        for each own job: the orders that lead to the state of the core (slurm_plan.h)
 *   orders      salloc, scontrol, scancel: one at a time for each job, those of different jobs at
 *               once
 *   answers     NodesAcquired; NodesReleased when a later poll shows it; NodesRefused with the
 *               message of Slurm; NodesLost for Slurm jobs that others have ended
 *
 * A poll finds all state again: the comment of a Slurm job names its owner (SlurmTag, with the
 * number of this elasticd, stored in STATE/slurm_id).  So a restart needs no other data, a missing
 * answer has no effect, and nodes that belong to no job are released.
 *
 * While Slurm does not answer, no decision is made: running jobs continue, and orders wait.
 *
 * Owner of the known state of Slurm.  Runs on the daemon's loop.
 */

#ifndef ELASTIC_RM_SLURM_BACKEND_H_INCLUDED
#define ELASTIC_RM_SLURM_BACKEND_H_INCLUDED

#include <deque>
#include <map>
#include <optional>

#include "backend/backend.h"
#include "backend/slurm/slurm_client.h"
#include "backend/slurm/slurm_nodes.h"
#include "backend/slurm/slurm_plan.h"
#include "base/user_directory.h"

namespace elastic::rm {

class SlurmBackend : public Backend {
  public:
    SlurmBackend(const Settings &settings, Loop &loop);
    ~SlurmBackend() override;

    std::string start(const State &known, Notify notify) override;
    bool asynchronous_nodes() const override { return true; }
    bool whole_nodes() const override { return true; }
    bool capacity_known() const override { return state_ && !state_->nodes.empty(); }
    void acquire(const AcquireNodes &action) override;
    void release(const ReleaseNodes &action) override;
    std::string prepare_step(const Job &job, const std::string &folder) override;
    void check_node(const std::string &node) override;
    std::vector<std::string> launcher_options() const override;
    std::vector<std::string> launcher_environment() const override;
    std::string about() const override;
    std::string trouble() const override;
    std::string why_acquiring(JobId id) const override;

  private:
    enum class Resize { UNKNOWN, MERGE, SET };

    /* The Slurm jobs of one of our jobs. */
    struct Set {
        uint32_t step = 0;
        bool busy = false;                      /* an order is in progress */
        uint64_t changed = 0;                   /* the clock's time of its last order's end */
        std::deque<SlurmOrder> orders;
        bool waited = false;                    /* the present order may wait for its nodes */
        std::set<SlurmId> running;              /* as of the last poll */
        std::set<SlurmId> ended_by_us, no_merge;
        std::map<std::string, SlurmId> nodes;   /* as reported to the launcher */
        std::map<std::string, int64_t> given_back_ms;
        /* the request whose acquisition has been answered */
        std::optional<uint64_t> answered;
        bool explained = false;                 /* the loss of its nodes has been reported */
        int64_t shrink_after_ms = 0;            /* next shrink, after Slurm has refused one */
        std::string pending;                    /* why its present allocation waits in Slurm */
        int64_t sent_ms = 0;                    /* when it was requested, and its nodes */
        size_t sent_nodes = 0;
        bool lookup_pending = false;            /* of the user for the present order */
    };

    /* state of Slurm (slurm_backend.cpp) */
    void query_configuration();
    void read_configuration(const std::map<std::string, std::string> &values);
    void query_partition();
    void use(Resize resize, const std::string &why);
    void no_answer(const std::string &problem);
    void answers();

    /* polls */
    void poll_soon(int64_t delay_ms);
    int64_t pause_ms() const;
    void drop_started();
    void poll();
    void polled(const SlurmAnswer &answer, const SlurmReport &poll);
    void answer_releases(const SlurmReport &poll);
    bool is_given_back(const ReleaseNodes &release, const SlurmReport &poll) const;
    void wanted_by_others(const SlurmReport &poll);

    /* one job (slurm_orders.cpp) */
    void reconcile_all(const SlurmReport &poll);
    void reconcile(JobId id, const std::vector<const SlurmJob *> &jobs);
    void remember(JobId id, Set &set, const std::vector<const SlurmJob *> &jobs);
    bool must_wait(const Set &set, const std::vector<SlurmOrder> &orders);
    void begin(JobId id, std::vector<SlurmOrder> orders);
    void next_order(JobId id);
    void run_order(JobId id);
    void note_pending(JobId id, Set &set, const std::vector<const SlurmJob *> &jobs);
    bool needs_user(const Job *job, const SlurmOrder &order) const;
    Words words_of(JobId id, const Set &set, const SlurmOrder &order) const;
    void order_done(JobId id, const SlurmAnswer &answer);
    void allocate_refused(JobId id, Set &set, const SlurmAnswer &answer);
    /* The effect of a reason on a start. */
    struct Outcome {
        bool never = false, busy = false, per_job = false;
        int nodes_max = 0;                      /* as in NodesRefused */
    };
    Outcome outcome_of(JobId id, const Set &set, PendingKind kind) const;
    Outcome smaller_start(const Job &job, const Set &set, PendingKind kind) const;
    void refuse(JobId id, Set &set, const std::string &reason, const Outcome &outcome);
    void stop_orders(Set &set);
    void explain(JobId id, const NodeNames &taken);
    std::string reason_of_loss(JobId id, const Set &set, const SlurmReport &poll,
                               const NodeNames &taken) const;
    std::string write_node_map(const Set &set, const std::string &folder) const;
    std::string folder_of(JobId id, uint32_t step) const;

    const Settings settings_;
    Loop &loop_;
    SlurmClient client_;
    UserDirectory users_;
    SlurmDemand demand_;
    SlurmOptions options_;
    const State *state_ = nullptr;
    Notify notify_;
    std::string cluster_;
    std::string launcher_;                      /* elastic-srun, in the folder of elastic-stepd */

    Resize resize_ = Resize::UNKNOWN;
    std::string resize_why_;
    std::string problem_;                       /* why Slurm does not answer; empty: it answers */
    int64_t retry_ms_ = 0;
    /* of the partition, as of the last poll */
    int job_nodes_min_ = 0, job_nodes_max_ = 0;
    bool equal_nodes_ = false;          /* any node serves the same requests */
    /* Times of the clock when Slurm refused nodes as unfit for these jobs. */
    std::map<JobId, uint64_t> unfit_;
    std::map<JobId, std::string> refused_;      /* reasons in the log */

    std::map<JobId, Set> sets_;
    std::map<JobId, std::vector<ReleaseNodes>> releases_;
    uint64_t clock_ = 0;                        /* counts polls and ends of orders */
    uint64_t poll_began_ = 0;
    bool looking_ = false, poll_again_ = false;
    Loop::TimerId poll_timer_ = 0;
    int64_t next_poll_ms_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_BACKEND_H_INCLUDED */
