/* See step.h: wishes of the program (size_request.h).
 *
 * One is open at a time.  Without a resource manager it becomes a request of our own as soon as no other adaptation
 * is under way; with one, that manager sees the event "wish", and resizes the step or refuses it.  Either way a commit
 * of a size that the wish allows grants it.  Its end is an event, and is written to the boards of all who have made
 * it. */

#include "stepmgr/step.h"

#include <algorithm>
#include <utility>

namespace elastic {

namespace {

const char *const REPLACED = "another wish of the program took its place";

std::string write_wish_end(WishEnd end, int size, const std::vector<WishHolder> &holders, const std::string &reason,
                           pmi_adapt_wish_cause cause)
{
    auto bytes = [](const auto &value) {
        return std::string(reinterpret_cast<const char *>(&value), sizeof value);
    };
    wish_ended head = {static_cast<uint32_t>(end), static_cast<uint32_t>(size),
                       static_cast<uint32_t>(holders.size()), static_cast<uint32_t>(cause)};
    std::string text = bytes(head);
    for (const WishHolder &holder : holders)
        text += bytes(wish_holder{holder.uid, holder.number});
    return text + reason.substr(0, PMI_ADAPT_WISH_REASON_MAX);
}

}  // namespace

void Step::tell_wish_end(const std::vector<WishHolder> &holders, WishEnd end, const std::string &reason,
                         pmi_adapt_wish_cause cause)
{
    std::set<Agent> agents;
    for (const WishHolder &holder : holders) {
        if (!world_.departed(holder.agent) && !killed_groups_.contains(holder.agent.group))
            agents.insert(holder.agent);
    }
    std::vector<step_agent> to;
    for (const Agent &agent : agents)
        to.push_back({agent.group, agent.proxy});
    std::string payload = write_wish_end(end, world_.size(), holders, reason, cause);
    if (!to.empty())
        effects_.send(effects_.context, to.data(), static_cast<int>(to.size()), STEP_WISHED, 0, payload.data(),
                      payload.size());
}

Json Step::describe_wish() const
{
    Json fields = {{"wish", wish_->number},
                   {"kind", to_string(wish_->kind)},
                   {"size", wish_->size},
                   {"size_min", wish_->size_min},
                   {"size_max", wish_->size_max}};
    if (is_modify())
        fields["modify"] = true;
    if (is_for_set_request())
        fields["waits"] = true;
    if (wish_->until_unix_ms > 0)
        fields["until_ms"] = wish_->until_unix_ms;
    if (!wish_->reason.empty())
        fields["reason"] = wish_->reason;
    return fields;
}

void Step::end_wish(WishEnd end, const std::string &reason)
{
    Json fields = {{"wish", wish_->number}, {"result", to_string(end)}, {"size", world_.size()}};
    if (end != WishEnd::GRANTED)
        fields["reason"] = reason;
    if (wish_->told)
        journal_.add(now_ms_, "wish_ended", fields);
    std::vector<WishHolder> holders = std::move(wish_->holders);
    bool of_set_request = is_for_set_request();
    wish_.reset();
    tell_wish_end(holders, end, reason);
    bool goes_on = end == WishEnd::GRANTED && set_request_ && set_request_->added && !set_request_->removing;
    if (of_set_request && !goes_on)
        give_up_set_request("the resource manager has not granted it" + (reason.empty() ? "" : ": " + reason));
}

/* ---- what processes say ----------------------------------------------------------------------------- */

/* By what the processes have agreed on, whoever has asked for it.  A process that has committed already may wish for
 * something else before all have. */
bool Step::is_about_to_be_granted() const
{
    return wish_ && adaptation_ && !before_agreement(adaptation_->state) && wish_->allows(adaptation_->change.new_size);
}

/* The same wish of another process.  False: it is another one. */
bool Step::join_wish(std::optional<Wish> &open, const Wish &wish)
{
    if (!open || open->withdrawing || !open->is_same(wish))
        return false;
    drop_holder(*open, wish.holders.front().uid, REPLACED);
    open->holders.push_back(wish.holders.front());
    bool for_ever = wish.until_unix_ms == 0 || open->until_unix_ms == 0;
    open->until_unix_ms = for_ever ? 0 : std::max(open->until_unix_ms, wish.until_unix_ms);
    return true;
}

void Step::on_wish(const Process &process, const WishReport &report)
{
    if (process.ended)
        return unexpected("wish of " + describe(process) + ", which has ended");
    if (report.modify)
        return on_modify(process, report);
    Wish wish;
    wish.size = report.size;
    wish.size_min = report.size_min;
    wish.size_max = report.size_max;
    wish.until_unix_ms = report.until_ms;
    wish.reason = report.reason;
    wish.holders.push_back({process.uid, report.number, process.agent()});
    wish.rank = process.world_rank;
    if (is_modify())
        return tell_wish_end(wish.holders, WishEnd::REFUSED, "the program waits in MPIX_Comm_modify");
    if (join_wish(next_wish_, wish) || join_wish(wish_, wish))
        return;
    if (!wish_rate_.allows(now_ms_))
        return tell_wish_end(wish.holders, WishEnd::REFUSED, "the program has made too many wishes in a short time");
    if (!is_about_to_be_granted())
        return replace_wish(wish);
    if (next_wish_)
        tell_wish_end(next_wish_->holders, WishEnd::WITHDRAWN, REPLACED);
    next_wish_ = wish;
}

/* A change that is made for the previous one, and is not agreed on, is not made any more. */
void Step::replace_wish(const Wish &wish)
{
    if (wish_ && is_for_wish() && before_agreement(adaptation_->state)) {
        wish_->withdrawing = true;
        raise(AdaptEvent::WITHDRAW, REPLACED);
    }
    if (wish_)
        end_wish(WishEnd::WITHDRAWN, REPLACED);
    wish_ = wish;
    wish_->number = ++wishes_;
    if (!is_modify())           /* else when it can be granted */
        tell_wish();
}

void Step::tell_wish()
{
    Json fields = describe_wish();
    fields["rank"] = wish_->rank;
    journal_.add(now_ms_, "wish", fields);
    wish_->told = true;
}

/* This process, if it has made the wish, is told of an end of its own. */
void Step::drop_holder(Wish &wish, uint32_t uid, const std::string &reason)
{
    auto found = std::find_if(wish.holders.begin(), wish.holders.end(),
                              [uid](const WishHolder &holder) { return holder.uid == uid; });
    if (found == wish.holders.end())
        return;
    tell_wish_end({*found}, WishEnd::WITHDRAWN, reason);
    wish.holders.erase(found);
}

/* One that has ended already is no mistake: the two messages have met. */
void Step::on_wish_withdrawn(const Process &process, uint32_t number)
{
    auto has_made = [&](const std::optional<Wish> &wish) {
        return wish && std::any_of(wish->holders.begin(), wish->holders.end(), [&](const WishHolder &holder) {
                   return holder.uid == process.uid && holder.number == number;
               });
    };
    if (has_made(wish_) || has_made(next_wish_))
        wish_without(process, "the program has withdrawn it");
}

/* Nobody wants it any more. */
void Step::withdraw_wish(const std::string &why)
{
    wish_->withdrawing = true;
    if (is_for_wish() && before_agreement(adaptation_->state))
        raise(AdaptEvent::WITHDRAW, why);
    else if (!is_for_wish())
        end_wish(WishEnd::WITHDRAWN, why);
}

/* This process wants it no more, or has ended.  The last one's wish ends by it. */
void Step::wish_without(const Process &process, const std::string &why)
{
    if (next_wish_)
        drop_holder(*next_wish_, process.uid, why);
    if (next_wish_ && next_wish_->holders.empty())
        next_wish_.reset();
    bool is_last = wish_ && wish_->holders.size() == 1 && wish_->holders.front().uid == process.uid;
    if (is_last)
        withdraw_wish(why);
    else if (wish_)
        drop_holder(*wish_, process.uid, why);
}

/* ---- what becomes of it ------------------------------------------------------------------------------- */

/* Whether the adaptation under way is made for it. */
bool Step::is_for_wish() const
{
    return wish_ && adaptation_ && wish_->request == adaptation_->request;
}

/* The one that was made while another one was about to be granted. */
void Step::take_next_wish()
{
    if (auto next = std::exchange(next_wish_, {}))
        replace_wish(*next);
}

/* What is impossible is refused at once; what is possible waits until no adaptation is under way. */
void Step::consider_wish()
{
    if (is_for_wish())
        return;
    if ((ending_ || over_) && !adaptation_)
        return end_wish(WishEnd::WITHDRAWN, "the job ended");
    if (is_modify())
        return consider_modify();
    if (mode_ == InitMode::RIGID)
        return end_wish(WishEnd::REFUSED, "the job is rigid: not all processes have called MPI_Init_adapt");
    if (mode_ == InitMode::UNKNOWN)
        return;
    if (wish_->size == world_.size())
        return adaptation_ ? void() : end_wish(WishEnd::GRANTED, "");
    if (managed_)
        return;                 /* the manager decides */
    if (!offers_.range())
        return end_wish(WishEnd::REFUSED, offers_.is_schedule()
                                              ? "sizes follow the schedule that mpiexec was started with"
                                              : "mpiexec was started without --adapt-range, and no resource manager "
                                                "is there to decide");
    auto size = best_size(*wish_, *offers_.range(), sizes_ ? &*sizes_ : nullptr);
    if (!size)
        return end_wish(WishEnd::REFUSED, size.error());
    if (!why_no_room(size.value()).empty()) {
        int most = range_max_ - static_cast<int>(places_.held());
        size = best_size(*wish_, {range_min_, most}, sizes_ ? &*sizes_ : nullptr);
        if (!size || size.value() <= world_.size())
            return;             /* until places are given back */
    }
    if (!adaptation_ && size.value() == world_.size())
        return end_wish(WishEnd::GRANTED, "");
    if (!adaptation_)
        grant_wish(size.value());
}

void Step::grant_wish(int size)
{
    ChangeRequest asked{size, {}, {}};
    auto change = resolve(asked);
    if (!change)
        return end_wish(WishEnd::REFUSED, change.error());
    Adaptation &a = is_modify() ? accept(Source::PROGRAM, "MPIX_Comm_modify", asked, change.value())
                                : accept(Source::WISH, "the program's wish", asked, change.value());
    if (!wish_->reason.empty())
        a.reason = wish_->reason.substr(0, REASON_MAX_BYTES);
    wish_->request = a.request;
    begin();
}

/* The adaptation under way has ended; the world is what it is from now on. */
void Step::wish_after(const Adaptation &adaptation)
{
    if (!wish_)
        return;
    bool committed = adaptation.state == AdaptState::COMMITTED;
    if (committed && wish_->allows(world_.size()))
        return end_wish(WishEnd::GRANTED, "");
    if (wish_->request != adaptation.request)
        return;                 /* made for somebody else */
    bool withdrawn = wish_->withdrawing || ending_;
    end_wish(withdrawn ? WishEnd::WITHDRAWN : WishEnd::REFUSED, adaptation.end_reason);
}

/* When it is void; nothing while what is agreed on, or what an operation on sets waits for, may still grant it. */
std::optional<int64_t> Step::wish_void_ms() const
{
    bool may_be_granted = adaptation_ && (is_for_set_request() || !before_agreement(adaptation_->state));
    if (!wish_ || wish_->until_unix_ms == 0 || may_be_granted)
        return std::nullopt;
    return std::max<int64_t>(static_cast<int64_t>(wish_->until_unix_ms) - unix_ms_at_zero_, 0);
}

void Step::wish_time()
{
    auto when = wish_void_ms();
    if (!when || now_ms_ < *when)
        return;
    const char *const LATE = "it was not granted by the time until when it was wanted";
    if (is_for_wish())
        raise(AdaptEvent::WITHDRAW, LATE);
    else
        end_wish(WishEnd::REFUSED, LATE);
}

/* ---- the resource manager ------------------------------------------------------------------------------ */

std::string Step::answer_refuse(const Json &id, const RefuseRequest &refuse)
{
    places_.time(now_ms_);
    if (places_.refuse(refuse.wish, refuse.reason)) {
        carry_out_tasks();
        return write_answer(id, {{"wish", refuse.wish}});
    }
    if (!wish_ || wish_->number != refuse.wish)
        return write_error({id, ErrorCode::NOTHING, "wish " + std::to_string(refuse.wish) + " is not open"});
    if (is_for_wish())
        return write_error({id, ErrorCode::BUSY, "the step is adapting for this wish: cancel request " +
                                                     std::to_string(adaptation_->request)});
    end_wish(WishEnd::REFUSED, refuse.reason);
    return write_answer(id, {{"wish", refuse.wish}});
}

}  // namespace elastic
