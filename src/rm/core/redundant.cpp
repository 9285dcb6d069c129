/* See redundant.h. */

#include "core/redundant.h"

namespace elastic::rm {

namespace {

/* Of the adaptation that is under way. */
const Adaptation *adaptation(const Job &job, uint64_t request)
{
    return job.adaptation && job.adaptation->request == request ? &*job.adaptation : nullptr;
}

bool says_new(const Job &job, const StepStarted &)
{
    return job.state == JobState::STARTING;
}

bool says_new(const Job &job, const StepAdaptive &)
{
    return job.mode != StepMode::ADAPTIVE;
}

bool says_new(const Job &job, const StepRigid &)
{
    return job.mode == StepMode::UNKNOWN;
}

bool says_new(const Job &job, const StepSizes &event)
{
    return job.spec.program_sizes != event.rule;
}

bool says_new(const Job &job, const StepWish &event)
{
    bool known = event.wish.mpiexec == job.wishing && event.wish.number <= job.last_wish;
    return !known || (event.wish.number == job.last_wish && !job.wish_refusal.empty());
}

bool says_new(const Job &job, const StepWishEnded &event)
{
    bool is_last = event.mpiexec == job.wishing && event.wish == job.last_wish;
    bool may_follow = event.mpiexec != job.wishing || event.wish > job.last_wish;
    return may_follow || (is_last && (job.wish || !job.wish_refusal.empty()));
}

bool says_new(const Job &job, const StepSlots &event)
{
    return job.slots ? tells_new(*job.slots, event) : !event.held.empty() || !event.wishes.empty();
}

bool says_new(const Job &job, const StepAccepted &event)
{
    const Adaptation *known = adaptation(job, event.request);
    return known && known->phase == AdaptPhase::ASKED;
}

bool says_new(const Job &job, const StepReady &event)
{
    const Adaptation *known = adaptation(job, event.request);
    return known && known->phase != AdaptPhase::READY;
}

bool says_new(const Job &job, const StepCommitted &event)
{
    return adaptation(job, event.request) && event.epoch == job.epoch + 1;
}

bool says_new(const Job &job, const RequestEnded &event)
{
    return adaptation(job, event.request) != nullptr;
}

/* What left with a commit that has not been handled yet is not known as a departure. */
bool says_new(const Job &job, const StepFreed &event)
{
    bool leaves =
        std::any_of(job.departures.begin(), job.departures.end(), [&](const Departure &each) {
            return event.epoch > 0 && each.epoch == event.epoch && !each.releasing;
        });
    return leaves || (job.adaptation && event.epoch == job.epoch + 1);
}

bool says_new(const Job &job, const StepLeft &event)
{
    return event.epoch > job.epoch;
}

bool says_new(const Job &job, const StepSetChange &event)
{
    const auto &known = job.set_changes;
    bool is_last = known && known->request == event.request;
    return is_last ? event.number > known->number : adaptation(job, event.request) != nullptr;
}

/* What the program is, or its new world, may have been told and not been handled yet. */
bool says_new(const Job &job, const StepSampled &event)
{
    bool may_follow = job.mode == StepMode::UNKNOWN ||
        (job.adaptation && event.sample.epoch == job.epoch + 1);
    return may_follow ? check(event.sample).empty() : can_take(job, event.sample);
}

bool says_new(const Job &, const StepBroken &)
{
    return true;
}

/* Of a running step. */
template <class Content>
concept Report = requires(const Job &job, const Content &content) { says_new(job, content); };

}  // namespace

bool is_redundant(const State &state, const EventContent &content)
{
    return std::visit(
        [&state](const auto &event) {
            if constexpr (Report<std::remove_cvref_t<decltype(event)>>) {
                const Job *job = state.job(event.job);
                return !job || event.step != job->step || !is_placed(job->state) ||
                    !job->broken.empty() || !says_new(*job, event);
            } else {
                return false;
            }
        },
        content);
}

}  // namespace elastic::rm
