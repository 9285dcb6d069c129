/* See pset_bcasts.h. */

#include "stepmgr/psets/pset_bcasts.h"

#include <algorithm>

#include "stepmgr/proto/pset_call.h"

namespace elastic {

namespace {

std::string nobody_calls()
{
    return SetAnswer::error(PMI_SET_UNKNOWN, "the process set was freed or renamed");
}

std::string nothing()
{
    return SetAnswer().number(0).bytes();
}

}  // namespace

SetBcasts::Bcast *SetBcasts::find(uint32_t uid, uint32_t slot)
{
    auto found = slots_.find({uid, slot});
    return found == slots_.end() ? nullptr : found->second;
}

/* Sends an order to the proxies of all participants. */
void SetBcasts::order(const Bcast &bcast, enum bcast_what what, uint64_t value)
{
    Order order;
    for (const auto &[uid, part] : bcast.parts)
        order.proxy_ids.insert(part.proxy_id);
    order.order = {.what = what, .bcast = bcast.id, .uid = 0, .slot = 0, .value = value};
    if (!order.proxy_ids.empty())
        orders_.push_back(std::move(order));
}

/* ---- taking part ----------------------------------------------------------------------------- */

std::string SetBcasts::join(const SetCaller &caller, const std::string &who,
                            const SetMembers &members, uint32_t slot, const Uids &ended)
{
    auto found = bcasts_.find(who);
    if (found != bcasts_.end() && found->second->parts.contains(caller.uid))
        return SetAnswer().number(found->second->parts[caller.uid].slot).bytes();
    if (Bcast *previous = find(caller.uid, slot)) {
        leave(*previous, caller.uid, ended);
        found = bcasts_.find(who);
    }
    if (found == bcasts_.end() && bcasts_.size() >= most_)
        return SetAnswer::error(PMI_SET_FULL,
                                "there are too many process sets with broadcasts: free some");
    if (found == bcasts_.end()) {
        found = bcasts_.emplace(who, std::make_unique<Bcast>()).first;
        found->second->id = ++last_id_;
        found->second->who = who;
        found->second->members = members;
    }
    Bcast &bcast = *found->second;
    bcast.parts[caller.uid] = {slot, caller.proxy_id};
    slots_[{caller.uid, slot}] = &bcast;
    uint64_t gate = !bcast.text                    ? PMI_ADAPT_GATE_OPEN
                    : bcast.text->counting.empty() ? bcast.text->target
                                                   : PMI_ADAPT_GATE_SHUT;
    orders_.push_back({{caller.proxy_id}, {BCAST_SLOT, bcast.id, caller.uid, slot, gate}});
    return SetAnswer().number(slot).bytes();
}

void SetBcasts::leave(Bcast &bcast, uint32_t uid, const Uids &ended)
{
    auto part = bcast.parts.find(uid);
    if (part == bcast.parts.end())
        return;
    uint64_t proxy_id = part->second.proxy_id;
    slots_.erase({uid, part->second.slot});
    bcast.parts.erase(part);
    if (bcast.text) {
        std::erase_if(bcast.text->waiting,
                      [&](const Waiting &waiting) { return waiting.caller.uid == uid; });
        bool counts = std::ranges::any_of(
            bcast.parts, [&](const auto &entry) { return entry.second.proxy_id == proxy_id; });
        if (!counts && bcast.text->counting.erase(proxy_id) && bcast.text->counting.empty())
            agree(bcast, ended);
    }
    drop_if_unused(bcast);
}

void SetBcasts::drop_if_unused(Bcast &bcast)
{
    if (bcast.parts.empty() && !bcast.text)
        bcasts_.erase(std::string(bcast.who));
}

void SetBcasts::discard(const std::string &who)
{
    auto found = bcasts_.find(who);
    if (found == bcasts_.end())
        return;
    Bcast &bcast = *found->second;
    order(bcast, BCAST_CLOSE, 0);
    if (bcast.text) {
        for (const Waiting &waiting : bcast.text->waiting)
            replies_.push_back({waiting.caller, nobody_calls()});
    }
    for (const auto &[uid, part] : bcast.parts)
        slots_.erase({uid, part.slot});
    under_way_.erase(&bcast);
    bcasts_.erase(found);
}

/* ---- a text ---------------------------------------------------------------------------------- */

std::string SetBcasts::give(const SetCaller &caller, uint32_t slot, std::string text,
                            const Uids &ended)
{
    Bcast *bcast = find(caller.uid, slot);
    if (!bcast)
        return nobody_calls();
    if (bcast->members.first_without(ended) != caller.uid)
        return SetAnswer::wrong("the calling process is not the primary process of the set");
    if (bcast->next)
        return SetAnswer::error(PMI_SET_PENDING, "a text of this set has not been delivered yet");
    if (bcast->text)
        bcast->next = std::move(text);
    else
        start(*bcast, std::move(text), ended);
    return SetAnswer().bytes();
}

void SetBcasts::start(Bcast &bcast, std::string text, const Uids &ended)
{
    bcast.text = Text();
    bcast.text->number = ++last_text_;
    bcast.text->text = std::move(text);
    bcast.text->pending_from = bcast.members.size() - bcast.members.count_of(ended);
    for (const auto &[uid, part] : bcast.parts)
        bcast.text->counting.insert(part.proxy_id);
    under_way_.insert(&bcast);
    order(bcast, BCAST_FREEZE, bcast.text->number);
    if (bcast.text->counting.empty())
        agree(bcast, ended);
}

void SetBcasts::frozen(uint64_t proxy_id, const BcastReport &count, const Uids &ended)
{
    auto found =
        std::ranges::find(under_way_, count.bcast, [](const Bcast *bcast) { return bcast->id; });
    if (found == under_way_.end() || (*found)->text->number != count.text ||
        !(*found)->text->counting.erase(proxy_id))
        /* the text was dropped, or the last participant of this proxy left */
        return;
    Bcast &bcast = **found;
    bcast.text->target = std::max(bcast.text->target, count.ceiling);
    if (bcast.text->counting.empty())
        agree(bcast, ended);
}

/* All proxies have counted: the target is known. */
void SetBcasts::agree(Bcast &bcast, const Uids &ended)
{
    order(bcast, BCAST_GATE, bcast.text->target);
    for (const Waiting &waiting : std::exchange(bcast.text->waiting, {}))
        replies_.push_back(
            {waiting.caller, answer(bcast, waiting.caller.uid, waiting.number, ended)});
    finish_if_notified(bcast, ended);
}

/* SB2: all members get the same reply. */
std::string SetBcasts::answer(Bcast &bcast, uint32_t uid, uint64_t number, const Uids &ended)
{
    Text &text = *bcast.text;
    if (number < text.target || !text.notified.insert(uid).second)
        return nothing();
    text.pending_from--;
    if (!text.answer) {
        auto disconnected = bcast.members.find_any(ended);
        text.answer = disconnected ? SetAnswer::error(PMI_SET_MEMBER_ENDED,
                                                      "process " + std::to_string(*disconnected) +
                                                          " of the set has ended before its text "
                                                          "was delivered")
                                   : SetAnswer().number(1).text(text.text).bytes();
    }
    return *text.answer;
}

std::optional<std::string> SetBcasts::turn(const SetCaller &caller, uint32_t slot, uint64_t number,
                                           const Uids &ended)
{
    Bcast *bcast = find(caller.uid, slot);
    if (!bcast)
        return nobody_calls();
    if (!bcast->text)
        return nothing();
    if (!bcast->text->counting.empty()) {
        bcast->text->waiting.push_back({caller, number});
        return std::nullopt;
    }
    std::string answered = answer(*bcast, caller.uid, number, ended);
    finish_if_notified(*bcast, ended);
    return answered;
}

void SetBcasts::finish_if_notified(Bcast &bcast, const Uids &ended)
{
    if (bcast.text->pending_from > 0)
        return;
    bcast.text.reset();
    under_way_.erase(&bcast);
    if (auto next = std::exchange(bcast.next, {});
        next && bcast.members.count_of(ended) < bcast.members.size())
        start(bcast, std::move(*next), ended);
    else
        order(bcast, BCAST_GATE, PMI_ADAPT_GATE_OPEN);
}

/* ---- ends ------------------------------------------------------------------------------------ */

void SetBcasts::without(uint32_t uid, const Uids &ended)
{
    for (auto next = slots_.lower_bound({uid, 0}); next != slots_.end() && next->first.first == uid;
         next = slots_.lower_bound({uid, 0}))
        leave(*next->second, uid, ended);
    for (auto next = under_way_.begin(); next != under_way_.end();) {
        Bcast &bcast = **next++;
        if (!bcast.members.contains(uid) || bcast.text->notified.contains(uid))
            continue;
        bcast.text->pending_from--;
        finish_if_notified(bcast, ended);
        drop_if_unused(bcast);
    }
}

}  // namespace elastic
