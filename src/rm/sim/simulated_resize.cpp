/* See simulated_cluster.h: changes of size. */

#include "core/placement.h"
#include "sim/simulated_step.h"

namespace elastic::rm {

void SimulatedCluster::end_request(Step &step, EventContent outcome)
{
    if (step.request && step.joined)
        occupy(step, step.request->joining, -1);
    step.request.reset();
    step.reports.push_back(outcome);
    send_report(std::move(outcome));
    if (step.size_request && step.size_request->modify)
        end_size_request(step, "refused", "the change came to nothing");
}

void SimulatedCluster::perform(const ResizeStep &action)
{
    Step *step = find(action.job, action.step);
    if (!step)
        return wrong("a resize of a step that was never started");
    if (step->ended || action.request <= step->last_request)
        return report_all(*step);
    auto refuse = [&](const char *why) {
        StepRefused refused{{step->job, step->number, action.request, why}};
        step->reports.push_back(refused);
        send_report(refused);
    };
    if (step->request)
        return refuse("busy");
    step->last_request = action.request;
    if (action.epoch != step->epoch)
        return refuse("stale");
    bool waits = step->size_request && step->size_request->modify;
    bool can_be =
        waits ? step->size_request->size == action.size : step->mode == StepMode::ADAPTIVE;
    if (!can_be || chance(options_.faults.refuses))
        return refuse("no");
    step->request = action;
    step->joined = step->ready = step->agreed = false;
    step->reports.push_back(StepAccepted{step->job, step->number, action.request, action.request});
    send_report(step->reports.back());
    if (chance(options_.faults.breaks)) {
        counts.broke++;
        StepBroken broken{step->job, step->number, "test"};
        step->reports.push_back(broken);
        send_report(broken);
    }
    bool fails = chance(options_.faults.change_fails);
    auto still = [step, request = action.request] {
        return !step->ended && step->request && step->request->request == request;
    };
    after(delay(), [this, step, still] {
        if (still()) {
            step->joined = true;
            occupy(*step, step->request->joining, 1);
        }
    });
    after(options_.delay_max_ms + delay(), [this, step, still, fails, request = action.request] {
        if (!still())
            return;
        bool failed = std::any_of(
            step->request->joining.begin(), step->request->joining.end(),
            [this](const Block &block) { return failed_nodes_.contains(block.node); });
        if (fails || failed)
            return end_request(*step, StepFailed{{step->job, step->number, request,
                                                  "a joining process died"}});
        step->ready = true;
        send_report(StepReady{step->job, step->number, request});
        int64_t probe_ms = between(0, step->program.probe_ms);
        if (chance(options_.faults.stubborn)) {
            if (chance(0.2))
                return;
            step->agreed = true;        /* and arrives late */
            probe_ms = between(0, LATE_MAX_MS);
        }
        after(probe_ms, [this, step, still] {
            if (still())
                window(*step);
        });
    });
}

/* Agreed: from here on it is committed, unless the program or a joining process fails. */
void SimulatedCluster::window(Step &step)
{
    bool failed = std::ranges::any_of(step.request->joining, [this](const Block &block) {
        return failed_nodes_.contains(block.node);
    });
    if (failed && step.agreed)
        return end(step, 1);
    counts.late += is_overdue(core_.state().jobs.at(step.job));
    work(step);
    step.in_window = true;
    step.life++;
    after(step.program.standstill_ms, [this, &step] {
        if (step.ended)
            return;
        ResizeStep request = *step.request;
        work(step);
        step.in_window = false;
        Blocks left;
        step.world = append(without(step.world, request.leave, &left), request.joining);
        if (count_processes(step.world) != request.size)
            wrong("job " + std::to_string(step.job) + " really has " +
                  std::to_string(count_processes(step.world)) + " processes instead of " +
                  std::to_string(request.size));
        uint64_t epoch = ++step.epoch;
        step.epoch_began_ms = now_ms();
        step.request.reset();
        step.reports.push_back(StepCommitted{step.job, step.number, request.request, epoch,
                                          step.program.standstill_ms});
        send_report(step.reports.back());
        bool allowed = step.size_request && step.size_request->minimum <= request.size &&
            request.size <= step.size_request->maximum;
        if (allowed)
            end_size_request(step, "granted", "");
        if (!left.empty()) {
            step.leaving[epoch] = left;
            after(delay(), [this, &step, epoch] {
                if (step.ended)
                    return;
                occupy(step, step.leaving.at(epoch), -1);
                step.leaving.erase(epoch);
                step.reports.push_back(StepFreed{step.job, step.number, epoch});
                send_report(step.reports.back());
            });
        }
        go_on(step);
    });
}

void SimulatedCluster::perform(const CancelRequest &action)
{
    Step *step = find(action.job, action.step);
    if (!step)
        return;
    if (!step->ended && action.request > step->last_request) {
        step->last_request = action.request;    /* if it arrives later, it is not begun */
        step->reports.push_back(
            StepRefused{{step->job, step->number, action.request, "it has not arrived"}});
        return send_report(step->reports.back());
    }
    bool under_way = step->request && step->request->request == action.request;
    if (under_way && !step->in_window && !step->agreed)
        return end_request(*step, StepWithdrawn{{step->job, step->number, action.request,
                                                 "withdrawn"}});
    if (!under_way)
        report_all(*step);
}

}  // namespace elastic::rm
