/*
 * See step.h: size requests of the program (size_request.h).
 *
 * One is open at a time.  Without a resource manager it becomes a request of mpiexec as soon as no other adaptation is
 * under way.  With one, the resource manager gets the event "wish", and resizes the step or refuses.  Either way the
 * commit of a size that the size request allows grants it.  Its end is an event, and is written to the boards of all
 * processes that have made it.
 */

#include "stepmgr/step/step.h"

#include <algorithm>
#include <utility>

namespace elastic {

namespace {

const char *const REPLACED = "another wish of the program took its place";

std::string write_size_request_end(SizeRequestEnd end, int size, const std::vector<SizeRequestHolder> &holders,
                                   const std::string &reason, pmi_adapt_wish_cause cause)
{
    auto bytes = [](const auto &value) {
        return std::string(reinterpret_cast<const char *>(&value), sizeof value);
    };
    wish_ended head = {static_cast<uint32_t>(end), static_cast<uint32_t>(size),
                       static_cast<uint32_t>(holders.size()), static_cast<uint32_t>(cause)};
    std::string text = bytes(head);
    for (const SizeRequestHolder &holder : holders)
        text += bytes(wish_holder{holder.uid, holder.number});
    return text + reason.substr(0, PMI_ADAPT_WISH_REASON_MAX);
}

}  // namespace

void Step::send_size_request_end(const std::vector<SizeRequestHolder> &holders, SizeRequestEnd end,
                                 const std::string &reason, pmi_adapt_wish_cause cause)
{
    std::set<Agent> agents;
    for (const SizeRequestHolder &holder : holders) {
        if (!state_.world.disconnected(holder.agent) && !state_.killed_groups.contains(holder.agent.group))
            agents.insert(holder.agent);
    }
    std::vector<step_agent> to;
    for (const Agent &agent : agents)
        to.push_back({agent.group, agent.proxy});
    std::string payload = write_size_request_end(end, state_.world.size(), holders, reason, cause);
    if (!to.empty())
        state_.effects.send(state_.effects.context, to.data(), static_cast<int>(to.size()), STEP_WISHED, 0,
                            payload.data(), payload.size());
}

Json Step::describe_size_request() const
{
    Json fields = {{"wish", size_request_->number},
                   {"kind", to_string(size_request_->kind)},
                   {"size", size_request_->size},
                   {"size_min", size_request_->size_min},
                   {"size_max", size_request_->size_max}};
    if (is_modify())
        fields["modify"] = true;
    if (is_for_pset_request())
        fields["waits"] = true;
    if (size_request_->until_unix_ms > 0)
        fields["until_ms"] = size_request_->until_unix_ms;
    if (!size_request_->reason.empty())
        fields["reason"] = size_request_->reason;
    return fields;
}

void Step::end_size_request(SizeRequestEnd end, const std::string &reason)
{
    Json fields = {{"wish", size_request_->number}, {"result", to_string(end)}, {"size", state_.world.size()}};
    if (end != SizeRequestEnd::GRANTED)
        fields["reason"] = reason;
    if (size_request_->notified)
        state_.journal.add(state_.now_ms, "wish_ended", fields);
    std::vector<SizeRequestHolder> holders = std::move(size_request_->holders);
    bool of_pset_request = is_for_pset_request();
    size_request_.reset();
    send_size_request_end(holders, end, reason);
    bool goes_on = end == SizeRequestEnd::GRANTED && pset_request_ && pset_request_->added && !pset_request_->removing;
    if (of_pset_request && !goes_on)
        give_up_pset_request("the resource manager has not granted it" + (reason.empty() ? "" : ": " + reason));
}

/* ---- what processes say ----------------------------------------------------------------------------- */

/* By what the processes have agreed on, whoever has requested it.  A process that has committed already may request
 * something else before all have. */
bool Step::is_about_to_be_granted() const
{
    return size_request_ && state_.adaptation && !before_agreement(state_.adaptation->state) &&
           size_request_->allows(state_.adaptation->change.new_size);
}

/* The same size request of another process.  False: it is another one. */
bool Step::join_size_request(std::optional<SizeRequest> &open, const SizeRequest &size_request)
{
    if (!open || open->withdrawing || !open->is_same(size_request))
        return false;
    drop_holder(*open, size_request.holders.front().uid, REPLACED);
    open->holders.push_back(size_request.holders.front());
    bool for_ever = size_request.until_unix_ms == 0 || open->until_unix_ms == 0;
    open->until_unix_ms = for_ever ? 0 : std::max(open->until_unix_ms, size_request.until_unix_ms);
    return true;
}

void Step::on_size_request(const Process &process, const SizeRequestReport &report)
{
    if (process.ended)
        return unexpected("wish of " + state_.describe(process) + ", which has ended");
    if (report.modify)
        return on_modify(process, report);
    SizeRequest size_request;
    size_request.size = report.size;
    size_request.size_min = report.size_min;
    size_request.size_max = report.size_max;
    size_request.until_unix_ms = report.until_ms;
    size_request.reason = report.reason;
    size_request.holders.push_back({process.uid, report.number, process.agent()});
    size_request.rank = process.world_rank;
    if (is_modify())
        return send_size_request_end(size_request.holders, SizeRequestEnd::REFUSED,
                                     "the program waits in MPIX_Comm_modify");
    if (join_size_request(next_size_request_, size_request) || join_size_request(size_request_, size_request))
        return;
    if (!request_rate_.allows(state_.now_ms))
        return send_size_request_end(size_request.holders, SizeRequestEnd::REFUSED,
                                     "the program has made too many wishes in a short time");
    if (!is_about_to_be_granted())
        return replace_size_request(size_request);
    if (next_size_request_)
        send_size_request_end(next_size_request_->holders, SizeRequestEnd::WITHDRAWN, REPLACED);
    next_size_request_ = size_request;
}

/* A change that is made for the previous one, and is not agreed on, is not made any more. */
void Step::replace_size_request(const SizeRequest &size_request)
{
    if (size_request_ && is_for_size_request() && before_agreement(state_.adaptation->state)) {
        size_request_->withdrawing = true;
        raise(AdaptEvent::WITHDRAW, REPLACED);
    }
    if (size_request_)
        end_size_request(SizeRequestEnd::WITHDRAWN, REPLACED);
    size_request_ = size_request;
    size_request_->number = ++state_.requests;
    if (!is_modify())           /* else when it can be granted */
        log_size_request();
}

void Step::log_size_request()
{
    Json fields = describe_size_request();
    fields["rank"] = size_request_->rank;
    state_.journal.add(state_.now_ms, "wish", fields);
    size_request_->notified = true;
}

/* This process, if it has made the size request, is notified of an end of its own. */
void Step::drop_holder(SizeRequest &size_request, uint32_t uid, const std::string &reason)
{
    auto found = std::find_if(size_request.holders.begin(), size_request.holders.end(),
                              [uid](const SizeRequestHolder &holder) { return holder.uid == uid; });
    if (found == size_request.holders.end())
        return;
    send_size_request_end({*found}, SizeRequestEnd::WITHDRAWN, reason);
    size_request.holders.erase(found);
}

/* One that has ended already is no mistake: the two messages have met. */
void Step::on_size_request_withdrawn(const Process &process, uint32_t number)
{
    auto has_made = [&](const std::optional<SizeRequest> &size_request) {
        return size_request && std::any_of(size_request->holders.begin(), size_request->holders.end(),
                                           [&](const SizeRequestHolder &holder) {
                                               return holder.uid == process.uid && holder.number == number;
                                           });
    };
    if (has_made(size_request_) || has_made(next_size_request_))
        size_request_without(process, "the program has withdrawn it");
}

/* Nobody wants it any more. */
void Step::withdraw_size_request(const std::string &why)
{
    size_request_->withdrawing = true;
    if (is_for_size_request() && before_agreement(state_.adaptation->state))
        raise(AdaptEvent::WITHDRAW, why);
    else if (!is_for_size_request())
        end_size_request(SizeRequestEnd::WITHDRAWN, why);
}

/* This process wants it no more, or has ended.  The last one's size request ends by it. */
void Step::size_request_without(const Process &process, const std::string &why)
{
    if (next_size_request_)
        drop_holder(*next_size_request_, process.uid, why);
    if (next_size_request_ && next_size_request_->holders.empty())
        next_size_request_.reset();
    bool is_last =
        size_request_ && size_request_->holders.size() == 1 && size_request_->holders.front().uid == process.uid;
    if (is_last)
        withdraw_size_request(why);
    else if (size_request_)
        drop_holder(*size_request_, process.uid, why);
}

/* ---- what becomes of it ------------------------------------------------------------------------------- */

/* Whether the adaptation under way is made for it. */
bool Step::is_for_size_request() const
{
    return size_request_ && state_.adaptation && size_request_->request == state_.adaptation->request;
}

/* The one that was made while another one was about to be granted. */
void Step::take_next_size_request()
{
    if (auto next = std::exchange(next_size_request_, {}))
        replace_size_request(*next);
}

/* An impossible size is refused at once; a possible one waits until no adaptation is under way. */
void Step::consider_size_request()
{
    if (is_for_size_request())
        return;
    if ((state_.ending || state_.over) && !state_.adaptation)
        return end_size_request(SizeRequestEnd::WITHDRAWN, "the job ended");
    if (is_modify())
        return consider_modify();
    if (state_.mode == InitMode::RIGID)
        return end_size_request(SizeRequestEnd::REFUSED,
                                "the job is rigid: not all processes have called MPI_Init_adapt");
    if (state_.mode == InitMode::UNKNOWN)
        return;
    if (size_request_->size == state_.world.size())
        return state_.adaptation ? void() : end_size_request(SizeRequestEnd::GRANTED, "");
    if (state_.managed)
        return;                 /* the manager decides */
    if (!size_source_.range())
        return end_size_request(SizeRequestEnd::REFUSED, size_source_.is_schedule()
                                                             ? "sizes follow the schedule that mpiexec was started with"
                                              : "mpiexec was started without --adapt-range, and no resource manager "
                                                               "is there to decide");
    auto size = best_size(*size_request_, *size_source_.range(), sizes_ ? &*sizes_ : nullptr);
    if (!size)
        return end_size_request(SizeRequestEnd::REFUSED, size.error());
    if (!tasks_.why_no_capacity(size.value()).empty()) {
        int most = state_.range_max - static_cast<int>(tasks_.held());
        size = best_size(*size_request_, {state_.range_min, most}, sizes_ ? &*sizes_ : nullptr);
        if (!size || size.value() <= state_.world.size())
            return;             /* until slots are given back */
    }
    if (!state_.adaptation && size.value() == state_.world.size())
        return end_size_request(SizeRequestEnd::GRANTED, "");
    if (!state_.adaptation)
        grant_size_request(size.value());
}

void Step::grant_size_request(int size)
{
    ChangeRequest requested{size, {}, {}};
    auto change = resolve(requested);
    if (!change)
        return end_size_request(SizeRequestEnd::REFUSED, change.error());
    Adaptation &a = is_modify() ? accept(Source::PROGRAM, "MPIX_Comm_modify", requested, change.value())
                                : accept(Source::WISH, "the program's wish", requested, change.value());
    if (!size_request_->reason.empty())
        a.reason = size_request_->reason.substr(0, REASON_MAX_BYTES);
    size_request_->request = a.request;
    begin();
}

/* The adaptation under way has ended; the world is what it is from now on. */
void Step::size_request_after(const Adaptation &adaptation)
{
    if (!size_request_)
        return;
    bool committed = adaptation.state == AdaptState::COMMITTED;
    if (committed && size_request_->allows(state_.world.size()))
        return end_size_request(SizeRequestEnd::GRANTED, "");
    if (size_request_->request != adaptation.request)
        return;                 /* made for somebody else */
    bool withdrawn = size_request_->withdrawing || state_.ending;
    end_size_request(withdrawn ? SizeRequestEnd::WITHDRAWN : SizeRequestEnd::REFUSED, adaptation.end_reason);
}

/* When it is void; nothing while what is agreed on, or what an operation on sets waits for, may still grant it. */
std::optional<int64_t> Step::size_request_void_ms() const
{
    bool may_be_granted = state_.adaptation && (is_for_pset_request() || !before_agreement(state_.adaptation->state));
    if (!size_request_ || size_request_->until_unix_ms == 0 || may_be_granted)
        return std::nullopt;
    return std::max<int64_t>(static_cast<int64_t>(size_request_->until_unix_ms) - state_.unix_ms_at_zero, 0);
}

void Step::check_size_request_time()
{
    auto when = size_request_void_ms();
    if (!when || state_.now_ms < *when)
        return;
    const char *const LATE = "it was not granted by the time until when it was wanted";
    if (is_for_size_request())
        raise(AdaptEvent::WITHDRAW, LATE);
    else
        end_size_request(SizeRequestEnd::REFUSED, LATE);
}

/* "": --adapt-range allows a request for this size, and it has capacity.  Else why not, and what to do. */
std::string Step::why_refused(int new_size) const
{
    const auto &range = size_source_.requests_range();
    if (range && !range->holds(new_size))
        return "mpiexec was started with --adapt-range " + std::to_string(range->min) + ":" +
               std::to_string(range->max) + ": request a size in that range";
    return tasks_.why_no_capacity(new_size);
}

/* ---- the resource manager ------------------------------------------------------------------------------ */

std::string Step::answer_refuse(const Json &id, const RefuseRequest &refuse)
{
    if (tasks_.refuse(refuse))
        return write_answer(id, {{"wish", refuse.request_number}});
    if (!size_request_ || size_request_->number != refuse.request_number)
        return write_error({id, ErrorCode::NOTHING, "wish " + std::to_string(refuse.request_number) + " is not open"});
    if (is_for_size_request())
        return write_error({id, ErrorCode::BUSY, "the step is adapting for this wish: cancel request " +
                                                     std::to_string(state_.adaptation->request)});
    end_size_request(SizeRequestEnd::REFUSED, refuse.reason);
    return write_answer(id, {{"wish", refuse.request_number}});
}

}  // namespace elastic
