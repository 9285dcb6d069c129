/* See resize_requests.h. */

#include "stepmgr/requests/resize_requests.h"

namespace elastic {

/* Why a request cannot be accepted now, whatever it wants. */
std::optional<ProtocolError> ResizeRequests::check_resize(const Json &id, const ResizeRequest &resize) const
{
    if (state_.ending || state_.over)
        return ProtocolError{id, ErrorCode::ENDED, "the job is ending: its size stays as it is"};
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
                std::to_string(state_.adaptation->change.new_size) + " processes already (request " +
                std::to_string(state_.adaptation->request) + ", " + to_string(state_.adaptation->state) +
                "): try again when that has ended, or cancel it"};
    if (state_.world.size() == 0)
        return ProtocolError{id, ErrorCode::BUSY,
                             "the processes are not started yet: try again in a moment"};
    if (resize.if_epoch && *resize.if_epoch != state_.epoch)
        return ProtocolError{id, ErrorCode::STALE,
                             "the last committed epoch is " + std::to_string(state_.epoch) + ", not " +
                                 std::to_string(*resize.if_epoch) +
                                 ": query the status and decide again"};
    if (resize.deadline_ms != 0 && resize.deadline_ms <= state_.unix_now_ms())
        return ProtocolError{id, ErrorCode::FIELD, "'deadline_ms' has passed already"};
    return std::nullopt;
}

std::string ResizeRequests::answer_resize(int client, const Json &id, const ResizeRequest &resize)
{
    if (auto error = check_resize(id, resize))
        return write_error(*error);
    auto change = resolve_change(state_.world.size(), resize.change, state_.programs);
    if (!change)
        return write_error({id, ErrorCode::CHANGE, change.error()});
    if (std::string why = requests_.why_not_usable(change.value().new_size); !why.empty())
        return write_error({id, ErrorCode::SIZES, why});
    if (std::string why = requests_.why_refused(change.value().new_size); !why.empty())
        return write_error({id, ErrorCode::CHANGE, why});

    Adaptation &a = requests_.accept_for_client(resize.change, change.value());
    a.deadline_unix_ms = resize.deadline_ms;
    if (!resize.reason.empty())
        a.reason = resize.reason;
    uint64_t request = a.request;
    Json accepted = {{"request", request},
                     {"epoch", a.epoch},
                     {"old_size", a.old_size},
                     {"size", a.change.new_size},
                     {"joining", a.change.joining},
                     {"leaving", a.change.leaving}};
    if (state_.adapts() || requests_.is_modify()) /* else when all processes have initialised */
        control_.begin();
    if (state_.last_end.request == request)   /* the launch was refused at once */
        return write_error({id, ErrorCode::LAUNCH, state_.last_end.reason});
    if (resize.wait)
        state_.adaptation->waiter = Waiter{client, id};
    return write_answer(id, accepted);
}

void ResizeRequests::client_disconnected(int client)
{
    if (state_.adaptation && state_.adaptation->waiter && state_.adaptation->waiter->client == client)
        state_.adaptation->waiter.reset();
}

std::string ResizeRequests::answer_cancel(const Json &id, const CancelRequest &cancel)
{
    bool named = state_.adaptation && (!cancel.request || *cancel.request == state_.adaptation->request);
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
