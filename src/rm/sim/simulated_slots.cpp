/* See simulated_cluster.h: slots beside the world, and spawned processes. */

#include "sim/simulated_step.h"

namespace elastic::rm {

void SimulatedCluster::want_slots(Step &step)
{
    after(slots_.between(1, options_.slots_ms), [this, &step] {
        if (step.ended)
            return;
        change_slots(step);
        want_slots(step);
    });
}

/* One more request, a released slot, or a withdrawn request. */
void SimulatedCluster::change_slots(Step &step)
{
    StepSlots &slots = step.slots;
    int64_t what = slots_.between(0, 3);
    if (what == 0 && !slots.held.empty()) {
        drop_slots(step, slots.held.front().node);
    } else if (what == 1 && !slots.slot_requests.empty()) {
        slots.slot_requests.erase(slots.slot_requests.begin());
    } else if (slots.slot_requests.size() < 4) {
        counts.slots_wished++;
        std::string host = slots_.chance(0.2) ? step.world.front().node.str() : "";
        slots.slot_requests.push_back({++step.slot_requests, static_cast<int>(slots_.between(1, 3)),
                                slots_.chance(0.6), host, NEVER, "", slots_.chance(0.2)});
    }
    if (slots_.chance(0.2))
        change_spawned(step);
    report_slots(step);
}

/* It is not checked whether they fit. */
void SimulatedCluster::change_spawned(Step &step)
{
    int64_t processes = slots_.between(-2, 4);
    step.slots.spawned.clear();
    if (processes > 0)
        step.slots.spawned.push_back(
            {step.world.front().node.str(), static_cast<int>(processes)});
    counts.spawned += processes > 0;
}

/* Drops a slot on the node; false: it has none there. */
bool SimulatedCluster::drop_slots(Step &step, const std::string &node)
{
    auto held = std::ranges::find(step.slots.held, node, &StepSlots::Held::node);
    if (held == step.slots.held.end())
        return false;
    occupy(step, {{node, 1}}, -1);
    if (--held->extra_slots == 0)
        step.slots.held.erase(held);
    return true;
}

void SimulatedCluster::report_slots(Step &step)
{
    step.slots.job = step.job;
    step.slots.step = step.number;
    step.slots.mpiexec = std::to_string(step.number);
    step.slots.reported++;
    send_report(step.slots);
}

/* Slots that are no longer needed are held until they are released. */
void SimulatedCluster::perform(const GrantSlots &action)
{
    Step *step = find(action.job, action.step);
    if (!step || step->ended || action.grant != step->slots.granted + 1)
        return;
    StepSlots &slots = step->slots;
    auto open = std::ranges::find(slots.slot_requests, action.size_request, &SlotRequest::number);
    bool exclusive = open != slots.slot_requests.end() && open->exclusive;
    counts.slots_granted += count_processes(action.blocks);
    slots.granted++;
    occupy(*step, action.blocks, 1);
    for (const Block &block : action.blocks) {
        auto held = std::ranges::find(slots.held, block.node.str(), &StepSlots::Held::node);
        bool is_shared = held != slots.held.end() || block.processes > 1;
        if (is_shared && (exclusive || (held != slots.held.end() && held->exclusive)))
            wrong("job " + std::to_string(step->job) + " gets slots on " + block.node +
                  ", where one is to be alone");
        if (held == slots.held.end())
            slots.held.push_back({block.node, block.processes, exclusive});
        else
            held->extra_slots += block.processes;
    }
    if (open != slots.slot_requests.end()) {
        open->count -= count_processes(action.blocks);
        if (open->count <= 0 || !open->hard)
            slots.slot_requests.erase(open);
    }
    report_slots(*step);
}

}  // namespace elastic::rm
