/* See psets.h: the table, changes, sets made by operations, calls. */

#include "stepmgr/psets/psets.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include "stepmgr/psets/psets_errors.h"

namespace elastic {

using namespace psets_errors;

namespace {

bool begins_with(const std::string &name, const char *prefix)
{
    return strncasecmp(name.c_str(), prefix, std::strlen(prefix)) == 0;
}

bool is_library_name(const std::string &name)
{
    return begins_with(name, "mpi://") || begins_with(name, "mpix://") ||
           begins_with(name, "mpidynres://");
}

/* SN3: two spellings of one name. */
std::string canonical(const std::string &name)
{
    for (const char *kind : {"op", "rc"}) {
        std::string prefix = std::string("mpidynres://") + kind + "_";
        if (name.starts_with(prefix))
            return std::string("mpix://") + kind + "/" + name.substr(prefix.size());
    }
    return name;
}

}  // namespace

bool is_user_set_name(const std::string &name)
{
    size_t colon = name.find("://");
    return name.size() <= PMI_SET_NAME_MAX && colon != std::string::npos && colon > 0 &&
           colon + 3 < name.size() &&
           std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; }) &&
           !is_library_name(name);
}

/* ---- the table ------------------------------------------------------------------------------- */

Sets::Set *Sets::find(const std::string &name)
{
    auto found = sets_.find(canonical(name));
    if (found != sets_.end())
        return found->second.get();
    auto world = std::ranges::find(worlds_, name, [](const auto &set) { return set->name; });
    return world == worlds_.end() ? nullptr : world->get();
}

bool Sets::add(const std::string &name, const SetMembers &members)
{
    if (find(name) || !has_capacity(1, members.runs().size()))
        return false;
    Set set;
    set.members = members;
    make({}, name, std::move(set));
    return true;
}

void Sets::add_world(uint32_t epoch, SetMembers members)
{
    auto set = std::make_unique<Set>();
    set->id = ++last_id_;
    set->name = "mpix://WORLD/" + std::to_string(epoch);
    set->members = std::move(members);
    worlds_runs_ += set->members.runs().size();
    worlds_.push_back(std::move(set));
    while (worlds_.size() > 1 &&
           (worlds_.size() > limits_.worlds || worlds_runs_ > limits_.worlds_runs)) {
        worlds_runs_ -= worlds_.front()->members.runs().size();
        outdate(*worlds_.front());
        drop_lookups(*worlds_.front());
        worlds_.pop_front();
    }
}

SetMembers Sets::running() const
{
    std::vector<SetMembers::Run> runs;
    uint32_t at = 0;
    Uids others = ended_;
    others.insert(proposed_.begin(), proposed_.end());
    others.insert(starting_.begin(), starting_.end());
    for (uint32_t uid : others) {
        if (at < uid)
            runs.push_back({at, uid - at});
        at = uid + 1;
    }
    if (at < next_uid_)
        runs.push_back({at, next_uid_ - at});
    return SetMembers::of_runs(runs).value_or(SetMembers());
}

/* SO9: no process can be in a call on a set whose members have all disconnected.  Such a set may
 * still be an operand (SO4), so the latest `keep` of them remain.  The number of sets that may be
 * added before the next check is proportional to the number of remaining sets, so the cost of
 * checks for each new set is constant. */
void Sets::drop_disconnected(size_t keep)
{
    std::vector<Set *> disconnected;
    times_queried_++;
    for (const auto &[serial, set] : by_serial_) {
        if (set->id == open_delta_ || set->members.first_without(ended_) != UINT32_MAX)
            continue;
        if (set->disconnected == 0)
            set->disconnected = times_queried_;
        disconnected.push_back(set);
    }
    std::ranges::stable_sort(disconnected, {}, [](const Set *set) { return set->disconnected; });
    for (size_t i = 0; i + keep < disconnected.size(); i++)
        erase(std::string(disconnected[i]->name), "ended");
    next_lookup_ = sets_.size() + std::max(size_t{64}, sets_.size() / 4);
}

bool Sets::has_capacity(size_t sets, size_t runs)
{
    if (grant_) {
        sets += grant_->end - grant_->next;
        runs += (grant_->end - grant_->next) * PMI_SET_GRANT_RUNS;
    }
    auto fits = [&] { return sets_.size() + sets <= limits_.sets && runs_ + runs <= limits_.runs; };
    if (sets_.size() >= next_lookup_)
        drop_disconnected(limits_.disconnected);
    if (!fits())
        drop_disconnected(0);
    return fits();
}

/* SL2, SO3: a set with a living process remains until a process frees it. */
std::string Sets::full_error() const
{
    std::string oldest =
        by_serial_.empty() ? "" : ", the oldest of which is " + by_serial_.begin()->second->name;
    return full("no capacity is left: this job has " + std::to_string(sets_.size()) +
                " process sets" + oldest +
                ": free those that are not used any more (MPIX_Session_pset_free)");
}

/* SN6; "" for no members.  There is capacity. */
std::string Sets::make(const Caller &caller, const std::string &proposed, Set set)
{
    if (set.members.empty())
        return "";
    set.name =
        is_user_set_name(proposed) && !find(proposed)
            ? proposed
            : "mpix://op/" + std::to_string(caller.uid) + "." + std::to_string(++made_[caller.uid]);
    std::string name = set.name;
    insert(std::move(set));
    return name;
}

void Sets::insert(Set set)
{
    set.id = ++last_id_;
    set.serial = ++serial_;
    runs_ += set.members.runs().size();
    std::string name = set.name;
    auto &slot = sets_[name];
    slot = std::make_unique<Set>(std::move(set));
    by_serial_[slot->serial] = slot.get();
    changes_.push_back({"set_made", name, slot->serial, slot->members});
}

void Sets::erase(const std::string &name, const char *why)
{
    auto found = sets_.find(name);
    outdate(*found->second);
    changes_.push_back({"set_freed", name, found->second->serial, found->second->members, why});
    by_serial_.erase(found->second->serial);
    drop_lookups(*found->second);
    runs_ -= found->second->members.runs().size();
    sets_.erase(found);
    serial_++;
}

/* No further queries together with the processes of this set are possible.  Processes that have
 * queried and wait still get replies. */
void Sets::drop_lookups(const Set &set)
{
    std::string who = std::to_string(set.id);
    bcasts_.discard(who);
    lookups_.erase(who);
    for (auto next = rounds_.lower_bound({who, 0});
         next != rounds_.end() && next->first.first == who;) {
        next->second.pending_from = 0;
        next = next->second.answer ? rounds_.erase(next) : std::next(next);
    }
}

/* ---- changes --------------------------------------------------------------------------------- */

void Sets::propose(uint32_t first_uid, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        proposed_.insert(first_uid + i);
}

void Sets::start_proposed()
{
    starting_.merge(proposed_);
    notified_ = UINT32_MAX;
}

std::string Sets::add_delta(uint32_t tag, pmi_set_op kind, SetMembers members)
{
    if (!has_capacity(1, members.runs().size()))
        return "";
    Set set;
    set.name = "mpix://rc/" + std::to_string(tag);
    set.members = std::move(members);
    set.op = kind;
    set.operands = {std::to_string(tag)};
    std::string name = set.name;
    insert(std::move(set));
    open_delta_ = last_id_;
    delta_state_ = DeltaState::OFFERED;
    return name;
}

std::vector<Sets::Reply> Sets::erase_delta(const char *why)
{
    std::vector<Reply> replies;
    auto delta = std::ranges::find_if(
        sets_, [&](const auto &entry) { return entry.second->id == open_delta_; });
    open_delta_ = 0;
    if (delta != sets_.end())
        erase(std::string(delta->first), why);
    lookup_again(replies);
    return replies;
}

std::vector<Sets::Reply> Sets::free_delta()
{
    return erase_delta("declined");
}

std::vector<Sets::Reply> Sets::delta_over()
{
    if (open_delta_ != 0 && delta_state_ == DeltaState::FREED)
        return erase_delta("freed");
    open_delta_ = 0;
    return {};
}

std::optional<SetMembers> Sets::resolve_operand(const SetOperand &operand, std::string &error)
{
    SetMembers all;
    Operands of;
    error = resolve(std::span(&operand, 1), all, of);
    return error.empty() ? std::optional(*of.front()) : std::nullopt;
}

/* A process that has not started makes a set wait; a disconnected one ends it. */
pmi_set_state Sets::state_of(const SetMembers &members) const
{
    return members.any_of(ended_)      ? PMI_SET_ENDED
           : members.any_of(proposed_) ? PMI_SET_PROPOSED
           : members.any_of(starting_) ? PMI_SET_STARTING
                                       : PMI_SET_RUNNING;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* The members of the operands, or the error.  `all`: capacity for mpix://ALL. */
std::string Sets::resolve(std::span<const SetOperand> operands, SetMembers &all, Operands &members)
{
    size_t runs = 0;
    for (const SetOperand &operand : operands) {
        const Set *set = operand.members ? nullptr : find(operand.name);
        if (operand.members && !is_of_job(*operand.members))
            return foreign();
        if (!operand.members && operand.name == ALL)
            all = running();
        else if (!operand.members && !set)
            return unknown(operand.name);
        members.push_back(operand.members ? &*operand.members : set ? &set->members : &all);
        runs += members.back()->runs().size();
    }
    return runs > limits_.operands_runs
               ? full("these process sets are too irregular for one operation")
               : "";
}

bool Sets::is_of_job(const SetMembers &members) const
{
    return members.empty() || members.greatest() < next_uid_;
}

std::optional<std::string> Sets::answer(const Caller &caller, const MakeSets &call)
{
    SetMembers all;
    Operands of;
    std::vector<SetMembers> results;
    if (call.operands.empty())
        return SetAnswer::wrong("an operation needs an operand");
    if (std::string error = resolve(call.operands, all, of); !error.empty())
        return error;
    if (call.op == PMI_SET_OP_UNION) {
        auto sum = SetMembers::union_of(of);
        if (!sum)
            return full("a set has at most " + std::to_string(SetMembers::MAX) + " processes");
        results.push_back(std::move(*sum));
    } else if (call.op == PMI_SET_OP_INTERSECTION) {
        results.push_back(SetMembers::intersection_of(of));
    } else if (call.op == PMI_SET_OP_DIFFERENCE) {
        results.push_back(SetMembers::difference_of(of));
    } else if (call.op == PMI_SET_OP_SPLIT && of.size() == 1) {
        auto sum = std::accumulate(call.parts.begin(), call.parts.end(), uint64_t{0});
        if (sum != of.front()->size())
            return SetAnswer::wrong("the parts have " + std::to_string(sum) + " processes, " +
                         call.operands.front().name + " has " + std::to_string(of.front()->size()));
        results = of.front()->split(call.parts);
    } else {
        return SetAnswer::wrong(call.op == PMI_SET_OP_SPLIT ? "one set can be split at a time"
                                                 : "no such operation");
    }
    size_t runs = 0;
    for (const SetMembers &members : results)
        runs += members.runs().size();
    if (!has_capacity(results.size(), runs))
        return full_error();
    SetAnswer made;
    std::vector<std::string> names;
    made.number(results.size());
    for (SetMembers &members : results) {
        Set set;
        set.members = std::move(members);
        set.op = call.op;
        for (const SetOperand &operand : call.operands)
            set.operands.push_back(operand.name);
        names.push_back(make(caller, call.proposed, std::move(set)));
        made.text(names.back());
    }
    if (call.lookups)
        write_made(caller, names, made);
    return made.bytes();
}

std::optional<std::string> Sets::answer(const Caller &caller, const MakeFromList &call)
{
    if (!is_of_job(call.members))
        return foreign();
    if (!has_capacity(1, call.members.runs().size()))
        return full_error();
    Set set;
    set.members = call.members;
    std::string name = make(caller, call.proposed, std::move(set));
    SetAnswer made;
    made.text(name);
    if (call.lookups)
        write_made(caller, std::span(&name, 1), made);
    return made.bytes();
}

/* ---- calls ----------------------------------------------------------------------------------- */

std::vector<Sets::Reply> Sets::call(const Caller &caller, Bytes bytes,
                                    std::span<const uint32_t> neighbours)
{
    std::vector<Reply> replies;
    auto call = parse_set_call(bytes);
    if (!call)
        return {
            {caller, SetAnswer::wrong(
                         "the call is malformed, or a name in it has more than 254 characters")}};
    bool may_end_waiting = std::holds_alternative<PutData>(*call) ||
                           std::holds_alternative<MoveSet>(*call) ||
                           std::holds_alternative<FreeSet>(*call);
    if (auto text = std::visit([&](const auto &known) { return answer(caller, known); }, *call))
        replies.push_back({caller, std::move(*text)});
    if (auto shared = std::exchange(shared_, std::nullopt))
        share(*shared, neighbours, replies.back());
    if (may_end_waiting)
        lookup_again(replies);
    std::ranges::move(bcasts_.take_replies(), std::back_inserter(replies));
    std::ranges::move(rendezvous_.take_replies(), std::back_inserter(replies));
    return replies;
}

std::vector<Sets::Reply> Sets::ended(uint32_t uid)
{
    std::vector<Reply> replies;
    if (!ended_.insert(uid).second)
        return replies;
    outdated_ = outdated_ || !caching_.empty();     /* any set may contain it */
    proposed_.erase(uid);
    starting_.erase(uid);
    bcs_.disconnected(uid);
    if (!sets_.empty())
        serial_++;
    for (auto &[key, round] : rounds_) {
        if (round.pending_from > 0 && !round.requested.contains(uid) && round.callers.contains(uid))
            round.pending_from--;
    }
    lookup_again(replies);
    bcasts_.without(uid, ended_);
    rendezvous_.without(uid);
    std::ranges::move(bcasts_.take_replies(), std::back_inserter(replies));
    std::ranges::move(rendezvous_.take_replies(), std::back_inserter(replies));
    return replies;
}

}  // namespace elastic
