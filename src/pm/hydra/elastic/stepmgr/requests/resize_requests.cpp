/* See resize_requests.h. */

#include "stepmgr/requests/resize_requests.h"

namespace elastic {

/* The reason why no request of any size can be accepted now. */
std::optional<ProtocolError> ResizeRequests::check_resize(const Json &id,
                                                          const ResizeRequest &resize) const
{
    if (state_.ending || state_.over)
        return ProtocolError{id, ErrorCode::ENDED, "the job is ending: its size cannot be changed"};
    if (state_.managed && resize.change.tag.empty())
        return ProtocolError{id, ErrorCode::MANAGED,
                             "this step belongs to a job of a resource manager, which decides on "
                             "its size: request it there, with 'elastic resize JOB SIZE'"};
    if (requests_.is_modify())
        return requests_.check_modify(id, resize.change.size);
    if (state_.mode == InitMode::RIGID)
        return ProtocolError{id, ErrorCode::RIGID,
                             "the job is rigid: its program calls MPI_Init, not MPI_Init_adapt, "
                             "and cannot change its size"};
    if (state_.adaptation)
        return ProtocolError{
            id, ErrorCode::BUSY,
            "the step is adapting from " + std::to_string(state_.adaptation->old_size) + " to " +
                std::to_string(state_.adaptation->change.new_size) +
                " processes already (request " + std::to_string(state_.adaptation->request) + ", " +
                to_string(state_.adaptation->state) +
                "): try again when that has ended, or cancel it"};
    if (state_.world.size() == 0)
        return ProtocolError{id, ErrorCode::BUSY,
                             "the processes are not started yet: try again in a moment"};
    if (resize.if_epoch && *resize.if_epoch != state_.epoch)
        return ProtocolError{id, ErrorCode::STALE,
                             "the last committed epoch is " + std::to_string(state_.epoch) +
                                 ", not " + std::to_string(*resize.if_epoch) +
                                 ": query the status and decide again"};
    if (resize.deadline_ms != 0 && resize.deadline_ms <= state_.unix_now_ms())
        return ProtocolError{id, ErrorCode::FIELD, "'deadline_ms' has passed already"};
    return std::nullopt;
}

std::string ResizeRequests::answer_resize(int client, const Json &id, const ResizeRequest &resize)
{
    if (auto error = check_resize(id, resize))
        return write_error(*error);
    SizeRequest request;
    request.origin = Origin::CLIENT;
    request.wanted = resize.change;
    request.reason = resize.reason;
    request.deadline_unix_ms = resize.deadline_ms;
    auto checked = requests_.check(request);
    if (const auto *refusal = std::get_if<SizeRefusal>(&checked)) {
        bool unusable = refusal->cause == SizeRefusal::Cause::PROGRAM_SIZES;
        return write_error({id, unusable ? ErrorCode::SIZES : ErrorCode::CHANGE, refusal->why});
    }
    const Change &change = std::get<Change>(checked);
    DeliveredRequest delivered = requests_.deliver(request, change);
    if (state_.last_end.request == delivered.request)   /* the launch was refused at once */
        return write_error({id, ErrorCode::LAUNCH, state_.last_end.reason});
    if (resize.wait)
        state_.adaptation->waiter = Waiter{client, id};
    return write_answer(id, {{"request", delivered.request},
                             {"epoch", delivered.epoch},
                             {"old_size", delivered.old_size},
                             {"size", change.new_size},
                             {"joining", change.joining},
                             {"leaving", change.leaving}});
}

void ResizeRequests::client_disconnected(int client)
{
    if (state_.adaptation && state_.adaptation->waiter &&
        state_.adaptation->waiter->client == client)
        state_.adaptation->waiter.reset();
}

std::string ResizeRequests::answer_cancel(const Json &id, const CancelRequest &cancel)
{
    bool named =
        state_.adaptation && (!cancel.request || *cancel.request == state_.adaptation->request);
    if (!named)
        return write_error({id, ErrorCode::NOTHING,
                            cancel.request ? "request " + std::to_string(*cancel.request) +
                                                 " is not under way"
                                           : std::string("no adaptation is under way")});
    if (!before_agreement(state_.adaptation->state))
        return write_error({id, ErrorCode::AGREED,
                            "request " + std::to_string(state_.adaptation->request) +
                                " can no longer be cancelled: the processes have agreed on it"});
    uint64_t request = state_.adaptation->request;
    control_.raise(AdaptEvent::WITHDRAW, "cancelled by a client");
    return write_answer(id, {{"request", request}});
}

}  // namespace elastic
