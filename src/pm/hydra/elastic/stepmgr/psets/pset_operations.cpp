/* See pset_operations.h. */

#include "stepmgr/psets/pset_operations.h"

#include <algorithm>
#include <utility>

namespace elastic {

namespace {

/* `why_not`: the reason why there is no operation; follows the names. */
std::string reply_of(const Sets::OpenOp &op, const std::string &why_not = "")
{
    SetAnswer answer;
    answer.number(op.op).number(op.names.size());
    for (const std::string &name : op.names)
        answer.text(name);
    return answer.text(why_not).bytes();
}

/* The processes of the program wait for the reply.  A resource manager that can grant the request
 * does so at once, so the step manager waits only this long.  A process that queries the open
 * operation finds a later offer. */
constexpr uint64_t MANAGER_ANSWERS_MS = 2000;

bool adds(pmi_set_op op)
{
    return op == PMI_SET_OP_ADD || op == PMI_SET_OP_GROW;
}

bool is_resource_op(pmi_set_op op)
{
    return op >= PMI_SET_OP_ADD && op <= PMI_SET_OP_SHRINK;
}

}  // namespace

/* ---- calls of processes ---------------------------------------------------------------------- */

void PsetOperations::on_change_call(Process &process, const SetCaller &caller,
                                    const ChangeCall &call)
{
    auto answer_known = [&](const auto &known) -> std::optional<std::string> {
        if constexpr (requires { this->answer(process, caller, known); })
            return this->answer(process, caller, known);
        else
            return changes_.answer(process, caller, known);
    };
    auto reply = std::visit(answer_known, call);
    psets_.log_changes();
    if (reply)
        psets_.send_replies({{caller, std::move(*reply)}});
}

std::optional<std::string> PsetOperations::answer(Process &, const SetCaller &caller,
                                                  const QueryArrival &call)
{
    return psets_.query_arrival(caller, call);
}

std::optional<std::string> PsetOperations::answer(Process &, const SetCaller &caller,
                                                  const RequestOp &call)
{
    if (std::string error = mode_.refusal(); !error.empty())
        return error;
    if (!is_resource_op(call.op))
        return SetAnswer::wrong("no such operation");
    std::string error;
    if (!sets_.resolve_operand({call.bound, {}}, error))
        return error;
    mode_.ensure();
    if (open_ || state_.ending)
        return reply_of({}, state_.ending ? "the job ends"
                                          : "the request of another process is pending");
    if (std::string why = why_not_removed(call); !why.empty())
        return reply_of({}, why);
    open_.emplace();
    open_->caller = caller;
    open_->call = call;
    if (adds(call.op))
        open_->call.remove = 0;
    else if (call.op == PMI_SET_OP_SUB || call.op == PMI_SET_OP_SHRINK)
        open_->call.add = 0;
    return std::nullopt;        /* consider() continues with it */
}

std::optional<std::string> PsetOperations::answer(Process &process, const SetCaller &caller,
                                                  const QueryOp &call)
{
    if (std::string error = mode_.ensure(); !error.empty())
        return error;
    psets_.send_replies(sets_.gather(caller, call, [&] { return open_op(process, call.name); }));
    return std::nullopt;
}

std::optional<std::string> PsetOperations::answer(Process &, const SetCaller &, const CloseOp &call)
{
    return sets_.close_op(call.name);
}

/* All processes of a set have queried: accepts an offer of the resource manager now. */
std::string PsetOperations::open_op(const Process &process, const std::string &bound)
{
    if (!sets_.find_open_op(bound) && !open_ && changes_.is_on_offer()) {
        pmi_set_op op = state_.adaptation->change.joining > 0 ? PMI_SET_OP_GROW : PMI_SET_OP_SHRINK;
        std::string delta = changes_.accept_for(process, bound);
        if (!delta.empty())
            sets_.open_op(bound, {op, {delta, result_of(process.uid, op, bound, delta)}});
    }
    const Sets::OpenOp *open = sets_.find_open_op(bound);
    return open ? reply_of(*open) : reply_of({});
}

std::string PsetOperations::result_of(uint32_t uid, pmi_set_op op, const std::string &bound,
                                      const std::string &delta)
{
    return sets_.combine(uid, op == PMI_SET_OP_GROW ? PMI_SET_OP_UNION : PMI_SET_OP_DIFFERENCE,
                         bound, delta);
}

/* ---- the open request ------------------------------------------------------------------------ */

/* Checked before any request is made: the leaving processes must be running members. */
std::string PsetOperations::why_not_removed(const RequestOp &call)
{
    std::string error;
    auto bound = sets_.resolve_operand({call.bound, {}}, error);
    auto runs = [&](const Process *process) {
        return bound->contains(process->uid) && !process->ended;
    };
    auto running = bound ? std::ranges::count_if(state_.world.members(), runs) : 0;
    if (adds(call.op) || call.op == PMI_SET_OP_MALLEABLE ||
        call.remove <= static_cast<uint64_t>(running))
        return "";
    return "the set has " + std::to_string(running) + " running processes, fewer than the " +
           std::to_string(call.remove) + " to be removed";
}

/* Notifies the user once that an option is missing, which a program that requests changes needs. */
std::string PsetOperations::why_out_of_range(const std::vector<int> &sizes)
{
    const auto &range = requests_.range();
    if (!range && !std::exchange(range_missed_, true))
        state_.notify_user("the program requests another number of processes: start mpiexec with "
                           "--adapt-range MIN:MAX to allow that");
    if (!range)
        return "mpiexec was started without --adapt-range";
    for (int size : sizes) {
        if (size < range->min || size > range->max)
            return std::to_string(size) + " processes are outside of --adapt-range " +
                   std::to_string(range->min) + ":" + std::to_string(range->max);
    }
    return "";
}

/* Ends the request.  Withdraws the change for it if that is not accepted. */
void PsetOperations::end(const Sets::OpenOp &op, const std::string &why_not)
{
    PsetRequest ended = *std::exchange(open_, std::nullopt);
    psets_.log_changes();
    psets_.send_replies({{ended.caller, reply_of(op, why_not)}});
    drop(ended, "the request of the program ended with another result");
}

/* The request fails.  A complete addition of a REPLACE remains. */
void PsetOperations::give_up(const std::string &why)
{
    const PsetRequest &request = *open_;
    bool was_added =
        request.added && (request.removing || (state_.last_end.request == request.request &&
                                               state_.last_end.state == AdaptState::COMMITTED));
    Sets::OpenOp done;
    if (was_added && !state_.ending) {
        done = {PMI_SET_OP_REPLACE, replaced(request.caller.uid, request, "")};
        sets_.open_op(request.call.bound, done);
    }
    end(done, why);
}

/* The size request of a REPLACE is granted after the addition: the removal follows. */
void PsetOperations::size_request_ended(SizeRequestEnd end, const std::string &reason)
{
    bool goes_on = end == SizeRequestEnd::GRANTED && open_->added && !open_->removing;
    if (!goes_on)
        give_up("the resource manager has not granted the request" +
                (reason.empty() ? "" : ": " + reason));
}

void PsetOperations::drop(const PsetRequest &request, const char *why)
{
    bool granted = state_.adaptation && !before_agreement(state_.adaptation->state);
    requests_.release(request.size_request);
    const SizeRequest *own = requests_.find(request.size_request);
    if (own && !(granted && own->allows(state_.adaptation->change.new_size)))
        requests_.withdraw(why);
    else if (state_.adaptation && request.request == state_.adaptation->request && !granted)
        control_.raise(AdaptEvent::WITHDRAW, why);
}

/* Makes as many steps as possible, because the change for the request may be offered at once. */
void PsetOperations::consider()
{
    if (open_ && (state_.ending || state_.over))
        return end({}, "the job ends");
    if (open_ && !state_.adaptation && !requests_.find(open_->size_request))
        begin();
    if (open_ && !state_.adaptation && !state_.managed)
        return end({}, state_.last_end.reason);  /* the launch was refused */
    if (open_ && changes_.is_on_offer())
        accept_offer();
}

/* No change or size request is open for the request: it begins, continues after the addition of a
 * REPLACE, or has failed. */
void PsetOperations::begin()
{
    const LastEnd &last = state_.last_end;
    bool was_added = last.request == open_->request && last.state == AdaptState::COMMITTED;
    bool goes_on = open_->added ? was_added && !open_->removing : !open_->requested;
    if (open_->call.op == PMI_SET_OP_MALLEABLE)
        return give_up("no change is offered");
    if (!goes_on)
        return give_up(state_.last_end.reason);
    open_->requested = true;
    open_->removing = open_->added.has_value() || open_->call.add == 0;
    departures_.drop_ended();
    if (state_.managed)
        request_size();
    else
        start();
}

void PsetOperations::start()
{
    const RequestOp &call = open_->call;
    int size = state_.world.size(), add = static_cast<int>(call.add),
        remove = static_cast<int>(call.remove);
    std::vector<int> sizes = {open_->removing ? size - remove : size + add};
    if (!open_->removing)
        sizes.push_back(size + add - remove);
    std::string why = why_out_of_range(sizes);
    if (why.empty())
        why = requests_.why_no_capacity(*std::ranges::max_element(sizes));
    if (!why.empty())
        return give_up(why);
    auto delivered = requests_.deliver_for_operation(sizes.front());
    if (!delivered)
        return give_up("the number of processes would not change");
    open_->request = *delivered;
}

/* The resource manager may grant a part of the request, but not of a REPLACE. The limit on the rate
 * of size requests applies. */
void PsetOperations::request_size()
{
    const PsetRequest &request = *open_;
    bool replaces = request.call.op == PMI_SET_OP_REPLACE;
    int size = state_.world.size(), add = static_cast<int>(request.call.add),
        remove = static_cast<int>(request.call.remove);
    int wanted = request.removing ? size - remove : size + add;
    bool too_often = !request.added && !requests_.rate_allows();
    if (wanted < 1 || wanted == size)
        return give_up("the job would have " + std::to_string(wanted) + " processes");
    if (too_often)
        return give_up("the program sends too many requests: wait before the next one");
    SizeRequest size_request;
    size_request.wanted.size = wanted;
    size_request.size_min = replaces ? wanted : std::min(wanted, size + 1);
    size_request.size_max = replaces ? wanted : std::max(wanted, size - 1);
    size_request.until_unix_ms = state_.unix_now_ms() + MANAGER_ANSWERS_MS;
    open_->size_request = requests_.request_for_operation(size_request);
    if (open_->size_request == 0)
        give_up("the program waits in MPIX_Comm_modify");
}

/* The offered change is the result if its direction is the requested one; else the program has to
 * accept or decline the offer first. */
void PsetOperations::accept_offer()
{
    PsetRequest &request = *open_;
    bool offer_adds = state_.adaptation->change.joining > 0;
    pmi_set_op op = request.call.op;
    if (op == PMI_SET_OP_MALLEABLE)
        op = offer_adds ? PMI_SET_OP_GROW : PMI_SET_OP_SHRINK;
    const SizeRequest *own = requests_.find(request.size_request);
    bool is_its_own = state_.managed ? own && offer_adds != request.removing &&
                                           own->allows(state_.adaptation->change.new_size)
                                     : request.request == state_.adaptation->request;
    bool fits = op == PMI_SET_OP_REPLACE ? is_its_own : adds(op) == offer_adds;
    const Process *requester = state_.world.find_member(request.caller.uid);
    std::string delta =
        fits && requester ? changes_.accept_for(*requester, request.call.bound) : "";
    if (delta.empty())
        return give_up(
            fits ? "the offered change does not apply to this set"
                 : "another change is offered: accept or decline it first");
    if (op == PMI_SET_OP_REPLACE && offer_adds) {
        request.request = state_.adaptation->request;
        request.added = delta;
        if (request.call.remove > 0)
            return;             /* the removal follows when they have joined */
    }
    Sets::OpenOp open = {op, {delta}};
    if (op == PMI_SET_OP_REPLACE)
        open.names = replaced(requester->uid, request, offer_adds ? "" : delta);
    else if (op == PMI_SET_OP_GROW || op == PMI_SET_OP_SHRINK)
        open.names.push_back(result_of(requester->uid, op, request.call.bound, delta));
    sets_.open_op(request.call.bound, open);
    end(open);
}

/* Removed, added, new: "" for none. */
std::vector<std::string> PsetOperations::replaced(uint32_t uid, const PsetRequest &request,
                                                  const std::string &removed)
{
    std::string added = request.added.value_or(""), whole = request.call.bound;
    if (!added.empty())
        whole = result_of(uid, PMI_SET_OP_GROW, whole, added);
    return {removed, added,
            removed.empty() ? whole : result_of(uid, PMI_SET_OP_SHRINK, whole, removed)};
}

void PsetOperations::process_ended(const Process &process)
{
    if (!open_ || open_->caller.uid != process.uid)
        return;
    PsetRequest dropped = *std::exchange(open_, std::nullopt);
    drop(dropped, "the process that requested it has ended");
}

}  // namespace elastic
