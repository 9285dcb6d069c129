/* See simulated_job.h. */

#include "stepmgr/sim/simulated_job.h"

#include "wire/request_messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace elastic {

namespace {

constexpr uint32_t STATUS_KILLED = 9, STATUS_EXIT_3 = 3 << 8;

}  // namespace

struct SimulatedJob::Actor {
    int group = 0;
    uint32_t rank = 0, uid = 0;
    Agent agent;
    std::string host;
    bool alive = true;
    bool joining = false;       /* until its first commit */
    bool prepared = false;      /* joining: knows the addresses of all others */
    uint32_t epoch = 0;         /* last committed */
    uint64_t count = 0;         /* its slot on the board */
    uint32_t phase = PMI_ADAPT_PHASE_NONE;
    int work_left = 0;
    int64_t compute_us = 1;
    uint64_t prepared_for = 0;      /* request that it has prepared for */
    bool leaves = false;        /* has committed, waits to be released */
    uint32_t size_requests = 0; /* that it has made */
    bool modified = false;      /* has called MPIX_Comm_modify, or comes from it */
    int64_t last_write_us = 0;
};

struct SimulatedJob::Daemon {
    Agent agent;
    std::vector<Actor *> actors;
    bool disconnected = false, over = false, busy = false;
    std::vector<std::function<void()>> held;
    int64_t last_up_us = 0, last_down_us = 0;   /* connections keep their order */
    /* the board */
    uint64_t gate = PMI_ADAPT_GATE_OPEN, limit = PMI_ADAPT_GATE_OPEN;
    uint32_t agreed = 0, epoch = 0, released = 0, plan_epoch = 0;
    size_t committed = 0, participants = 0;
    Plan plan;
};

/* ---- chance, queue, setting up ------------------------------------------------------------------ */

SimulatedJob::SimulatedJob(uint64_t seed, bool trace) : seed_(seed), trace_(trace), random_(seed)
{
    choose_options();
    step_config config = {};
    config.step_id = "1";
    config.program = "simulated";
    config.user = "user";
    config.schedule = schedule_.empty() ? nullptr : schedule_.c_str();
    config.policy = policy_.empty() ? nullptr : policy_.c_str();
    bool ranged = !policy_.empty() || (size_requests_ && schedule_.empty());
    config.range_min = ranged ? 1 : 0;
    config.range_max = ranged ? 9 : 0;
    config.interval_ms = chance(0.5) ? 0 : between(1, 100);
    config.margin = margin_;
    config.prepare_ms = chance(0.5) ? 50 : between(0, 5);
    config.straggler_ms = chance(0.5) ? between(5, 50) : 0;
    config.seed = seed;
    config.unix_ms_at_zero = 1700000000000;
    config.size = launch_size_;
    step_effects effects = {this,  launch, kill_group, abort_step, send,
                            reply, log,    notify_user,  wake_at,    nullptr, nullptr,   nullptr};
    char error[512] = "";
    core_ = stepmgr_create(&config, &effects, error, sizeof error);
    if (!core_)
        broken("options are refused: " + std::string(error) + " for " + schedule_);
}

SimulatedJob::~SimulatedJob()
{
    stepmgr_destroy(core_);
}

int64_t SimulatedJob::between(int64_t low, int64_t high)
{
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

bool SimulatedJob::chance(double probability)
{
    return static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

/* Mostly short, sometimes long. */
int64_t SimulatedJob::delay_us()
{
    return chance(0.9) ? between(0, delay_max_us_ / 10) : between(0, delay_max_us_);
}

void SimulatedJob::at(int64_t time_us, std::function<void()> action)
{
    queue_.push({time_us, next_event_++, std::move(action)});
}

void SimulatedJob::note(const std::string &text)
{
    if (trace_)
        printf("%12.3f ms  %s\n", static_cast<double>(now_us_) / 1000.0, text.c_str());
}

void SimulatedJob::broken(const std::string &what)
{
    note("BROKEN: " + what);
    ADD_FAILURE() << "seed " << seed_ << " at " << now_us_ << " us: " << what
                  << "\nreplay: make -f Makefile.tests replay SEED=" << seed_;
}

void SimulatedJob::choose_options()
{
    launch_size_ = static_cast<int>(between(1, 8));
    work_ = static_cast<int>(between(5, chance(0.2) ? 1000 : 200));
    margin_ = static_cast<uint64_t>(between(0, 4));
    delay_max_us_ = between(10, 20000);
    rigid_ = chance(0.06);
    modify_at_ = chance(rigid_ ? 0.8 : 0.3) ? static_cast<int>(between(1, work_)) : -1;
    launch_may_fail_ = chance(0.2);
    size_requests_ = chance(0.6);
    for (int64_t i = between(1, 4); i > 0; i--)
        host_names_.push_back(std::string(1, static_cast<char>('a' + i)));
    int kind = static_cast<int>(between(0, 3));
    if (kind == 0)
        policy_ = chance(0.5) ? "increase-decrease" : "random";
    if (kind != 1 && kind != 2)
        return;
    int size = launch_size_;
    for (int64_t i = between(1, 8); i > 0; i--) {
        int64_t next = between(1, 9);
        schedule_ += schedule_.empty() ? "" : ",";
        if (chance(0.2))
            schedule_ += std::to_string(between(1, 300)) + "ms:";
        schedule_ += std::to_string(next);
        if (chance(0.3) && next >= size - 1)
            schedule_ += "/leave=" + std::to_string(between(0, size - 1));
        size = static_cast<int>(next);
    }
}

void SimulatedJob::start_group(int group, uint32_t epoch, uint32_t first_uid, int count,
                               const std::vector<std::string> &hosts)
{
    std::map<std::string, int> proxies;
    for (int rank = 0; rank < count; rank++) {
        auto actor = std::make_unique<Actor>();
        actor->group = group;
        actor->rank = static_cast<uint32_t>(rank);
        actor->uid = first_uid + static_cast<uint32_t>(rank);
        actor->host = hosts[static_cast<size_t>(rank) % hosts.size()];
        int proxy =
            proxies.try_emplace(actor->host, static_cast<int>(proxies.size())).first->second;
        actor->agent = {group, proxy};
        actor->joining = epoch > 0;
        actor->epoch = 0;
        actor->work_left = work_;
        actor->compute_us = between(1, 1000);
        auto &daemon = daemons_[actor->agent];
        if (!daemon)
            daemon = std::make_unique<Daemon>();
        daemon->agent = actor->agent;
        daemon->actors.push_back(actor.get());
        if (group == 0)
            worlds_[0].push_back(actor->uid);
        actors_[actor->uid] = std::move(actor);
    }
}

void SimulatedJob::plan_clients()
{
    int64_t requests = chance(0.6) ? between(0, 6) : 0;
    for (int64_t i = 0; i < requests; i++) {
        int client = static_cast<int>(between(1, 3));
        at(between(0, 400000), [this, client] { random_request(client); });
    }
}

void SimulatedJob::plan_accident()
{
    if (!chance(0.3))
        return;
    at(between(0, 300000), [this] {
        std::vector<Actor *> living;
        for (auto &[uid, actor] : actors_) {
            if (actor->alive)
                living.push_back(actor.get());
        }
        if (living.empty())
            return;
        Actor &victim = *living[static_cast<size_t>(
            between(0, static_cast<int64_t>(living.size()) - 1))];
        outcome_.accidents++;
        if (chance(0.2))
            lose_daemon(daemon(victim.agent));
        else
            end(victim, chance(0.7) ? STATUS_KILLED : STATUS_EXIT_3);
    });
}

JobOutcome SimulatedJob::run()
{
    if (!core_)
        return outcome_;
    start_group(0, 0, 0, launch_size_, host_names_);
    std::vector<step_process> processes;
    for (auto &[uid, actor] : actors_)
        processes.push_back({actor->agent.proxy, actor->host.c_str()});
    stepmgr_group(core_, 0, 0, launch_size_, processes.data());
    for (auto &[uid, actor] : actors_)
        after(delay_us(), [this, a = actor.get()] { initialise(*a); });
    plan_clients();
    plan_accident();
    plan_size_requests();
    uint64_t events = 0;
    while (!queue_.empty() && now_us_ < TIME_MAX_US && events++ < EVENTS_MAX) {
        Event event = queue_.top();
        queue_.pop();
        now_us_ = event.time_us;
        event.action();
    }
    check_end();
    return outcome_;
}

/* ---- proxies ------------------------------------------------------------------------------------- */

void SimulatedJob::to_core(const Agent &agent, std::function<void()> deliver)
{
    Daemon &from = daemon(agent);
    from.last_up_us = std::max(from.last_up_us, now_us_ + delay_us());
    at(from.last_up_us, [this, agent, deliver] {
        if (!disconnected_.contains(agent))
            deliver();
    });
}

void SimulatedJob::report(const Agent &agent, step_report kind, uint32_t epoch,
                          const std::string &payload)
{
    to_core(agent, [this, agent, kind, epoch, payload] {
        note("report " + std::to_string(kind) + " of " + std::to_string(agent.group) + "." +
             std::to_string(agent.proxy) + " epoch " + std::to_string(epoch));
        stepmgr_report(core_, now_ms(), agent.group, agent.proxy, kind, epoch, payload.data(),
                       payload.size());
    });
}

void SimulatedJob::receive(Daemon &daemon, step_command command, uint32_t epoch,
                           uint64_t request, const std::string &payload)
{
    if (daemon.disconnected || daemon.over)
        return;
    if (daemon.busy) {          /* with a freeze; commands keep their order */
        daemon.held.push_back([=, this, &daemon] {
            receive(daemon, command, epoch, request, payload);
        });
        return;
    }
    uint64_t number = 0;
    if (payload.size() == sizeof number)
        std::memcpy(&number, payload.data(), sizeof number);
    switch (command) {
        case STEP_PLAN:
            return store_plan(daemon, request, payload);
        case STEP_FREEZE:
            return freeze(daemon, epoch, number);
        case STEP_TARGET:
            daemon.limit = number;
            daemon.agreed = epoch;
            return wake(daemon);
        case STEP_THAW:
            daemon.limit = PMI_ADAPT_GATE_OPEN;
            daemon.plan_epoch = 0;
            return wake(daemon);
        case STEP_RELEASE:
            daemon.limit = daemon.gate = PMI_ADAPT_GATE_OPEN;
            daemon.epoch = daemon.released = epoch;
            daemon.plan_epoch = 0;
            daemon.committed = 0;
            return wake(daemon);
        case STEP_COUNTS:
            return count(daemon, epoch);
        case STEP_PERFORMANCE:
        case STEP_SETS:
        case STEP_SET_ANSWER:
        case STEP_BCAST:
        case STEP_LET_GO:
        case STEP_OFFER:
        case STEP_FORGET:
        case STEP_TASK:
        case STEP_SYNC:
        case STEP_BREAK:
        case STEP_BY_SETS:
        case STEP_STARTS:
        case STEP_COMES:
        case STEP_SET_SHARED:
            return;             /* nobody queries */
        case STEP_WISHED:
            return wished(daemon, payload);
    }
}

void SimulatedJob::store_plan(Daemon &daemon, uint64_t request, const std::string &payload)
{
    pmi_adapt_plan header;
    if (payload.size() < sizeof header)
        return broken("plan is too short");
    std::memcpy(&header, payload.data(), sizeof header);
    Plan plan{request, header.epoch, header.pre, header.joining, {}, {}, header.modify != 0};
    for (uint32_t i = 0; i < header.pre + header.joining; i++) {
        pmi_adapt_member member;
        std::memcpy(&member, payload.data() + header.members_offset + i * sizeof member,
                    sizeof member);
        plan.uids.push_back(member.uid);
        plan.flags.push_back(member.flags);
        std::string bc(payload.data() + member.bc_offset, member.bc_bytes);
        if (bc != "addr" + std::to_string(member.uid))
            broken("plan has a wrong address for process " + std::to_string(member.uid));
    }
    daemon.plan = plan;
    daemon.plan_epoch = header.epoch;
    daemon.gate = PMI_ADAPT_GATE_SHUT;
    daemon.participants = 0;
    for (const Actor *actor : daemon.actors)
        daemon.participants += static_cast<size_t>(
            std::count(plan.uids.begin(), plan.uids.end(), actor->uid));
    for (Actor *actor : daemon.actors) {
        if (actor->alive && actor->phase == PMI_ADAPT_PHASE_JOINING)
            after(delay_us(), [this, &daemon, actor] { prepare(daemon, *actor); });
    }
}

void SimulatedJob::prepare(Daemon &daemon, Actor &actor)
{
    if (!actor.alive)
        return;
    actor.prepared = true;
    bool all = std::all_of(daemon.actors.begin(), daemon.actors.end(),
                           [](const Actor *other) { return other->prepared; });
    if (all)
        for (step_report what : {REPORT_PREPARED, REPORT_GREETED})
            report(daemon.agent, what, daemon.plan.epoch, "");
    enter_window(actor);
}

/* One that was there before, in its first probe that finds the plan. */
void SimulatedJob::lookahead(Actor &actor)
{
    Daemon &board = daemon(actor.agent);
    if (board.plan_epoch != actor.epoch + 1 || actor.prepared_for == board.plan.request)
        return;
    actor.prepared_for = board.plan.request;
    size_t prepared = static_cast<size_t>(std::count_if(
        board.actors.begin(), board.actors.end(),
        [&](const Actor *other) { return other->prepared_for == board.plan.request; }));
    for (uint32_t i = board.plan.pre; i < board.plan.uids.size(); i++) {
        if (!actors_.at(board.plan.uids[i])->prepared)
            broken("process " + std::to_string(actor.uid) + " may connect to joining process " +
                   std::to_string(board.plan.uids[i]) + " before that knows its address");
    }
    if (prepared == board.participants)
        report(board.agent, REPORT_PREPARED, board.plan_epoch, "");
}

/* Shutting the limit and reading the counts are two moments. */
void SimulatedJob::freeze(Daemon &daemon, uint32_t epoch, uint64_t margin)
{
    daemon.limit = daemon.gate = PMI_ADAPT_GATE_SHUT;
    daemon.busy = true;
    after(between(0, 20), [this, &daemon, epoch, margin] {
        if (daemon.disconnected)
            return;
        uint64_t highest = 0;
        for (const Actor *actor : daemon.actors)
            highest = std::max(highest, actor->count);
        daemon.limit = highest + (margin ? margin : static_cast<uint64_t>(between(1, 8)));
        wake(daemon);
        report(daemon.agent, REPORT_FROZEN, epoch, write_number(daemon.limit));
        daemon.busy = false;
        auto held = std::exchange(daemon.held, {});
        for (auto &command : held)
            command();
    });
}

void SimulatedJob::count(Daemon &daemon, uint32_t epoch)
{
    std::vector<CountReport> counts;
    for (const Actor *actor : daemon.actors)
        counts.push_back({actor->rank, actor->phase, actor->count, 0});
    report(daemon.agent, REPORT_COUNTS, epoch, write_counts(counts));
}

void SimulatedJob::wake(Daemon &daemon)
{
    for (Actor *actor : daemon.actors) {
        if (actor->alive && actor->phase == PMI_ADAPT_PHASE_WAITING)
            after(between(0, 50), [this, actor] {
                if (actor->alive && actor->phase == PMI_ADAPT_PHASE_WAITING)
                    check_closer(*actor);
            });
        if (actor->alive && actor->leaves && daemon.released >= actor->epoch)
            leave(*actor);
    }
}

void SimulatedJob::check_daemon_over(Daemon &daemon)
{
    bool all = std::none_of(daemon.actors.begin(), daemon.actors.end(),
                            [](const Actor *actor) { return actor->alive; });
    if (!all || daemon.over || daemon.disconnected)
        return;
    daemon.over = true;
    to_core(daemon.agent, [this, agent = daemon.agent] {
        note("daemon " + std::to_string(agent.group) + "." + std::to_string(agent.proxy) + " ends");
        disconnected_.insert(agent);
        stepmgr_proxy_disconnected(core_, now_ms(), agent.group, agent.proxy);
    });
}

/* Its host has failed: no reports, only the broken connection. */
void SimulatedJob::lose_daemon(Daemon &daemon)
{
    if (daemon.disconnected || daemon.over)
        return;
    note("daemon " + std::to_string(daemon.agent.group) + "." +
         std::to_string(daemon.agent.proxy) + " has disconnected");
    daemon.disconnected = true;
    for (Actor *actor : daemon.actors)
        actor->alive = false;
    after(delay_us(), [this, agent = daemon.agent] {
        bool ours = stepmgr_owns_failure(core_, agent.group) == 0;
        disconnected_.insert(agent);
        stepmgr_proxy_disconnected(core_, now_ms(), agent.group, agent.proxy);
        if (ours)
            after(delay_us(), [this] { kill_everybody(); });
    });
}

/* ---- processes ----------------------------------------------------------------------------------- */

void SimulatedJob::initialise(Actor &actor)
{
    if (!actor.alive)
        return;
    std::string bc = "addr" + std::to_string(actor.uid);
    report(actor.agent, REPORT_INIT, 0,
           write_init({actor.rank, !rigid_, bc, 0, modify_groups_.contains(actor.group)}));
    if (!actor.joining) {
        actor.phase = PMI_ADAPT_PHASE_RUNNING;
        return compute(actor);
    }
    after(delay_us(), [this, &actor] {
        if (!actor.alive)
            return;
        actor.phase = PMI_ADAPT_PHASE_JOINING;
        report(actor.agent, REPORT_READY, group_request_.at(actor.group),
               write_ready({actor.rank, {}}));
    });
}

void SimulatedJob::compute(Actor &actor)
{
    if (actor.work_left == 0)
        return finalise(actor);
    if (actor.work_left == modify_at_ && !actor.modified)
        return call_modify(actor);
    int64_t us = chance(0.01) ? actor.compute_us * 50 : actor.compute_us;
    after(us, [this, &actor] {
        if (actor.alive)
            probe(actor);
    });
}

void SimulatedJob::probe(Actor &actor)
{
    actor.work_left--;
    actor.count++;
    after(between(0, 3), [this, &actor] {
        if (actor.alive)
            lookup(actor);
    });
}

/* The gate, and some time later the limit, in the order of pmi_adapt.h. */
void SimulatedJob::lookup(Actor &actor)
{
    if (actor.count < daemon(actor.agent).gate || rigid_) {
        actor.phase = PMI_ADAPT_PHASE_RUNNING;
        return compute(actor);
    }
    after(between(0, 3), [this, &actor] {
        if (actor.alive)
            check_closer(actor);
    });
}

void SimulatedJob::check_closer(Actor &actor)
{
    const Daemon &board = daemon(actor.agent);
    bool is_false = actor.count < board.limit || board.epoch < actor.epoch;
    if (is_false || board.agreed != actor.epoch + 1)
        lookahead(actor);
    if (is_false) {
        actor.phase = PMI_ADAPT_PHASE_RUNNING;
        return compute(actor);
    }
    if (board.agreed == actor.epoch + 1)
        return notified(actor);
    actor.phase = PMI_ADAPT_PHASE_WAITING;
}

void SimulatedJob::notified(Actor &actor)
{
    outcome_.notified++;
    uint32_t epoch = actor.epoch + 1;
    note("process " + std::to_string(actor.uid) + " gets TRUE at " +
         std::to_string(actor.count));
    const Plan &plan = daemon(actor.agent).plan;
    Window &window = windows_[plan.request];
    for (uint32_t i = plan.pre; i < plan.uids.size(); i++) {
        if (!actors_.at(plan.uids[i])->prepared)
            broken("process " + std::to_string(actor.uid) + " is notified before joining process " +
                   std::to_string(plan.uids[i]) + " knows all addresses");
    }
    if (target_epoch_ != epoch)
        broken("process " + std::to_string(actor.uid) + " is notified of an epoch not agreed on");
    if (window.work_left >= 0 &&
        (window.notified_at != actor.count || window.work_left != actor.work_left))
        broken("P3: process " + std::to_string(actor.uid) + " is notified at probe " +
               std::to_string(actor.count) + ", others at " + std::to_string(window.notified_at));
    window.notified_at = actor.count;
    window.work_left = actor.work_left;
    actor.phase = PMI_ADAPT_PHASE_TOLD;
    after(delay_us(), [this, &actor] { enter_window(actor); });
}

void SimulatedJob::enter_window(Actor &actor)
{
    if (!actor.alive)
        return;
    actor.phase = PMI_ADAPT_PHASE_WINDOW;
    const Plan plan = daemon(actor.agent).plan;
    after(delay_us(), [this, &actor, plan] { arrive_at_commit(actor, plan); });
}

/* Collective over all participants; they return from it one by one. */
void SimulatedJob::arrive_at_commit(Actor &actor, const Plan &plan)
{
    if (!actor.alive)
        return;
    actor.phase = PMI_ADAPT_PHASE_COMMIT;
    Window &window = windows_[plan.request];
    window.arrived.insert(actor.uid);
    if (window.arrived.size() < plan.uids.size())
        return;
    for (uint32_t uid : plan.uids) {
        Actor *each = actors_.at(uid).get();
        after(delay_us(), [this, each, plan] {
            if (each->alive)
                commit(*each, plan);
        });
    }
}

void SimulatedJob::commit(Actor &actor, const Plan &plan)
{
    Daemon &board = daemon(actor.agent);
    std::vector<uint32_t> world;
    for (size_t i = 0; i < plan.uids.size(); i++) {
        bool leaves = (plan.flags[i] & PMI_ADAPT_MEMBER_LEAVING) != 0;
        if (!leaves)
            world.push_back(plan.uids[i]);
        else if (plan.uids[i] == actor.uid)
            actor.leaves = true;
    }
    worlds_[plan.epoch] = world;
    actor.epoch = plan.epoch;
    actor.joining = false;
    actor.modified = actor.modified || plan.modify;
    actor.count = 0;
    actor.work_left = windows_[plan.request].work_left;
    actor.phase = PMI_ADAPT_PHASE_RUNNING;
    if (++board.committed == board.participants)
        report(actor.agent, REPORT_COMMITTED, plan.epoch, "");
    if (!actor.leaves)
        compute(actor);
    else if (board.released >= actor.epoch)
        leave(actor);
}

void SimulatedJob::leave(Actor &actor)
{
    actor.leaves = false;
    actor.phase = PMI_ADAPT_PHASE_NONE;
    after(delay_us(), [this, &actor] {
        if (actor.alive)
            end(actor, 0);
    });
}

/* MPI_Finalize is collective over the world. */
void SimulatedJob::finalise(Actor &actor)
{
    actor.phase = PMI_ADAPT_PHASE_NONE;
    auto &arrived = finalised_[actor.epoch];
    arrived.insert(actor.uid);
    auto end_later = [this](Actor &each) {
        after(delay_us(), [this, &each] {
            if (each.alive)
                end(each, 0);
        });
    };
    if (arrived.size() == worlds_.at(actor.epoch).size()) {
        for (uint32_t uid : arrived)
            end_later(*actors_.at(uid));
    }
}

void SimulatedJob::end(Actor &actor, uint32_t wait_status)
{
    note("process " + std::to_string(actor.uid) + " " + describe_wait_status(wait_status));
    actor.alive = false;
    report(actor.agent, REPORT_EXITED, 0, write_exited({actor.rank, wait_status}));
    bool accident = wait_status != 0 && !killing_;
    if (accident) /* what Hydra does about it, unless it is the step manager's business */
        to_core(actor.agent, [this, group = actor.group] {
            if (stepmgr_owns_failure(core_, group) == 0)
                after(delay_us(), [this] { kill_everybody(); });
        });
    check_daemon_over(daemon(actor.agent));
}

void SimulatedJob::kill_everybody()
{
    if (killing_)
        return;
    killing_ = true;
    note("the whole job is killed");
    for (auto &[uid, actor] : actors_) {
        if (actor->alive)
            end(*actor, STATUS_KILLED);
    }
}

/* The step manager's world against the members' own, once an epoch is committed everywhere. */
void SimulatedJob::check_world()
{
    const auto &world = worlds_.at(committed_epoch_);
    for (size_t rank = 0; rank < world.size(); rank++) {
        const Actor &actor = *actors_.at(world[rank]);
        int in_core = stepmgr_world_rank(core_, actor.group, static_cast<int>(actor.rank));
        if (in_core != static_cast<int>(rank))
            broken("process " + std::to_string(actor.uid) + " is rank " + std::to_string(rank) +
                   " by the plan, and " + std::to_string(in_core) + " in the core");
    }
}

/* ---- size requests ---------------------------------------------------------------------------------------- */

void SimulatedJob::plan_size_requests()
{
    if (!size_requests_ || rigid_)
        return;
    for (int64_t i = between(1, 8); i > 0; i--)
        at(between(0, 200000), [this] {
            std::vector<Actor *> members;       /* adaptive processes that know it */
            for (auto &[uid, actor] : actors_) {
                if (actor->alive && !actor->leaves && actor->phase == PMI_ADAPT_PHASE_RUNNING)
                    members.push_back(actor.get());
            }
            if (members.empty())
                return;
            Actor &one =
                *members[static_cast<size_t>(between(0, static_cast<int64_t>(members.size()) - 1))];
            if (chance(0.25))
                return withdraw_size_request(one);
            make_size_request(one);
        });
}

/* Few different ones, so that some are the same. */
void SimulatedJob::make_size_request(Actor &actor)
{
    int size = static_cast<int>(between(1, 11));
    SizeRequestReport size_request{actor.rank, ++actor.size_requests,    size, size, size,
                                   0,          chance(0.3) ? "grid" : ""};
    if (chance(0.4))
        size_request.size_min = static_cast<int>(between(1, size));
    if (chance(0.3))
        size_request.size_max = size + static_cast<int>(between(0, 3));
    if (chance(0.3))
        size_request.until_ms = static_cast<uint64_t>(1700000000000 + now_ms() + between(1, 60));
    own_slot_requests_[actor.uid].insert(actor.size_requests);
    note("process " + std::to_string(actor.uid) + " wishes for " + std::to_string(size));
    report(actor.agent, REPORT_WISH, 0, write_slot_request(size_request));
    if (!chance(0.3))
        return;
    for (auto &[uid, other] : actors_) {        /* of all processes */
        if (!other->alive || other->leaves || other->phase != PMI_ADAPT_PHASE_RUNNING ||
            other.get() == &actor)
            continue;
        SizeRequestReport same = size_request;
        same.rank = other->rank;
        same.number = ++other->size_requests;
        own_slot_requests_[uid].insert(other->size_requests);
        report(other->agent, REPORT_WISH, 0, write_slot_request(same));
    }
}

void SimulatedJob::withdraw_size_request(Actor &actor)
{
    if (actor.size_requests > 0)
        report(actor.agent, REPORT_WISH_WITHDRAWN, 0,
               write_size_request_withdrawal(
                   {actor.rank, static_cast<uint32_t>(between(1, actor.size_requests))}));
}

void SimulatedJob::wished(Daemon &daemon, const std::string &payload)
{
    request_ended head;
    if (payload.size() < sizeof head)
        return broken("end of a wish is too short");
    std::memcpy(&head, payload.data(), sizeof head);
    for (uint32_t k = 0; k < head.holders; k++) {
        request_holder holder;
        std::memcpy(&holder, payload.data() + sizeof head + k * sizeof holder, sizeof holder);
        const Actor &actor = *actors_.at(holder.uid);
        if (actor.agent == daemon.agent && own_slot_requests_[holder.uid].erase(holder.number) == 0)
            broken("wish " + std::to_string(holder.number) + " of process " +
                   std::to_string(holder.uid) + " ends twice, or was never made");
        if (holder.uid == modify_.uid && holder.number == modify_.number &&
            head.state != PMI_ADAPT_WISH_GRANTED)
            modify_.over = true;        /* rank 0 notifies the others */
    }
}

/* ---- MPIX_Comm_modify -------------------------------------------------------------------------------- */

/* Collective: nobody goes on before all have come. */
void SimulatedJob::call_modify(Actor &actor)
{
    actor.modified = true;
    actor.phase = PMI_ADAPT_PHASE_RUNNING;
    if (rigid_)
        report(actor.agent, REPORT_INIT, 0,
               write_init({actor.rank, false, "addr" + std::to_string(actor.uid), 0, true}));
    modify_.again = modify_.again || daemon(actor.agent).agreed == actor.epoch + 1;
    modify_.arrived.insert(actor.uid);
    const std::vector<uint32_t> world = worlds_.at(actor.epoch);
    if (modify_.arrived.size() < world.size())
        return;
    for (uint32_t uid : world) {
        Actor *each = actors_.at(uid).get();
        after(delay_us(), [this, each, queries = uid == world.front()] {
            if (each->alive && queries && !modify_.again)
                request_modify(*each);
            await_modify(*each);
        });
    }
}

void SimulatedJob::request_modify(Actor &actor)
{
    int size = static_cast<int>(worlds_.at(actor.epoch).size());
    int wanted = size > 1 && chance(0.4) ? size - static_cast<int>(between(1, size - 1))
                                         : size + static_cast<int>(between(1, 3));
    modify_.uid = actor.uid;
    modify_.number = ++actor.size_requests;
    own_slot_requests_[actor.uid].insert(modify_.number);
    note("process " + std::to_string(actor.uid) + " requests " + std::to_string(wanted));
    report(actor.agent, REPORT_WISH, 0,
           write_slot_request({actor.rank, modify_.number, wanted, wanted, wanted, 0, "", true}));
}

/* At its board, without reading the count. */
void SimulatedJob::await_modify(Actor &actor)
{
    if (!actor.alive)
        return;
    Daemon &board = daemon(actor.agent);
    bool is_there = board.plan_epoch == actor.epoch + 1 && board.plan.modify;
    if (is_there)
        lookahead(actor);
    if (is_there && board.agreed == actor.epoch + 1) {
        outcome_.modified++;
        windows_[board.plan.request].work_left = actor.work_left;
        actor.phase = PMI_ADAPT_PHASE_TOLD;
        return after(delay_us(), [this, &actor] { enter_window(actor); });
    }
    if (modify_.again || modify_.over) {
        outcome_.not_modified++;
        return compute(actor);
    }
    after(between(50, 2000), [this, &actor] { await_modify(actor); });
}

void SimulatedJob::check_size_request(const std::string &name, const Json &event)
{
    uint64_t number = event.at("wish");
    if (name == "wish") {
        if (!open_slot_requests_.empty())
            broken("two wishes are open");
        if (number != last_size_request_ + 1)
            broken("wishes are not numbered one after the other");
        last_size_request_ = number;
        open_slot_requests_[number] = event;
        return;
    }
    auto open = open_slot_requests_.find(number);
    if (open == open_slot_requests_.end())
        return broken("wish " + std::to_string(number) + " ends twice, or was never made");
    std::string result = event.at("result");
    (result == "granted"   ? outcome_.requests_granted
     : result == "refused" ? outcome_.requests_refused
                           : outcome_.requests_withdrawn)++;
    bool allowed = event.at("size") >= open->second.at("size_min") &&
                   event.at("size") <= open->second.at("size_max");
    if (result == "granted" && !allowed)
        broken("a wish is granted with a size that it does not allow: " + event.dump());
    if (result != "granted" && event.at("reason").get<std::string>().empty())
        broken("a size request is not granted, without a reason");
    open_slot_requests_.erase(open);
}

/* ---- clients -------------------------------------------------------------------------------------- */

void SimulatedJob::send_request(int client, const Json &request)
{
    note("client " + std::to_string(client) + ": " + request.dump());
    stepmgr_client_line(core_, now_ms(), client, request.dump().c_str());
}

void SimulatedJob::random_request(int client)
{
    int kind = static_cast<int>(between(0, 9));
    if (kind == 0)
        return send_request(client, {{"id", 1}, {"op", "events"}, {"follow", true}});
    if (kind == 1)
        return stepmgr_client_disconnected(core_, client);
    if (kind <= 3)
        return send_request(client, {{"id", 2}, {"op", "cancel"}});
    Json request = {{"id", 3}, {"op", "resize"}, {"size", between(0, 10)}, {"wait", chance(0.5)}};
    if (chance(0.3))
        request["leave"] = {between(0, 9)};
    if (chance(0.3))
        request["hosts"] = {"b"};
    if (chance(0.2))
        request["if_epoch"] = between(0, 2);
    if (chance(0.2))
        request["deadline_ms"] = 1700000000000 + now_ms() + between(-1, 30);
    send_request(client, request);
}

/* ---- effects ---------------------------------------------------------------------------------------- */

int SimulatedJob::launch(void *context, uint32_t epoch, int count, int /* program */, int pre,
                         uint32_t first_uid, int modify, const char *const *hosts, int n_hosts,
                         int *group, char *error, size_t error_bytes)
{
    SimulatedJob &job = self(context);
    if (pre != static_cast<int>(job.worlds_.at(job.committed_epoch_).size()))
        job.broken("launch gets a wrong size");
    if (job.launch_may_fail_ && job.chance(0.3)) {
        snprintf(error, error_bytes, "no capacity");
        return -1;
    }
    job.outcome_.launches++;
    *group = job.next_group_++;
    if (modify)
        job.modify_groups_.insert(*group);
    job.group_request_[*group] = epoch;
    std::vector<std::string> names(hosts, hosts + n_hosts);
    if (names.empty())
        names = job.host_names_;
    job.after(job.delay_us(), [&job, group = *group, epoch, count, first_uid, names] {
        job.start_group(group, epoch, first_uid, count, names);
        std::vector<step_process> processes;
        for (int i = 0; i < count; i++) {
            const Actor &actor = *job.actors_.at(first_uid + static_cast<uint32_t>(i));
            processes.push_back({actor.agent.proxy, actor.host.c_str()});
        }
        bool killed = job.groups_killed_.contains(group) || job.killing_;
        stepmgr_group(job.core_, job.now_ms(), group, count, processes.data());
        for (int i = 0; i < count; i++) {
            Actor *actor = job.actors_.at(first_uid + static_cast<uint32_t>(i)).get();
            if (killed)
                job.end(*actor, STATUS_KILLED);
            else
                job.after(job.delay_us(), [&job, actor] { job.initialise(*actor); });
        }
    });
    return 0;
}

void SimulatedJob::kill_group(void *context, int group)
{
    SimulatedJob &job = self(context);
    job.note("group " + std::to_string(group) + " is removed");
    if (!job.groups_killed_.insert(group).second)
        job.broken("group is removed twice");
    job.after(job.delay_us(), [&job, group] {
        for (auto &[uid, actor] : job.actors_) {
            if (actor->alive && actor->group == group)
                job.end(*actor, STATUS_KILLED);
        }
    });
}

void SimulatedJob::abort_step(void *context, const char *reason)
{
    SimulatedJob &job = self(context);
    job.note(std::string("abort: ") + reason);
    job.outcome_.aborts++;
    job.after(job.delay_us(), [&job] { job.kill_everybody(); });
}

void SimulatedJob::send(void *context, const step_agent *to, int n, step_command command,
                        uint32_t epoch, const void *payload, size_t bytes)
{
    for (int i = 0; i < n; i++)
        self(context).send_to({to[i].group, to[i].proxy}, command, epoch,
                              {static_cast<const char *>(payload), bytes});
}

void SimulatedJob::send_to(const Agent &agent, step_command command, uint32_t epoch,
                           const std::string &payload)
{
    note("send " + std::to_string(command) + " to " + std::to_string(agent.group) + "." +
         std::to_string(agent.proxy) + " epoch " + std::to_string(epoch));
    if (disconnected_.contains(agent) || !daemons_.contains(agent))
        return broken("message to a daemon that has disconnected");
    if (groups_killed_.contains(agent.group))
        broken("message to a group that was removed");
    if (command == STEP_TARGET)
        target_epoch_ = epoch;
    Daemon &to = daemon(agent);
    to.last_down_us = std::max(to.last_down_us, now_us_ + delay_us());
    at(to.last_down_us, [this, &to, command, epoch, request = open_request_, payload] {
        receive(to, command, epoch, request, payload);
    });
}

void SimulatedJob::reply(void *context, int client, const char *line)
{
    SimulatedJob &job = self(context);
    job.note("to client " + std::to_string(client) + ": " + line);
    Json answer = Json::parse(line, nullptr, false);
    if (!answer.is_object())
        job.broken("reply is not an object");
    if (answer.contains("error"))
        job.outcome_.refused++;
}

void SimulatedJob::log(void *context, const char *line)
{
    SimulatedJob &job = self(context);
    job.note(line);
    Json event = Json::parse(line, nullptr, false);
    if (!event.is_object())
        return job.broken("log line is not an object");
    job.check_event(event);
}

void SimulatedJob::notify_user(void *context, const char *text)
{
    SimulatedJob &job = self(context);
    job.note(std::string("user: ") + text);
    if (std::strstr(text, "internal error"))
        job.broken(text);
}

void SimulatedJob::wake_at(void *context, int64_t time_ms)
{
    SimulatedJob &job = self(context);
    uint64_t number = ++job.wake_number_;
    if (time_ms < 0)
        return;
    job.at(std::max(job.now_us_, time_ms * 1000), [&job, number] {
        if (number == job.wake_number_)
            stepmgr_time(job.core_, job.now_ms());
    });
}

/* ---- events of the journal ---------------------------------------------------------------------- */

void SimulatedJob::check_event(const Json &event)
{
    std::string name = event.at("event");
    if (name == "unexpected" && outcome_.accidents == 0)
        broken("something unexpected: " + event.dump());
    if (name == "behind")
        outcome_.behind++;
    if (name == "wish" || name == "wish_ended")
        check_size_request(name, event);
    if (name == "requested") {
        if (open_request_ != 0)
            broken("adaptations nest");
        if (rigid_ && event.at("source") != "program")
            broken("a rigid job is offered an adaptation");
        open_request_ = event.at("request");
        if (requests_.contains(open_request_))
            broken("request number used twice");
        requests_[open_request_] = "";
    }
    if (name == "freed") {
        outcome_.freed++;
        if (departing_.erase(event.at("epoch").get<uint32_t>()) == 0)
            broken("freed without a reason");
        for (const Json &uid : event.at("uids")) {
            if (actors_.at(uid.get<uint32_t>())->alive)
                broken("freed before process " + uid.dump() + " ended");
        }
    }
    bool is_end = name == "committed" || name == "withdrawn" || name == "failed";
    if (!is_end)
        return;
    uint64_t request = event.at("request");
    if (request != open_request_ || !requests_[request].empty())
        broken("request ends twice, or without having begun");
    requests_[request] = name;
    open_request_ = 0;
    (name == "committed"   ? outcome_.committed
     : name == "withdrawn" ? outcome_.withdrawn
                           : outcome_.failed)++;
    if (name != "committed")
        return;
    if (event.at("epoch") != committed_epoch_ + 1)
        broken("epochs do not follow each other");
    committed_epoch_++;
    if (!event.at("leaving").empty())
        departing_[committed_epoch_] = event.at("leaving").size();
    if (event.at("size") != worlds_[committed_epoch_].size())
        broken("size of the new world is wrong");
    check_world();
}

void SimulatedJob::check_end()
{
    note("end");
    if (!queue_.empty())
        broken("the job does not come to an end");
    if (open_request_ != 0)
        broken("request " + std::to_string(open_request_) + " has no end");
    if (!open_slot_requests_.empty())
        broken("wish " + std::to_string(open_slot_requests_.begin()->first) + " has no end");
    for (const auto &[uid, actor] : actors_) {
        if (actor->alive)
            broken("process " + std::to_string(uid) + " is left behind, in phase " +
                   std::to_string(actor->phase));
    }
    if (outcome_.accidents > 0)
        return;
    if (outcome_.aborts > 0)
        broken("the job was aborted without an accident");
    if (!departing_.empty())
        broken("a node was not reported as free");
    for (const auto &[group, epoch] : group_request_) {
        bool member = std::any_of(actors_.begin(), actors_.end(), [&](const auto &entry) {
            return entry.second->group == group && !entry.second->joining;
        });
        if (!member && !groups_killed_.contains(group))
            broken("group " + std::to_string(group) + " neither joined nor was removed");
    }
}

}  // namespace elastic
