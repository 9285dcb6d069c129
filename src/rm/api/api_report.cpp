/* See api.h: a report on many jobs, for example their waits and run times. */

#include <deque>
#include <set>
#include <unordered_set>

#include "api/api.h"
#include "core/record.h"
#include "monitor/report.h"

namespace elastic::rm {

/* A report in progress: the jobs that have not ended are visited in slices; the reader's thread
 * handles the others, and the sums. */
struct Api::ReportQuery {
    UserSlots::Slot slot;
    Responder responder;
    Caller caller;
    int64_t from_ms = 0, to_ms = 0;
    std::set<JobId> ids;
    bool by_user = false, private_jobs = true;

    JobId after = 0;                    /* jobs up to this one have been visited */
    int64_t now_ms = 0, cores = 0;
    std::deque<JobFacts> living;        /* grows without moves of all */
    EndedJobs::Facts ended;

    bool wants(JobId id, uint32_t uid, int64_t submitted_ms) const
    {
        return (caller.administrator || !private_jobs || caller.uid == uid) &&
               submitted_ms >= from_ms && submitted_ms <= to_ms &&
               (ids.empty() || ids.contains(id));
    }
};

/* After a restart it may take some time until all ended jobs are loaded. */
void Api::get_report(Call &call)
{
    constexpr int64_t LOADING_MAX_MS = 60000;
    QueryReader reader(call.request.query);
    auto query = std::make_shared<ReportQuery>();
    query->responder = call.responder;
    query->caller = call.caller;
    query->private_jobs = daemon_.settings().private_jobs;
    query->from_ms = daemon_.core_ms(reader.number("from_ms", 0, INT64_MAX / 2, 0));
    query->to_ms = daemon_.core_ms(reader.number("to_ms", 0, INT64_MAX / 2, INT64_MAX / 2));
    auto numbers = find_ids(call.caller, reader.list("ids"));
    query->ids = {numbers.begin(), numbers.end()};
    std::string by = reader.text("by");
    reader.finish();
    if (!by.empty() && by != "user")
        throw ApiError{400, "field", "'by' must be user", "by"};
    query->by_user = by == "user";
    wait(call.responder, LOADING_MAX_MS, [this, query](bool late) {
        if (!daemon_.ended_jobs().is_complete() && !late)
            return false;
        daemon_.user_slots().take(query->caller.uid, [this, query](UserSlots::Slot slot) {
            query->slot = std::move(slot);
            send_report(query);
        });
        return true;
    });
}

/* A job that ends meanwhile counts among the jobs that have not ended, and not among those that
 * ended before. */
void Api::send_report(const std::shared_ptr<ReportQuery> &query)
{
    query->now_ms = daemon_.now_ms();
    query->cores = daemon_.state().indices().nodes.cores;
    query->ended = daemon_.ended_jobs().facts();
    in_slices(query->responder, [this, query] { return add_living_jobs(query); });
}

bool Api::add_living_jobs(const std::shared_ptr<ReportQuery> &query)
{
    constexpr int AT_ONCE = 500;
    const State &state = daemon_.state();
    auto entry = state.jobs.lower_bound(query->after + 1);
    for (int i = 0; i < AT_ONCE && entry != state.jobs.end(); i++, ++entry) {
        const auto &[id, job] = *entry;
        query->after = id;
        bool had_ended = job.ended_ms != NEVER && job.ended_ms < query->now_ms;
        if (had_ended || !query->wants(id, job.spec.uid, job.submitted_ms))
            continue;
        bool has_started = job.started_ms != NEVER;
        query->living.push_back(
            facts_of(job, has_started ? daemon_.timeline().core_ms(id, query->now_ms) : 0));
    }
    if (entry != state.jobs.end())
        return true;
    compute_report(query);
    return false;
}

void Api::compute_report(const std::shared_ptr<ReportQuery> &query)
{
    auto task = [query](History &) {
        Report all(query->now_ms);
        UserReports users(query->now_ms);
        std::unordered_set<JobId> living;
        auto add = [&](const JobFacts &facts) {
            all.add(facts);
            if (query->by_user)
                users.add(facts);
        };
        for (const JobFacts &facts : query->living) {
            living.insert(facts.id);
            add(facts);
        }
        query->ended.each([&](const JobFacts &facts) {
            if (query->wants(facts.id, facts.uid, facts.submitted_ms) &&
                !living.contains(facts.id))
                add(facts);
        });
        Json report = all.json(query->cores);
        report["metrics"] = report_metrics();
        if (query->by_user)
            report["users"] = users.json(query->cores);
        return report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    };
    read<std::string>(query->caller, query->responder, task,
                      [this, responder = query->responder](std::string text) {
                          respond_text(responder, std::move(text));
                      });
}

}  // namespace elastic::rm
