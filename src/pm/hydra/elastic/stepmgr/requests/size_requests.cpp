/* See size_requests.h: size requests of the program, and what becomes of them. */

#include "stepmgr/requests/size_requests.h"

#include <algorithm>
#include <utility>

namespace elastic {

namespace {

const char *const REPLACED = "another size request of the program replaces it";

std::string write_size_request_end(SizeRequestEnd end, int size,
                                   const std::vector<SizeRequestHolder> &holders,
                                   const std::string &reason, pmi_adapt_request_cause cause)
{
    auto bytes = [](const auto &value) {
        return std::string(reinterpret_cast<const char *>(&value), sizeof value);
    };
    request_ended head = {static_cast<uint32_t>(end), static_cast<uint32_t>(size),
                       static_cast<uint32_t>(holders.size()), static_cast<uint32_t>(cause)};
    std::string text = bytes(head);
    for (const SizeRequestHolder &holder : holders)
        text += bytes(request_holder{holder.uid, holder.number});
    return text + reason.substr(0, PMI_ADAPT_REQUEST_REASON_MAX);
}

}  // namespace

void SizeRequests::send_end(const std::vector<SizeRequestHolder> &holders, SizeRequestEnd end,
                            const std::string &reason, pmi_adapt_request_cause cause)
{
    std::set<Agent> agents;
    for (const SizeRequestHolder &holder : holders) {
        if (!state_.world.disconnected(holder.agent) &&
            !state_.killed_groups.contains(holder.agent.group))
            agents.insert(holder.agent);
    }
    std::vector<step_agent> to;
    for (const Agent &agent : agents)
        to.push_back({agent.group, agent.proxy});
    std::string payload = write_size_request_end(end, state_.world.size(), holders, reason, cause);
    if (!to.empty())
        state_.effects.send(state_.effects.context, to.data(), static_cast<int>(to.size()),
                            STEP_WISHED, 0, payload.data(), payload.size());
}

Json SizeRequests::describe_open() const
{
    Json fields = {{REQUEST_NUMBER, open_->number},
                   {"kind", to_string(open_->kind)},
                   {"size", open_->size},
                   {"size_min", open_->size_min},
                   {"size_max", open_->size_max}};
    if (is_modify())
        fields["modify"] = true;
    if (open_->awaited)
        fields["waits"] = true;
    if (open_->until_unix_ms > 0)
        fields["until_ms"] = open_->until_unix_ms;
    if (!open_->reason.empty())
        fields["reason"] = open_->reason;
    return fields;
}

void SizeRequests::end(SizeRequestEnd end, const std::string &reason)
{
    Json fields = {
        {REQUEST_NUMBER, open_->number}, {"result", to_string(end)}, {"size", state_.world.size()}};
    if (end != SizeRequestEnd::GRANTED)
        fields["reason"] = reason;
    if (open_->notified)
        state_.journal.add(state_.now_ms, SIZE_REQUEST_ENDED, fields);
    std::vector<SizeRequestHolder> holders = std::move(open_->holders);
    bool of_operation = open_->awaited;
    open_.reset();
    send_end(holders, end, reason);
    if (of_operation)
        hooks_.operation_ended(end, reason);
}

/* ---- reports of processes ----------------------------------------------------------------------------- */

/* By what the processes have agreed on, whoever has requested it.  A process that has committed already may request
 * something else before all have. */
bool SizeRequests::is_about_to_be_granted() const
{
    return open_ && state_.adaptation && !before_agreement(state_.adaptation->state) &&
           open_->allows(state_.adaptation->change.new_size);
}

/* The same size request of another process.  False: it is another one. */
bool SizeRequests::join(std::optional<SizeRequest> &open, const SizeRequest &size_request)
{
    if (!open || open->withdrawing || !open->is_same(size_request))
        return false;
    drop_holder(*open, size_request.holders.front().uid, REPLACED);
    open->holders.push_back(size_request.holders.front());
    bool for_ever = size_request.until_unix_ms == 0 || open->until_unix_ms == 0;
    open->until_unix_ms = for_ever ? 0 : std::max(open->until_unix_ms, size_request.until_unix_ms);
    return true;
}

void SizeRequests::on_size_request(const Process &process, const SizeRequestReport &report)
{
    if (process.ended)
        return state_.unexpected("size request of " + state_.describe(process) + ", which has ended");
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
        return send_end(size_request.holders, SizeRequestEnd::REFUSED,
                        "the program waits in MPIX_Comm_modify");
    if (join(next_, size_request) || join(open_, size_request))
        return;
    if (!rate_.allows(state_.now_ms))
        return send_end(size_request.holders, SizeRequestEnd::REFUSED,
                        "the program has made too many wishes in a short time");
    if (!is_about_to_be_granted())
        return replace(size_request);
    if (next_)
        send_end(next_->holders, SizeRequestEnd::WITHDRAWN, REPLACED);
    next_ = size_request;
}

/* A change that is made for the previous one, and is not agreed on, is not made any more. */
void SizeRequests::replace(const SizeRequest &size_request)
{
    if (open_ && has_adaptation() && before_agreement(state_.adaptation->state)) {
        open_->withdrawing = true;
        control_.raise(AdaptEvent::WITHDRAW, REPLACED);
    }
    if (open_)
        end(SizeRequestEnd::WITHDRAWN, REPLACED);
    open_ = size_request;
    open_->number = ++state_.requests;
    if (!is_modify())           /* else when it can be granted */
        log_open();
}

void SizeRequests::log_open()
{
    Json fields = describe_open();
    fields["rank"] = open_->rank;
    state_.journal.add(state_.now_ms, SIZE_REQUESTED, fields);
    open_->notified = true;
}

/* This process, if it has made the size request, is notified of an end of its own. */
void SizeRequests::drop_holder(SizeRequest &size_request, uint32_t uid, const std::string &reason)
{
    auto found = std::find_if(size_request.holders.begin(), size_request.holders.end(),
                              [uid](const SizeRequestHolder &holder) { return holder.uid == uid; });
    if (found == size_request.holders.end())
        return;
    send_end({*found}, SizeRequestEnd::WITHDRAWN, reason);
    size_request.holders.erase(found);
}

/* One that has ended already is no mistake: the two messages have met. */
void SizeRequests::on_withdrawn(const Process &process, uint32_t number)
{
    auto has_made = [&](const std::optional<SizeRequest> &size_request) {
        return size_request &&
               std::any_of(size_request->holders.begin(), size_request->holders.end(),
                           [&](const SizeRequestHolder &holder) {
                               return holder.uid == process.uid && holder.number == number;
                           });
    };
    if (has_made(open_) || has_made(next_))
        process_left(process, "the program has withdrawn it");
}

/* Nobody wants it any more. */
void SizeRequests::withdraw(const std::string &why)
{
    open_->withdrawing = true;
    if (has_adaptation() && before_agreement(state_.adaptation->state))
        control_.raise(AdaptEvent::WITHDRAW, why);
    else if (!has_adaptation())
        end(SizeRequestEnd::WITHDRAWN, why);
}

/* This process wants it no more, or has ended.  The last one's size request ends by it. */
void SizeRequests::process_left(const Process &process, const std::string &why)
{
    if (next_)
        drop_holder(*next_, process.uid, why);
    if (next_ && next_->holders.empty())
        next_.reset();
    bool is_last =
        open_ && open_->holders.size() == 1 && open_->holders.front().uid == process.uid;
    if (is_last)
        withdraw(why);
    else if (open_)
        drop_holder(*open_, process.uid, why);
}

/* ---- what becomes of it ------------------------------------------------------------------------------- */

/* Whether the adaptation under way is made for it. */
bool SizeRequests::has_adaptation() const
{
    return open_ && state_.adaptation && open_->request == state_.adaptation->request;
}

/* The one that was made while another one was about to be granted. */
void SizeRequests::take_next()
{
    if (auto next = std::exchange(next_, {}))
        replace(*next);
}

void SizeRequests::consider()
{
    if (!open_)
        take_next();
    if (open_)
        consider_open();
}

/* An impossible size is refused at once; a possible one waits until no adaptation is under way. */
void SizeRequests::consider_open()
{
    if (has_adaptation())
        return;
    if ((state_.ending || state_.over) && !state_.adaptation)
        return end(SizeRequestEnd::WITHDRAWN, "the job ended");
    if (is_modify())
        return consider_modify();
    if (state_.mode == InitMode::RIGID)
        return end(SizeRequestEnd::REFUSED,
                   "the job is rigid: not all processes have called MPI_Init_adapt");
    if (state_.mode == InitMode::UNKNOWN)
        return;
    if (open_->size == state_.world.size())
        return state_.adaptation ? void() : end(SizeRequestEnd::GRANTED, "");
    if (!state_.managed)        /* else the manager decides */
        consider_in_range();
}

void SizeRequests::consider_in_range()
{
    const char *const BY_SCHEDULE = "sizes follow the schedule that mpiexec was started with";
    const char *const NO_RANGE =
        "mpiexec was started without --adapt-range, and no resource manager is there to "
        "decide";
    const ProgramSizes *rule = rule_ ? &*rule_ : nullptr;
    if (!source_.range())
        return end(SizeRequestEnd::REFUSED, source_.is_schedule() ? BY_SCHEDULE : NO_RANGE);
    auto size = best_size(*open_, *source_.range(), rule);
    if (!size)
        return end(SizeRequestEnd::REFUSED, size.error());
    if (!hooks_.why_no_capacity(size.value()).empty()) {
        int max = state_.range_max - static_cast<int>(hooks_.slots_held());
        size = best_size(*open_, {state_.range_min, max}, rule);
        if (!size || size.value() <= state_.world.size())
            return;             /* until slots are released */
    }
    if (!state_.adaptation && size.value() == state_.world.size())
        return end(SizeRequestEnd::GRANTED, "");
    if (!state_.adaptation)
        grant(size.value());
}

void SizeRequests::grant(int size)
{
    ChangeRequest requested{size, {}, {}};
    auto change = resolve(requested);
    if (!change)
        return end(SizeRequestEnd::REFUSED, change.error());
    Adaptation &a =
        is_modify()
            ? control_.accept(Source::PROGRAM, "MPIX_Comm_modify", requested, change.value())
            : control_.accept(Source::SIZE_REQUEST, "the program's wish", requested, change.value());
    if (!open_->reason.empty())
        a.reason = open_->reason.substr(0, REASON_MAX_BYTES);
    open_->request = a.request;
    control_.begin();
}

/* The adaptation under way has ended; the world is what it is from now on. */
void SizeRequests::adaptation_ended(const Adaptation &adaptation)
{
    if (open_)
        open_after(adaptation);
    if (source_.ended(state_.now_ms, adaptation.state == AdaptState::COMMITTED) && !state_.ending)
        state_.notify_user(
            "the adaptation policy stops: too many adaptations in a row were not committed");
}

void SizeRequests::open_after(const Adaptation &adaptation)
{
    bool committed = adaptation.state == AdaptState::COMMITTED;
    if (committed && open_->allows(state_.world.size()))
        return end(SizeRequestEnd::GRANTED, "");
    if (open_->request != adaptation.request)
        return;                 /* made for somebody else */
    bool withdrawn = open_->withdrawing || state_.ending;
    end(withdrawn ? SizeRequestEnd::WITHDRAWN : SizeRequestEnd::REFUSED, adaptation.end_reason);
}

/* When it is void; nothing while what is agreed on, or what an operation on sets waits for, may still grant it. */
std::optional<int64_t> SizeRequests::void_ms() const
{
    bool may_be_granted = open_ && state_.adaptation &&
                          (open_->awaited || !before_agreement(state_.adaptation->state));
    if (!open_ || open_->until_unix_ms == 0 || may_be_granted)
        return std::nullopt;
    return std::max<int64_t>(static_cast<int64_t>(open_->until_unix_ms) - state_.unix_ms_at_zero,
                             0);
}

void SizeRequests::check_time()
{
    auto when = void_ms();
    if (!when || state_.now_ms < *when)
        return;
    const char *const LATE = "it was not granted by the time until when it was wanted";
    if (has_adaptation())
        control_.raise(AdaptEvent::WITHDRAW, LATE);
    else
        end(SizeRequestEnd::REFUSED, LATE);
}

/* ---- clients ------------------------------------------------------------------------------------------- */

std::string SizeRequests::why_refused(int new_size) const
{
    const auto &range = source_.requests_range();
    if (range && !range->holds(new_size))
        return "mpiexec was started with --adapt-range " + std::to_string(range->min) + ":" +
               std::to_string(range->max) + ": request a size in that range";
    return hooks_.why_no_capacity(new_size);
}

Adaptation &SizeRequests::accept_for_client(const ChangeRequest &requested, const Change &change)
{
    if (!is_modify())
        return control_.accept(Source::CLIENT, "resize request", requested, change);
    Adaptation &a = control_.accept(Source::PROGRAM, "MPIX_Comm_modify", requested, change);
    open_->request = a.request;
    return a;
}

std::string SizeRequests::answer_refuse(const Json &id, const RefuseRequest &refuse)
{
    if (!open_ || open_->number != refuse.request_number)
        return write_error({id, ErrorCode::NOTHING,
                            "size request " + std::to_string(refuse.request_number) + " is not open"});
    if (has_adaptation())
        return write_error({id, ErrorCode::BUSY,
                            "the step is adapting for this size request: cancel request " +
                                std::to_string(state_.adaptation->request)});
    end(SizeRequestEnd::REFUSED, refuse.reason);
    return write_answer(id, {{REQUEST_NUMBER, refuse.request_number}});
}

/* ---- operations on process sets -------------------------------------------------------------------------- */

uint64_t SizeRequests::request_for_operation(SizeRequest size_request)
{
    size_request.awaited = true;
    replace(size_request);
    return open_->number;
}

void SizeRequests::release(uint64_t number)
{
    if (find(number))
        open_->awaited = false;
}

}  // namespace elastic
