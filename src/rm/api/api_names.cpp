/* See api.h: names of servers (MPI_Publish_name).  Each user has separate names. */

#include "api/api.h"
#include "api/name_holder.h"

namespace elastic::rm {

void Api::get_names(Call &call)
{
    QueryReader(call.request.query).finish();
    Json names = Json::array();
    for (JobId id : daemon_.state().indices().allocated) {
        const Job &job = *daemon_.state().job(id);
        for (const PublishedName &each : job.names) {
            if (job.spec.uid == call.caller.uid && !has_ended(each.holder))
                names.push_back({{"name", each.name}, {"port", each.port}, {"job", job.id}});
        }
    }
    respond_json(call.responder, {{"names", names}});
}

/* Names whose holder has ended are withdrawn. */
const Job *Api::living_owner_of_name(const Call &call)
{
    const Job *owner = daemon_.state().owner_of_name(call.caller.uid, call.argument);
    if (!owner)
        return nullptr;
    auto found = std::ranges::find(owner->names, call.argument, &PublishedName::name);
    if (!has_ended(found->holder))
        return owner;
    daemon_.request(
        WithdrawName{daemon_.next_request_id(), owner->id, call.argument, found->holder},
        std::nullopt, [](const Answer *, bool) {});
    return nullptr;
}

const Job &Api::owner_of_name(const Call &call)
{
    const Job *owner = living_owner_of_name(call);
    if (!owner)
        throw ApiError{404, "not_found", "no running job of yours has registered this name"};
    return *owner;
}

void Api::get_name(Call &call)
{
    QueryReader(call.request.query).finish();
    const Job &job = owner_of_name(call);
    auto found = std::ranges::find(job.names, call.argument, &PublishedName::name);
    respond(call, {200, "text/plain; charset=utf-8", found->port + "\n"});
}

void Api::change_name(Call &call, EventContent content, JobId id)
{
    query_core(call, std::move(content),
             [this, responder = call.responder, name = call.argument, id](const Answer &) {
                 respond_json(responder, {{"name", name}, {"job", id}});
             });
}

void Api::publish_name(Call &call)
{
    BodyReader body(call.request.body);
    std::string port = body.required_text("port", PORT_BYTES_MAX);
    JobId id = static_cast<JobId>(body.number("job", 1, INT64_MAX, 0));
    std::string holder = body.flag("with_caller", false) ? holder_of(call.request.peer_pid) : "";
    body.finish();
    const Job *job = daemon_.state().job(id);
    if (!job || job->spec.uid != call.caller.uid)
        body.fail("job", "must be a running job of yours");
    living_owner_of_name(call);
    change_name(call, PublishName{daemon_.next_request_id(), id, call.argument, port, holder}, id);
}

void Api::withdraw_name(Call &call)
{
    QueryReader(call.request.query).finish();
    BodyReader(call.request.body).finish();
    JobId id = owner_of_name(call).id;
    change_name(call, WithdrawName{daemon_.next_request_id(), id, call.argument}, id);
}

}  // namespace elastic::rm
