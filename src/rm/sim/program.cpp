/* See simulated_cluster.h: the programs and whoever gives them nodes.  What they say may be lost or
 * come twice. */

#include "core/placement.h"
#include "core/redundant.h"
#include "sim/simulated_step.h"

namespace elastic::rm {

/* ---- nodes that are asked for ------------------------------------------------------------ */

void SimulatedCluster::perform(const AcquireNodes &action)
{
    if (released_.contains({action.job, action.step, action.request}) ||
        released_.contains({action.job, action.step, UINT64_MAX}))
        return say(NodesRefused{action.job, action.step, action.request, "given back already"});
    auto key = std::tuple(action.job, action.step, action.request);
    if (!acquired_.contains(key) && chance(options_.faults.refuses / 2))
        return say(NodesRefused{action.job, action.step, action.request, "no"});
    acquired_.insert(key);
    say(NodesAcquired{action.job, action.step, action.request, action.blocks});
}

void SimulatedCluster::perform(const ReleaseNodes &action)
{
    released_.insert({action.job, action.step, action.all ? UINT64_MAX : action.request});
    say(NodesReleased{action.job, action.step, action.request, action.all});
}

/* ---- steps ------------------------------------------------------------ */

void SimulatedCluster::say(EventContent content)
{
    if (chance(options_.faults.lost)) {
        counts.lost++;
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
        tell(content);
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
    Json before = core.snapshot();
    core.handle({core.state().seq + 1, time_ms, content});
    Json after = core.snapshot();
    before.erase("seq");
    after.erase("seq");
    if (before != after)
        wrong("not redundant: " + to_json(Event{0, now_ms(), content}).dump() + " changes " +
              Json::diff(before, after).dump());
}

void SimulatedCluster::say_all(Step &step)
{
    for (const EventContent &content : step.said)
        say(content);
    if (step.said_of_wishes)
        say(*step.said_of_wishes);
    if (step.slots.told > 0)
        say(step.slots);
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
        return say_all(*known);
    Step &step = *(steps_[{action.job, action.step}] = std::make_unique<Step>());
    step.job = action.job;
    step.number = action.step;
    const Job &job = *core_.state().job(action.job);
    step.program = job.task ? arrays_.at(job.task->array) : programs_.at(job.request);
    bool dead = std::any_of(action.blocks.begin(), action.blocks.end(), [this](const Block &block) {
        return dead_nodes_.contains(block.node);
    });
    if (dead || chance(options_.faults.start_fails)) {
        step.ended = true;
        step.said.push_back(StepStartFailed{step.job, step.number, "no"});
        return say_all(step);
    }
    step.world = action.blocks;
    occupy(step, step.world, 1);
    step.work_left_ms = static_cast<double>(step.program.work_ms);
    step.worked_until_ms = step.epoch_began_ms = now_ms();
    step.said.push_back(StepStarted{{step.job, step.number}});
    say(step.said.back());
    bool adaptive = step.program.spec.elasticity == Elasticity::MALLEABLE &&
                    !chance(options_.faults.rigid);
    after(delay(), [this, &step, adaptive] {
        if (step.ended)
            return;
        step.mode = adaptive ? StepMode::ADAPTIVE : StepMode::RIGID;
        if (adaptive)
            step.said.push_back(StepAdaptive{{step.job, step.number}});
        else
            step.said.push_back(StepRigid{{step.job, step.number}});
        say(step.said.back());
        if (adaptive && options_.sample_ms > 0)
            sample(step);
        if (adaptive && options_.wish_ms > 0)
            wish(step);
        if (options_.modify_ms > 0)
            modify(step);
        if (options_.slots_ms > 0)
            want_slots(step);
    });
    if (options_.config.asynchronous_nodes && chance(options_.faults.nodes_lost))
        after(between(0, step.program.work_ms), [this, &step] { nodes_are_taken(step); });
    if (chance(options_.faults.dies)) {
        counts.died++;
        after(between(0, step.program.work_ms), [this, &step] { end(step, 139); });
    }
    go_on(step);
}

/* What has been computed until now. */
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

/* Now and then another one, which takes the place of an open one; some are withdrawn. */
void SimulatedCluster::wish(Step &step)
{
    after(wishes_.between(1, options_.wish_ms), [this, &step] {
        if (step.ended)
            return;
        bool waits = step.wish && step.wish->modify;
        if (step.wish && !waits && wishes_.chance(0.5))
            end_wish(step, "withdrawn", "it is not wanted any more");
        if (!step.wish)
            make_wish(step, static_cast<int>(wishes_.between(1, 2 * step.program.spec.maximum)),
                      false);
        wish(step);
    });
}

/* Its program, rigid or not, calls MPIX_Comm_modify. */
void SimulatedCluster::modify(Step &step)
{
    after(wishes_.between(1, options_.modify_ms), [this, &step] {
        if (step.ended)
            return;
        const JobSpec &spec = step.program.spec;
        if (!step.wish && !step.request)
            make_wish(step, static_cast<int>(wishes_.between(1, spec.maximum + spec.places + 1)),
                      true);
        modify(step);
    });
}

void SimulatedCluster::make_wish(Step &step, int size, bool modify)
{
    ProgramWish &made = step.wish.emplace();
    made.mpiexec = std::to_string(step.number);
    made.number = ++step.wishes;
    made.modify = modify;
    made.size = made.minimum = made.maximum = size;
    if (!modify && wishes_.chance(0.5))
        made.minimum = static_cast<int>(wishes_.between(1, size));
    if (!modify && wishes_.chance(0.5))
        made.maximum += static_cast<int>(wishes_.between(0, 3));
    made.waits = !modify && wishes_.chance(0.3);
    counts.wishes++;
    step.said_of_wishes = StepWish{step.job, step.number, made};
    say(*step.said_of_wishes);
    if (count_processes(step.world) == size)
        end_wish(step, "granted", "");
}

void SimulatedCluster::end_wish(Step &step, const std::string &result, const std::string &reason)
{
    (result == "granted"       ? counts.granted
         : result == "refused" ? counts.refused
                               : counts.withdrawn)++;
    if (step.wish->modify)
        (result == "granted" ? counts.modified : counts.not_modified)++;
    step.said_of_wishes =
        StepWishEnded{step.job, step.number, step.wish->mpiexec, step.wish->number, result, reason};
    step.wish.reset();
    say(*step.said_of_wishes);
}

void SimulatedCluster::perform(const RefuseWish &action)
{
    Step *step = find(action.job, action.step);
    if (!step || step->ended)
        return;
    if (step->wish && step->wish->number == action.wish)
        end_wish(*step, "refused", action.reason);
    auto open = std::ranges::find(step->slots.wishes, action.wish, &SlotWish::number);
    if (open == step->slots.wishes.end())
        return;
    counts.slots_refused++;
    step->slots.wishes.erase(open);
    say_slots(*step);
}

/* ---- places beside the world ----------------------------------------------------------------- */

void SimulatedCluster::want_slots(Step &step)
{
    after(slots_.between(1, options_.slots_ms), [this, &step] {
        if (step.ended)
            return;
        change_slots(step);
        want_slots(step);
    });
}

/* One more wish, a place given back, or a wish that is wanted no more. */
void SimulatedCluster::change_slots(Step &step)
{
    StepSlots &slots = step.slots;
    int64_t what = slots_.between(0, 3);
    if (what == 0 && !slots.held.empty()) {
        drop_slots(step, slots.held.front().node);
    } else if (what == 1 && !slots.wishes.empty()) {
        slots.wishes.erase(slots.wishes.begin());
    } else if (slots.wishes.size() < 4) {
        counts.slots_wished++;
        std::string host = slots_.chance(0.2) ? step.world.front().node.str() : "";
        slots.wishes.push_back({++step.wishes, static_cast<int>(slots_.between(1, 3)),
                                slots_.chance(0.6), host, NEVER, "", slots_.chance(0.2)});
    }
    say_slots(step);
}

/* One on the node; false: it has none there. */
bool SimulatedCluster::drop_slots(Step &step, const std::string &node)
{
    auto held = std::ranges::find(step.slots.held, node, &StepSlots::Held::node);
    if (held == step.slots.held.end())
        return false;
    occupy(step, {{node, 1}}, -1);
    if (--held->places == 0)
        step.slots.held.erase(held);
    return true;
}

void SimulatedCluster::say_slots(Step &step)
{
    step.slots.job = step.job;
    step.slots.step = step.number;
    step.slots.mpiexec = std::to_string(step.number);
    step.slots.told++;
    say(step.slots);
}

/* What is wanted no more is held all the same, until it is given back. */
void SimulatedCluster::perform(const GrantSlots &action)
{
    Step *step = find(action.job, action.step);
    if (!step || step->ended || action.grant != step->slots.granted + 1)
        return;
    StepSlots &slots = step->slots;
    auto open = std::ranges::find(slots.wishes, action.wish, &SlotWish::number);
    bool exclusive = open != slots.wishes.end() && open->exclusive;
    counts.slots_granted += count_processes(action.blocks);
    slots.granted++;
    occupy(*step, action.blocks, 1);
    for (const Block &block : action.blocks) {
        auto held = std::ranges::find(slots.held, block.node.str(), &StepSlots::Held::node);
        bool is_shared = held != slots.held.end() || block.processes > 1;
        if (is_shared && (exclusive || (held != slots.held.end() && held->exclusive)))
            wrong("job " + std::to_string(step->job) + " gets places on " + block.node +
                  ", where one is to be alone");
        if (held == slots.held.end())
            slots.held.push_back({block.node, block.processes, exclusive});
        else
            held->places += block.processes;
    }
    if (open != slots.wishes.end()) {
        open->count -= count_processes(action.blocks);
        if (open->count <= 0 || !open->hard)
            slots.wishes.erase(open);
    }
    say_slots(*step);
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
        occupy(step, {{held.node, held.places}}, -1);
    step.slots.held.clear();
    step.request.reset();
    step.leaving.clear();
    step.said.push_back(StepEnded{step.job, step.number, exit_code, ""});
    say(step.said.back());
}

void SimulatedCluster::perform(const SignalStep &action)
{
    Step *step = find(action.job, action.step);
    if (!step) {        /* a start that has not arrived will not be carried out any more */
        step = (steps_[{action.job, action.step}] = std::make_unique<Step>()).get();
        step->ended = true;
        step->said.push_back(StepLost{action.job, action.step, "it never started"});
    }
    if (step->ended)
        return say_all(*step);
    bool obeys = action.signal == 9 || chance(0.7);
    if (obeys)
        after(delay(), [this, step, signal = action.signal] { end(*step, 128 + signal); });
}

void SimulatedCluster::perform(const QueryStep &action)
{
    if (Step *step = find(action.job, action.step))
        say_all(*step);
}

/* ---- changes of size ------------------------------------------------------------ */

void SimulatedCluster::end_request(Step &step, EventContent outcome)
{
    if (step.request && step.joined)
        occupy(step, step.request->joining, -1);
    step.request.reset();
    step.said.push_back(outcome);
    say(std::move(outcome));
    if (step.wish && step.wish->modify)
        end_wish(step, "refused", "the change came to nothing");
}

void SimulatedCluster::perform(const ResizeStep &action)
{
    Step *step = find(action.job, action.step);
    if (!step)
        return wrong("a resize of a step that was never started");
    if (step->ended || action.request <= step->last_request)
        return say_all(*step);
    auto refuse = [&](const char *why) {
        StepRefused refused{{step->job, step->number, action.request, why}};
        step->said.push_back(refused);
        say(refused);
    };
    if (step->request)
        return refuse("busy");
    step->last_request = action.request;
    if (action.epoch != step->epoch)
        return refuse("stale");
    bool waits = step->wish && step->wish->modify;
    bool can_be = waits ? step->wish->size == action.size : step->mode == StepMode::ADAPTIVE;
    if (!can_be || chance(options_.faults.refuses))
        return refuse("no");
    step->request = action;
    step->joined = step->ready = step->agreed = false;
    step->said.push_back(StepAccepted{step->job, step->number, action.request, action.request});
    say(step->said.back());
    if (chance(options_.faults.breaks)) {
        counts.broke++;
        StepBroken broken{step->job, step->number, "test"};
        step->said.push_back(broken);
        say(broken);
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
        bool dead = std::any_of(
            step->request->joining.begin(), step->request->joining.end(),
            [this](const Block &block) { return dead_nodes_.contains(block.node); });
        if (fails || dead)
            return end_request(*step, StepFailed{{step->job, step->number, request,
                                                  "a joining process died"}});
        step->ready = true;
        say(StepReady{step->job, step->number, request});
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
    bool dead = std::ranges::any_of(step.request->joining, [this](const Block &block) {
        return dead_nodes_.contains(block.node);
    });
    if (dead && step.agreed)
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
        step.said.push_back(StepCommitted{step.job, step.number, request.request, epoch,
                                          step.program.standstill_ms});
        say(step.said.back());
        bool allowed = step.wish && step.wish->minimum <= request.size &&
            request.size <= step.wish->maximum;
        if (allowed)
            end_wish(step, "granted", "");
        if (!left.empty()) {
            step.leaving[epoch] = left;
            after(delay(), [this, &step, epoch] {
                if (step.ended)
                    return;
                occupy(step, step.leaving.at(epoch), -1);
                step.leaving.erase(epoch);
                step.said.push_back(StepFreed{step.job, step.number, epoch});
                say(step.said.back());
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
        step->said.push_back(
            StepRefused{{step->job, step->number, action.request, "it has not arrived"}});
        return say(step->said.back());
    }
    bool under_way = step->request && step->request->request == action.request;
    if (under_way && !step->in_window && !step->agreed)
        return end_request(*step, StepWithdrawn{{step->job, step->number, action.request,
                                                 "withdrawn"}});
    if (!under_way)
        say_all(*step);
}

}  // namespace elastic::rm
