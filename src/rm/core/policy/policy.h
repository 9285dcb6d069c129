/*
 * Policies: which jobs start, grow and shrink.  A policy is a function of the state alone: the
 * same state gives the same decisions.  The core calls it until it decides nothing more.
 *
 *   fcfs   in queue order; the first job that does not fit blocks the later ones, but only those
 *          that could use nodes of its partition
 *   easy   as fcfs, with EASY backfilling: other jobs start if they do not delay the first one
 *   fill   as easy, with the sizes that jobs leave open: starts small, shrinks malleable jobs for
 *          waiting ones, and grows them into cores that no job can use
 *   efficient   as fill, within the limits of the jobs' MPI share (policy_efficient.h)
 *   measured    as fill, by the measured speed of each job (policy_measured.h)
 *
 * fcfs and easy start each job at its preferred size (maximum, if it has none) and never change
 * it.  A job that does not fit on the nodes that are up, even without other jobs, blocks no other.
 */

#ifndef ELASTIC_RM_CORE_POLICY_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_H_INCLUDED

#include <functional>
#include <memory>

#include "core/policy/start_numbers.h"
#include "core/state.h"

namespace elastic::rm {

struct Start {
    JobId job = 0;
    Blocks blocks;
    StartNumbers numbers = {};  /* the numbers that led to it */
};

struct Change {
    JobId job = 0;
    int size = 0;
    std::vector<int> leave;
    Blocks joining;
    std::string reason;
    /* The numbers that led to it (record.h), from the state in which it was decided; null: none
     * besides the sizes. */
    std::function<Json(const State &, const Job &)> why = nullptr;
    int loaned = 0;       /* number of joining processes that must be returned on demand */
    std::vector<JobId> whom = {};       /* waiting jobs that need it */
    bool by_program = false;            /* the program waits for it */
    std::string by = "";                /* the user who requested it, for people */
};

/* Candidates for an exchange, on one side of it: the jobs of lowest rank, of equals the lower
 * numbers. */
class Traders {
  public:
    /* Whether a job that is not a candidate would be one. */
    bool would_be(double rank, JobId job) const
    {
        return first_.size() < MAX || std::pair(rank, job) < first_.back();
    }
    void add(double rank, JobId job)
    {
        if (!would_be(rank, job))
            return;
        if (first_.size() == MAX)
            first_.pop_back();
        first_.insert(std::upper_bound(first_.begin(), first_.end(), std::pair(rank, job)),
                      {rank, job});
    }
    bool has(JobId job) const
    {
        return std::any_of(first_.begin(), first_.end(),
                           [&](const auto &each) { return each.second == job; });
    }
    auto begin() const { return first_.begin(); }
    auto end() const { return first_.end(); }

  private:
    static constexpr size_t MAX = 4;
    std::vector<std::pair<double, JobId>> first_;
};

/* Data of exchanges between running jobs (SizeRules::exchange). */
struct Exchange {
    std::optional<Change> change;       /* release of processes by the donor */
    int64_t again_ms = NEVER;   /* time of the next decision; NEVER: only after a change */
    Traders gives;              /* jobs whose last processes have the least value */
    Traders doubtful;           /* the same for jobs without evidence that they need them */
    Traders gets;               /* jobs whose next processes have the greatest value */
};

/* The part of the state on which a decision depends, beside the bookings: while it does not
 * change, and until recheck_ms, the decision to do nothing remains valid. */
struct Dependence {
    QueueKey queue_until = QUEUE_END;   /* the waiting jobs up to this position */
    int64_t limits_until_ms = NEVER;    /* steps' limits up to this time */
    bool sizes = false;                 /* the cores that running jobs may release or get */
    int sharers = -1; /* waiting_sharers; -1: independent of the number of waiting jobs */
    int64_t until_ms = NEVER;           /* from this time on some value is lower; NEVER: it stays */
    std::optional<Exchange> exchange;   /* an exchange that was not possible */
};

/* Why a running job is not grown: the first that holds (SPEC-performance X2).
 * RIGID_PHASE: its program is in a phase without adaptations, so that its size is kept.
 * NO_DATA: not measured at its size yet.  NOT_SPMD: no loop of all its processes has been found.
 * BETWEEN_THRESHOLDS: it uses its processes well, and more would gain too little.
 * CEILING: a larger size was too large before.  COST: the change would cost more than it gains.
 * AT_MINIMUM: it should have fewer processes, but has its minimum.  CORES_WANTED: no core is
 * idle, or other jobs wait.  PAUSE: it was changed shortly before, or has refused a change.
 * NO_ESTIMATE: its remaining time is unknown, and it has not run long enough. */
enum class HeldBecause {
    RIGID_PHASE,
    NO_DATA,
    NOT_SPMD,
    BETWEEN_THRESHOLDS,
    CEILING,
    COST,
    AT_MINIMUM,
    AT_MAXIMUM,
    CORES_WANTED,
    PAUSE,
    NO_ESTIMATE
};
template <> struct NamesOf<HeldBecause> {
    static constexpr const char *names[] = {
        "rigid_phase", "no_data",    "not_spmd",   "between_thresholds", "ceiling",    "cost",
        "at_minimum",  "at_maximum", "cores_wanted", "pause",            "no_estimate"};
};

/* The sizes that a policy would give a running job now, by its measurements. */
struct SizeBounds {
    int low = 0, high = 0;
    int ceiling = 0;            /* the smallest size that was too large; 0: none is known */
};

/* The view of a policy on a running job. */
struct Sight {
    bool has_data = false;
    int most = 0;               /* maximum size for its growth */
};

struct Decisions {
    std::vector<Start> starts;
    std::vector<Change> changes;
    std::optional<Dependence> depends_on = Dependence(); /* empty: it depends on the time as well */
    int64_t recheck_ms = NEVER;      /* time of the next decision in any case */

    void recheck_at(int64_t time_ms)
    {
        if (recheck_ms == NEVER || time_ms < recheck_ms)
            recheck_ms = time_ms;
    }
};

class Policy {
  public:
    virtual ~Policy() = default;
    virtual Decisions decide(const State &state) const = 0;
    /* A sample of a running job arrived; `before` is the result of sight() before it.  Returns
     * whether the decision to do nothing, which depends on `on`, may change.  Else no new
     * decision is needed. */
    virtual Sight sight(const State &, const Job &) const { return {}; }
    virtual bool heeds_sample(const State &, const Job &, const Sight & /* before */,
                              const Dependence & /* on */) const
    {
        return false;
    }
    /* Why the running job has its present size, in one sentence for people; empty: unknown. */
    virtual std::string explain(const State &, const Job &) const { return ""; }
    virtual std::optional<SizeBounds> bounds(const State &, const Job &) const { return {}; }
    /* The same in one word; nullopt: it may grow now, or its size cannot change. */
    virtual std::optional<HeldBecause> held_because(const State &, const Job &) const { return {}; }
};

/* The size with which fcfs and easy start it, if the nodes that are up allow that; 0: they do
 * not. */
int fixed_size(const State &state, const JobSpec &spec);
/* Number of waiting jobs that share the machine with the running ones: those within the backfill
 * depth. */
int waiting_sharers(const State &state);
/* Whether the job could run if it were alone on the nodes that are up. */
bool runnable(const State &state, const JobSpec &spec, int size);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_H_INCLUDED */
