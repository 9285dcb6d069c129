/* See simulated_cluster.h. */

#include "sim/simulated_cluster.h"

#include <cstdio>

#include "core/placement.h"
#include "core/redundant.h"

namespace elastic::rm {

/* One step's processes, as they really are. */
struct SimulatedCluster::Step {
    JobId job = 0;
    uint32_t number = 0;
    bool ended = false;
    MixJob program;
    StepMode mode = StepMode::UNKNOWN;
    Blocks world;
    uint64_t epoch = 0;
    double work_left_ms = 0;
    int64_t worked_until_ms = 0;
    bool in_window = false;
    uint64_t life = 0;                  /* counts changes of speed: older plans are void */
    std::optional<ResizeStep> request;  /* under way */
    bool joined = false, ready = false;
    uint64_t last_request = 0;
    std::map<uint64_t, Blocks> leaving; /* by epoch, still alive */
    std::vector<EventContent> said;     /* all that is the case */
};

SimulatedCluster::SimulatedCluster(const ClusterOptions &options)
    : options_(options), random_(options.seed)
{
}

SimulatedCluster::~SimulatedCluster() = default;

/* ---- chance and time ------------------------------------------------------------ */

bool SimulatedCluster::chance(double probability)
{
    return probability > 0 && static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

int64_t SimulatedCluster::between(int64_t low, int64_t high)
{
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

int64_t SimulatedCluster::delay()
{
    if (options_.delay_max_ms == 0)
        return 0;
    return chance(0.9) ? between(0, options_.delay_max_ms / 10) : between(0, options_.delay_max_ms);
}

void SimulatedCluster::after(int64_t ms, std::function<void()> action)
{
    queue_.push({now_ms_ + ms, order_++, std::move(action)});
}

void SimulatedCluster::wrong(const std::string &what)
{
    if (options_.trace)
        printf("%12lld ms  BROKEN: %s\n", static_cast<long long>(now_ms_), what.c_str());
    if (broken_.size() < BROKEN_MAX)
        broken_.push_back("at " + std::to_string(now_ms_) + " ms: " + what);
}

void SimulatedCluster::run()
{
    clock_.start(std::nullopt, 0, "boot", now_ms_, now_ms_);
    tell(Configure{options_.config});
    for (int i = 0; i < options_.nodes; i++)
        tell(NodeUp{"n" + std::to_string(i), options_.cores});
    plan();
    while (!queue_.empty() && !all_over() && now_ms_ < TIME_MAX_MS && log_.size() < EVENTS_MAX &&
           broken_.size() < BROKEN_MAX) {
        Happening next = queue_.top();
        queue_.pop();
        now_ms_ = next.time_ms;
        next.action();
    }
    for (const std::string &open : monitor_.finish(core_.state()))
        wrong(open);
    for (const auto &[node, cores] : occupied_) {
        if (cores != 0)
            wrong("processes are left on node " + node);
    }
}

bool SimulatedCluster::all_over() const
{
    const State &state = core_.state();
    return to_submit_ == 0 && now_ms_ >= people_until_ms_ &&
           state.finished.size() == state.jobs.size();
}

/* ---- the daemon ------------------------------------------------------------ */

void SimulatedCluster::tell(EventContent content)
{
    Event event{core_.state().seq + 1, read_clock(), std::move(content)};
    mark_ = clock_.mark();
    if (options_.trace)
        printf("%12lld ms  %s\n", static_cast<long long>(now_ms_), to_json(event).dump().c_str());
    if (options_.check)
        log_.push_back(event);
    Actions actions = core_.handle(event);
    for (const Action &action : actions) {
        const Record *record = std::get_if<Record>(&action);
        if (!record)
            continue;
        metrics_.see(*record);
        check_limit(*record);
        counts.gave_way += record->event == "requested" && core_.state().wanted_nodes > 0 &&
                           record->data["reason"] == "nodes for " + core_.state().wanted_by;
    }
    if (options_.check) {
        for (const std::string &what : monitor_.watch(event, actions, core_.state()))
            wrong(what);
        for (const std::string &what : violations(core_.state()))
            wrong(what);
    }
    if (options_.faults.crash > 0 && chance(0.02))
        snapshot_ = core_.snapshot();
    if (chance(options_.faults.crash)) {
        actions.resize(static_cast<size_t>(between(0, static_cast<int64_t>(actions.size()))));
        for (const Action &action : actions)
            carry_out(action);
        return crash();
    }
    for (const Action &action : actions)
        carry_out(action);
}

/* The event is stored, some of its actions were carried out, and the daemon is killed and starts
 * again. */
void SimulatedCluster::crash()
{
    counts.crashes++;
    if (options_.trace)
        printf("%12lld ms  the daemon is killed and starts again\n",
               static_cast<long long>(now_ms_));
    Core again;
    if (!snapshot_.is_null()) {
        Result<Core> restored = Core::restore(Json::parse(snapshot_.dump()));
        if (!restored)
            return wrong("snapshot: " + restored.error());
        again = std::move(restored.value());
    }
    for (const Event &event : log_) {
        if (event.seq <= again.state().seq)
            continue;
        Result<Event> stored = event_from_json(to_json(event));
        if (!stored)
            return wrong("event: " + stored.error());
        Actions actions = again.handle(stored.value());
        for (const std::string &what : monitor_.watch(event, actions, again.state()))
            wrong("replayed: " + what);
    }
    if (again.snapshot() != core_.snapshot())
        wrong("the replayed log gives another state");
    core_ = std::move(again);
    clock_ = SteadyClock();
    clock_.start(mark_, core_.state().now_ms, "boot", now_ms_, now_ms_ + wall_offset_ms_);
    timer_++;
    for (const Action &action : core_.pending())
        carry_out(action);
}

void SimulatedCluster::carry_out(const Action &action)
{
    if (const SetTimer *timer = std::get_if<SetTimer>(&action))
        return set_timer(timer->at_ms);
    bool goes_out = !std::holds_alternative<Record>(action) &&
                    !std::holds_alternative<Answer>(action) &&
                    !std::holds_alternative<ForgetJob>(action);
    if (!goes_out)
        return;
    if (options_.trace)
        printf("%12lld ms    -> %s\n", static_cast<long long>(now_ms_),
               to_json(action).dump().c_str());
    if (chance(options_.faults.lost)) {
        counts.lost++;
        return;
    }
    for (int times = chance(options_.faults.repeated) ? 2 : 1; times > 0; times--)
        after(delay(), [this, action] {
            std::visit([this](const auto &each) { perform(each); }, action);
        });
}

void SimulatedCluster::set_timer(int64_t at_ms)
{
    uint64_t number = ++timer_;
    if (at_ms == NEVER)
        return;
    after(std::max<int64_t>(at_ms - read_clock(), 0) + delay(), [this, number, at_ms] {
        if (number == timer_ && read_clock() >= at_ms)
            tell(Timer{});
        else if (number == timer_)
            set_timer(at_ms);
    });
}

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
        wrong("not redundant: " + to_json(Event{0, now_ms_, content}).dump() + " changes " +
              Json::diff(before, after).dump());
}

void SimulatedCluster::say_all(Step &step)
{
    for (const EventContent &content : step.said)
        say(content);
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
    step.program = programs_.at(core_.state().job(action.job)->request);
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
    step.worked_until_ms = now_ms_;
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
        step.work_left_ms -= static_cast<double>(now_ms_ - step.worked_until_ms) * speed;
    step.worked_until_ms = now_ms_;
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
    if (step->mode != StepMode::ADAPTIVE || chance(options_.faults.refuses))
        return refuse("no");
    step->request = action;
    step->joined = step->ready = false;
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
        if (!chance(options_.faults.stubborn))
            after(between(0, step->program.probe_ms), [this, step, still] {
                if (still())
                    window(*step);
            });
    });
}

/* Agreed: from here on it is committed, unless the program dies. */
void SimulatedCluster::window(Step &step)
{
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
        step.request.reset();
        step.said.push_back(StepCommitted{step.job, step.number, request.request, epoch,
                                          step.program.standstill_ms});
        say(step.said.back());
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
    if (under_way && !step->in_window)
        return end_request(*step, StepWithdrawn{{step->job, step->number, action.request,
                                                 "withdrawn"}});
    if (!under_way)
        say_all(*step);
}

/* ---- people and accidents ------------------------------------------------------------ */

void SimulatedCluster::plan()
{
    int64_t last_ms = 0;
    for (const MixJob &job : options_.jobs) {
        std::string request = "m" + std::to_string(++requests_);
        programs_[request] = job;
        to_submit_++;
        last_ms = std::max(last_ms, job.submit_ms);
        bool again = chance(options_.faults.repeated);
        after(job.submit_ms, [this, request, spec = job.spec] {
            to_submit_--;
            tell(Submit{request, spec});
        });
        if (again)
            after(job.submit_ms + delay(), [this, request, spec = job.spec] {
                tell(Submit{request, spec});
            });
    }
    for (int i = 0; i < options_.faults.people; i++)
        after(between(0, last_ms), [this] { somebody(); });
    for (int i = 0; i < options_.faults.node_failures; i++)
        after(between(0, last_ms), [this] { node_fails(); });
    for (int i = 0; i < options_.faults.others; i++)
        after(between(0, last_ms), [this] { others_want(); });
    for (int i = 0; i < options_.faults.clock_jumps; i++)
        after(between(0, last_ms), [this] { clock_jumps(); });
    people_until_ms_ = now_ms_;
}

/* What is held is released again, and what is drained resumed, so that all jobs can end. */
void SimulatedCluster::somebody()
{
    std::string request = "p" + std::to_string(++requests_);
    JobId job = static_cast<JobId>(between(1, static_cast<int64_t>(core_.state().last_job) + 1));
    std::string node = "n" + std::to_string(between(0, options_.nodes - 1));
    int64_t later_ms = between(1, 60000);
    auto at_last = [&](EventContent content) {
        people_until_ms_ = std::max(people_until_ms_, now_ms_ + later_ms);
        after(later_ms, [this, content] { tell(content); });
    };
    switch (between(0, 9)) {
        case 0: return tell(Cancel{{request, job}});
        case 1:
            at_last(Release{{request + "r", job}});
            return tell(Hold{{request, job}});
        case 2:
            at_last(Resume{request + "r", node});
            return tell(Drain{request, node, "test"});
        case 3: {
            JobSpec spec;
            spec.minimum = static_cast<int>(between(-1, 1));
            spec.maximum = static_cast<int>(between(0, 1) * options_.nodes * options_.cores + 1);
            programs_[request] = MixJob{0, spec, 1000, 0, 100, 50};
            return tell(Submit{request, spec});
        }
        case 4: {
            Update update;
            update.request = request;
            update.job = job;
            if (between(0, 1))
                update.time_limit_ms = between(1, 200000);
            if (between(0, 1))
                update.priority = static_cast<int>(between(-3, 3));
            if (between(0, 1))
                update.maximum = static_cast<int>(between(1, 12));
            if (between(0, 1))
                update.minimum = static_cast<int>(between(1, 4));
            update.may_extend = between(0, 1);
            return tell(update);
        }
        case 5: {
            JobSpec spec;
            spec.dependencies = {{static_cast<DependencyKind>(between(0, 2)), job}};
            spec.begin_ms = between(0, 1) ? now_ms_ + between(-1000, 20000) : 0;
            programs_[request] = MixJob{0, spec, 1000, 0, 100, 50};
            return tell(Submit{request, spec});
        }
        default: return tell(Resize{request, job, static_cast<int>(between(0, 12))});
    }
}

/* It is heard of before or after the end of the step that follows from it. */
void SimulatedCluster::nodes_are_taken(Step &step)
{
    if (step.ended)
        return;
    counts.nodes_lost++;
    NodesLost lost{step.job, step.number, "its nodes were taken"};
    after(delay(), [this, lost] { tell(lost); });
    after(delay(), [this, &step] { end(step, 137); });
}

/* What idles is kept for them until they want nothing more. */
void SimulatedCluster::others_want()
{
    int nodes = static_cast<int>(between(1, options_.nodes + 1));
    int64_t waiting_ms = between(1, 30000);
    people_until_ms_ = std::max(people_until_ms_, now_ms_ + waiting_ms + 1);
    tell(NodesWanted{nodes, "others"});
    after(waiting_ms, [this] { tell(NodesWanted{0, ""}); });
}

/* Somebody sets the clock, by seconds or by years. */
void SimulatedCluster::clock_jumps()
{
    counts.jumps++;
    int64_t by_ms = int64_t{1} << between(10, 36);
    wall_offset_ms_ += between(0, 1) == 0 ? by_ms : -by_ms;
}

/* Whatever the wall clock says: who is ended because of his time limit has had it (less a thousandth). */
void SimulatedCluster::check_limit(const Record &record)
{
    if (record.event == "started")
        started_ms_[record.job] = now_ms_;
    if (record.event != "completing" || !record.data.value("reason", "").starts_with("the time limit"))
        return;
    counts.limits++;
    int64_t had_ms = now_ms_ - started_ms_[record.job];
    int64_t limit_ms = core_.state().jobs.at(record.job).spec.time_limit_ms;
    if (had_ms < limit_ms - limit_ms / 900 - 2)
        wrong("job " + std::to_string(record.job) + " is ended after " + std::to_string(had_ms) +
              " ms, its limit is " + std::to_string(limit_ms));
}

void SimulatedCluster::node_fails()
{
    std::string node = "n" + std::to_string(between(0, options_.nodes - 1));
    if (!dead_nodes_.insert(node).second)
        return;
    counts.node_failures++;
    auto on_it = [&node](const Blocks &blocks) {
        return std::any_of(blocks.begin(), blocks.end(),
                           [&](const Block &block) { return block.node == node; });
    };
    for (auto &[key, each] : steps_) {
        Step *step = each.get();
        if (step->ended)
            continue;
        if (on_it(step->world))
            after(delay(), [this, step] { end(*step, 137); });
        else if (step->request && on_it(step->request->joining) && !step->in_window)
            end_request(*step, StepFailed{{step->job, step->number, step->request->request,
                                           "a node is down"}});
        else if (step->request && on_it(step->request->joining))
            after(delay(), [this, step] { end(*step, 137); });  /* SPEC E4 */
    }
    int64_t noticed_ms = delay(), down_ms = between(1, 60000);
    if (between(0, 1) == 0)     /* it is suspected before */
        after(between(0, static_cast<int>(noticed_ms)), [this, node] { tell(NodeSuspect{node, "test"}); });
    after(noticed_ms, [this, node] { tell(NodeDown{node, "test"}); });
    people_until_ms_ = std::max(people_until_ms_, now_ms_ + noticed_ms + down_ms);
    after(noticed_ms + down_ms, [this, node] {
        dead_nodes_.erase(node);
        tell(NodeUp{node, options_.cores});
    });
}

/* ---- mixes ------------------------------------------------------------ */

RunMetrics simulate_mix(const std::vector<MixJob> &mix, int nodes, int cores, PolicyKind policy,
                        bool as_rigid)
{
    ClusterOptions options;
    options.config.policy = policy;
    options.nodes = nodes;
    options.cores = cores;
    options.jobs = mix;
    options.check = false;
    if (as_rigid) {
        for (MixJob &job : options.jobs) {
            int wish = job.spec.preferred > 0 ? job.spec.preferred : job.spec.maximum;
            int size = size_at_most(job.spec,
                                    std::min(wish, nodes * cores / job.spec.cores_per_process));
            job.spec.minimum = job.spec.maximum = size;
            job.spec.preferred = 0;
            job.spec.elasticity = Elasticity::RIGID;
        }
    }
    SimulatedCluster cluster(options);
    cluster.run();
    return cluster.metrics();
}

}  // namespace elastic::rm
