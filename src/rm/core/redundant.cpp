/* See redundant.h. */

#include "core/redundant.h"

namespace elastic::rm {

namespace {

/* Of the adaptation in progress. */
const Adaptation *adaptation(const Job &job, uint64_t request)
{
    return job.adaptation && job.adaptation->request == request ? &*job.adaptation : nullptr;
}

bool is_change(const Job &job, const StepStarted &)
{
    return job.state == JobState::STARTING;
}

bool is_change(const Job &job, const StepAdaptive &)
{
    return job.mode != StepMode::ADAPTIVE;
}

bool is_change(const Job &job, const StepRigid &)
{
    return job.mode == StepMode::UNKNOWN;
}

bool is_change(const Job &job, const StepSizes &event)
{
    return job.spec.program_sizes != event.rule;
}

bool is_change(const Job &job, const StepSizeRequest &event)
{
    bool known = event.size_request.mpiexec == job.wishing &&
                 event.size_request.number <= job.last_size_request;
    return !known || (event.size_request.number == job.last_size_request &&
                      !job.size_request_refusal.empty());
}

bool is_change(const Job &job, const StepSizeRequestEnded &event)
{
    bool is_last = event.mpiexec == job.wishing && event.size_request == job.last_size_request;
    bool may_follow = event.mpiexec != job.wishing || event.size_request > job.last_size_request;
    return may_follow || (is_last && (job.size_request || !job.size_request_refusal.empty()));
}

bool is_change(const Job &job, const StepSlots &event)
{
    return job.slots ? changes_slots(*job.slots, event)
                     : !event.held.empty() || !event.slot_requests.empty() ||
                           !event.spawned.empty();
}

bool is_change(const Job &job, const StepAccepted &event)
{
    const Adaptation *known = adaptation(job, event.request);
    return known && known->phase == AdaptPhase::SENT;
}

bool is_change(const Job &job, const StepReady &event)
{
    const Adaptation *known = adaptation(job, event.request);
    return known && known->phase != AdaptPhase::READY;
}

bool is_change(const Job &job, const StepCommitted &event)
{
    return adaptation(job, event.request) && event.epoch == job.epoch + 1;
}

bool is_change(const Job &job, const RequestEnded &event)
{
    return adaptation(job, event.request) != nullptr;
}

/* A departure may be unknown because its commit has not been handled yet. */
bool is_change(const Job &job, const StepFreed &event)
{
    bool leaves =
        std::any_of(job.departures.begin(), job.departures.end(), [&](const Departure &each) {
            return event.epoch > 0 && each.epoch == event.epoch && !each.releasing;
        });
    return leaves || (job.adaptation && event.epoch == job.epoch + 1);
}

bool is_change(const Job &job, const StepLeft &event)
{
    return event.epoch > job.epoch;
}

bool is_change(const Job &job, const StepSetChange &event)
{
    const auto &known = job.set_changes;
    bool is_last = known && known->request == event.request;
    return is_last ? event.number > known->number : adaptation(job, event.request) != nullptr;
}

/* The mode of the program, or its new world, may be reported and not handled yet. */
bool is_change(const Job &job, const StepSampled &event)
{
    bool may_follow = job.mode == StepMode::UNKNOWN ||
        (job.adaptation && event.sample.epoch == job.epoch + 1);
    return may_follow ? check(event.sample).empty() : can_take(job, event.sample);
}

bool is_change(const Job &, const StepBroken &)
{
    return true;
}

/* For a running step. */
template <class Content>
concept Report = requires(const Job &job, const Content &content) { is_change(job, content); };

}  // namespace

bool is_redundant(const State &state, const EventContent &content)
{
    return std::visit(
        [&state](const auto &event) {
            if constexpr (Report<std::remove_cvref_t<decltype(event)>>) {
                const Job *job = state.job(event.job);
                return !job || event.step != job->step || !is_allocated(job->state) ||
                    !job->broken.empty() || !is_change(*job, event);
            } else {
                return false;
            }
        },
        content);
}

}  // namespace elastic::rm
