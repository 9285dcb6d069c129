/* See simulated_cluster.h: reports of steps, which may be dropped or repeated, and their cores. */

#include "core/redundant.h"
#include "sim/simulated_step.h"

namespace elastic::rm {

void SimulatedCluster::send_report(EventContent content)
{
    if (chance(options_.faults.dropped)) {
        counts.dropped++;
        return;
    }
    for (int times = chance(options_.faults.repeated) ? 2 : 1; times > 0; times--)
        after(delay(), [this, content] { report(content); });
}

void SimulatedCluster::report(const EventContent &content)
{
    bool redundant = options_.check && is_redundant(core_.state(), content);
    if (redundant && counts.redundant++ % 8 == 0)
        check_redundant(content);
    if (!redundant || !options_.drop_redundant)
        notify(content);
}

/* A core that has performed all actions due at this time is unchanged afterwards. */
void SimulatedCluster::check_redundant(const EventContent &content)
{
    Result<Core> copy = Core::restore(core_.snapshot());
    if (!copy)
        return wrong("snapshot: " + copy.error());
    Core &core = copy.value();
    int64_t time_ms = read_clock();
    core.handle({core.state().seq + 1, time_ms, Timer{}});
    if (!is_redundant(core.state(), content))   /* due actions have changed that */
        return;
    Json before = core.snapshot();
    core.handle({core.state().seq + 1, time_ms, content});
    Json after = core.snapshot();
    before.erase("seq");
    after.erase("seq");
    if (before != after)
        wrong("not redundant: " + to_json(Event{0, now_ms(), content}).dump() + " changes " +
              Json::diff(before, after).dump());
}

void SimulatedCluster::report_all(Step &step)
{
    for (const EventContent &content : step.reports)
        send_report(content);
    if (step.size_request_reports)
        send_report(*step.size_request_reports);
    if (step.slots.reported > 0)
        send_report(step.slots);
}

SimulatedCluster::Step *SimulatedCluster::find(JobId job, uint32_t step)
{
    auto found = steps_.find({job, step});
    return found == steps_.end() ? nullptr : found->second.get();
}

/* Processes start or end; no core may have two. */
void SimulatedCluster::occupy(const Step &step, const Blocks &blocks, int sign)
{
    for (const Block &block : blocks) {
        int &cores = occupied_[block.node];
        cores += sign * block.processes * step.program.spec.cores_per_process;
        if (cores > cores_of(block.node))
            wrong("node " + block.node + " really runs " + std::to_string(cores) + " processes");
    }
}

}  // namespace elastic::rm
