/* See simulated_cluster.h: sizes that programs request. */

#include "sim/simulated_step.h"

namespace elastic::rm {

/* Sometimes another one, which replaces an open one; some are withdrawn. */
void SimulatedCluster::size_request(Step &step)
{
    after(size_requests_.between(1, options_.request_ms), [this, &step] {
        if (step.ended)
            return;
        bool waits = step.size_request && step.size_request->modify;
        if (step.size_request && !waits && size_requests_.chance(0.5))
            end_size_request(step, "withdrawn", "it is not wanted any more");
        if (!step.size_request)
            make_request(step,
                         static_cast<int>(size_requests_.between(1, 2 * step.program.spec.maximum)),
                         false);
        size_request(step);
    });
}

/* Its program, rigid or not, calls MPIX_Comm_modify. */
void SimulatedCluster::modify(Step &step)
{
    after(size_requests_.between(1, options_.modify_ms), [this, &step] {
        if (step.ended)
            return;
        const JobSpec &spec = step.program.spec;
        if (!step.size_request && !step.request)
            make_request(
                step,
                static_cast<int>(size_requests_.between(1, spec.maximum + spec.extra_slots + 1)),
                true);
        modify(step);
    });
}

void SimulatedCluster::make_request(Step &step, int size, bool modify)
{
    SizeRequest &made = step.size_request.emplace();
    made.mpiexec = std::to_string(step.number);
    made.number = ++step.slot_requests;
    made.modify = modify;
    made.size = made.minimum = made.maximum = size;
    if (!modify && size_requests_.chance(0.5))
        made.minimum = static_cast<int>(size_requests_.between(1, size));
    if (!modify && size_requests_.chance(0.5))
        made.maximum += static_cast<int>(size_requests_.between(0, 3));
    made.waits = !modify && size_requests_.chance(0.3);
    counts.slot_requests++;
    step.size_request_reports = StepSizeRequest{step.job, step.number, made};
    send_report(*step.size_request_reports);
    if (count_processes(step.world) == size)
        end_size_request(step, "granted", "");
}

void SimulatedCluster::end_size_request(Step &step, const std::string &result,
                                        const std::string &reason)
{
    (result == "granted"       ? counts.granted
         : result == "refused" ? counts.refused
                               : counts.withdrawn)++;
    if (step.size_request->modify)
        (result == "granted" ? counts.modified : counts.not_modified)++;
    step.size_request_reports = StepSizeRequestEnded{
        step.job, step.number, step.size_request->mpiexec, step.size_request->number,
        result,   reason};
    step.size_request.reset();
    send_report(*step.size_request_reports);
}

void SimulatedCluster::perform(const RefuseSizeRequest &action)
{
    Step *step = find(action.job, action.step);
    if (!step || step->ended)
        return;
    if (step->size_request && step->size_request->number == action.size_request)
        end_size_request(*step, "refused", action.reason);
    auto open =
        std::ranges::find(step->slots.slot_requests, action.size_request, &SlotRequest::number);
    if (open == step->slots.slot_requests.end())
        return;
    counts.slots_refused++;
    step->slots.slot_requests.erase(open);
    report_slots(*step);
}

}  // namespace elastic::rm
