/* See policy_easy.h. */

#include "core/policy/policy_easy.h"

namespace elastic::rm {

int64_t time_limit(const State &state, const JobSpec &spec)
{
    return spec.time_limit_ms > 0 ? spec.time_limit_ms : state.config.default_time_limit_ms;
}

/* Lets the placed jobs end in the order of their limits until it fits. */
Reservation::Reservation(const State &state, const Space &now, const JobSpec &spec, int size)
    : state_(state), then_(now)
{
    int room = then_.room(spec);
    int64_t time_ms = state.now_ms;
    for (JobId id : state.indices().settling) {
        const Job &job = state.jobs.at(id);
        if (job.state == JobState::COMPLETING)
            room += then_.give(state.shares(job), spec);
    }
    for (auto next = state.indices().limits.begin();
         room < size && next != state.indices().limits.end(); ++next) {
        const Job &job = state.jobs.at(next->second);
        time_ms = std::max(next->first, state.now_ms);
        room += then_.give(state.shares(job), spec);
    }
    if (room < size)
        return;
    time_ms_ = time_ms;
    then_.place(spec, size);
}

bool Reservation::ends_before(const JobSpec &spec) const
{
    int64_t limit = time_limit(state_, spec);
    return limit > 0 && (time_ms_ == NEVER || state_.now_ms + limit <= time_ms_);
}

const Space &Reservation::beside(const Space &now) const
{
    if (!beside_) {
        beside_ = now;
        beside_->limit(then_);
    }
    return *beside_;
}

bool Reservation::allows(const Space &now, const JobSpec &spec, int size) const
{
    if (!now.fits(spec, size))
        return false;
    return ends_before(spec) || (time_ms_ != NEVER && beside(now).fits(spec, size));
}

Blocks Reservation::place(Space &now, const JobSpec &spec, int size)
{
    if (ends_before(spec)) {
        beside_.reset();
        return now.place(spec, size);
    }
    Blocks blocks = Space(beside(now)).place(spec, size);
    beside_.reset();
    now.take(state_.shares(spec, blocks));
    then_.take(state_.shares(spec, blocks));
    return blocks;
}

Decisions Easy::decide(const State &state) const
{
    Decisions decisions;
    if (state.indices().free_cores == 0)
        return decisions;
    Space now(state);
    const Job *first = nullptr;         /* that does not fit */
    std::optional<Reservation> reservation;
    int looked_at = 0;
    for (const QueueKey &key : state.indices().queue) {
        const Job &job = state.jobs.at(key.job);
        if (first && ++looked_at > state.config.backfill_depth)
            break;
        int size = fixed_size(state, job.spec);
        if (job.offer_after_ms > state.now_ms || size == 0)
            continue;
        bool fits = now.fits(job.spec, size);
        if (!first && fits) {
            decisions.starts.push_back({job.id, now.place(job.spec, size)});
        } else if (!first) {
            first = &job;
        } else if (fits) {
            if (!reservation)
                reservation.emplace(state, now, first->spec, fixed_size(state, first->spec));
            if (reservation->allows(now, job.spec, size))
                decisions.starts.push_back({job.id, reservation->place(now, job.spec, size)});
        }
    }
    return decisions;
}

}  // namespace elastic::rm
