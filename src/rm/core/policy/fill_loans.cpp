/* See fill_loans.h. */

#include "core/policy/fill_loans.h"

#include "core/scaling.h"

namespace elastic::rm {

namespace {

/* In mean durations of the job's adaptations (clause Q8): the minimum time of a loan, and the
 * time before the reserved start at which it must return. */
constexpr int64_t LOAN_PER_DURATION = 4, BACK_PER_DURATION = 2;

}  // namespace

/* Time at which the first job is to start; NEVER: unknown. */
int64_t CoreLoans::wanted_ms()
{
    int64_t promised_ms = plan_.first_reservation().time_ms();
    if (!plan_.expected)
        return promised_ms;
    int64_t expected_ms = plan_.expected->time_ms;
    return promised_ms == NEVER ? expected_ms : std::min(promised_ms, expected_ms);
}

void CoreLoans::call_in()
{
    if (!plan_.first || state_.indices().borrowers.empty())
        return;
    int64_t start_ms = wanted_ms();
    if (start_ms == NEVER)
        return;
    for (JobId id : state_.indices().borrowers) {
        const Job &job = state_.jobs.at(id);
        int own = plan_.own_size(job);
        if (plan_.is_planned(job) || own >= job.size())
            continue;
        int64_t due_ms = start_ms - BACK_PER_DURATION * adaptation_times(job).duration_ms;
        due_ms = std::max(due_ms, job.offer_after_ms);
        if (due_ms > state_.now_ms) {
            plan_.decisions.recheck_at(due_ms);
            continue;
        }
        plan_.give_up(job, own);
        plan_.frees_cores_for[id] = {plan_.first->id};
    }
}

/* Cores that this number of further processes books. */
int64_t CoreLoans::cores_of(const Job &job, int processes) const
{
    Unit unit = unit_of(state_, job.spec, job.blocks);
    return unit.count(processes) * unit.cores;
}

/* K2, for the duration of the loan. */
bool CoreLoans::pays(const Growth &growth, int64_t lendable)
{
    const Job &job = *growth.job;
    int64_t start_ms = wanted_ms();
    if (start_ms == NEVER)
        return false;
    AdaptationTimes times = adaptation_times(job);
    int64_t loan_ms = start_ms - state_.now_ms, left_ms = remaining_ms(state_, job);
    if (loan_ms < LOAN_PER_DURATION * times.duration_ms)
        return false;
    int64_t most = growth.size + lendable / job.spec.cores_per_process;
    double speed = static_cast<double>(std::min<int64_t>(most, growth.cap)) / job.size();
    int64_t used_ms = left_ms == NEVER ? loan_ms : std::min(loan_ms, left_ms);
    return growth_pays(used_ms, sampled_since_ms(job), times, speed);
}

bool CoreLoans::allows(const Growth &growth, int more)
{
    const Job &job = *growth.job;
    if (growth.starts || size_wished(job) > 0 || !plan_.rules.borrows(state_, job))
        return false;
    int64_t lendable = plan_.first_reservation().reserved_of(plan_.now);
    return cores_of(job, more) <= lendable && pays(growth, lendable);
}

Change to_loan(FillPlan &plan, Growth &growth)
{
    const Job &job = *growth.job;
    std::string whom = "job " + std::to_string(plan.first->id);
    std::string reason = plan.rules.words(plan.state, job, growth.size) + "; " +
                         std::to_string(growth.loaned) + " loaned until " + whom + " starts";
    auto why = [of_rules = plan.rules.why_of(growth.size, "backfill"), loaned = growth.loaned,
                first = plan.first->id, start_ms = plan.first_reservation().time_ms()](
                   const State &then, const Job &changed) {
        Json json = of_rules(then, changed);
        json["lent"] = loaned;
        json["for"] = {first};
        json["reserved_ms"] = start_ms;
        return json;
    };
    return {job.id, growth.size, {}, std::move(growth.blocks), reason, std::move(why),
            growth.loaned};
}

}  // namespace elastic::rm
