/* See simulated_cluster.h: the programs and the owner of nodes. Their reports may be dropped or
 * repeated. */

#include "core/placement.h"
#include "core/redundant.h"
#include "sim/simulated_step.h"

namespace elastic::rm {

/* ---- nodes that are requested ------------------------------------------------------------ */

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

/* ---- steps ------------------------------------------------------------ */

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

/* A core that has done what was due at this time is the same afterwards. */
void SimulatedCluster::check_redundant(const EventContent &content)
{
    Result<Core> copy = Core::restore(core_.snapshot());
    if (!copy)
        return wrong("snapshot: " + copy.error());
    Core &core = copy.value();
    int64_t time_ms = read_clock();
    core.handle({core.state().seq + 1, time_ms, Timer{}});
    if (!is_redundant(core.state(), content))   /* what was due has changed that */
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

/* Processes appear or go; no core may have two. */
void SimulatedCluster::occupy(const Step &step, const Blocks &blocks, int sign)
{
    for (const Block &block : blocks) {
        int &cores = occupied_[block.node];
        cores += sign * block.processes * step.program.spec.cores_per_process;
        if (cores > options_.cores)
            wrong("node " + block.node + " really runs " + std::to_string(cores) + " processes");
    }
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
        step.reports.push_back(StepStartFailed{step.job, step.number, "no"});
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

/* The work done until now. */
void SimulatedCluster::work(Step &step)
{
    double serial = step.program.serial_permille / 1000.0;
    double speed = 1 / (serial + (1 - serial) / count_processes(step.world));
    if (!step.in_window)
        step.work_left_ms -= static_cast<double>(now_ms() - step.worked_until_ms) * speed;
    step.worked_until_ms = now_ms();
}

/* Now and then; one in four is not true.  By a chance of its own, so that all else happens as
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

/* ---- slots beside the world ------------------------------------------------------------------ */

void SimulatedCluster::want_slots(Step &step)
{
    after(slots_.between(1, options_.slots_ms), [this, &step] {
        if (step.ended)
            return;
        change_slots(step);
        want_slots(step);
    });
}

/* One more request, a released slot, or a request that is withdrawn. */
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

/* Nobody checks whether they fit. */
void SimulatedCluster::change_spawned(Step &step)
{
    int64_t processes = slots_.between(-2, 4);
    step.slots.spawned.clear();
    if (processes > 0)
        step.slots.spawned.push_back(
            {step.world.front().node.str(), static_cast<int>(processes)});
    counts.spawned += processes > 0;
}

/* One on the node; false: it has none there. */
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
    if (!step) {        /* a start that has not arrived will not be carried out any more */
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

/* ---- changes of size ------------------------------------------------------------ */

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
            step->agreed = true;        /* and comes late */
            probe_ms = between(0, LATE_MAX_MS);
        }
        after(probe_ms, [this, step, still] {
            if (still())
                window(*step);
        });
    });
}

/* Agreed: from here on it is committed, unless the program dies, as with one that was to join. */
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
