/* See psets.h. */

#include "stepmgr/psets/psets.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

namespace elastic {

namespace {

const char *const ALL = "mpix://ALL";
constexpr size_t LOOKUPS_MAX = 4;       /* in the answer to a call that makes sets */

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
        std::string published = std::string("mpidynres://") + kind + "_";
        if (name.starts_with(published))
            return std::string("mpix://") + kind + "/" + name.substr(published.size());
    }
    return name;
}

std::string unknown(const std::string &name)
{
    return SetAnswer::error(PMI_SET_UNKNOWN, "there is no process set " + name);
}

std::string full(const std::string &text)
{
    return SetAnswer::error(PMI_SET_FULL, text);
}

std::string member_ended(uint32_t uid, const std::string &of_what)
{
    return SetAnswer::error(PMI_SET_MEMBER_ENDED,
                            "process " + std::to_string(uid) + " of " + of_what + " has ended");
}

std::string foreign()
{
    return SetAnswer::error(PMI_SET_FOREIGN, "a process is not of this job");
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

/* ---- the table ------------------------------------------------------------------------------------------- */

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

/* SO9: nobody can be in a call on a set all of whose members have disconnected.  It may still be an operand (SO4), so
 * that those are kept that were seen to have come to that last.  How many sets may be added before the next look
 * follows the number of those that are left, so that the looks cost each set that is made a few steps, however many
 * there are. */
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

/* SL2, SO3: a set that holds a living process means something until that, or anybody, frees it. */
std::string Sets::full_error() const
{
    std::string oldest =
        by_serial_.empty() ? "" : ", the oldest of which is " + by_serial_.begin()->second->name;
    return full("no room is left beside the " + std::to_string(sets_.size()) +
                " process sets of this job" + oldest +
                ": free those that are not used any more (MPIX_Session_pset_free)");
}

/* SN6; "" for no members.  There is capacity. */
std::string Sets::make(const Caller &caller, const std::string &wished, Set set)
{
    if (set.members.empty())
        return "";
    set.name =
        is_user_set_name(wished) && !find(wished)
            ? wished
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

/* Nobody can query together with its processes any more; those who have queried and wait are answered yet. */
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

/* ---- changes ----------------------------------------------------------------------------------------------- */

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

/* A process that is not there yet makes a set wait, one that has disconnected ends it. */
pmi_set_state Sets::state_of(const SetMembers &members) const
{
    return members.any_of(ended_)      ? PMI_SET_ENDED
           : members.any_of(proposed_) ? PMI_SET_PROPOSED
           : members.any_of(starting_) ? PMI_SET_STARTING
                                       : PMI_SET_RUNNING;
}

/* ---- operations ------------------------------------------------------------------------------------------- */

/* What the operands are, or the error.  `all`: capacity for mpix://ALL. */
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
        names.push_back(make(caller, call.wished, std::move(set)));
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
    std::string name = make(caller, call.wished, std::move(set));
    SetAnswer made;
    made.text(name);
    if (call.lookups)
        write_made(caller, std::span(&name, 1), made);
    return made.bytes();
}

/* Of a state that only an end can change, all; that a set starts, and runs then, is reported to nobody else.  Who runs
 * changes without that. */
pmi_set_lasts Sets::how_lasting(const Set &set) const
{
    pmi_set_state state = state_of(set.members);
    if (set.name == ALL || rebound_.size() >= limits_.rebound || rebound_.contains(set.name))
        return PMI_SET_LASTS_NOT;
    return state == PMI_SET_RUNNING || state == PMI_SET_ENDED ? PMI_SET_LASTS
                                                              : PMI_SET_LASTS_BUT_STATE;
}

std::set<uint64_t> Sets::take_outdated()
{
    if (!std::exchange(outdated_, false))
        return {};
    times_outdated_++;
    return std::exchange(remembering_, {});
}

std::optional<std::string> Sets::answer(const Caller &caller, const LookupSet &call)
{
    Set all;
    Set *set = find(call.name);
    if (!set && call.name == ALL) {
        all.name = ALL;
        all.members = running();
        set = &all;
    }
    if (!set)
        return unknown(call.name);
    SetAnswer answer;
    Written written = write(caller, *set, answer);
    if (written.lasts == PMI_SET_LASTS || (written.lasts == PMI_SET_LASTS_BUT_STATE && !call.state))
        shared_ = {set->members, std::move(written.bcs)};
    return answer.bytes();
}

/* A process that may cache what it has received may as well be notified it by somebody who caches it: all of its proxy,
 * but for those who need business cards that are not in the answer. */
void Sets::share(const Shared &shared, std::span<const uint32_t> neighbours, Reply &reply) const
{
    const std::set<uint32_t> bcs(shared.bcs.begin(), shared.bcs.end());
    for (uint32_t uid : neighbours) {
        if (bcs_.lacks_only(uid, shared.members, bcs))
            reply.others.push_back(uid);
    }
    reply.bcs = shared.bcs;
}

Sets::Written Sets::write(const Caller &caller, Set &set, SetAnswer &answer)
{
    answer.text(set.name)
        .number(state_of(set.members))
        .number(set.serial)
        .number(set.members.first_without(ended_))
        .number(set.op)
        .number(set.operands.size());
    for (const std::string &operand : set.operands)
        answer.text(operand);
    pmi_set_lasts lasts = how_lasting(set);
    if (lasts != PMI_SET_LASTS_NOT) {
        set.notified = times_outdated_;
        remembering_.insert(caller.agent);
    }
    answer.members(set.members);
    std::vector<uint32_t> bcs = append_bcs(caller, set.members, answer);
    answer.number(lasts);
    return {lasts, std::move(bcs)};
}

std::vector<uint32_t> Sets::append_bcs(const Caller &caller, const SetMembers &members,
                                       SetAnswer &answer)
{
    std::vector<uint32_t> notified;
    auto bcs = bcs_.notify(caller.uid, members);
    answer.number(bcs.size());
    for (const auto &[uid, bc] : bcs) {
        answer.number(uid).text(bc);
        notified.push_back(uid);
    }
    return notified;
}

void Sets::lookup(const Caller &caller, const std::string &name, SetAnswer &answer)
{
    write(caller, *find(name), answer);
}

void Sets::lookup_since(const Caller &caller, const std::string &delta, size_t most,
                        SetAnswer &answer)
{
    std::vector<Set *> found;
    const Set *first = find(delta);
    for (auto next = first ? by_serial_.find(first->serial) : by_serial_.end();
         next != by_serial_.end() && found.size() < most; ++next) {
        if (next->second->members.contains(caller.uid))
            found.push_back(next->second);
    }
    answer.number(found.size());
    for (Set *set : found)
        write(caller, *set, answer);
}

std::string Sets::find_latest(uint32_t uid, const std::string &but) const
{
    size_t tries = 16;
    for (auto next = by_serial_.rbegin(); next != by_serial_.rend() && tries > 0; ++next, --tries) {
        const Set &set = *next->second;
        if (set.name != but && state_of(set.members) == PMI_SET_RUNNING &&
            set.members.contains(uid))
            return set.name;
    }
    return "";
}

/* ---- sets that a process makes by itself ------------------------------------------------------------------- */

uint32_t Sets::grant(uint32_t uid)
{
    end_grant();
    if (!has_capacity(PMI_SET_GRANT, PMI_SET_GRANT * PMI_SET_GRANT_RUNS))
        return 0;
    uint32_t &made = made_[uid];
    grant_ = {uid, made + 1, made + 1 + PMI_SET_GRANT};
    made += PMI_SET_GRANT;
    return grant_->next;
}

/* Numbers that were not used are given back, if no others came after them. */
void Sets::end_grant()
{
    if (!grant_)
        return;
    uint32_t &made = made_[grant_->uid];
    if (made == grant_->end - 1)
        made = grant_->next - 1;
    grant_.reset();
}

/* Any list, and whatever has its name in it, in one of both spellings. */
bool Sets::may_be_about_granted(const Caller &caller, Bytes bytes) const
{
    if (!grant_ || grant_->uid == caller.uid || grant_->next == grant_->end ||
        bytes.size() < sizeof(uint32_t))
        return false;
    uint32_t kind;
    std::memcpy(&kind, bytes.data(), sizeof kind);
    const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    const std::string maker = std::to_string(grant_->uid) + ".";
    return kind == PMI_SET_LIST || text.find("op/" + maker) != text.npos ||
           text.find("op_" + maker) != text.npos;
}

std::optional<std::string> Sets::answer(const Caller &caller, const MadeSet &call)
{
    bool allowed = grant_ && grant_->uid == caller.uid && call.number >= grant_->next &&
                   call.number < grant_->end;
    if (!allowed || call.op < PMI_SET_OP_UNION || call.members.empty() ||
        !is_of_job(call.members) || call.members.runs().size() > PMI_SET_GRANT_RUNS)
        return SetAnswer::wrong("the calling process may not make this set by itself");
    grant_->next = call.number + 1;
    Set set;
    set.name = "mpix://op/" + std::to_string(caller.uid) + "." + std::to_string(call.number);
    set.members = call.members;
    set.op = call.op;
    set.operands = call.operands;
    set.notified = times_outdated_;     /* its maker caches it */
    remembering_.insert(caller.agent);
    insert(std::move(set));
    return std::nullopt;
}

/* Who makes a few sets will request them next. */
void Sets::write_made(const Caller &caller, std::span<const std::string> names, SetAnswer &answer)
{
    bool some_empty =
        std::ranges::any_of(names, [](const std::string &name) { return name.empty(); });
    if (some_empty || names.size() > LOOKUPS_MAX) {
        answer.number(0);
        return;
    }
    answer.number(names.size());
    for (const std::string &name : names)
        lookup(caller, name, answer);
}

std::optional<std::string> Sets::answer(const Caller &caller, const ListSets &call)
{
    std::vector<const Set *> found;
    for (auto next = by_serial_.upper_bound(call.after); next != by_serial_.end(); ++next) {
        if (next->second->members.contains(caller.uid))
            found.push_back(next->second);
    }
    SetAnswer answer;
    answer.number(serial_).number(found.size());
    for (const Set *set : found)
        answer.text(set->name).number(set->members.size());
    return answer.bytes();
}

std::optional<std::string> Sets::answer(const Caller &, const MoveSet &call)
{
    Set *set = find(call.from);
    if (!is_user_set_name(call.to))
        return SetAnswer::wrong("a set cannot be called " + call.to +
                     ": names are scheme://rest, at most 254 printable "
                     "characters without blanks, and not mpi://, mpix:// or mpidynres://");
    if (call.from.starts_with("mpix://WORLD/"))
        return SetAnswer::wrong("the world of an epoch keeps its name: make another set of it");
    if (!set)
        return unknown(call.from);
    if (set->name == call.to)
        return SetAnswer().bytes();
    if (find(call.to))
        erase(call.to, "moved");
    outdate(*set);
    if (rebound_.size() < limits_.rebound)
        rebound_.insert(call.to);
    bcasts_.discard(std::to_string(set->id));   /* processes know it by its name */
    changes_.push_back({"set_freed", set->name, set->serial, set->members, "moved"});
    auto taken = sets_.extract(set->name);
    by_serial_.erase(set->serial);
    set->name = taken.key() = call.to;
    set->serial = ++serial_;
    by_serial_[set->serial] = set;
    changes_.push_back({"set_made", set->name, set->serial, set->members});
    sets_.insert(std::move(taken));
    return SetAnswer().bytes();
}

std::optional<std::string> Sets::answer(const Caller &, const FreeSet &call)
{
    const Set *set = find(call.name);
    if (begins_with(call.name, "mpi://") || call.name == ALL ||
        call.name.starts_with("mpix://WORLD/"))
        return SetAnswer::wrong(call.name + " cannot be freed");
    if (!set)
        return unknown(call.name);
    if (set->id == open_delta_ && delta_state_ == DeltaState::FREED)
        return unknown(call.name);
    if (set->id == open_delta_ && delta_state_ == DeltaState::OFFERED)
        return SetAnswer::wrong(call.name + " belongs to a change that is under way, and not accepted yet");
    if (set->id == open_delta_)
        delta_state_ = DeltaState::FREED;
    else
        erase(set->name, "freed");
    return SetAnswer().bytes();
}

/* ---- data -------------------------------------------------------------------------------------------------- */

std::optional<std::string> Sets::answer(const Caller &, const PutData &call)
{
    Set *set = find(call.name);
    if (!set)
        return unknown(call.name);
    size_t bytes = set->data_bytes;
    for (const auto &[key, value] : call.data) {
        auto old = set->data.find(key);
        bytes += value.size();
        bytes = old == set->data.end() ? bytes + key.size() : bytes - old->second.size();
    }
    if (bytes > limits_.data)
        return full("a set has at most " + std::to_string(limits_.data) + " bytes of data");
    for (const auto &[key, value] : call.data)
        set->data[key] = value;
    set->data_bytes = bytes;
    return SetAnswer().bytes();
}

/* Nothing: it has to wait. */
std::optional<std::string> Sets::lookup(const Round &round)
{
    const Set *set = find(round.name);
    if (!set)
        return unknown(round.name);
    std::vector<SetData::const_iterator> found;
    bool all = round.keys.empty();
    for (auto entry = set->data.begin(); all && entry != set->data.end(); ++entry)
        found.push_back(entry);
    for (const std::string &key : round.keys) {
        if (auto entry = set->data.find(key); entry != set->data.end())
            found.push_back(entry);
    }
    if (round.wait && found.size() < (all ? 1 : round.keys.size())) {
        if (auto ended = set->members.find_any(ended_))
            return member_ended(*ended, round.name);
        return std::nullopt;
    }
    SetAnswer answer;
    answer.number(found.size());
    for (const auto &entry : found)
        answer.text(entry->first).text(entry->second);
    return answer.bytes();
}

/* Who takes part: a set, or what its name means to the caller together with its members. */
std::string Sets::describe(const SetOperand &callers)
{
    if (!callers.members)
        return callers.name == ALL ? ALL : std::to_string(find(callers.name)->id);
    std::string text = callers.name;
    for (const SetMembers::Run &run : callers.members->runs())
        text += " " + std::to_string(run.first) + "+" + std::to_string(run.count);
    return text;
}

/* Who takes part, or the error if the caller is not among them. */
std::string Sets::check_caller(const Caller &caller, const SetOperand &callers, SetMembers &all,
                               Operands &members)
{
    std::string error = resolve(std::span(&callers, 1), all, members);
    if (error.empty() && !members.front()->contains(caller.uid))
        return SetAnswer::wrong("the calling process is not in " + callers.name);
    return error;
}

std::optional<std::string> Sets::answer(const Caller &caller, const GetData &call)
{
    SetMembers all;
    Operands callers;
    if (std::string error = check_caller(caller, call.callers, all, callers); !error.empty())
        return error;
    std::string who = describe(call.callers);
    if (rounds_.size() >= limits_.rounds ||
        (lookups_.size() >= limits_.rounds && !lookups_.contains(who)))
        return full(
            "too many processes have not asked for data that others of their set asked for");
    auto [slot, is_first] = rounds_.try_emplace({who, lookups_[who][caller.uid]++});
    Round &round = slot->second;
    if (is_first) {
        round.callers = *callers.front();
        round.pending_from = round.callers.size() - round.callers.count_of(ended_);
        round.name = call.name;
        round.keys = call.keys;
        round.wait = call.wait;
        round.answer = lookup(round);
    }
    round.requested.insert(caller.uid);
    round.pending_from--;
    auto answer = round.answer;
    if (!answer)
        round.waiting.push_back(caller);
    else if (round.pending_from == 0)
        rounds_.erase(slot);
    return answer;
}

void Sets::lookup_again(std::vector<Reply> &replies)
{
    for (auto next = rounds_.begin(); next != rounds_.end();) {
        Round &round = next->second;
        if (!round.answer && (round.answer = lookup(round))) {
            for (const Caller &caller : round.waiting)
                replies.push_back({caller, *round.answer});
            round.waiting.clear();
        }
        next = round.answer && round.pending_from == 0 ? rounds_.erase(next) : std::next(next);
    }
}

/* ---- broadcasts -------------------------------------------------------------------------------------------- */

std::optional<std::string> Sets::answer(const Caller &caller, const JoinBcast &call)
{
    SetMembers all;
    Operands callers;
    if (std::string error = check_caller(caller, call.callers, all, callers); !error.empty())
        return error;
    if (call.callers.name == ALL && !call.callers.members)
        return SetAnswer::wrong(std::string(ALL) +
                     " is not the same to all processes, so that it has no broadcast");
    return bcasts_.join(caller, describe(call.callers), *callers.front(), call.slot, ended_);
}

std::optional<std::string> Sets::answer(const Caller &caller, const GiveText &call)
{
    return bcasts_.give(caller, call.slot, call.text, ended_);
}

std::optional<std::string> Sets::answer(const Caller &caller, const TakeTurn &call)
{
    return bcasts_.turn(caller, call.slot, call.number, ended_);
}

std::vector<Sets::Reply> Sets::frozen(uint64_t agent, const bcast_frozen &count)
{
    bcasts_.frozen(agent, count, ended_);
    return bcasts_.take_replies();
}

std::vector<Sets::View> Sets::view(uint32_t after, size_t most) const
{
    std::vector<View> views;
    for (auto next = by_serial_.upper_bound(after); next != by_serial_.end() && views.size() < most;
         ++next) {
        const Set &set = *next->second;
        views.push_back(
            {set.name, set.serial, set.members.size(), state_of(set.members), &set.members});
    }
    return views;
}

/* ---- rendezvous ---------------------------------------------------------------------------------------------- */

/* Nobody can come to a rendezvous whose change is not accepted: who could accept it does not wait for that. */
std::optional<std::string> Sets::answer(const Caller &caller, const RendezvousMembers &call)
{
    if (!is_of_job(call.members))
        return foreign();
    if (!call.members.contains(caller.uid))
        return SetAnswer::wrong("the calling process is not a member");
    if (auto ended = call.members.find_any(ended_))
        return member_ended(*ended, "the group");
    if (auto proposed = call.members.find_any(proposed_); proposed && caller.uid == notified_)
        return SetAnswer::error(PMI_SET_FOREIGN,
                                "process " + std::to_string(*proposed) +
                                    " of the group waits for its change to be accepted, by the "
                                    "calling process");
    bcs_.give(caller.uid, call.bc);
    if (!bcs_.find(caller.uid))
        return SetAnswer::wrong("the calling process has not said its address");
    return meetings_.come(caller, call, bcs_);
}

bool Sets::know_each_other(const SetMembers &members) const
{
    if (members.size() == 0 || members.size() > PMI_SET_INTRODUCED_MAX || members.any_of(ended_))
        return false;
    for (const SetMembers::Run &run : members.runs()) {
        for (uint32_t i = 0; i < run.count; i++) {
            if (!bcs_.find(run.first + i))
                return false;
        }
    }
    return meetings_.know_each_other(members);
}

bool Sets::introduce(const SetMembers &members, std::vector<Reply> &replies)
{
    bool introduced = !members.any_of(ended_) && meetings_.introduce(members, bcs_);
    std::ranges::move(meetings_.take_replies(), std::back_inserter(replies));
    return introduced;
}

std::optional<std::string> Sets::answer(const Caller &, const CountEnded &call)
{
    ends_are_counted_ = true;
    return is_of_job(call.members) ? SetAnswer().number(call.members.count_of(ended_)).bytes()
                                   : foreign();
}

/* mpi://... is known where it is requested, but for what has become of its processes. */
std::optional<std::string> Sets::answer(const Caller &caller, const NotifyState &call)
{
    if (!is_of_job(call.members))
        return foreign();
    ends_are_counted_ = true;
    pmi_set_state state = state_of(call.members);
    bool lasts = state == PMI_SET_RUNNING || state == PMI_SET_ENDED;
    if (lasts)
        may_cache(caller);
    return SetAnswer()
        .number(state)
        .number(call.members.first_without(ended_))
        .number(lasts ? 1 : 0)
        .bytes();
}

/* Whether the reply shows the state of a set with one of these, or who runs. */
bool Sets::mentions(Bytes bytes, const Uids &uids)
{
    auto call = parse_set_call(bytes);
    if (!call)
        return false;
    if (const auto *lookup = std::get_if<LookupSet>(&*call)) {
        const Set *set = find(lookup->name);
        return set ? set->members.any_of(uids) : lookup->name == ALL;
    }
    if (const auto *notify = std::get_if<NotifyState>(&*call))
        return notify->members.any_of(uids);
    const auto *make = std::get_if<MakeSets>(&*call);
    return make && std::ranges::any_of(make->operands, [](const SetOperand &operand) {
               return operand.name == ALL;
           });
}

bool Sets::reports_starts(Bytes call)
{
    return mentions(call, starting_);
}

bool Sets::may_report_accept(Bytes call)
{
    return !proposed_.empty() && mentions(call, proposed_);
}

/* ---- operations that change who is there ------------------------------------------------------------------- */

void Sets::open_op(const std::string &bound, OpenOp op)
{
    if (Set *set = find(bound))
        set->open = std::move(op);
}

const Sets::OpenOp *Sets::find_open_op(const std::string &bound)
{
    const Set *set = find(bound);
    return set && set->open ? &*set->open : nullptr;
}

/* By the set that it was bound to, one of those that it made, or one that was made of these. */
std::optional<std::string> Sets::close_op(const std::string &name)
{
    Set *set = find(name);
    if (!set)
        return unknown(name);
    auto is_of = [&](const std::string &made) {
        return made == set->name || std::ranges::find(set->operands, made) != set->operands.end();
    };
    auto is_closed = [&](const Set &bound) {
        return bound.open && (&bound == set || std::ranges::any_of(bound.open->names, is_of));
    };
    for (auto &[other, bound] : sets_) {
        if (is_closed(*bound))
            bound->open.reset();
    }
    for (auto &world : worlds_) {
        if (is_closed(*world))
            world->open.reset();
    }
    return SetAnswer().bytes();
}

std::string Sets::combine(uint32_t uid, pmi_set_op op, const std::string &first,
                          const std::string &second)
{
    std::string error;
    const SetOperand of[] = {{first, {}}, {second, {}}};
    auto a = resolve_operand(of[0], error), b = resolve_operand(of[1], error);
    if (!a || !b)
        return "";
    const SetMembers *members[] = {&*a, &*b};
    auto sum = op == PMI_SET_OP_UNION ? SetMembers::union_of(members)
                                      : std::optional(SetMembers::difference_of(members));
    if (!sum || !has_capacity(1, sum->runs().size()))
        return "";
    Set set;
    set.members = std::move(*sum);
    set.op = op;
    set.operands = {first, second};
    return make({uid}, "", std::move(set));
}

std::vector<Sets::Reply> Sets::gather(const Caller &caller, const QueryOp &call,
                                      const PsetRendezvous::Answer &answer)
{
    SetMembers all;
    Operands callers;
    std::string error = check_caller(caller, call.callers, all, callers);
    if (error.empty() && !find(call.name))
        error = unknown(call.name);
    auto ended = error.empty() ? callers.front()->find_any(ended_) : std::nullopt;
    if (ended)
        error = member_ended(*ended, call.callers.name);
    if (!error.empty())
        return {{caller, error}};
    if (auto refused = meetings_.come(caller, {"query " + call.name, "", *callers.front(), true},
                                      bcs_, answer))
        return {{caller, *refused}};
    return meetings_.take_replies();
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

std::vector<Sets::Reply> Sets::call(const Caller &caller, Bytes bytes,
                                    std::span<const uint32_t> neighbours)
{
    std::vector<Reply> replies;
    auto call = parse_set_call(bytes);
    if (!call)
        return {
            {caller, SetAnswer::wrong("the call is malformed, or a name in it has more than 254 characters")}};
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
    std::ranges::move(meetings_.take_replies(), std::back_inserter(replies));
    return replies;
}

std::vector<Sets::Reply> Sets::ended(uint32_t uid)
{
    std::vector<Reply> replies;
    if (!ended_.insert(uid).second)
        return replies;
    outdated_ = outdated_ || !remembering_.empty();     /* whichever sets hold it */
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
    meetings_.without(uid);
    std::ranges::move(bcasts_.take_replies(), std::back_inserter(replies));
    std::ranges::move(meetings_.take_replies(), std::back_inserter(replies));
    return replies;
}

}  // namespace elastic
