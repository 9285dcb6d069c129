/* See api.h: what is shown of jobs, nodes and the past. */

#include <algorithm>
#include <cmath>
#include <set>

#include "api/api.h"
#include "api/job_order.h"
#include "api/name_holder.h"
#include "base/signal_names.h"
#include "core/forecast.h"
#include "core/policy/policy.h"
#include "core/record.h"
#include "core/shortage.h"
#include "monitor/report.h"

namespace elastic::rm {

namespace {

constexpr int64_t LIMIT_MAX = 10000, LIMIT_DEFAULT = 1000, WAIT_MAX_MS = 60000;
constexpr const char *CODES[] = {"PD", "ST", "R", "AD", "CG", "CD", "F", "CA"};

Json text_or_null(const std::string &text)
{
    return text.empty() ? Json() : Json(text);
}

Json time_or_null(int64_t time_ms)
{
    return time_ms == NEVER ? Json() : Json(time_ms);
}

Json number_or_null(int64_t number)
{
    return number ? Json(number) : Json();
}

/* Blocks added up by node, in the order in which the nodes come first. */
Json nodes_of(const Blocks &blocks)
{
    Json nodes = Json::array();
    for (const Block &block : blocks) {
        auto same = std::find_if(nodes.begin(), nodes.end(), [&](const Json &node) {
            return node["name"] == block.node.str();
        });
        if (same == nodes.end())
            nodes.push_back({{"name", block.node}, {"processes", block.processes}});
        else
            (*same)["processes"] = (*same)["processes"].get<int>() + block.processes;
    }
    return nodes;
}

Json adaptation_of(const Job &job)
{
    if (!job.adaptation)
        return nullptr;
    const Adaptation &a = *job.adaptation;
    return {{"request", a.request},  {"phase", to_string(a.phase)}, {"from", a.old_size},
            {"size", a.size},        {"by_user", a.by_user},        {"reason", a.reason},
            {"since_ms", a.requested_ms}, {"overdue", a.overdue}};
}

/* With `array` only where all tasks of one are meant. */
Json dependencies_of(const std::vector<Dependency> &dependencies)
{
    Json json = Json::array();
    for (const Dependency &each : dependencies) {
        json.push_back({{"kind", to_string(each.kind)}, {"job", each.job}});
        if (each.array)
            json.back()["array"] = true;
    }
    return json;
}

/* Of a task; how many of its array's have started, ended and so on, while that is known. */
Json array_of(const Job &job, const State &state)
{
    if (!job.task)
        return nullptr;
    Json json = {{"job", job.task->array}, {"index", job.task->index}, {"indices", job.spec.array}};
    const JobArray *array = state.array(job.task->array);
    json["tasks"] = array ? Json(array->tasks) : Json();
    json["started"] = array ? Json(array->started) : Json();
    json["ended"] = array ? Json(array->ended) : Json();
    json["failed"] = array ? Json(array->failed) : Json();
    json["cancelled"] = array ? Json(array->cancelled) : Json();
    return json;
}

/* The resources that the job has used up to now, in all its steps. */
Json accounting_of(const Job &job, int64_t now_ms)
{
    std::vector<TimeAtSize> times = job.times;
    if (job.state == JobState::RUNNING || job.state == JobState::ADAPTING ||
        (job.state == JobState::COMPLETING && !job.releasing && job.sized_ms >= job.started_ms))
        add_time_at_size(times, job.size(), now_ms - job.sized_ms);
    Json by_size = Json::array();
    int64_t all_ms = 0;
    for (const TimeAtSize &each : times) {
        int64_t core_ms = each.ms * std::max(each.size, 1) * job.spec.cores_per_process;
        by_size.push_back({{"size", each.size ? Json(each.size) : Json()}, {"core_ms", core_ms}});
        all_ms += core_ms;
    }
    return {{"core_ms", all_ms},
            {"core_ms_by_size", std::move(by_size)},
            {"cpu_ms", time_or_null(job.cpu_ms)},
            {"max_rss_bytes", time_or_null(job.rss_bytes)}};
}

Json last_change_of(const Job &job)
{
    if (!job.last_change)
        return nullptr;
    const LastChange &last = *job.last_change;
    return {{"request", last.request}, {"from", last.old_size},
            {"size", last.size},       {"at_ms", last.at_ms},
            {"standstill_ms", last.standstill_ms}, {"reason", last.reason}};
}

/* Notifications and answers of its program about changes through process sets. */
Json set_changes_of(const Job &job, const Daemon &daemon)
{
    if (!job.set_changes)
        return nullptr;
    const SetChanges &known = *job.set_changes;
    return {{"told", known.reported},
            {"accepted", known.accepted},
            {"declined", known.declined},
            {"last",
             {{"request", known.request},
              {"stage", to_string(known.stage)},
              {"uid", known.uid},
              {"told_ms", time_or_null(daemon.shown_ms(known.notified_ms))},
              {"at_ms", time_or_null(daemon.shown_ms(known.at_ms))}}}};
}

/* Of the running program, that is open; else the last one that was granted, which still limits the
 * size. */
Json size_request_of(const Job &job)
{
    if (!job.size_request && !job.granted)
        return nullptr;
    const SizeRequest &size_request = job.size_request ? *job.size_request : *job.granted;
    return {{"wish", size_request.number},  {"kind", to_string(size_request.kind)},
            {"size", size_request.size},    {"min", size_request.minimum},
            {"max", size_request.maximum},  {"target", size_request.target},
            {"granted", !job.size_request}, {"reason", text_or_null(size_request.reason)}};
}

Json numbers_of(GpuSet gpus)
{
    Json numbers = Json::array();
    for (; gpus != 0; gpus &= gpus - 1)
        numbers.push_back(std::countr_zero(gpus));
    return numbers;
}

/* Slots beside its world, for processes that its program starts, and the number of those that it
 * still waits for. */
Json slots_on(const Job &job)
{
    if (!job.slots)
        return nullptr;
    int wanted = 0;
    for (const SlotRequest &size_request : job.slots->slot_requests)
        wanted += open_slots(job, size_request);
    std::map<std::string, int> on;
    for (const Block &block : slots_of(job))
        on[block.node.str()] += block.processes;
    Json nodes = Json::array();
    std::vector<NodeName> exclusive = exclusive_slots(job);
    for (const auto &[node, extra_slots] : on) {
        bool is_alone = std::ranges::find(exclusive, NodeName(node)) != exclusive.end();
        nodes.push_back({{"node", node}, {"places", extra_slots}, {"exclusive", is_alone}});
    }
    return {{"held", count_slots(job)}, {"wanted", wanted}, {"nodes", nodes}};
}

/* Their numbers on each node. */
Json gpus_of(const Job &job)
{
    Json all = Json::array();
    for (const NodeGpus &each : job.gpus)
        all.push_back({{"node", each.node.str()}, {"gpus", numbers_of(each.gpus)}});
    return all;
}

/* Not where they lead to: that is their user's business. */
Json names_of(const Job &job)
{
    Json names = Json::array();
    for (const PublishedName &each : job.names) {
        if (!has_ended(each.holder))
            names.push_back(each.name);
    }
    return names;
}

void add_spec(Json &json, const JobSpec &spec)
{
    json["kind"] = to_string(spec.elasticity);
    json["min"] = spec.minimum;
    json["max"] = spec.maximum;
    json["preferred"] = number_or_null(spec.preferred);
    json["sizes"] = {{"rule", to_string(spec.size_rule)}};
    if (spec.size_rule == SizeRule::MULTIPLE)
        json["sizes"]["of"] = spec.size_multiple;
    json["sizes"]["program"] = text_or_null(spec.program_sizes);
    json["places_max"] = spec.extra_slots;
    json["cores_per_process"] = spec.cores_per_process;
    json["processes_per_node"] = number_or_null(spec.processes_per_node);
    json["exclusive"] = spec.whole_nodes;
    json["gpus_per_process"] = number_or_null(spec.gpus_per_process);
    json["gpus_per_node"] = number_or_null(spec.gpus_per_node);
    json["nodelist"] = write(spec.nodelist);
    json["exclude"] = write(spec.exclude);
    json["requeue"] = spec.requeue;
    json["expect_ms"] = number_or_null(spec.expect_ms);
    json["speedup"] = nullptr;
    if (spec.serial_ppm != NEVER)
        json["speedup"] = {
            {"law", "amdahl"},
            {"serial", static_cast<double>(spec.serial_ppm) / static_cast<double>(PPM)}};
    json["priority"] = spec.priority;
    json["dependencies"] = dependencies_of(spec.dependencies);
    json["time_limit_ms"] = number_or_null(spec.time_limit_ms);
}

void add_launch(Json &json, const Launch &launch, const Job &job)
{
    /* They are named when it starts. */
    LaunchPaths paths = paths_of(
        launch,
        names_of_paths(
            job, job.started_name.empty() ? job.spec.name : job.started_name));
    if (launch.warn_signal)
        json["limit_signal"] = {
            {"signal", signal_name(launch.warn_signal)}, {"before_ms", launch.warn_before_ms}};
    if (!launch.mail_events.empty())
        json["mail"] = {{"events", write(launch.mail_events)}, {"to", launch.mail_to}};
    json["command"] = launch.command;
    json["script"] = launch.is_script;
    json["directory"] = launch.directory;
    json["output"] = paths.output;
    json["error"] = paths.error.empty() ? paths.output : paths.error;
    json["input"] = paths.input;
}

bool is_wanted_state(const std::vector<std::string> &wanted, JobState state)
{
    return wanted.empty() ||
        std::any_of(wanted.begin(), wanted.end(), [&](const std::string &name) {
               return name == to_string(state) || name == CODES[static_cast<size_t>(state)];
           });
}

void check_states(const std::vector<std::string> &wanted)
{
    for (const std::string &name : wanted) {
        bool known = std::find(std::begin(CODES), std::end(CODES), name) != std::end(CODES);
        for (const char *state : NamesOf<JobState>::names)
            known = known || name == state;
        if (!known)
            throw ApiError{
                400, "field",
                "'state' must name states such as PENDING or R, not " + name.substr(0, 40),
                "state"};
    }
}

}  // namespace

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Why it waits, and why it waits again. */
std::string Api::waiting_reason(const Job &job) const
{
    std::string why = why_waiting(daemon_.state(), job);
    const Job *front = first_in_queue(daemon_.state());
    bool visible = front && (front->spec.uid == job.spec.uid || !daemon_.settings().private_jobs);
    if (why == WAITS_BEHIND && visible)
        why += ": job " + std::to_string(front->id) + " is first";
    return job.reason.empty() || why == job.reason ? why : why + "; " + job.reason;
}

/* The reason of a job that waits for nodes which the back end cannot get. */
std::string Api::reason_of(const Job &job) const
{
    bool waits = (job.state == JobState::PENDING && !job.held) || job.acquiring;
    std::string trouble = waits ? daemon_.backend().trouble() : "";
    if (!trouble.empty())
        return trouble;
    if (job.state == JobState::PENDING)
        return waiting_reason(job);
    if (job.broken.empty())
        return job.reason;
    return "step protocol broken: " + job.broken + (job.reason.empty() ? "" : "; " + job.reason);
}

Json Api::job_json(const Job &job, const Json *ran)
{
    bool ended = is_end(job.state);
    Json json = {
        {"id", job.id},
        {"name", job.spec.name},
        {"user", job.spec.user},
        {"uid", job.spec.uid},
        {"state", to_string(job.state)},
        {"code", CODES[static_cast<size_t>(job.state)]},
        {"reason", text_or_null(reason_of(job))},
        {"adaptive", job.mode == StepMode::UNKNOWN ? Json() : Json(job.mode == StepMode::ADAPTIVE)},
        {"size", job.size()},
        {"nodes", nodes_of(job.blocks)},
        {"gpus", gpus_of(job)},
        {"held", job.held},
        {"begin_ms", job.spec.begin_ms ? Json(daemon_.shown_ms(job.spec.begin_ms)) : Json()},
        {"waits_for", dependencies_of(job.waits_for)},
        {"array", array_of(job, daemon_.state())},
        {"limit_signal", nullptr},
        {"mail", nullptr},
        {"submit_ms", time_or_null(daemon_.shown_ms(job.submitted_ms))},
        {"start_ms", time_or_null(daemon_.shown_ms(job.started_ms))},
        {"end_ms", time_or_null(daemon_.shown_ms(job.ended_ms))},
        {"exit_code", ended ? write(job.exit_code) : Json()},
        {"step", job.step},
        {"epoch", job.epoch},
        {"adaptation", adaptation_of(job)},
        {"last_change", last_change_of(job)},
        {"set_changes", set_changes_of(job, daemon_)},
        {"wish", size_request_of(job)},
        {"places", slots_on(job)},
        {"names", names_of(job)},
        {"counts",
         {{"committed", job.committed}, {"withdrawn", job.withdrawn}, {"failed", job.failed}}},
        {"standstill_ms", job.standstill_ms},
        {"accounting", accounting_of(job, daemon_.now_ms())},
        {"phase", phase_json(job)},
        {"performance", performance_json(job)},
        {"why", nullptr},
        {"step_socket", text_or_null(ended ? "" : daemon_.steps().socket(job.id))}};
    if (job.state == JobState::RUNNING || job.state == JobState::ADAPTING)
        json["why"] =
            text_or_null(policy(daemon_.state().config.policy).explain(daemon_.state(), job));
    if (job.adaptation)
        json["adaptation"]["since_ms"] = daemon_.shown_ms(job.adaptation->requested_ms);
    if (job.last_change)
        json["last_change"]["at_ms"] = daemon_.shown_ms(job.last_change->at_ms);
    add_spec(json, job.spec);
    if (auto known = ran ? parse<Launch>(*ran) : Result<Launch>(Error{""}))
        add_launch(json, known.value(), job);
    else if (auto launch = ran ? nullptr : daemon_.launch(job.id))
        add_launch(json, *launch, job);
    return json;
}

/* The share of a user in all recorded use, and the delay of the user's jobs for it. */
Json Api::fair_share_json(uint32_t uid) const
{
    const State &state = daemon_.state();
    if (state.config.fair_share_ms == 0)
        return nullptr;
    double all = 0, own = 0;
    for (const auto &[user, use] : state.uses) {
        all += static_cast<double>(use.core_ms);
        own += user == uid ? static_cast<double>(use.core_ms) : 0;
    }
    return {{"use", all > 0 ? own / all : 0.0}, {"delay_ms", state.delay_of(uid)}};
}

namespace {

/* The resources that it lacks, and the jobs that are about to free cores. */
Json shortage_json(const State &state, const Job &job, bool private_jobs)
{
    auto missing = shortage(state, job);
    if (!missing)
        return nullptr;
    auto list = [&](const std::vector<Giving> &jobs) {
        Json all = Json::array();
        for (const Giving &each : jobs) {
            bool visible = state.jobs.at(each.job).spec.uid == job.spec.uid || !private_jobs;
            all.push_back({{"job", visible ? Json(each.job) : Json()}, {"cores", each.cores}});
        }
        return all;
    };
    return {{"processes", missing->processes},
            {"room", missing->capacity},
            {"full", write(missing->full)},
            {"giving", list(missing->giving)},
            {"overdue", list(missing->overdue)}};
}

}  // namespace

namespace {

Json helpers_json(const State &state, const Job &job, bool private_jobs)
{
    Json helpers = Json::array();
    if (job.state != JobState::PENDING)
        return helpers;
    for (const Helper &each : helpers_of(state, job.id)) {
        bool visible = state.jobs.at(each.job).spec.uid == job.spec.uid || !private_jobs;
        helpers.push_back({{"job", visible ? Json(each.job) : Json()},
                           {"from", each.old_size},
                           {"size", each.size},
                           {"committed", each.is_done}});
    }
    return helpers;
}

}  // namespace

/* When it starts at the latest, and who ends then, if nothing comes before it: for one job, since
 * it takes a while. */
void Api::add_forecast(Json &json, const Job &job) const
{
    Forecast forecast = job.state == JobState::PENDING
        ? rm::forecast(daemon_.state(), job.id)
        : Forecast();
    const Job *other = daemon_.state().job(forecast.waits_for);
    bool visible = other && (other->spec.uid == job.spec.uid || !daemon_.settings().private_jobs);
    json["expected_start_ms"] = time_or_null(daemon_.shown_ms(forecast.start_ms));
    json["fair_share"] = fair_share_json(job.spec.uid);
    json["expected_after"] = visible ? Json(other->id) : Json();
    json["shortage"] =
        shortage_json(daemon_.state(), job, daemon_.settings().private_jobs);
    json["helpers"] = helpers_json(daemon_.state(), job, daemon_.settings().private_jobs);
}

/* A list of jobs on its way: found in the state, then in the store, then written.  Bit by bit, so
 * that a job may end meanwhile: it is then taken as the store has it. */
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
    std::vector<JobId> found;           /* that have not ended, in order */
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
        std::any_of(list->states.begin(), list->states.end(), [](const std::string &name) {
                   return name == "DONE" || name == "FAILED" || name == "CANCELLED" ||
                       name == "CD" || name == "F" || name == "CA";
               });
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

/* Then inserts them by number among those that have not ended; with the queue, after them. */
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

/* The members of a job in a list: all but its command, which may be long. */
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

/* ---- records --------------------------------------------------------------------------------- */

struct Api::RecordsWanted {
    Responder responder;
    Caller caller;
    RecordQuery query;
    RecordView view;
    int64_t until_ms = 0;               /* somebody waits for them */
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
    constexpr int64_t AGAIN_MS = 50;    /* others' records may be many */
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

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The users of these nodes: one pass over all blocks, for as many nodes as are shown. */
Api::NodeUsers Api::node_users(const std::vector<const Node *> &nodes) const
{
    NodeUsers users(nodes.size());
    NodeTable index;
    for (size_t i = 0; i < nodes.size(); i++)
        index.set(nodes[i]->name, static_cast<uint32_t>(i));
    if (nodes.empty())
        return users;
    for (JobId id : daemon_.state().indices().allocated) {
        const Job &job = daemon_.state().jobs.at(id);
        auto add = [&](const Blocks &blocks, int NodeUser::*what) {
            for (const Block &block : blocks) {
                uint32_t number = index.of(block.node);
                if (number == NodeTable::NONE)
                    continue;
                UsersOfNode &here = users[number];
                if (here.empty() || here.back().job != &job)
                    here.push_back({&job, 0, 0});
                here.back().*what += block.processes;
            }
        };
        add(job.blocks, &NodeUser::processes);
        for (const Departure &departure : job.departures)
            add(departure.blocks, &NodeUser::processes);
        add(slots_of(job), &NodeUser::extra_slots);
    }
    return users;
}

Json Api::node_json(const Caller &caller, const Node &node) const
{
    return node_json(caller, node, node_users({&node})[0]);
}

Json Api::node_json(const Caller &caller, const Node &node, const UsersOfNode &users) const
{
    Json jobs = Json::array();
    for (const auto &[job, processes, extra_slots] : users)
        jobs.push_back({{"job", may_see(caller, job->spec.uid) ? Json(job->id) : Json()},
                        {"processes", processes},
                        {"places", extra_slots},
                        {"cores", (processes + extra_slots) * job->spec.cores_per_process}});
    return {{"name", node.name},
            {"cores", node.cores},
            {"state", state_of(node)},
            {"reason", text_or_null(node.why())},
            {"cores_used", node.used},
            {"gpus", node.gpus},
            {"gpus_used", numbers_of(node.gpus_used)},
            {"jobs", std::move(jobs)}};
}

Json Api::backend_json() const
{
    return {{"kind", daemon_.settings().backend},
            {"about", text_or_null(daemon_.backend().about())},
            {"trouble", text_or_null(daemon_.backend().trouble())}};
}

std::string Api::state_of(const Node &node)
{
    return node.state() == NodeState::DRAINING && node.used == 0
        ? "drained"
        : to_string(node.state());
}

/* The nodes from `first` to `last`, by name; both may be missing. */
Api::NodeRange Api::read_range(QueryReader &query) const
{
    const auto &nodes = daemon_.state().nodes;
    std::string first = query.text("first"), last = query.text("last");
    NodeRange range{first.empty() ? nodes.begin() : nodes.lower_bound(first),
                    last.empty() ? nodes.end() : nodes.upper_bound(last)};
    if (!first.empty() && !last.empty() && last < first)
        throw ApiError{400, "field", "'last' must not come before 'first'", "last"};
    return range;
}

/* A list of nodes on its way. */
struct Api::NodeList {
    UserSlots::Slot slot;
    Responder responder;
    Caller caller;
    std::vector<std::string> names;
    int64_t cores = 0, used = 0;
    bool more = false;
    size_t written = 0;
    std::string text;
};

void Api::get_nodes(Call &call)
{
    QueryReader query(call.request.query);
    NodeRange range = read_range(query);
    auto list = std::make_shared<NodeList>();
    list->responder = call.responder;
    list->caller = call.caller;
    auto states = query.list("state");
    auto limit = static_cast<size_t>(query.number("limit", 1, INT32_MAX, INT32_MAX));
    query.finish();
    for (auto entry = range.begin; entry != range.end; ++entry) {
        const Node &node = entry->second;
        list->cores += node.cores;
        list->used += node.used;
        if (!states.empty() &&
            std::find(states.begin(), states.end(), state_of(node)) == states.end())
            continue;
        if (list->names.size() < limit)
            list->names.push_back(node.name);
        else
            list->more = true;
    }
    daemon_.user_slots().take(call.caller.uid, [this, list](UserSlots::Slot slot) {
        list->slot = std::move(slot);
        in_slices(list->responder, [this, list] { return write_nodes(list); });
    });
}

/* Some more of them. */
bool Api::write_nodes(const std::shared_ptr<NodeList> &list)
{
    constexpr size_t AT_ONCE = 50;
    std::vector<const Node *> shown;
    for (; list->written < list->names.size() && shown.size() < AT_ONCE; list->written++)
        if (const Node *node = daemon_.state().node(list->names[list->written]))
            shown.push_back(node);
    NodeUsers users = node_users(shown);
    for (size_t i = 0; i < shown.size(); i++)
        list->text += (list->text.empty() ? "" : ",") +
            node_json(list->caller, *shown[i], users[i])
                .dump(-1, ' ', false, Json::error_handler_t::replace);
    bool is_full = list->text.size() > ANSWER_BYTES_MAX;
    if (list->written < list->names.size() && !is_full)
        return true;
    Json rest = {{"more", list->more || list->written < list->names.size()},
                 {"cores", list->cores},
                 {"cores_used", list->used},
                 {"backend", backend_json()}};
    std::string end = rest.dump(-1, ' ', false, Json::error_handler_t::replace);
    respond_text(list->responder, "{\"nodes\":[" + list->text + "]," + end.substr(1) + "\n");
    return false;
}

void Api::get_node(Call &call)
{
    QueryReader(call.request.query).finish();
    const Node *node = daemon_.state().node(call.argument);
    if (!node)
        throw ApiError{
            404, "not_found",
            "there is no node " + call.argument.substr(0, 80) + ": 'elastic nodes' lists them"};
    respond_json(call.responder, {{"node", node_json(call.caller, *node)}});
}

/* ---- the whole ------------------------------------------------------------------------------- */

void Api::get_version(Call &call)
{
    QueryReader(call.request.query).finish();
    Json user = nullptr;
    if (call.known)
        user = {{"name", call.caller.name},
                {"uid", call.caller.uid},
                {"administrator", call.caller.administrator}};
    const Settings &settings = daemon_.settings();
    respond_json(call.responder, {{"name", "elasticd"},
                                  {"version", ELASTIC_VERSION},
                                  {"api", 1},
                                  {"cluster", settings.cluster},
                                  {"policy", settings.policy},
                                  {"backend", settings.backend},
                                  {"started_ms", daemon_.started_ms()},
                                  {"now_ms", unix_ms()},
                                  {"web_changes", settings.allow_web_changes},
                                  {"user", user}});
}

void Api::get_health(Call &call)
{
    if (!daemon_.storage_works())
        throw ApiError{503, "storage", "the store cannot be written now: the log has more"};
    respond_json(call.responder, {{"ok", true}, {"backend", backend_json()}});
}

void Api::get_metrics(Call &call)
{
    respond(call,
            {200, "text/plain; version=0.0.4; charset=utf-8",
             daemon_.metrics().text(daemon_.state(),
                                    {daemon_.started_ms(), daemon_.connections(),
                                     daemon_.storage_works(), daemon_.sampler().counts()})});
}

void Api::get_summary(Call &call)
{
    QueryReader(call.request.query).finish();
    const State &state = daemon_.state();
    const JobCounts &jobs = state.indices().jobs;
    const NodeCounts &nodes = state.indices().nodes;
    Json states = Json::object();
    for (size_t i = 0; i < jobs.states.size(); i++)
        states[NamesOf<JobState>::names[i]] = jobs.states[i];
    respond_json(
        call.responder,
        {{"now_ms", unix_ms()},
         {"policy", daemon_.settings().policy},
         {"cores", nodes.cores},
         {"cores_used", nodes.used_cores},
         {"nodes",
          {{"up", nodes.of(NodeState::UP)},
           {"draining", nodes.of(NodeState::DRAINING) - nodes.drained},
           {"drained", nodes.drained},
           {"down", nodes.of(NodeState::DOWN)}}},
         {"jobs", std::move(states)},
         {"adaptations",
          {{"committed", jobs.committed}, {"withdrawn", jobs.withdrawn}, {"failed", jobs.failed}}},
         {"seq", state.records}});
}

void Api::get_timeline(Call &call)
{
    constexpr int64_t HOUR_MS = 3600 * 1000, GROUPS_MAX = 1000, COLUMNS_MAX = 1000,
                      SEGMENTS_MAX = 4000;
    QueryReader query(call.request.query);
    int64_t to_ms = query.number("to_ms", 0, INT64_MAX / 2, unix_ms());
    int64_t from_ms = query.number("from_ms", 0, INT64_MAX / 2, to_ms - HOUR_MS);
    Timeline::Query segments;
    segments.limit = static_cast<size_t>(query.number("limit", 1, SEGMENTS_MAX, SEGMENTS_MAX));
    segments.before = static_cast<uint64_t>(query.number("before", 0, INT64_MAX, INT64_MAX));
    auto groups = static_cast<size_t>(query.number("groups", 1, GROUPS_MAX, 0));
    auto columns = static_cast<size_t>(query.number("columns", 1, COLUMNS_MAX, 100));
    NodeRange range = read_range(query);
    query.finish();
    if (groups)
        send_use(call, range, from_ms, to_ms, groups, columns);
    else
        send_segments(call, range, from_ms, to_ms, segments);
}

/* The use of each group of neighbouring nodes: it reveals no single job. */
void Api::send_use(Call &call, const NodeRange &range, int64_t from_ms, int64_t to_ms,
                   size_t groups, size_t columns)
{
    const Timeline &timeline = daemon_.timeline();
    int64_t first_ms = timeline.first_ms();
    from_ms =
        std::min(to_ms, std::max(from_ms, first_ms == NEVER ? to_ms : daemon_.shown_ms(first_ms)));
    auto nodes = static_cast<size_t>(std::distance(range.begin, range.end));
    groups = std::max<size_t>(1, std::min(groups, nodes));
    struct Group {
        NodeName first, last;
        int64_t nodes, cores;
    };
    NodeTable group_of;
    std::vector<Group> found;
    size_t number = 0;
    for (auto entry = range.begin; entry != range.end; ++entry) {
        size_t group = number++ * groups / nodes;
        const Node &node = entry->second;
        if (group >= found.size())
            found.push_back({node.name, node.name, 0, 0});
        found[group].last = node.name;
        found[group].nodes++;
        found[group].cores += node.cores;
        group_of.set(node.name, static_cast<uint32_t>(group));
    }
    auto use = timeline.use(
        daemon_.core_ms(from_ms), daemon_.core_ms(to_ms), columns, group_of, found.size());
    Json list = Json::array();
    for (size_t group = 0; group < found.size(); group++) {
        const Group &here = found[group];
        for (double &cores : use[group])
            cores = std::round(cores * 10) / 10;
        list.push_back({{"first", here.first},
                        {"last", here.last},
                        {"nodes", here.nodes},
                        {"cores", here.cores},
                        {"used", std::move(use[group])}});
    }
    respond_json(call.responder,
                 {{"from_ms", from_ms}, {"to_ms", to_ms}, {"groups", std::move(list)}});
}

void Api::send_segments(Call &call, const NodeRange &range, int64_t from_ms, int64_t to_ms,
                        Timeline::Query query)
{
    Json nodes = Json::array();
    bool all = range.begin == daemon_.state().nodes.begin() &&
        range.end == daemon_.state().nodes.end();
    bool is_first = query.before == INT64_MAX;
    NodeTable wanted;
    for (auto entry = range.begin; entry != range.end; ++entry) {
        if (is_first)           /* further pages are of the same */
            nodes.push_back({{"name", entry->first}, {"cores", entry->second.cores}});
        if (!all)
            wanted.set(entry->second.name, 0);
    }
    query.from_ms = daemon_.core_ms(from_ms);
    query.to_ms = daemon_.core_ms(to_ms);
    query.nodes = all ? nullptr : &wanted;
    auto found = std::make_shared<Timeline::Found>(daemon_.timeline().between(query));
    auto names = std::make_shared<std::unordered_map<JobId, std::string>>();
    for (Segment &segment : found->segments) {
        auto [name, is_new] = names->try_emplace(segment.job);
        const Job *job = daemon_.state().job(segment.job);
        if (is_new && job)
            name->second = job->spec.name;
        if (job)
            segment.uid = job->spec.uid;
    }
    auto visible = [private_jobs = daemon_.settings().private_jobs, caller = call.caller,
                    owners = std::unordered_map<JobId, std::optional<uint32_t>>()](
                       History &history, const Segment &segment) mutable {
        if (caller.administrator || !private_jobs)
            return true;
        if (segment.uid)
            return *segment.uid == caller.uid;
        auto [owner, is_new] = owners.try_emplace(segment.job);
        if (is_new)
            owner->second = stored(history.owner(segment.job));
        return owner->second == caller.uid;
    };
    auto task = [found, names, visible, from_ms, to_ms, nodes = std::move(nodes),
                 offset_ms = daemon_.shown_ms(0)](History &history) mutable {
        Json segments = Json::array();
        for (const Segment &segment : found->segments) {
            bool shown = visible(history, segment);
            std::string name = shown ? names->at(segment.job) : "";
            segments.push_back(
                {{"job", shown ? Json(segment.job) : Json()},
                 {"name", text_or_null(name)},
                 {"node", segment.node},
                 {"cores", segment.cores},
                 {"from_ms", segment.from_ms + offset_ms},
                 {"to_ms", segment.to_ms == NEVER ? Json() : Json(segment.to_ms + offset_ms)}});
        }
        Json json = {{"from_ms", from_ms},
                     {"to_ms", to_ms},
                     {"nodes", std::move(nodes)},
                     {"segments", std::move(segments)},
                     {"next", found->older ? Json(found->segments.front().number) : Json()},
                     {"more", found->older || found->discarded}};
        return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    };
    read<std::string>(call.caller, call.responder, task,
                      [this, responder = call.responder](std::string text) {
                          respond_text(responder, std::move(text));
                      });
}

/* A report in progress: the jobs that have not ended are visited in slices; the reader's thread
 * handles the others, and the sums. */
struct Api::ReportQuery {
    UserSlots::Slot slot;
    Responder responder;
    Caller caller;
    int64_t from_ms = 0, to_ms = 0;
    std::set<JobId> ids;
    bool by_user = false, private_jobs = true;

    JobId after = 0;                    /* those up to here have been visited */
    int64_t now_ms = 0, cores = 0;
    std::vector<JobFacts> living;
    EndedJobs::Facts ended;

    bool wants(JobId id, uint32_t uid, int64_t submitted_ms) const
    {
        return (caller.administrator || !private_jobs || caller.uid == uid) &&
               submitted_ms >= from_ms && submitted_ms <= to_ms &&
               (ids.empty() || ids.contains(id));
    }
};

/* After a restart it may take a moment until all that has ended is known again. */
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

/* A job that ends meanwhile is among the living, and not among those that had ended before. */
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
