/* See simulated_job.h: proxies and processes. */

#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>

#include "wire/request_messages.h"
#include "stepmgr/sim/simulated_parts.h"

namespace elastic {

/* ---- proxies --------------------------------------------------------------------------------- */

void SimulatedJob::to_core(const ProxyId &proxy_id, std::function<void()> deliver)
{
    Proxy &from = proxy(proxy_id);
    from.last_up_us = std::max(from.last_up_us, now_us_ + delay_us());
    at(from.last_up_us, [this, proxy_id, deliver] {
        if (!disconnected_.contains(proxy_id))
            deliver();
    });
}

void SimulatedJob::report(const ProxyId &proxy_id, step_report kind, uint32_t epoch,
                          const std::string &payload)
{
    to_core(proxy_id, [this, proxy_id, kind, epoch, payload] {
        note("report " + std::to_string(kind) + " of " + std::to_string(proxy_id.group) + "." +
             std::to_string(proxy_id.number) + " epoch " + std::to_string(epoch));
        stepmgr_report(core_, now_ms(), proxy_id.group, proxy_id.number, kind, epoch,
                       payload.data(), payload.size());
    });
}

void SimulatedJob::receive(Proxy &proxy, step_command command, uint32_t epoch,
                           uint64_t request, const std::string &payload)
{
    if (proxy.disconnected || proxy.over)
        return;
    if (proxy.busy) {          /* with a freeze; commands keep their order */
        proxy.held.push_back([=, this, &proxy] {
            receive(proxy, command, epoch, request, payload);
        });
        return;
    }
    uint64_t number = 0;
    if (payload.size() == sizeof number)
        std::memcpy(&number, payload.data(), sizeof number);
    switch (command) {
        case STEP_PLAN:
            return store_plan(proxy, request, payload);
        case STEP_FREEZE:
            return freeze(proxy, epoch, number);
        case STEP_TARGET:
            proxy.limit = number;
            proxy.agreed = epoch;
            return wake(proxy);
        case STEP_THAW:
            proxy.limit = PMI_ADAPT_GATE_OPEN;
            proxy.plan_epoch = 0;
            return wake(proxy);
        case STEP_RELEASE:
            proxy.limit = proxy.gate = PMI_ADAPT_GATE_OPEN;
            proxy.epoch = proxy.released = epoch;
            proxy.plan_epoch = 0;
            proxy.committed = 0;
            return wake(proxy);
        case STEP_COUNTS:
            return count(proxy, epoch);
        case STEP_PERFORMANCE:
        case STEP_SETS:
        case STEP_SET_ANSWER:
        case STEP_BCAST:
        case STEP_LET_GO:
        case STEP_OFFER:
        case STEP_INVALIDATE:
        case STEP_TASK:
        case STEP_SYNC:
        case STEP_BREAK:
        case STEP_BY_SETS:
        case STEP_STARTS:
        case STEP_COMES:
        case STEP_SET_SHARED:
            return;             /* no process queries */
        case STEP_SIZE_REQUEST_ENDED:
            return size_request_ended(proxy, payload);
    }
}

void SimulatedJob::store_plan(Proxy &proxy, uint64_t request, const std::string &payload)
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
    proxy.plan = plan;
    proxy.plan_epoch = header.epoch;
    proxy.gate = PMI_ADAPT_GATE_SHUT;
    proxy.participants = 0;
    for (const Actor *actor : proxy.actors)
        proxy.participants += static_cast<size_t>(
            std::count(plan.uids.begin(), plan.uids.end(), actor->uid));
    for (Actor *actor : proxy.actors) {
        if (actor->alive && actor->phase == PMI_ADAPT_PHASE_JOINING)
            after(delay_us(), [this, &proxy, actor] { prepare(proxy, *actor); });
    }
}

void SimulatedJob::prepare(Proxy &proxy, Actor &actor)
{
    if (!actor.alive)
        return;
    actor.prepared = true;
    bool all = std::all_of(proxy.actors.begin(), proxy.actors.end(),
                           [](const Actor *other) { return other->prepared; });
    if (all)
        for (step_report what : {REPORT_PREPARED, REPORT_GREETED})
            report(proxy.id, what, proxy.plan.epoch, "");
    enter_window(actor);
}

/* A pre-existing process, in its first probe that finds the plan. */
void SimulatedJob::lookahead(Actor &actor)
{
    Proxy &board = proxy(actor.proxy_id);
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
        report(board.id, REPORT_PREPARED, board.plan_epoch, "");
}

/* Shutting the limit and reading the counts are two moments. */
void SimulatedJob::freeze(Proxy &proxy, uint32_t epoch, uint64_t margin)
{
    proxy.limit = proxy.gate = PMI_ADAPT_GATE_SHUT;
    proxy.busy = true;
    after(between(0, 20), [this, &proxy, epoch, margin] {
        if (proxy.disconnected)
            return;
        uint64_t highest = 0;
        for (const Actor *actor : proxy.actors)
            highest = std::max(highest, actor->count);
        proxy.limit = highest + (margin ? margin : static_cast<uint64_t>(between(1, 8)));
        wake(proxy);
        report(proxy.id, REPORT_FROZEN, epoch, write_number(proxy.limit));
        proxy.busy = false;
        auto held = std::exchange(proxy.held, {});
        for (auto &command : held)
            command();
    });
}

void SimulatedJob::count(Proxy &proxy, uint32_t epoch)
{
    std::vector<CountReport> counts;
    for (const Actor *actor : proxy.actors)
        counts.push_back({actor->rank, actor->phase, actor->count, 0});
    report(proxy.id, REPORT_COUNTS, epoch, write_counts(counts));
}

void SimulatedJob::wake(Proxy &proxy)
{
    for (Actor *actor : proxy.actors) {
        if (actor->alive && actor->phase == PMI_ADAPT_PHASE_WAITING)
            after(between(0, 50), [this, actor] {
                if (actor->alive && actor->phase == PMI_ADAPT_PHASE_WAITING)
                    check_closer(*actor);
            });
        if (actor->alive && actor->leaves && proxy.released >= actor->epoch)
            leave(*actor);
    }
}

void SimulatedJob::check_proxy_over(Proxy &proxy)
{
    bool all = std::none_of(proxy.actors.begin(), proxy.actors.end(),
                            [](const Actor *actor) { return actor->alive; });
    if (!all || proxy.over || proxy.disconnected)
        return;
    proxy.over = true;
    to_core(proxy.id, [this, proxy_id = proxy.id] {
        note("proxy " + std::to_string(proxy_id.group) + "." + std::to_string(proxy_id.number) +
             " ends");
        disconnected_.insert(proxy_id);
        stepmgr_proxy_disconnected(core_, now_ms(), proxy_id.group, proxy_id.number);
    });
}

/* The host of the proxy has failed: no reports, only a broken connection. */
void SimulatedJob::lose_proxy(Proxy &proxy)
{
    if (proxy.disconnected || proxy.over)
        return;
    note("proxy " + std::to_string(proxy.id.group) + "." +
         std::to_string(proxy.id.number) + " has disconnected");
    proxy.disconnected = true;
    for (Actor *actor : proxy.actors)
        actor->alive = false;
    after(delay_us(), [this, proxy_id = proxy.id] {
        bool ours = stepmgr_owns_failure(core_, proxy_id.group) == 0;
        disconnected_.insert(proxy_id);
        stepmgr_proxy_disconnected(core_, now_ms(), proxy_id.group, proxy_id.number);
        if (ours)
            after(delay_us(), [this] { kill_everybody(); });
    });
}

/* ---- processes ------------------------------------------------------------------------------- */

void SimulatedJob::initialise(Actor &actor)
{
    if (!actor.alive)
        return;
    std::string bc = "addr" + std::to_string(actor.uid);
    report(actor.proxy_id, REPORT_INIT, 0,
           write_init({actor.rank, modify_groups_.contains(actor.group) ? REPORT_MODE_MODIFY
                                   : rigid_                             ? REPORT_MODE_RIGID
                                                                        : REPORT_MODE_ADAPTIVE,
                       0, bc}));
    if (!actor.joining) {
        actor.phase = PMI_ADAPT_PHASE_RUNNING;
        return compute(actor);
    }
    after(delay_us(), [this, &actor] {
        if (!actor.alive)
            return;
        actor.phase = PMI_ADAPT_PHASE_JOINING;
        report(actor.proxy_id, REPORT_READY, group_request_.at(actor.group),
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
    if (actor.count < proxy(actor.proxy_id).gate || rigid_) {
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
    const Proxy &board = proxy(actor.proxy_id);
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
    const Plan &plan = proxy(actor.proxy_id).plan;
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
    const Plan plan = proxy(actor.proxy_id).plan;
    after(delay_us(), [this, &actor, plan] { arrive_at_commit(actor, plan); });
}

/* Collective over all participants, which return one by one. */
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
    Proxy &board = proxy(actor.proxy_id);
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
        report(actor.proxy_id, REPORT_COMMITTED, plan.epoch, "");
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
    report(actor.proxy_id, REPORT_EXITED, 0, write_exited({actor.rank, wait_status}));
    bool accident = wait_status != 0 && !killing_;
    if (accident) /* Hydra's reaction, unless the step manager owns the failure */
        to_core(actor.proxy_id, [this, group = actor.group] {
            if (stepmgr_owns_failure(core_, group) == 0)
                after(delay_us(), [this] { kill_everybody(); });
        });
    check_proxy_over(proxy(actor.proxy_id));
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

/* Compares the step manager's world with the members' view, once an epoch is committed
 * everywhere. */
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

}  // namespace elastic
