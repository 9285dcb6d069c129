/* See simulated_cluster.h: steps, from their start to their end, and requested nodes. */

#include "core/placement.h"
#include "sim/simulated_step.h"

namespace elastic::rm {

void SimulatedCluster::perform(const AcquireNodes &action)
{
    if (released_.contains({action.job, action.step, action.request}) ||
        released_.contains({action.job, action.step, UINT64_MAX}))
        return send_report(
            NodesRefused{action.job, action.step, action.request, "given back already"});
    auto key = std::tuple(action.job, action.step, action.request);
    if (!acquired_.contains(key) && chance(options_.faults.refuses / 2))
        return send_report(NodesRefused{action.job, action.step, action.request, "no"});
    acquired_.insert(key);
    send_report(NodesAcquired{action.job, action.step, action.request, action.blocks});
}

void SimulatedCluster::perform(const ReleaseNodes &action)
{
    released_.insert({action.job, action.step, action.all ? UINT64_MAX : action.request});
    send_report(NodesReleased{action.job, action.step, action.request, action.all});
}

void SimulatedCluster::perform(const StartStep &action)
{
    if (Step *known = find(action.job, action.step))
        return report_all(*known);
    Step &step = *(steps_[{action.job, action.step}] = std::make_unique<Step>());
    step.job = action.job;
    step.number = action.step;
    const Job &job = *core_.state().job(action.job);
    step.program = job.task ? arrays_.at(job.task->array) : programs_.at(job.request);
    bool failed =
        std::any_of(action.blocks.begin(), action.blocks.end(),
                    [this](const Block &block) { return failed_nodes_.contains(block.node); });
    if (failed || chance(options_.faults.start_fails)) {
        step.ended = true;
        bool own_fault = !failed && (step.job + step.number) % 4 == 0;
        step.reports.push_back(StepStartFailed{step.job, step.number, "no", false, own_fault});
        return report_all(step);
    }
    step.world = action.blocks;
    occupy(step, step.world, 1);
    step.work_left_ms = static_cast<double>(step.program.work_ms);
    step.worked_until_ms = step.epoch_began_ms = now_ms();
    step.reports.push_back(StepStarted{{step.job, step.number}});
    send_report(step.reports.back());
    bool adaptive = step.program.spec.elasticity == Elasticity::MALLEABLE &&
                    !chance(options_.faults.rigid);
    after(delay(), [this, &step, adaptive] {
        if (step.ended)
            return;
        step.mode = adaptive ? StepMode::ADAPTIVE : StepMode::RIGID;
        if (adaptive)
            step.reports.push_back(StepAdaptive{{step.job, step.number}});
        else
            step.reports.push_back(StepRigid{{step.job, step.number}});
        send_report(step.reports.back());
        if (adaptive && options_.sample_ms > 0)
            sample(step);
        if (adaptive && options_.request_ms > 0)
            size_request(step);
        if (options_.modify_ms > 0)
            modify(step);
        if (options_.slots_ms > 0)
            want_slots(step);
    });
    if (options_.config.asynchronous_nodes && chance(options_.faults.nodes_taken))
        after(between(0, step.program.work_ms), [this, &step] { nodes_are_taken(step); });
    if (chance(options_.faults.dies)) {
        counts.died++;
        after(between(0, step.program.work_ms), [this, &step] { end(step, 139); });
    }
    go_on(step);
}

/* Adds the work done until now. */
void SimulatedCluster::work(Step &step)
{
    double serial = step.program.serial_permille / 1000.0;
    double speed = 1 / (serial + (1 - serial) / count_processes(step.world));
    if (!step.in_window)
        step.work_left_ms -= static_cast<double>(now_ms() - step.worked_until_ms) * speed;
    step.worked_until_ms = now_ms();
}

/* Sometimes; one in four is wrong.  Uses separate random numbers, so that all else happens as
 * without samples. */
void SimulatedCluster::sample(Step &step)
{
    after(samples_.between(1, options_.sample_ms), [this, &step] {
        if (step.ended)
            return;
        int size = count_processes(step.world);
        int64_t epoch_ms = now_ms() - step.epoch_began_ms,
                probes = epoch_ms / step.program.probe_ms;
        int64_t loop_us = probes * size * step.program.probe_ms * 1000;
        LoopSums sums = {probes * size, loop_us, loop_us / 1000 * step.program.serial_permille};
        Sample sample = {step.epoch, size, size, probes, epoch_ms, {{"probe", "", sums, 0, PPM}}};
        switch (samples_.between(0, 15)) {
            case 0: sample.epoch += static_cast<uint64_t>(samples_.between(1, 2)); break;
            case 1: sample.size += 1; break;
            case 2: sample.epoch_ms /= 2; break;
            case 3: sample.loops[0].sums.mpi_us = INT64_MAX; break;
            default: break;
        }
        counts.samples++;
        StepSampled content{step.job, step.number, sample};
        for (int64_t times = samples_.between(0, 2); times > 0; times--)
            after(samples_.between(0, options_.delay_max_ms), [this, content] { report(content); });
        this->sample(step);
    });
}

/* Plans its end, at the present speed. */
void SimulatedCluster::go_on(Step &step)
{
    double serial = step.program.serial_permille / 1000.0;
    double slowness = serial + (1 - serial) / count_processes(step.world);
    uint64_t life = ++step.life;
    after(static_cast<int64_t>(std::max(step.work_left_ms, 0.0) * slowness) + 1,
          [this, &step, life] {
              if (life == step.life)
                  end(step, 0);
          });
}

void SimulatedCluster::end(Step &step, int exit_code)
{
    if (step.ended)
        return;
    step.ended = true;
    step.life++;
    occupy(step, step.world, -1);
    if (step.request && step.joined)
        occupy(step, step.request->joining, -1);
    for (const auto &[epoch, blocks] : step.leaving)
        occupy(step, blocks, -1);
    for (const StepSlots::Held &held : step.slots.held)
        occupy(step, {{held.node, held.extra_slots}}, -1);
    step.slots.held.clear();
    step.slots.spawned.clear();
    step.request.reset();
    step.leaving.clear();
    step.reports.push_back(StepEnded{step.job, step.number, exit_code, ""});
    send_report(step.reports.back());
}

void SimulatedCluster::perform(const SignalStep &action)
{
    Step *step = find(action.job, action.step);
    if (!step) {        /* a start that has not arrived will not be performed any more */
        step = (steps_[{action.job, action.step}] = std::make_unique<Step>()).get();
        step->ended = true;
        step->reports.push_back(StepLost{action.job, action.step, "it never started"});
    }
    if (step->ended)
        return report_all(*step);
    bool obeys = action.signal == 9 || chance(0.7);
    if (obeys)
        after(delay(), [this, step, signal = action.signal] { end(*step, 128 + signal); });
}

void SimulatedCluster::perform(const QueryStep &action)
{
    if (Step *step = find(action.job, action.step))
        report_all(*step);
}

}  // namespace elastic::rm
