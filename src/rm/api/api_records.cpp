/* See api.h: records of events, of all jobs or one. */

#include <algorithm>

#include "api/api.h"
#include "api/api_json.h"
#include "core/record.h"

namespace elastic::rm {

struct Api::RecordsWanted {
    Responder responder;
    Caller caller;
    RecordQuery query;
    RecordView view;
    int64_t until_ms = 0;               /* a client waits for them */
};

void Api::send_records(Call &call, RecordQuery query)
{
    QueryReader reader(call.request.query);
    int64_t since = reader.number("since", INT64_MIN / 2, INT64_MAX / 2, 1);
    query.limit = static_cast<size_t>(reader.number("limit", 1, LIMIT_MAX, LIMIT_DEFAULT));
    int64_t wait_ms = reader.number("wait_ms", 0, WAIT_MAX_MS, 0);
    if (!query.job)
        query.job = static_cast<JobId>(reader.number("job", 0, INT64_MAX, 0));
    query.node = reader.text("node");
    reader.finish();
    auto last = static_cast<int64_t>(daemon_.state().records);
    query.since = static_cast<uint64_t>(std::max<int64_t>(since < 0 ? last + 1 + since : since, 1));
    RecordView view;
    if (!call.caller.administrator && daemon_.settings().private_jobs)
        view.uid = call.caller.uid;
    view.of_something = !call.caller.administrator;
    auto wanted = std::make_shared<RecordsWanted>(
        RecordsWanted{call.responder, call.caller, query, view, monotonic_ms() + wait_ms});
    wait_for_records(wanted);
}

void Api::wait_for_records(const std::shared_ptr<RecordsWanted> &wanted)
{
    int64_t left_ms = std::max<int64_t>(wanted->until_ms - monotonic_ms(), 0);
    wait(wanted->responder, left_ms, [this, wanted](bool late) {
        if (wanted->query.since > daemon_.state().records && !late)
            return false;
        read_records(wanted);
        return true;
    });
}

void Api::read_records(const std::shared_ptr<RecordsWanted> &wanted)
{
    constexpr int64_t AGAIN_MS = 50;    /* there may be many records of other users */
    struct Answer {
        bool is_empty;
        uint64_t next;
        std::string text;
    };
    auto task = [wanted, last = daemon_.state().records,
                 offset_ms = daemon_.shown_ms(0)](History &history) -> Answer {
        RecordPage page = stored(history.records(wanted->query, wanted->view, last));
        for (Json &row : page.rows)
            row["time_ms"] = row["time_ms"].get<int64_t>() + offset_ms;
        bool is_empty = page.rows.empty();
        Json json = {
            {"records", std::move(page.rows)}, {"next", page.next}, {"oldest", page.oldest}};
        return {is_empty, page.next,
                json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
    };
    read<Answer>(wanted->caller, wanted->responder, task, [this, wanted](Answer answer) {
        if (!answer.is_empty || monotonic_ms() >= wanted->until_ms)
            return respond_text(wanted->responder, std::move(answer.text));
        wanted->query.since = answer.next;
        daemon_.loop().after(AGAIN_MS, [this, wanted] { wait_for_records(wanted); });
    });
}

void Api::get_records(Call &call)
{
    send_records(call, {});
}

void Api::get_job_records(Call &call)
{
    RecordQuery query;
    query.job = job_of(call, false).id;
    send_records(call, query);
}

}  // namespace elastic::rm
