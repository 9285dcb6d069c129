/* See psets.h: lookups, sets that a process makes by itself, names. */

#include <algorithm>
#include <cstring>
#include <utility>

#include "stepmgr/psets/psets.h"
#include "stepmgr/psets/psets_errors.h"

namespace elastic {

using namespace psets_errors;

namespace {

constexpr size_t LOOKUPS_MAX = 4;       /* sets in the reply to a call that makes sets */

}  // namespace

/* LASTS if only an end can change the state.  A starting set begins to run without a message to
 * other processes.  The set of running processes also changes without an end. */
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
    return std::exchange(caching_, {});
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

/* Processes that may share the reply: all of the same proxy that may cache it and lack no business
 * cards other than those in the reply. */
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
        caching_.insert(caller.proxy_id);
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

/* ---- sets that a process makes by itself ----------------------------------------------------- */

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

/* Unused numbers become free again if no later numbers were assigned. */
void Sets::end_grant()
{
    if (!grant_)
        return;
    uint32_t &made = made_[grant_->uid];
    if (made == grant_->end - 1)
        made = grant_->next - 1;
    grant_.reset();
}

/* True for lists, and for calls that contain a name of such a set in either spelling. */
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
        return SetAnswer::wrong("the calling process may not create this set by itself");
    grant_->next = call.number + 1;
    Set set;
    set.name = "mpix://op/" + std::to_string(caller.uid) + "." + std::to_string(call.number);
    set.members = call.members;
    set.op = call.op;
    set.operands = call.operands;
    set.notified = times_outdated_;     /* the process that made it caches it */
    caching_.insert(caller.proxy_id);
    insert(std::move(set));
    return std::nullopt;
}

/* A process that makes a few sets will query them next. */
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
        return SetAnswer::wrong("a set cannot have the name " + call.to +
                     ": names have the form scheme://rest, at most 254 printable characters "
                     "without blanks, and not mpi://, mpix:// or mpidynres://");
    if (call.from.starts_with("mpix://WORLD/"))
        return SetAnswer::wrong("the set of an epoch's world cannot be renamed: create another set "
                                "from it");
    if (!set)
        return unknown(call.from);
    if (set->name == call.to)
        return SetAnswer().bytes();
    if (find(call.to))
        erase(call.to, "moved");
    outdate(*set);
    if (rebound_.size() < limits_.rebound)
        rebound_.insert(call.to);
    bcasts_.discard(std::to_string(set->id));   /* processes identify it by its name */
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
    if (strncasecmp(call.name.c_str(), "mpi://", 6) == 0 || call.name == ALL ||
        call.name.starts_with("mpix://WORLD/"))
        return SetAnswer::wrong(call.name + " cannot be freed");
    if (!set)
        return unknown(call.name);
    if (set->id == open_delta_ && delta_state_ == DeltaState::FREED)
        return unknown(call.name);
    if (set->id == open_delta_ && delta_state_ == DeltaState::OFFERED)
        return SetAnswer::wrong(call.name +
                                " belongs to a change that has not been accepted yet");
    if (set->id == open_delta_)
        delta_state_ = DeltaState::FREED;
    else
        erase(set->name, "freed");
    return SetAnswer().bytes();
}

}  // namespace elastic
