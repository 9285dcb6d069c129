/* See api.h: lists of jobs, a job, and its script. */

#include <algorithm>
#include <set>

#include "api/api.h"
#include "api/api_json.h"
#include "api/job_order.h"

namespace elastic::rm {

namespace {

bool is_wanted_state(const std::vector<std::string> &wanted, JobState state)
{
    return wanted.empty() ||
        std::any_of(wanted.begin(), wanted.end(), [&](const std::string &name) {
               return find_job_state(name) == &names_of(state);
           });
}

void check_states(const std::vector<std::string> &wanted)
{
    for (const std::string &name : wanted) {
        if (!find_job_state(name))
            throw ApiError{
                400, "field",
                "'state' must name states such as PENDING or R, not " + name.substr(0, 40),
                "state"};
    }
}

}  // namespace

/* A list of jobs in progress: searched in the state, then in the store, then written.  In small
 * parts, so that a job may end meanwhile: then the stored job is used. */
struct Api::JobList {
    UserSlots::Slot slot;
    Responder responder;
    Caller caller;
    std::vector<std::string> states;
    std::string user, name;
    std::set<JobId> ids;
    JobOrder order = JobOrder::ID;
    EndedQuery past;
    size_t limit = 0, skip = 0;
    bool with_past = false;

    JobRange left;                      /* not examined yet */
    std::vector<JobId> found;           /* jobs that have not ended, in order */
    bool more_found = false;
    EndedPage page;
    std::unordered_map<JobId, const EndedJob *> ended;
    std::vector<JobId> all;             /* of both */
    size_t written = 0;
    std::string text;
};

void Api::get_jobs(Call &call)
{
    QueryReader query(call.request.query);
    auto list = std::make_shared<JobList>();
    list->responder = call.responder;
    list->caller = call.caller;
    list->states = query.list("state");
    check_states(list->states);
    bool all = query.flag("all") ||
        std::ranges::any_of(list->states, [](const std::string &name) { return is_end(name); });
    list->user = query.text("user");
    list->name = query.text("name");
    std::string order = query.text("order");
    auto ids = find_ids(call.caller, query.list("ids"));
    list->ids = {ids.begin(), ids.end()};
    list->limit = static_cast<size_t>(query.number("limit", 1, LIMIT_MAX, LIMIT_DEFAULT));
    list->skip = static_cast<size_t>(query.number("skip", 0, INT32_MAX, 0));
    EndedQuery &past = list->past;
    past.after = static_cast<JobId>(query.number("after", 0, INT64_MAX, 0));
    past.before = static_cast<JobId>(query.number("before", 0, INT64_MAX, 0));
    past.from_ms = daemon_.core_ms(query.number("from_ms", 0, INT64_MAX / 2, 0));
    past.to_ms = daemon_.core_ms(query.number("to_ms", 0, INT64_MAX / 2, INT64_MAX / 2));
    query.finish();
    if (past.from_ms > past.to_ms)
        throw ApiError{400, "field", "'to_ms' must not be before 'from_ms'", "to_ms"};
    auto known_order = job_order(order);
    if (!known_order)
        throw ApiError{400, "field", "'order' must be id, -id or queue", "order"};
    list->order = *known_order;
    if (list->skip && list->order != JobOrder::QUEUE)
        throw ApiError{400, "field", "'skip' is for order=queue: give 'after' or 'before'", "skip"};
    list->with_past = all || !ids.empty();
    past.ids = ids;
    past.newest_first = list->order == JobOrder::NEWEST;
    past.limit = list->limit + 1;
    if (!call.caller.administrator && daemon_.settings().private_jobs)
        past.uid = call.caller.uid;
    list->left = {past.after, past.before, ids};
    daemon_.user_slots().take(call.caller.uid, [this, list](UserSlots::Slot slot) {
        list->slot = std::move(slot);
        in_slices(list->responder, [this, list] { return find_jobs(list); });
    });
}

/* The next page of jobs that have not ended.  The queue has no position from which a list could
 * continue. */
bool Api::find_jobs(const std::shared_ptr<JobList> &list)
{
    constexpr size_t LOOKED_AT = 500;
    size_t examined = 0;
    bool is_whole = list->order == JobOrder::QUEUE || !list->ids.empty(), is_end = true;
    each_job(daemon_.state(), {}, list->order, list->left, [&](const Job &job) {
        if (!is_whole && examined++ == LOOKED_AT) {
            is_end = false;
            return false;
        }
        (list->order == JobOrder::NEWEST ? list->left.before : list->left.after) = job.id;
        if (!may_see(list->caller, job.spec.uid) || !is_wanted_state(list->states, job.state) ||
            job.submitted_ms > list->past.to_ms ||
            (!list->user.empty() && job.spec.user != list->user) ||
            (!list->name.empty() && job.spec.name != list->name))
            return true;
        if (list->skip > 0) {
            list->skip--;
            return true;
        }
        list->more_found = list->found.size() == list->limit;
        if (!list->more_found)
            list->found.push_back(job.id);
        return !list->more_found;
    });
    if (!is_end && !list->more_found)
        return true;
    if (list->with_past)
        read_ended_jobs(list);
    else {
        list->all = list->found;
        in_slices(list->responder, [this, list] { return write_jobs(list); });
    }
    return false;
}

/* Then inserts them by number among the jobs that have not ended; with the queue, after them. */
void Api::read_ended_jobs(const std::shared_ptr<JobList> &list)
{
    auto wanted = [list, private_jobs = daemon_.settings().private_jobs](const Job &job) {
        return (list->caller.administrator || !private_jobs ||
                job.spec.uid == list->caller.uid) &&
               is_wanted_state(list->states, job.state) &&
               (list->user.empty() || job.spec.user == list->user) &&
               (list->name.empty() || job.spec.name == list->name);
    };
    read<EndedPage>(
        list->caller, list->responder,
        [list, wanted](History &history) { return stored(history.ended(list->past, wanted)); },
        [this, list](EndedPage page) {
            list->page = std::move(page);
            std::vector<JobId> past;
            for (const EndedJob &each : list->page.jobs) {
                list->ended[each.job.id] = &each;
                past.push_back(each.job.id);
            }
            bool newest = list->order == JobOrder::NEWEST;
            auto comes_before = [newest](JobId x, JobId y) { return newest ? x > y : x < y; };
            if (auto last = list->page.last; last && list->order != JobOrder::QUEUE) {
                list->more_found = true;
                std::erase_if(list->found, [&](JobId id) { return comes_before(*last, id); });
            }
            std::erase_if(list->found, [&](JobId id) { return list->ended.contains(id); });
            if (list->order == JobOrder::QUEUE) {
                list->all = list->found;
                list->all.insert(list->all.end(), past.begin(), past.end());
            } else {
                std::ranges::merge(list->found, past, std::back_inserter(list->all), comes_before);
            }
            in_slices(list->responder, [this, list] { return write_jobs(list); });
        });
}

/* The members of a job in a list: all except its command, which may be long. */
bool Api::write_jobs(const std::shared_ptr<JobList> &list)
{
    bool is_last = list->all.empty();
    if (!is_last) {
        JobId id = list->all[list->written];
        auto ended = list->ended.find(id);
        const Job *job =
            ended != list->ended.end() ? &ended->second->job : daemon_.state().job(id);
        if (job) {
            Json json = job_json(
                *job, ended != list->ended.end() ? &ended->second->launch : nullptr);
            json.erase("command");
            list->text += (list->text.empty() ? "" : ",") +
                json.dump(-1, ' ', false, Json::error_handler_t::replace);
        }
        list->written++;
        is_last = list->written == list->limit || list->written == list->all.size() ||
            list->text.size() > ANSWER_BYTES_MAX;
    }
    if (!is_last)
        return true;
    bool is_cut = list->written < list->all.size(), more = list->more_found || is_cut;
    std::string last = "null";
    if (more && list->order != JobOrder::QUEUE) {
        if (!is_cut && list->page.last)
            last = std::to_string(*list->page.last);
        else if (list->written > 0)
            last = std::to_string(list->all[list->written - 1]);
    }
    respond_text(list->responder, "{\"jobs\":[" + list->text + "],\"more\":" +
                                      (more ? "true" : "false") + ",\"last\":" + last + "}\n");
    return false;
}

void Api::get_job(Call &call)
{
    QueryReader query(call.request.query);
    std::string until = query.text("until");
    int64_t wait_ms = query.number("wait_ms", 0, WAIT_MAX_MS, 0);
    query.finish();
    if (!until.empty() && until != "started" && until != "ended")
        throw ApiError{400, "field", "'until' must be started or ended", "until"};
    Job job = job_of(call, false);
    wait(call.responder, wait_ms, [this, responder = call.responder, job, until](bool late) {
        const Job *now = daemon_.state().job(job.id);
        const Job &shown = now ? *now : job;
        bool reached = until.empty() || is_end(shown.state) ||
            (until == "started" && shown.state != JobState::PENDING &&
             shown.state != JobState::STARTING);
        if (!reached && !late)
            return false;
        Json json = job_json(shown);
        add_forecast(json, shown);
        json["scaling"] = scaling_json(shown);
        respond_json(responder, {{"job", std::move(json)}});
        return true;
    });
}

void Api::get_script(Call &call)
{
    QueryReader(call.request.query).finish();
    JobId id = job_of(call, true).id;
    read<std::string>(
        call.caller, call.responder,
        [id](History &history) {
            auto row = stored(history.launch(id));
            if (!row || row->script.empty())
                throw ApiError{404, "not_found", "job " + std::to_string(id) + " is not a script"};
            return std::move(row->script);
        },
        [this, responder = call.responder](std::string script) {
            daemon_.metrics().count_response(200);
            responder({200, "text/plain; charset=utf-8", std::move(script)});
        });
}

}  // namespace elastic::rm
