/*
 * The configuration of the core.  It arrives as an event like all others (Configure), so that a
 * recorded log is complete.
 */

#ifndef ELASTIC_RM_CORE_CONFIG_H_INCLUDED
#define ELASTIC_RM_CORE_CONFIG_H_INCLUDED

#include "core/group_limit.h"
#include "core/node_reservation.h"
#include "core/partition.h"

namespace elastic::rm {

enum class PolicyKind { FCFS, EASY, FILL, EFFICIENT, MEASURED };
template <> struct NamesOf<PolicyKind> {
    static constexpr const char *names[] = {"fcfs", "easy", "fill", "efficient", "measured"};
};

/* efficient: how far a job is changed at once (SPEC-performance R).  DOUBLE: to half or twice its
 * size.  MODEL: to the size at which its MPI time is expected to lie between the thresholds. */
enum class RangeTarget { DOUBLE, MODEL };
template <> struct NamesOf<RangeTarget> {
    static constexpr const char *names[] = {"double", "model"};
};

struct Config {
    PolicyKind policy = PolicyKind::MEASURED;
    /* A back end that requests nodes elsewhere (Slurm): the core sends AcquireNodes and
     * ReleaseNodes and waits for their answers.  Without it (local, hosts) the core uses a node
     * as soon as it is free. */
    bool asynchronous_nodes = false;
    /* With asynchronous_nodes: the nodes are elasticd's own, as without it, and programs prepare
     * them. */
    bool own_nodes = false;
    /* The owner of the nodes allocates whole nodes: every job is a whole-node job. */
    bool whole_nodes = false;
    /* A job that is larger than all known nodes together is refused. */
    bool check_capacity = true;
    int64_t default_time_limit_ms = 0;  /* 0: none */
    int64_t priority_weight_ms = 60000; /* one point of priority is worth this much waiting */
    int64_t kill_grace_ms = 10000;      /* between SIGTERM and SIGKILL */
    int64_t answer_timeout_ms = 30000;  /* an action without an answer is repeated */
    int answer_tries_max = 5;
    /* a change that is not agreed on after this time is withdrawn */
    int64_t adapt_patience_ms = 300000;
    int64_t offer_pause_ms = 5000;      /* between two changes of one job for which no job waits */
    int64_t refusal_pause_ms = 30000;   /* after a change that failed; doubles up to: */
    int64_t refusal_pause_max_ms = 3600000;
    int64_t poll_interval_ms = 600000;  /* interval at which each running step is queried */
    int64_t start_pause_ms = 5000; /* after a failed start, times the number of failures in a row */
    int start_attempts_max = 3;
    int backfill_depth = 100;           /* waiting jobs after the first that are examined */
    int user_running_max = 0;           /* jobs of one user on nodes at once; 0: any number */
    int64_t user_cores_max = 0;         /* their cores together; 0: any number */
    /* of one job: cores at its largest size times time limit; 0: any */
    int64_t job_core_time_max_ms = 0;
    /* delay in the queue of a user with all recorded use; 0: no fair share */
    int64_t fair_share_ms = 0;
    /* half-life of recorded use */
    int64_t fair_share_half_life_ms = int64_t{7} * 86400 * 1000;
    int monitor_window = 5;             /* samples from which a job's MPI share is computed */
    /* efficient: MPI time by computing time of the phase, in ppm */
    int64_t mtct_upper_ppm = 100000;    /* above it a job releases processes */
    int64_t mtct_lower_ppm = 10000;     /* below it a job may get more */
    /* a size that was above the threshold is not given again for this time */
    int64_t ceiling_hold_ms = 600000;
    bool reduce_when_idle = true;       /* also if no job waits */
    RangeTarget range = RangeTarget::DOUBLE;
    /* measured: no job gets cores that bring less than this part of a proportional gain in
     * speed, in ppm.  Cores that no other job can use go to a job even if they bring less, until
     * another job can use them.  0: cores go to all jobs that do not become slower. */
    int64_t efficiency_ppm = 500000;
    int64_t efficiency_idle_ppm = 0;
    int jobs_max = 100000;              /* waiting and running; more are refused */
    int finished_max = 1000;            /* in memory; older ones are removed (RemoveJob) */
    std::vector<Partition> partitions;  /* empty: all nodes are for all jobs */
    std::vector<GroupLimit> groups;     /* the groups that have limits */
    std::vector<NodeReservation> reservations;

    bool operator==(const Config &) const = default;
    ELASTIC_FIELDS(policy, asynchronous_nodes, whole_nodes, check_capacity, default_time_limit_ms,
                   priority_weight_ms, kill_grace_ms, answer_timeout_ms, answer_tries_max,
                   adapt_patience_ms, offer_pause_ms, refusal_pause_ms, refusal_pause_max_ms,
                   poll_interval_ms, start_pause_ms, start_attempts_max, backfill_depth,
                   user_running_max, user_cores_max, fair_share_ms, fair_share_half_life_ms,
                   monitor_window, mtct_upper_ppm, mtct_lower_ppm, ceiling_hold_ms,
                   reduce_when_idle, range, efficiency_ppm, efficiency_idle_ppm, jobs_max,
                   finished_max, partitions, groups, reservations, job_core_time_max_ms,
                   own_nodes)
};

/* Empty, or the error in the configuration. */
std::string check(const Config &config);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_CONFIG_H_INCLUDED */
