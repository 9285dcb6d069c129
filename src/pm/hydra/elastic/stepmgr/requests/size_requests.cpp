/* See size_requests.h: size requests of the program, and their outcomes. */

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
    std::set<ProxyId> proxy_ids;
    for (const SizeRequestHolder &holder : holders) {
        if (!state_.world.disconnected(holder.proxy_id) &&
            !state_.killed_groups.contains(holder.proxy_id.group))
            proxy_ids.insert(holder.proxy_id);
    }
    std::vector<step_proxy> to;
    for (const ProxyId &proxy_id : proxy_ids)
        to.push_back({proxy_id.group, proxy_id.number});
    std::string payload = write_size_request_end(end, state_.world.size(), holders, reason, cause);
    if (!to.empty())
        state_.effects.send(state_.effects.context, to.data(), static_cast<int>(to.size()),
                            STEP_SIZE_REQUEST_ENDED, 0, payload.data(), payload.size());
}

Json SizeRequests::describe_open() const
{
    const SizeRequest &open = *queue_.open();
    Json fields = {{REQUEST_NUMBER, open.number},
                   {"kind", "processes"},
                   {"size", open.wanted.size},
                   {"size_min", open.size_min},
                   {"size_max", open.size_max}};
    if (open.origin == Origin::MODIFY)
        fields["modify"] = true;
    if (open.origin == Origin::OPERATION)
        fields["waits"] = true;
    if (open.until_unix_ms > 0)
        fields["until_ms"] = open.until_unix_ms;
    if (!open.reason.empty())
        fields["reason"] = open.reason;
    return fields;
}

void SizeRequests::end(SizeRequestEnd end, const std::string &reason)
{
    SizeRequest ended = queue_.take_open();
    Json fields = {{REQUEST_NUMBER, ended.number},
                   {"result", to_string(end)}, {"size", state_.world.size()}};
    if (end != SizeRequestEnd::GRANTED)
        fields["reason"] = reason;
    if (ended.notified)
        state_.journal.add(state_.now_ms, SIZE_REQUEST_ENDED, fields);
    send_end(ended.holders, end, reason);
    if (ended.origin == Origin::OPERATION)
        hooks_.operation_ended(end, reason);
}

/* ---- reports of processes -------------------------------------------------------------------- */

/* Whether the adaptation on which the processes have agreed, of any origin, will grant it.  A
 * process that has already committed may make another request before all have. */
bool SizeRequests::is_about_to_be_granted() const
{
    return queue_.open() && state_.adaptation && !before_agreement(state_.adaptation->state) &&
           queue_.open()->allows(state_.adaptation->change.new_size);
}

/* The only entry for requests that may wait.  The rate of hints and operations is counted by their
 * callers, that of MPIX_Comm_modify not at all. */
void SizeRequests::submit(const SizeRequest &request)
{
    using Turn = SizeRequestQueue::Turn;
    Turn turn = queue_.turn_of(request, is_about_to_be_granted());
    if (turn == Turn::REFUSED)
        return send_end(request.holders, SizeRequestEnd::REFUSED,
                        "the program waits in MPIX_Comm_modify");
    if (turn == Turn::JOINS) {
        SizeRequest &same = *queue_.find_same(request);
        for (const SizeRequestHolder &holder : request.holders)
            drop_holder(same, holder.uid, REPLACED);
        return queue_.join(same, request);
    }
    if (request.origin == Origin::PROGRAM && !rate_.allows(state_.now_ms))
        return send_end(request.holders, SizeRequestEnd::REFUSED,
                        "the program has made too many size requests in a short time");
    if (turn == Turn::WAITS) {
        if (auto replaced = queue_.wait(request))
            send_end(replaced->holders, SizeRequestEnd::WITHDRAWN, REPLACED);
        return;
    }
    end_replaced();
    queue_.open(request, ++state_.requests);
    announce_open();
}

void SizeRequests::on_size_request(const Process &process, const SizeRequestReport &report)
{
    if (process.ended)
        return state_.unexpected("size request of " + state_.describe(process) +
                                 ", which has ended");
    if (report.modify)
        return on_modify(process, report);
    SizeRequest size_request;
    size_request.wanted.size = report.size;
    size_request.size_min = report.size_min;
    size_request.size_max = report.size_max;
    size_request.until_unix_ms = report.until_ms;
    size_request.reason = report.reason;
    size_request.holders.push_back({process.uid, report.number, process.proxy_id()});
    size_request.rank = process.world_rank;
    submit(size_request);
}

/* Ends the change for the replaced request if it is not agreed on. */
void SizeRequests::end_replaced()
{
    if (has_adaptation() && before_agreement(state_.adaptation->state)) {
        queue_.open()->withdrawing = true;
        control_.raise(AdaptEvent::WITHDRAW, REPLACED);
    }
    if (queue_.open())
        end(SizeRequestEnd::WITHDRAWN, REPLACED);
}

void SizeRequests::announce_open()
{
    if (!is_modify())           /* else it is announced when it can be granted */
        log_open();
}

void SizeRequests::log_open()
{
    Json fields = describe_open();
    fields["rank"] = queue_.open()->rank;
    state_.journal.add(state_.now_ms, SIZE_REQUESTED, fields);
    queue_.open()->notified = true;
}

/* Removes a holder of the size request, and notifies it of a separate end. */
void SizeRequests::drop_holder(SizeRequest &size_request, uint32_t uid, const std::string &reason)
{
    auto found = std::find_if(size_request.holders.begin(), size_request.holders.end(),
                              [uid](const SizeRequestHolder &holder) { return holder.uid == uid; });
    if (found == size_request.holders.end())
        return;
    send_end({*found}, SizeRequestEnd::WITHDRAWN, reason);
    size_request.holders.erase(found);
}

/* A request that has already ended is no error: the two messages crossed. */
void SizeRequests::on_withdrawn(const Process &process, uint32_t number)
{
    auto has_made = [&](const SizeRequest *size_request) {
        return size_request &&
               std::any_of(size_request->holders.begin(), size_request->holders.end(),
                           [&](const SizeRequestHolder &holder) {
                               return holder.uid == process.uid && holder.number == number;
                           });
    };
    if (has_made(queue_.open()) || has_made(queue_.waiting()))
        process_left(process, "the program has withdrawn it");
}

/* No process wants it any more. */
void SizeRequests::withdraw(const std::string &why)
{
    queue_.open()->withdrawing = true;
    if (has_adaptation() && before_agreement(state_.adaptation->state))
        control_.raise(AdaptEvent::WITHDRAW, why);
    else if (!has_adaptation())
        end(SizeRequestEnd::WITHDRAWN, why);
}

/* This process no longer wants it, or has ended.  If it was the last holder, the size request
 * ends. */
void SizeRequests::process_left(const Process &process, const std::string &why)
{
    auto is_last_of = [&](const SizeRequest &request) {
        return request.holders.size() == 1 && request.holders.front().uid == process.uid;
    };
    if (SizeRequest *waiting = queue_.waiting()) {
        bool is_last = is_last_of(*waiting);
        drop_holder(*waiting, process.uid, why);
        if (is_last)
            queue_.remove_waiting();
    }
    SizeRequest *open = queue_.open();
    if (open && is_last_of(*open))
        withdraw(why);
    else if (open)
        drop_holder(*open, process.uid, why);
}

/* ---- what becomes of it ---------------------------------------------------------------------- */

/* Whether the adaptation under way was made for it. */
bool SizeRequests::has_adaptation() const
{
    return queue_.open() && state_.adaptation &&
           queue_.open()->request == state_.adaptation->request;
}

void SizeRequests::consider()
{
    if (!queue_.open() && queue_.waiting()) {
        queue_.open_waiting(++state_.requests);
        announce_open();
    }
    if (queue_.open())
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
    if (queue_.open()->wanted.size == state_.world.size())
        return state_.adaptation ? void() : end(SizeRequestEnd::GRANTED, "");
    if (!state_.managed)        /* else the manager decides */
        consider_in_range();
}

void SizeRequests::consider_in_range()
{
    const char *const BY_SCHEDULE = "sizes follow the schedule that mpiexec was started with";
    const char *const NO_RANGE =
        "mpiexec was started without --adapt-range, and there is no resource manager to decide";
    const ProgramSizes *rule = rule_ ? &*rule_ : nullptr;
    if (!source_.range())
        return end(SizeRequestEnd::REFUSED, source_.is_schedule() ? BY_SCHEDULE : NO_RANGE);
    const SizeRequest &open = *queue_.open();
    auto size = best_size(open, *source_.range(), rule);
    if (!size)
        return end(SizeRequestEnd::REFUSED, size.error());
    if (!hooks_.why_no_capacity(size.value()).empty()) {
        int max = state_.range_max - static_cast<int>(hooks_.slots_held());
        size = best_size(open, {state_.range_min, max}, rule);
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
    SizeRequest request = *queue_.open();
    request.wanted.size = size;
    auto checked = check(request);
    if (const Change *change = std::get_if<Change>(&checked))
        deliver(request, *change);
    else
        end(SizeRequestEnd::REFUSED, std::get<SizeRefusal>(checked).why);
}

/* The adaptation under way has ended, and the world has its new size. */
void SizeRequests::adaptation_ended(const Adaptation &adaptation)
{
    if (queue_.open())
        open_after(adaptation);
    if (source_.ended(state_.now_ms, adaptation.state == AdaptState::COMMITTED) && !state_.ending)
        state_.notify_user(
            "the adaptation policy stops: too many adaptations in a row were not committed");
}

void SizeRequests::open_after(const Adaptation &adaptation)
{
    bool committed = adaptation.state == AdaptState::COMMITTED;
    const SizeRequest &open = *queue_.open();
    if (committed && open.allows(state_.world.size()))
        return end(SizeRequestEnd::GRANTED, "");
    if (open.request != adaptation.request)
        return;                 /* made for another request */
    bool withdrawn = open.withdrawing || state_.ending;
    end(withdrawn ? SizeRequestEnd::WITHDRAWN : SizeRequestEnd::REFUSED, adaptation.end_reason);
}

/* Time at which it becomes void.  Nothing: an agreed adaptation, or one for which an operation on
 * sets waits, may still grant it. */
std::optional<int64_t> SizeRequests::void_ms() const
{
    const SizeRequest *open = queue_.open();
    if (!open || open->until_unix_ms == 0)
        return std::nullopt;
    bool may_be_granted = state_.adaptation && (open->origin == Origin::OPERATION ||
                                                !before_agreement(state_.adaptation->state));
    if (may_be_granted)
        return std::nullopt;
    return std::max<int64_t>(static_cast<int64_t>(open->until_unix_ms) - state_.unix_ms_at_zero, 0);
}

void SizeRequests::check_time()
{
    auto when = void_ms();
    if (!when || state_.now_ms < *when)
        return;
    const char *const LATE = "it was not granted within its time limit";
    if (has_adaptation())
        control_.raise(AdaptEvent::WITHDRAW, LATE);
    else
        end(SizeRequestEnd::REFUSED, LATE);
}

/* ---- clients --------------------------------------------------------------------------------- */

std::string SizeRequests::answer_refuse(const Json &id, const RefuseRequest &refuse)
{
    if (!find(refuse.request_number))
        return write_error(
            {id, ErrorCode::NOTHING,
             "size request " + std::to_string(refuse.request_number) + " is not open"});
    if (has_adaptation())
        return write_error({id, ErrorCode::BUSY,
                            "the step is adapting for this size request: cancel request " +
                                std::to_string(state_.adaptation->request)});
    end(SizeRequestEnd::REFUSED, refuse.reason);
    return write_answer(id, {{REQUEST_NUMBER, refuse.request_number}});
}

/* ---- operations on process sets -------------------------------------------------------------- */

uint64_t SizeRequests::request_for_operation(SizeRequest size_request)
{
    size_request.origin = Origin::OPERATION;
    submit(size_request);
    const SizeRequest &open = *queue_.open();   /* this request, or MPIX_Comm_modify */
    return open.origin == Origin::OPERATION ? open.number : 0;
}

void SizeRequests::release(uint64_t number)
{
    SizeRequest *open = queue_.find(number);
    if (open && open->origin == Origin::OPERATION)
        open->origin = open->holders.empty() ? Origin::HINTS : Origin::PROGRAM;
}

}  // namespace elastic
