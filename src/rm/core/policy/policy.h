/*
 * Who starts, who grows, who shrinks.  A policy is a function of the state alone: asked twice
 * about the same state it says the same.  It is asked until it has nothing to add.
 *
 *   fcfs   in the queue's order; the first that does not fit holds up the others
 *   easy   as fcfs, and others go ahead where they do not delay the first (EASY backfilling)
 *   fill   as easy, with the sizes that jobs leave open: starts small, shrinks malleable jobs for
 *          those that wait, and grows them into what nobody can use
 *   efficient   as fill, within what the jobs' MPI share allows (policy_efficient.h)
 *   measured    as fill, by how much faster each job becomes (policy_measured.h)
 *
 * fcfs and easy start each job at its preferred size (maximum, if it has none) and never change
 * it.  A job that the nodes that are up could not run even without other jobs holds up nobody.
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
    StartNumbers numbers = {};  /* that decided it */
};

struct Change {
    JobId job = 0;
    int size = 0;
    std::vector<int> leave;
    Blocks joining;
    std::string reason;
    /* The numbers that made it (record.h), from the state that it was decided in; null: none beyond
     * the sizes. */
    std::function<Json(const State &, const Job &)> why = nullptr;
    int lent = 0;       /* of the joining processes, so many are to be given back on demand */
    std::vector<JobId> whom = {};       /* waiting jobs for whose sake it is made */
    bool by_program = false;            /* which waits for it */
    std::string by = "";                /* the user who requested it, for people */
};

/* The jobs that come first into question for an exchange, on one side of it: those of least rank,
 * among equals of the smaller number. */
class Traders {
  public:
    /* Whether one that is not there would be. */
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

/* Of exchanges between running jobs (SizeRules::exchange). */
struct Exchange {
    std::optional<Change> change;       /* who is to give processes */
    int64_t again_ms = NEVER;   /* ask again then; NEVER: only when something has changed */
    Traders gives;              /* whose last processes are worth least */
    Traders doubtful;           /* the same of those of whom nothing shows that they need them */
    Traders gets;               /* whose next processes are worth most */
};

/* What of the state a decision depends on, beside what is booked: as long as none of it changes,
 * and until look_again_ms, another one that nothing is to be done is the same. */
struct Dependence {
    QueueKey queue_until = QUEUE_END;   /* waiting jobs that come before it, and it */
    int64_t limits_until_ms = NEVER;    /* steps' limits up to this time */
    bool sizes = false;                 /* what running jobs may give or take */
    int sharers = -1;                   /* waiting_sharers; -1: it does not matter how many wait */
    int64_t until_ms = NEVER;           /* from then on something is worth less; NEVER: it stays */
    std::optional<Exchange> exchange;   /* this came to nothing */
};

/* Why a running job is not grown: the first that holds (SPEC-performance X2).
 * RIGID_PHASE: its program is in a phase without adaptations, so that its size is held.
 * NO_DATA: not measured at its size yet.  NOT_SPMD: no loop of all its processes has been seen.
 * BETWEEN_THRESHOLDS: it uses what it has, and more would make it too little faster.
 * CEILING: more was too much before.  COST: the change would cost more than it wins.
 * AT_MINIMUM: it is to have fewer, and has the least that it can have.  CORES_WANTED: no core
 * idles, or others wait for it.  PAUSE: it was changed just now, or has refused a change.
 * NO_ESTIMATE: not known for how long it runs, and not for long enough yet. */
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

/* Which sizes a policy would give a running job now, by what it knows of it. */
struct SizeBounds {
    int low = 0, high = 0;
    int ceiling = 0;            /* the smallest size that has been too large; 0: none is known */
};

/* What a policy sees of a running job. */
struct Sight {
    bool has_data = false;
    int most = 0;               /* it may grow so far */
};

struct Decisions {
    std::vector<Start> starts;
    std::vector<Change> changes;
    std::optional<Dependence> depends_on = Dependence();        /* empty: on the time as well */
    int64_t look_again_ms = NEVER;      /* ask again then, whatever happens before */

    void look_again_at(int64_t time_ms)
    {
        if (look_again_ms == NEVER || time_ms < look_again_ms)
            look_again_ms = time_ms;
    }
};

class Policy {
  public:
    virtual ~Policy() = default;
    virtual Decisions decide(const State &state) const = 0;
    /* A running job's step has been sampled; `before` is what sight() said before.  Whether the
     * decision to do nothing, which depends on `on`, may now be another one.  Else nothing needs to
     * be decided. */
    virtual Sight sight(const State &, const Job &) const { return {}; }
    virtual bool heeds_sample(const State &, const Job &, const Sight & /* before */,
                              const Dependence & /* on */) const
    {
        return false;
    }
    /* Why the running job has the size that it has, in one sentence for people; empty: nothing is
     * known of it. */
    virtual std::string explain(const State &, const Job &) const { return ""; }
    virtual std::optional<SizeBounds> bounds(const State &, const Job &) const { return {}; }
    /* The same in one word; nothing: it may grow now, or has no size that could change. */
    virtual std::optional<HeldBecause> held_because(const State &, const Job &) const { return {}; }
};

const Policy &policy(PolicyKind kind);

/* The size that fcfs and easy start it with, as far as the nodes that are up allow; 0: they do
 * not. */
int fixed_size(const State &state, const JobSpec &spec);
/* How many waiting jobs share the machine with those that run: those that are looked at. */
int waiting_sharers(const State &state);
/* Whether it could run if it were alone on the nodes that are up. */
bool runnable(const State &state, const JobSpec &spec, int size);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_H_INCLUDED */
