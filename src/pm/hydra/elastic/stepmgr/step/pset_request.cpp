/*
 * See step.h: operations on process sets that add or remove processes, as a program requests them (psetop of
 * libmpidynres 2), and the query for the operation that is open.  Such a request is notified and accepted in one, and
 * its caller waits for the result.
 *
 * One request waits at a time.  Without a resource manager it becomes a request of mpiexec within --adapt-range.  With
 * one it becomes a size request (step_size_request.cpp), and the next change in the same direction is its result.
 * REPLACE is an addition, and a removal when its processes are there: two requests.  The reply to an impossible request
 * names no operation.  SC5, SC6.
 */

#include "stepmgr/step/step.h"

#include <algorithm>
#include <utility>

namespace elastic {

namespace {

/* Behind the names: why there is no operation. */
std::string answer_of(const Sets::OpenOp &op, const std::string &why_not = "")
{
    SetAnswer answer;
    answer.number(op.op).number(op.names.size());
    for (const std::string &name : op.names)
        answer.text(name);
    return answer.text(why_not).bytes();
}

/* The processes of the program wait for the answer.  A manager that has processes to give says so at once; one that has
 * none yet is not waited for: what it offers later is found by who queries which operation is open. */
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

/* ---- what processes say ------------------------------------------------------------------------------------- */

std::optional<std::string> Step::answer_change(Process &, const SetCaller &caller, const RequestOp &call)
{
    if (std::string error = cannot_be_dynamic(); !error.empty())
        return error;
    if (!is_resource_op(call.op))
        return SetAnswer::error(PMI_SET_WRONG, "no such operation");
    std::string error;
    if (!sets_.resolve_operand({call.bound, {}}, error))
        return error;
    if (state_.mode != InitMode::SETS)
        become_dynamic();
    if (pset_request_ || state_.ending)
        return answer_of({}, state_.ending ? "the job ends" : "another process waits for the answer to its request");
    if (std::string why = why_not_removed(call); !why.empty())
        return answer_of({}, why);
    pset_request_.emplace();
    pset_request_->caller = caller;
    pset_request_->call = call;
    if (adds(call.op))
        pset_request_->call.remove = 0;
    else if (call.op == PMI_SET_OP_SUB || call.op == PMI_SET_OP_SHRINK)
        pset_request_->call.add = 0;
    return std::nullopt;        /* settle() goes on with it */
}

std::optional<std::string> Step::answer_change(Process &process, const SetCaller &caller, const QueryOp &call)
{
    if (std::string error = cannot_be_dynamic(); !error.empty())
        return error;
    if (state_.mode != InitMode::SETS)
        become_dynamic();
    psets_.send_replies(sets_.gather(caller, call, [&] { return open_op(process, call.name); }));
    return std::nullopt;
}

std::optional<std::string> Step::answer_change(Process &, const SetCaller &, const CloseOp &call)
{
    return sets_.close_op(call.name);
}

/* Asked by all of a set at once.  An offer of the resource manager is accepted now. */
std::string Step::open_op(const Process &asker, const std::string &bound)
{
    if (!sets_.find_open_op(bound) && !pset_request_ && is_on_offer()) {
        pmi_set_op op = state_.adaptation->change.joining > 0 ? PMI_SET_OP_GROW : PMI_SET_OP_SHRINK;
        std::string delta = take_offer(asker, bound);
        if (!delta.empty())
            sets_.open_op(bound, {op, {delta, result_of(asker.uid, op, bound, delta)}});
    }
    const Sets::OpenOp *open = sets_.find_open_op(bound);
    return open ? answer_of(*open) : answer_of({});
}

/* ---- taking what is offered --------------------------------------------------------------------------------- */

bool Step::is_on_offer() const
{
    return state_.adaptation && find_set_transition(state_.adaptation->state, AdaptEvent::ASKED);
}

/* Notified to this process and accepted by it; the delta, or "": it is not for this set. */
std::string Step::take_offer(const Process &process, const std::string &bound)
{
    drop_ended();
    std::string error;
    auto members = sets_.resolve_operand({bound, {}}, error);
    auto delta = members && process.world_rank >= 0 ? choose_delta(*members) : std::nullopt;
    if (!delta)
        return "";
    if (!notify_change(process, *delta))
        return "";
    std::string name = state_.adaptation->delta_name;
    NotifiedChange notified = take_notified();
    state_.log("accepted", {{"uid", notified.uid}, {"tag", notified.tag}});
    taken();
    return name;
}

std::string Step::result_of(uint32_t uid, pmi_set_op op, const std::string &bound, const std::string &delta)
{
    return sets_.combine(uid, op == PMI_SET_OP_GROW ? PMI_SET_OP_UNION : PMI_SET_OP_DIFFERENCE, bound, delta);
}

/* ---- the request that waits --------------------------------------------------------------------------------- */

/* Known before anything is made for it: members that run leave. */
std::string Step::why_not_removed(const RequestOp &call)
{
    std::string error;
    auto bound = sets_.resolve_operand({call.bound, {}}, error);
    auto runs = [&](const Process *process) { return bound->contains(process->uid) && !process->ended; };
    auto running = bound ? std::ranges::count_if(state_.world.members(), runs) : 0;
    if (adds(call.op) || call.op == PMI_SET_OP_MALLEABLE || call.remove <= static_cast<uint64_t>(running))
        return "";
    return "the set has " + std::to_string(running) + " processes that run, fewer than the " +
           std::to_string(call.remove) + " that are to leave";
}

/* The user is notified once that an option is missing: a program that requests changes counts on it. */
std::string Step::why_out_of_range(const std::vector<int> &sizes)
{
    const auto &range = requests_.range();
    if (!range && !std::exchange(range_missed_, true))
        state_.effects.notify_user(state_.effects.context,
                                   "the program asks for other numbers of processes, which are granted "
                                   "within --adapt-range MIN:MAX only");
    if (!range)
        return "mpiexec was started without --adapt-range";
    for (int size : sizes) {
        if (size < range->min || size > range->max)
            return std::to_string(size) + " processes are outside of --adapt-range " + std::to_string(range->min) +
                   ":" + std::to_string(range->max);
    }
    return "";
}

/* A change that was made for it, and is not accepted, is withdrawn. */
void Step::end_pset_request(const Sets::OpenOp &op, const std::string &why_not)
{
    PsetRequest ended = *std::exchange(pset_request_, std::nullopt);
    psets_.log_changes();
    psets_.send_replies({{ended.caller, answer_of(op, why_not)}});
    drop_pset_request(ended, "the program has got another answer");
}

/* It comes to nothing, but for the addition of a REPLACE, if that is there: it is before the removal begins. */
void Step::give_up_pset_request(const std::string &why)
{
    const PsetRequest &request = *pset_request_;
    bool was_added = request.added && (request.removing || (state_.last_end.request == request.request &&
                                                            state_.last_end.state == AdaptState::COMMITTED));
    Sets::OpenOp done;
    if (was_added && !state_.ending) {
        done = {PMI_SET_OP_REPLACE, replaced(request.caller.uid, request, "")};
        sets_.open_op(request.call.bound, done);
    }
    end_pset_request(done, why);
}

/* The size request that was made for it.  That of an addition is granted before the removal. */
void Step::size_request_ended(SizeRequestEnd end, const std::string &reason)
{
    bool goes_on = end == SizeRequestEnd::GRANTED && pset_request_->added && !pset_request_->removing;
    if (!goes_on)
        give_up_pset_request("the resource manager has not granted it" + (reason.empty() ? "" : ": " + reason));
}

void Step::drop_pset_request(const PsetRequest &request, const char *why)
{
    bool granted = state_.adaptation && !before_agreement(state_.adaptation->state);
    requests_.release(request.size_request);
    const SizeRequest *own = requests_.find(request.size_request);
    if (own && !(granted && own->allows(state_.adaptation->change.new_size)))
        requests_.withdraw(why);
    else if (state_.adaptation && request.request == state_.adaptation->request && !granted)
        raise(AdaptEvent::WITHDRAW, why);
}

/* After every event, as far as it gets: what is made for it may be offered at once. */
void Step::consider_pset_request()
{
    if (pset_request_ && (state_.ending || state_.over))
        return end_pset_request({}, "the job ends");
    if (pset_request_ && !state_.adaptation && !requests_.find(pset_request_->size_request))
        begin_pset_request();
    if (pset_request_ && !state_.adaptation && !state_.managed)
        return end_pset_request({}, state_.last_end.reason);  /* the launch was refused */
    if (pset_request_ && is_on_offer())
        take_for_pset_request();
}

/* The addition of a REPLACE is there; anything else that was made for it has come to nothing. */
void Step::begin_pset_request()
{
    const LastEnd &last = state_.last_end;
    bool was_added = last.request == pset_request_->request && last.state == AdaptState::COMMITTED;
    bool goes_on = pset_request_->added ? was_added && !pset_request_->removing : !pset_request_->requested;
    if (pset_request_->call.op == PMI_SET_OP_MALLEABLE)
        return give_up_pset_request("nobody offers a change");
    if (!goes_on)
        return give_up_pset_request(state_.last_end.reason);
    pset_request_->requested = true;
    pset_request_->removing = pset_request_->added.has_value() || pset_request_->call.add == 0;
    drop_ended();
    if (state_.managed)
        request_size_for_pset();
    else
        start_pset_request();
}

void Step::start_pset_request()
{
    const RequestOp &call = pset_request_->call;
    int size = state_.world.size(), add = static_cast<int>(call.add), remove = static_cast<int>(call.remove);
    std::vector<int> sizes = {pset_request_->removing ? size - remove : size + add};
    if (!pset_request_->removing)
        sizes.push_back(size + add - remove);
    std::string why = why_out_of_range(sizes);
    if (why.empty())
        why = tasks_.why_no_capacity(*std::ranges::max_element(sizes));
    auto change = requests_.resolve({sizes.front(), {}, {}});
    if (!change || !why.empty())
        return give_up_pset_request(why.empty() ? "there would be as many processes as before" : why);
    Adaptation &a = accept(Source::WISH, "the program's request", {sizes.front(), {}, {}}, change.value());
    pset_request_->request = a.request;
    begin();
}

/* The manager may give less than is requested, but of a REPLACE.  A program that queries in each iteration of a short
 * loop gets no more of its attention than one that makes size requests. */
void Step::request_size_for_pset()
{
    const PsetRequest &request = *pset_request_;
    bool replaces = request.call.op == PMI_SET_OP_REPLACE;
    int size = state_.world.size(), add = static_cast<int>(request.call.add),
        remove = static_cast<int>(request.call.remove);
    int wanted = request.removing ? size - remove : size + add;
    bool too_often = !request.added && !requests_.rate_allows();
    if (wanted < 1 || wanted == size)
        return give_up_pset_request("there would be " + std::to_string(wanted) + " processes");
    if (too_often)
        return give_up_pset_request("the program asks too often: the next request counts after a pause");
    SizeRequest size_request;
    size_request.size = wanted;
    size_request.size_min = replaces ? wanted : std::min(wanted, size + 1);
    size_request.size_max = replaces ? wanted : std::max(wanted, size - 1);
    size_request.until_unix_ms = state_.unix_now_ms() + MANAGER_ANSWERS_MS;
    pset_request_->size_request = requests_.request_for_operation(size_request);
}

/* The offered change is the result if its direction is the requested one; else the program has to accept or decline the
 * offer first. */
void Step::take_for_pset_request()
{
    PsetRequest &request = *pset_request_;
    bool offer_adds = state_.adaptation->change.joining > 0;
    pmi_set_op op = request.call.op;
    if (op == PMI_SET_OP_MALLEABLE)
        op = offer_adds ? PMI_SET_OP_GROW : PMI_SET_OP_SHRINK;
    const SizeRequest *own = requests_.find(request.size_request);
    bool is_its_own = state_.managed ? own && offer_adds != request.removing &&
                                           own->allows(state_.adaptation->change.new_size)
                                     : request.request == state_.adaptation->request;
    bool fits = op == PMI_SET_OP_REPLACE ? is_its_own : adds(op) == offer_adds;
    const Process *asker = state_.world.find_member(request.caller.uid);
    std::string delta = fits && asker ? take_offer(*asker, request.call.bound) : "";
    if (delta.empty())
        return give_up_pset_request(fits ? "the change that is offered is not of this set"
                                    : "another change is offered, which is to be accepted or declined before");
    if (op == PMI_SET_OP_REPLACE && offer_adds) {
        request.request = state_.adaptation->request;
        request.added = delta;
        if (request.call.remove > 0)
            return;             /* when they are there, the removal */
    }
    Sets::OpenOp open = {op, {delta}};
    if (op == PMI_SET_OP_REPLACE)
        open.names = replaced(asker->uid, request, offer_adds ? "" : delta);
    else if (op == PMI_SET_OP_GROW || op == PMI_SET_OP_SHRINK)
        open.names.push_back(result_of(asker->uid, op, request.call.bound, delta));
    sets_.open_op(request.call.bound, open);
    end_pset_request(open);
}

/* Removed, added, new: "" for none. */
std::vector<std::string> Step::replaced(uint32_t uid, const PsetRequest &request, const std::string &removed)
{
    std::string added = request.added.value_or(""), whole = request.call.bound;
    if (!added.empty())
        whole = result_of(uid, PMI_SET_OP_GROW, whole, added);
    return {removed, added, removed.empty() ? whole : result_of(uid, PMI_SET_OP_SHRINK, whole, removed)};
}

/* Its requester has ended: nobody wants what is made for it. */
void Step::pset_request_without(const Process &process)
{
    if (!pset_request_ || pset_request_->caller.uid != process.uid)
        return;
    PsetRequest dropped = *std::exchange(pset_request_, std::nullopt);
    drop_pset_request(dropped, "the process that asked for it has ended");
}

}  // namespace elastic
