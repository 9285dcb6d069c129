/*
 * The sizes that a policy allows a job, within those that the job itself can have: how far it may
 * grow, whether it may release processes for others, whether it must release some although no job
 * waits.  `fill` allows all sizes and requires nothing; `efficient` and `measured` are `fill` with
 * other rules and another gain (gain.h).
 *
 * Rules depend on the state alone, and on the time only through the state: the newest sample of a
 * job counts as present.  So no decision has to be repeated while nothing happens.
 */

#ifndef ELASTIC_RM_CORE_POLICY_SIZE_RULES_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_SIZE_RULES_H_INCLUDED

#include "core/policy/policy.h"

namespace elastic::rm {

class SizeRules {
  public:
    virtual ~SizeRules() = default;
    /* All sizes are allowed, so that callers can skip the rules. */
    virtual bool allows_all() const { return false; }
    /* A waiting job is started with this size if it fits, else with its smallest size. */
    virtual int first_size(const State &, const Job &job) const
    {
        return size_at_least(job.spec, 1);
    }
    /* Maximum size for the start and the growth of the job; at least its present size. */
    virtual int most(const State &state, const Job &job) const = 0;
    /* Processes beyond this size are a loan: waiting jobs get them first. */
    virtual int own_size(const State &state, const Job &job) const;
    /* Whether processes may be taken from the running job for one that waits. */
    virtual bool may_give(const State &state, const Job &job) const = 0;
    /* Whether a job that may release processes now may also do so later, so that a reservation
     * can count on it; else no job grows into reserved cores (SPEC-performance Q7, F1). */
    virtual bool gives_later() const { return true; }
    /* Whether it may use cores that are reserved for the first waiting job until that job needs
     * them; then it returns them, whatever other rules require for its size (fill_loans.h). */
    virtual bool borrows(const State &, const Job &) const { return false; }
    /* Whether the jobs for whose ends the first waiting job waits should end together, within
     * their bounds (fill_balance.h). */
    virtual bool balances() const { return false; }
    /* The size that the running job must have although no job waits; its present size or 0: it
     * keeps its size. */
    virtual int reduced(const State &state, const Job &job) const = 0;
    /* The numbers that led to the change to `size`, for the record; `rule` is one of
     * SPEC-performance X1. */
    virtual Json why(const State &state, const Job &job, int size, const char *rule) const = 0;
    /* The same, as a function for Change::why. */
    std::function<Json(const State &, const Job &)> why_of(int size, const char *rule) const
    {
        return [this, size, rule](const State &state, const Job &job) {
            return why(state, job, size, rule);
        };
    }
    /* The same for people: a reason in a few words. */
    virtual std::string words(const State &state, const Job &job, int size) const = 0;
    /* Why the running job has its present size (Policy::explain). */
    virtual std::string explain(const State &, const Job &) const { return ""; }
    /* Policy::bounds; nullopt: the rules have no bounds for the job. */
    virtual std::optional<SizeBounds> bounds(const State &, const Job &) const { return {}; }
    /* The rule that fixes the size of the running job; empty: it may grow. */
    virtual std::optional<HeldBecause> held_because(const State &, const Job &) const { return {}; }
    /* If no job waits and there are no other changes: the donor that releases processes for
     * another running job. */
    virtual Exchange exchange(const State &) const { return {}; }
    /* Whether an exchange that was not possible may now be possible, after a sample of the job. */
    virtual bool may_change(const Exchange &, const State &, const Job &) const { return false; }
};

/* The unit of changes: for a whole-node job, a node with all its processes; else a process
 * (clause R5 of the performance specification). */
struct Unit {
    int processes = 1, cores = 1;
    int64_t count(int64_t size) const { return (size + processes - 1) / processes; }
    ELASTIC_FIELDS(processes, cores)
};
/* The unit of an allocated job; a process if its nodes are unknown. */
Unit unit_of(const State &state, const JobSpec &spec, const Blocks &blocks);
/* The greatest allowed size up to `most` for which no greater allowed size fits into the same
 * number of units; if there is none, the greatest allowed size; 0: none. */
int size_in_units(const JobSpec &spec, const Unit &unit, int64_t most);

/* The size that fills one unit more, and the size with one unit less; 0: none. */
int one_unit_more(const JobSpec &spec, const Unit &unit, int size);
int one_unit_less(const JobSpec &spec, const Unit &unit, int size);
/* `most`, but at least `size` and at most the job's maximum. */
int size_between(const JobSpec &spec, int size, int64_t most);
/* For a job without data (has_data). */
HeldBecause held_without_data(const Job &job);

const SizeRules &any_sizes();

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_SIZE_RULES_H_INCLUDED */
