/* See simulated_job.h: size requests, MPIX_Comm_modify, events of the journal. */

#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>

#include "wire/request_messages.h"
#include "stepmgr/sim/simulated_parts.h"

namespace elastic {

/* ---- size requests --------------------------------------------------------------------------- */

void SimulatedJob::plan_size_requests()
{
    if (!size_requests_ || rigid_)
        return;
    for (int64_t i = between(1, 8); i > 0; i--)
        at(between(0, 200000), [this] {
            std::vector<Actor *> members;       /* adaptive processes of the world */
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

/* Makes only a few different requests, so that some are equal. */
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
    own_size_requests_[actor.uid].insert(actor.size_requests);
    note("process " + std::to_string(actor.uid) + " requests " + std::to_string(size));
    report(actor.proxy_id, REPORT_SIZE_REQUEST, 0, write_size_request(size_request));
    if (!chance(0.3))
        return;
    for (auto &[uid, other] : actors_) {        /* of all processes */
        if (!other->alive || other->leaves || other->phase != PMI_ADAPT_PHASE_RUNNING ||
            other.get() == &actor)
            continue;
        SizeRequestReport same = size_request;
        same.rank = other->rank;
        same.number = ++other->size_requests;
        own_size_requests_[uid].insert(other->size_requests);
        report(other->proxy_id, REPORT_SIZE_REQUEST, 0, write_size_request(same));
    }
}

void SimulatedJob::withdraw_size_request(Actor &actor)
{
    if (actor.size_requests > 0)
        report(actor.proxy_id, REPORT_SIZE_REQUEST_WITHDRAWN, 0,
               write_size_request_withdrawn(
                   {actor.rank, static_cast<uint32_t>(between(1, actor.size_requests))}));
}

void SimulatedJob::size_request_ended(Proxy &proxy, const std::string &payload)
{
    request_ended head;
    if (payload.size() < sizeof head)
        return broken("end of a size request is too short");
    std::memcpy(&head, payload.data(), sizeof head);
    for (uint32_t k = 0; k < head.holders; k++) {
        request_holder holder;
        std::memcpy(&holder, payload.data() + sizeof head + k * sizeof holder, sizeof holder);
        const Actor &actor = *actors_.at(holder.uid);
        if (actor.proxy_id == proxy.id && own_size_requests_[holder.uid].erase(holder.number) == 0)
            broken("request " + std::to_string(holder.number) + " of process " +
                   std::to_string(holder.uid) + " ends twice, or was never made");
        if (holder.uid == modify_.uid && holder.number == modify_.number &&
            head.state != PMI_ADAPT_REQUEST_GRANTED)
            modify_.over = true;        /* rank 0 notifies the others */
    }
}

/* ---- MPIX_Comm_modify ------------------------------------------------------------------------ */

/* Collective: no process continues before all have entered. */
void SimulatedJob::call_modify(Actor &actor)
{
    actor.modified = true;
    actor.phase = PMI_ADAPT_PHASE_RUNNING;
    if (rigid_)
        report(actor.proxy_id, REPORT_INIT, 0,
               write_init({actor.rank, REPORT_MODE_MODIFY, 0, "addr" + std::to_string(actor.uid)}));
    modify_.again = modify_.again || proxy(actor.proxy_id).agreed == actor.epoch + 1;
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
    own_size_requests_[actor.uid].insert(modify_.number);
    note("process " + std::to_string(actor.uid) + " requests " + std::to_string(wanted));
    report(actor.proxy_id, REPORT_SIZE_REQUEST, 0,
           write_size_request({actor.rank, modify_.number, wanted, wanted, wanted, 0, "", true}));
}

/* Waits at its board, without a count. */
void SimulatedJob::await_modify(Actor &actor)
{
    if (!actor.alive)
        return;
    Proxy &board = proxy(actor.proxy_id);
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
    uint64_t number = event.at(REQUEST_NUMBER);
    if (name == SIZE_REQUESTED) {
        if (!open_size_requests_.empty())
            broken("two size requests are open");
        if (number != last_size_request_ + 1)
            broken("size requests are not numbered one after the other");
        last_size_request_ = number;
        open_size_requests_[number] = event;
        return;
    }
    auto open = open_size_requests_.find(number);
    if (open == open_size_requests_.end())
        return broken("request " + std::to_string(number) + " ends twice, or was never made");
    std::string result = event.at("result");
    (result == "granted"   ? outcome_.requests_granted
     : result == "refused" ? outcome_.requests_refused
                           : outcome_.requests_withdrawn)++;
    bool allowed = event.at("size") >= open->second.at("size_min") &&
                   event.at("size") <= open->second.at("size_max");
    if (result == "granted" && !allowed)
        broken("a size request is granted with a size that it does not allow: " + event.dump());
    if (result != "granted" && event.at("reason").get<std::string>().empty())
        broken("a size request is not granted, without a reason");
    open_size_requests_.erase(open);
}

/* ---- events of the journal ------------------------------------------------------------------- */

void SimulatedJob::check_event(const Json &event)
{
    std::string name = event.at("event");
    if (name == "unexpected" && outcome_.accidents == 0)
        broken("something unexpected: " + event.dump());
    if (name == "behind")
        outcome_.stragglers++;
    if (name == SIZE_REQUESTED || name == SIZE_REQUEST_ENDED)
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
    if (!open_size_requests_.empty())
        broken("request " + std::to_string(open_size_requests_.begin()->first) + " has no end");
    for (const auto &[uid, actor] : actors_) {
        if (actor->alive)
            broken("process " + std::to_string(uid) + " is left over, in phase " +
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
