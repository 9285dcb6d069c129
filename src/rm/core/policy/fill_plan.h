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
    std::optional<GrowingJob> nodes = {};       /* all that it has; once it is to grow */
    int loaned = 0;       /* so many of the joining ones, until somebody wants them */
    StartNumbers numbers = {};  /* if it starts */
};

/* When the first job is expected to start, sooner than it is promised, how many cores are free then
 * beside its own, and until when that can be believed: somebody is to have ended by then. */
struct ExpectedStart {
    int64_t time_ms = 0, left = 0, until_ms = 0;
};

struct FillPlan {
    FillPlan(const State &all, const Gain &worth, const SizeRules &rules);

    const State &state;
    const Gain &gain;
    const SizeRules &rules;
    Space now;          /* what may be booked */
    Space soon;         /* and what is about to be freed, without what is claimed of it */
    int fair_cores;     /* of each job that runs or waits */
    bool others_wait = false;
    const Job *first = nullptr;         /* that cannot be helped now */
    std::optional<Reservation> reservation;     /* its own */
    QueueKey examined_until = QUEUE_END;
    std::vector<Growth> starts;
    std::map<JobId, int> shrinks;       /* new sizes */
    std::map<JobId, std::vector<JobId>> frees_cores_for; /* of shrinks: these, which wait */
    std::set<JobId> give_way;           /* of shrinks: to somebody else */
    std::set<JobId> reduced;            /* of shrinks: for nobody's sake */
    bool any_loan = false;         /* some running job has more than its own */
    std::set<JobId> wished;             /* of shrinks: as their programs want it */
    std::set<JobId> moved;              /* leave draining nodes */
    std::optional<TimeBalance> balance; /* has been computed, of running jobs */
    int64_t balance_end_ms = NEVER;     /* they end together in so long */
    std::set<JobId> balanced;           /* get other sizes by it, now or as cores become free */
    std::vector<Ending> grown;          /* what growths for it book, by their limits */
    std::optional<ExpectedStart> expected;      /* of the first job */
    std::optional<Exchange> exchange;   /* has been computed */
    Decisions decisions;

    /* From then on `soon` contains the cores that jobs free without a further request. */
    void expect_freed();
    /* The reservation of the first job, computed on the first call. */
    Reservation &first_reservation();
    /* Its cores at the reserved time: malleable jobs count with their minimum, whatever their
     * present size, so that no growth and no donation moves the reservation (clause Q7).  Where
     * the rules assume no donations, jobs count with all but their loans. */
    Outlook outlook() const;
    /* When all has come to its end that is under way or planned with it. */
    Blocks world_to_come(const Job &job) const;
    /* Plans to shrink it; what it gives is in `soon` from then on. */
    void give_up(const Job &job, int size);
    /* By the balance. */
    Change to_balance(const Job &job, int size, std::vector<int> leave, Blocks joining) const;
    /* Whether the first job can still start when it is expected to, if these cores are used until
     * then; NEVER: for ever. */
    bool leaves_expected(int64_t cores, int64_t end_ms) const;
    void take_beside_expected(int64_t cores, int64_t end_ms);
    /* The size that it has, or will have by what is planned. */
    int shrunk(const Job &job) const;
    /* Its size without its loans. */
    int own_size(const Job &job) const;
    /* This decision has fixed its size. */
    bool is_planned(const Job &job) const
    {
        return shrinks.contains(job.id) || moved.contains(job.id) || balanced.contains(job.id);
    }
    /* Whether growths must leave what is reserved, as nobody gives it back before its end. */
    bool keeps_out_of_reserved() const { return first && !rules.gives_later(); }
    /* Its fair share, in processes. */
    int fair_size(const JobSpec &spec) const { return fair_cores / spec.cores_per_process; }
    /* It is not grown beyond, for nobody's sake, and not started larger; `blocks`: what it has, or
     * starts with. */
    int cap(const Job &job, const Blocks &blocks) const;
    int cap(const Job &job) const { return cap(job, job.blocks); }

  private:
    std::vector<Ending> starting() const;
    bool gives_on_request(const Job &job) const;
    int retained_size(const Job &job, const Blocks &world) const;
    int loan_then(const Job &job) const;
    Blocks take_spare(Blocks &world, int least) const;
};

/* The smallest size. */
inline int lowest(const JobSpec &spec)
{
    return size_at_least(spec, 1);
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_FILL_PLAN_H_INCLUDED */
