/*
 * The data of one decision of `fill`.  Its parts work on it one after the other (policy_fill.cpp):
 *
 *   fill_starting.h     jobs that start, and jobs for which cores are freed
 *   fill_donors.h       jobs that give cores
 *   fill_balance.h      jobs that are made to end together, if nothing else helps the first job
 *   fill_loans.h        reserved cores, and jobs that use them meanwhile
 *   fill_recipients.h   jobs that get idle cores
 */

#ifndef ELASTIC_RM_CORE_POLICY_FILL_PLAN_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_FILL_PLAN_H_INCLUDED

#include "core/placement.h"
#include "core/policy/fair_share.h"
#include "core/policy/gain.h"
#include "core/policy/policy.h"
#include "core/policy/policy_easy.h"
#include "core/policy/size_rules.h"
#include "core/policy/time_balance.h"

namespace elastic::rm {

/* A job that starts or grows. */
struct Growth {
    const Job *job;
    bool starts;
    int size;           /* so far */
    int cap;            /* at most */
    Blocks blocks;      /* its blocks: all if it starts, the joining processes if it grows */
    std::optional<GrowingJob> nodes = {};       /* all its nodes; set as soon as it is to grow */
    int loaned = 0;       /* of the joining processes, those on loan */
    StartNumbers numbers = {};  /* for a start */
    int level_max = std::numeric_limits<int>::max();    /* size by nodes or GPUs of few jobs */
};

/* If the first job is expected to start before its reserved time: the number of cores that are
 * free then beside its own, and the time until which this is valid (another job must have ended
 * by then). */
struct ExpectedStart {
    int64_t time_ms = 0, left = 0, until_ms = 0;
};

struct FillPlan {
    FillPlan(const State &all, const Gain &worth, const SizeRules &rules);

    const State &state;
    const Gain &gain;
    const SizeRules &rules;
    Space now;          /* cores that may be booked now */
    Space soon;         /* and cores that will soon be free, without those already assigned */
    FairShares fair_shares;
    bool others_wait = false;
    const Job *first = nullptr;         /* first waiting job without cores, now or soon */
    std::optional<Reservation> reservation;     /* its own */
    QueueKey examined_until = QUEUE_END;
    std::vector<Growth> starts;
    std::map<JobId, int> shrinks;       /* new sizes */
    /* of shrinks: the waiting jobs that need the cores */
    std::map<JobId, std::vector<JobId>> frees_cores_for;
    std::set<JobId> give_way;           /* of shrinks: for jobs of others */
    std::set<JobId> reduced;            /* of shrinks: not for another job */
    bool any_loan = false;         /* some running job has loans */
    std::set<JobId> wished;             /* of shrinks: requested by their programs */
    std::set<JobId> moved;              /* leave draining nodes */
    std::optional<TimeBalance> balance; /* for running jobs, once computed */
    int64_t balance_end_ms = NEVER;     /* time until they end together */
    std::set<JobId> balanced; /* jobs that get other sizes by it, now or as cores become free */
    std::vector<Ending> grown;          /* bookings of growths for it, until their limits */
    std::optional<ExpectedStart> expected;      /* of the first job */
    std::optional<Exchange> exchange;   /* once computed */
    Decisions decisions;

    /* After this call `soon` contains the cores that jobs free without a further request. */
    void expect_freed();
    /* The reservation of the first job, computed on the first call. */
    Reservation &first_reservation();
    /* Its cores at the reserved time: malleable jobs count with their minimum, whatever their
     * present size, so that no growth and no donation moves the reservation (clause Q7).  Where
     * the rules assume no donations, jobs count with all but their loans. */
    Outlook outlook() const;
    /* After all changes in progress, and those planned here. */
    Blocks world_to_come(const Job &job) const;
    /* Plans to shrink it; afterwards `soon` contains the released cores. */
    void give_up(const Job &job, int size);
    /* A change by the balance. */
    Change to_balance(const Job &job, int size, std::vector<int> leave, Blocks joining) const;
    /* Whether the first job can still start at the expected time, if these cores are used until
     * then; NEVER: for ever. */
    bool leaves_expected(int64_t cores, int64_t end_ms) const;
    void take_beside_expected(int64_t cores, int64_t end_ms);
    /* The size that it has, or will have after the planned changes. */
    int shrunk(const Job &job) const;
    /* Its size without its loans. */
    int own_size(const Job &job) const;
    /* This decision has fixed its size. */
    bool is_planned(const Job &job) const
    {
        return shrinks.contains(job.id) || moved.contains(job.id) || balanced.contains(job.id);
    }
    /* Whether growths must not use reserved cores, because no job returns them before its end. */
    bool keeps_out_of_reserved() const { return first && !rules.gives_later(); }
    /* Maximum size for a start, and for a growth that no waiting job needs; `blocks`: its blocks
     * now or at its start. */
    int cap(const Job &job, const Blocks &blocks) const;
    int cap(const Job &job) const { return cap(job, job.blocks); }

  private:
    std::vector<Ending> starting() const;
    bool gives_on_request(const Job &job) const;
    int retained_size(const Job &job, const Blocks &world) const;
    int loan_then(const Job &job) const;
    Blocks take_spare(Blocks &world, int least) const;
};

/* The minimum size. */
inline int lowest(const JobSpec &spec)
{
    return size_at_least(spec, 1);
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_FILL_PLAN_H_INCLUDED */
