/* See core_impl.h: processes that leave a job, or were to join it, until their cores are free. */

#include "core/core_impl.h"
#include "core/placement.h"
#include "core/record.h"

namespace elastic::rm {

/* The booking of the joining processes is released later. */
void Core::Impl::joining_departs(Job &job, bool releasing)
{
    Adaptation &adaptation = *job.adaptation;
    if (!adaptation.joining.empty())
        job.departures.push_back({adaptation.request, 0, std::exchange(adaptation.joining, {}),
                                  releasing, std::exchange(adaptation.gpus, {})});
}

/* Nodes of a back end for joining processes stay booked until the back end has released them. */
bool Core::Impl::keep_joining(Job &job)
{
    if (!state.config.asynchronous_nodes || job.adaptation->joining.empty())
        return false;
    rebook(job, [&] { joining_departs(job, true); });
    return true;
}

/* If there are any; within an update.  A step that is being ended has its own deadline. */
void Core::Impl::wait_for_departures(Job &job)
{
    if (job.state != JobState::RUNNING && job.state != JobState::SUSPENDED)
        return;
    job.tries = 0;
    job.deadline_ms =
        job.departures.empty() ? NEVER : state.now_ms + state.config.answer_timeout_ms;
}

void Core::Impl::freed(Job &job, uint64_t request)
{
    auto departure = std::find_if(job.departures.begin(), job.departures.end(),
                                  [&](const Departure &each) { return each.request == request; });
    const Departure departure_copy = *departure;
    rebook(job, [&] {
        job.departures.erase(departure);
        wait_for_departures(job);
    });
    auto data = [&]() -> Json { return {{"step", job.step}, {"epoch", departure_copy.epoch}}; };
    record(record::FREED, job, data, "blocks", departure_copy.blocks);
}

/* No request caused it, so that its number is separate from those of requests.  Loans count as
 * removed first. */
void Core::Impl::left(Job &job, const StepLeft &event)
{
    constexpr uint64_t NO_REQUEST = uint64_t{1} << 52;
    const int old_size = job.size();
    Departure departure{NO_REQUEST + event.epoch, event.epoch, {}, state.config.asynchronous_nodes};
    rebook(job, [&] {
        job.blocks = without(job.blocks, event.leave, &departure.blocks);
        job.process_gpus = without(job.process_gpus, event.leave, &departure.gpus);
        job.loaned = std::max(job.loaned - (old_size - job.size()), 0);
        job.epoch = event.epoch;
        if (job.performance)
            invalidate_epoch(*job.performance, job.epoch);
        job.departures.push_back(departure);
        job.process_ms += old_size * (state.now_ms - job.sized_ms);
        add_time_at_size(job.times, old_size, state.now_ms - job.sized_ms);
        job.sized_ms = state.now_ms;
        wait_for_departures(job);
    });
    state.changed();
    auto data = [&]() -> Json {
        return {{"step", job.step},
                {"epoch", event.epoch},
                {"old_size", old_size},
                {"size", job.size()}};
    };
    record(record::LEFT, job, data, "blocks", job.blocks);
    check_slots(job);
    if (departure.releasing)
        out_.push_back(release(job, departure));
    else
        freed(job, departure.request);
}

}  // namespace elastic::rm
