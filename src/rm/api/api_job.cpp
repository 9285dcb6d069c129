/* See api.h: one job as clients see it, and its forecast. */

#include <algorithm>

#include "api/api.h"
#include "api/api_json.h"
#include "api/name_holder.h"
#include "base/signal_names.h"
#include "core/forecast.h"
#include "core/policy/policies.h"
#include "core/shortage.h"

namespace elastic::rm {

namespace {

/* Processes per node, in the order in which the nodes first occur. */
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

/* `array` is present only if all tasks of an array are meant. */
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

/* For a task; includes the numbers of tasks of its array that have started, ended and so on,
 * while known. */
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
        job.state == JobState::SUSPENDED ||
        (job.state == JobState::COMPLETING && !job.releasing && job.sized_ms >= job.started_ms))
        add_time_at_size(times, job.size(), now_ms - job.sized_ms);
    add_time_beside(times, job, now_ms);
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

/* Notifications and replies of its program for changes through process sets. */
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

/* The open request of the running program; else the last granted one, which still limits the
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

/* Processes of MPI_Comm_spawn: null if there never were any. */
Json spawned_of(const Job &job)
{
    if (job.spawned_max == 0)
        return nullptr;
    Json nodes = Json::array();
    for (size_t i = 0; job.slots && i < job.slots->spawned.size(); i++)
        nodes.push_back({{"node", job.slots->spawned[i].node},
                         {"processes", job.slots->spawned[i].processes}});
    return {{"processes", count_spawned(job)},
            {"without_cores", count_unbooked(job)},
            {"max", job.spawned_max},
            {"nodes", std::move(nodes)}};
}

/* GPU numbers on each node. */
Json gpus_of(const Job &job)
{
    Json all = Json::array();
    for (const NodeGpus &each : job.gpus)
        all.push_back({{"node", each.node.str()}, {"gpus", numbers_of(each.gpus)}});
    return all;
}

/* Without the ports, which only the user may see. */
Json names_of(const Job &job)
{
    Json names = Json::array();
    for (const PublishedName &each : job.names) {
        if (!has_ended(each.holder))
            names.push_back(each.name);
    }
    return names;
}

/* Of a running job: why it cannot have more nodes, or does not have them yet; or empty. */
std::string why_limited(const Job &job, Daemon &daemon)
{
    if (job.adaptation && job.adaptation->phase == AdaptPhase::ACQUIRING)
        return daemon.backend().why_acquiring(job.id);
    bool runs = job.state == JobState::RUNNING || job.state == JobState::ADAPTING;
    return runs && job.grow_at_most > 0
        ? "at most " + std::to_string(job.grow_at_most) + " processes: " + job.start_refused
        : "";
}

/* Null: it may start at any time, or it does not wait. */
Json next_start_of(const Job &job, Daemon &daemon)
{
    bool pauses = job.state == JobState::PENDING && !job.held &&
        job.offer_after_ms > daemon.now_ms();
    return pauses ? Json(daemon.shown_ms(job.offer_after_ms)) : Json();
}

/* `is_limited`: its sizes are those of its next start, and not of a program. */
void add_spec(Json &json, const JobSpec &spec, bool is_limited)
{
    json["kind"] = to_string(spec.elasticity);
    json["min"] = spec.minimum;
    json["max"] = spec.maximum;
    json["preferred"] = number_or_null(spec.preferred);
    json["sizes"] = {{"rule", spec.sizes.empty() ? to_string(spec.size_rule) : spec.sizes}};
    if (spec.size_rule == SizeRule::MULTIPLE)
        json["sizes"]["of"] = spec.size_multiple;
    json["sizes"]["program"] = text_or_null(is_limited ? "" : spec.program_sizes);
    json["places_max"] = spec.extra_slots;
    json["cores_per_process"] = spec.cores_per_process;
    json["processes_per_node"] = number_or_null(spec.processes_per_node);
    json["exclusive"] = spec.whole_nodes;
    json["nodes_requested"] = number_or_null(spec.nodes);
    json["gpus_per_process"] = number_or_null(spec.gpus_per_process);
    json["gpus_per_node"] = number_or_null(spec.gpus_per_node);
    json["partition"] = text_or_null(spec.partition);
    json["reservation"] = text_or_null(spec.reservation);
    json["groups"] = spec.groups;
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

}  // namespace

/* Why it waits, and why it waits again. */
std::string Api::waiting_reason(const Job &job) const
{
    std::string why = why_waiting(daemon_.state(), job);
    const Job *front = first_in_queue(daemon_.state(), job);
    bool visible = front && (front->spec.uid == job.spec.uid || !daemon_.settings().private_jobs);
    if (why == WAITS_BEHIND && visible)
        why += ": job " + std::to_string(front->id) + " is first";
    bool is_all = job.reason.empty() || why == job.reason ||
        why == daemon_.state().start_pause.reason;
    return is_all ? why : why + "; " + job.reason;
}

namespace {

/* For a job on nodes that the back end suspects: of these, the first; empty: none. */
std::string trouble_of_nodes(const State &state, const Job &job)
{
    constexpr size_t EXAMINED_MAX = 256;
    if (!is_allocated(job.state) || state.indices().nodes.of(NodeState::DRAINING) == 0)
        return "";
    for (size_t i = 0; i < std::min(job.blocks.size(), EXAMINED_MAX); i++) {
        const Node *node = state.node(job.blocks[i].node);
        if (node && !node->trouble.empty())
            return "node " + node->name.str() + " is suspect: " + node->trouble;
    }
    return "";
}

}  // namespace

/* The reason of a job that waits for nodes which the back end cannot provide. */
std::string Api::reason_of(const Job &job) const
{
    bool waits = (job.state == JobState::PENDING && !job.held) || job.acquiring;
    std::string trouble = waits ? daemon_.backend().trouble() : "";
    if (trouble.empty() && job.acquiring)
        trouble = daemon_.backend().why_acquiring(job.id);
    if (!trouble.empty())
        return trouble;
    if (job.state == JobState::PENDING)
        return waiting_reason(job);
    bool has_programs = daemon_.has_node_programs() && job.reason.empty();
    if (has_programs && (job.acquiring || job.releasing))
        return job.acquiring ? "its nodes are prepared (prolog)" : "its nodes are cleaned (epilog)";
    if (job.broken.empty())
        return job.reason.empty() ? trouble_of_nodes(daemon_.state(), job) : job.reason;
    return "step protocol broken: " + job.broken + (job.reason.empty() ? "" : "; " + job.reason);
}

Json Api::job_json(const Job &job, const Json *ran)
{
    bool ended = is_end(job.state);
    int64_t suspended_now_ms =
        job.suspended_at_ms == NEVER ? 0 : daemon_.now_ms() - job.suspended_at_ms;
    Json json = {
        {"id", job.id},
        {"name", job.spec.name},
        {"user", job.spec.user},
        {"uid", job.spec.uid},
        {"state", to_string(job.state)},
        {"code", names_of(job.state).code},
        {"reason", text_or_null(reason_of(job))},
        {"adaptive", job.mode == StepMode::UNKNOWN ? Json() : Json(job.mode == StepMode::ADAPTIVE)},
        {"size", job.size()},
        {"nodes", nodes_of(job.blocks)},
        {"gpus", gpus_of(job)},
        {"held", job.held},
        {"begin_ms", job.spec.begin_ms ? Json(daemon_.shown_ms(job.spec.begin_ms)) : Json()},
        {"next_start_ms", next_start_of(job, daemon_)},
        {"waits_for", dependencies_of(job.waits_for)},
        {"array", array_of(job, daemon_.state())},
        {"limit_signal", nullptr},
        {"mail", nullptr},
        {"submit_ms", time_or_null(daemon_.shown_ms(job.submitted_ms))},
        {"start_ms", time_or_null(daemon_.shown_ms(job.started_ms))},
        {"end_ms", time_or_null(daemon_.shown_ms(job.ended_ms))},
        {"suspended_ms", job.suspended_ms + suspended_now_ms},
        {"suspended_since_ms", time_or_null(daemon_.shown_ms(job.suspended_at_ms))},
        {"exit_code", ended ? write(job.exit_code) : Json()},
        {"step", job.step},
        {"epoch", job.epoch},
        {"adaptation", adaptation_of(job)},
        {"last_change", last_change_of(job)},
        {"set_changes", set_changes_of(job, daemon_)},
        {"wish", size_request_of(job)},
        {"places", slots_on(job)},
        {"spawned", spawned_of(job)},
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
    if (std::string why = why_limited(job, daemon_); !why.empty())
        json["why"] = why;
    if (job.adaptation)
        json["adaptation"]["since_ms"] = daemon_.shown_ms(job.adaptation->requested_ms);
    if (job.last_change)
        json["last_change"]["at_ms"] = daemon_.shown_ms(job.last_change->at_ms);
    add_spec(json, job.spec, job.start_at_most > 0);
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

/* The number of another job; null: the user of this job may not see it. */
Json number_for(const Job &job, const Job &other, bool private_jobs)
{
    bool visible = other.spec.uid == job.spec.uid || !private_jobs;
    return visible ? Json(other.id) : Json();
}

/* The resources that it lacks, and the jobs that will soon free cores. */
Json shortage_json(const State &state, const Job &job, bool private_jobs)
{
    auto missing = shortage(state, job);
    if (!missing)
        return nullptr;
    auto list = [&](const std::vector<Giving> &jobs) {
        Json all = Json::array();
        for (const Giving &each : jobs) {
            Json id = number_for(job, state.jobs.at(each.job), private_jobs);
            all.push_back({{"job", std::move(id)}, {"cores", each.cores}});
        }
        return all;
    };
    return {{"processes", missing->processes},
            {"room", missing->capacity},
            {"nodes", number_or_null(missing->nodes)},
            {"open_nodes", missing->nodes > 0 ? Json(missing->open_nodes) : Json()},
            {"full", write(missing->full)},
            {"giving", list(missing->giving)},
            {"overdue", list(missing->overdue)},
            {"suspended", list(missing->suspended)}};
}

/* Jobs that wait for the cores of a suspended one. */
Json keeps_waiting_json(const State &state, const Job &job, bool private_jobs)
{
    Json waiting = Json::array();
    if (job.state != JobState::SUSPENDED)
        return waiting;
    for (JobId id : kept_waiting(state, job))
        waiting.push_back(number_for(job, state.jobs.at(id), private_jobs));
    return waiting;
}

Json helpers_json(const State &state, const Job &job, bool private_jobs)
{
    Json helpers = Json::array();
    if (job.state != JobState::PENDING)
        return helpers;
    for (const Helper &each : helpers_of(state, job.id)) {
        helpers.push_back({{"job", number_for(job, state.jobs.at(each.job), private_jobs)},
                           {"from", each.old_size},
                           {"size", each.size},
                           {"committed", each.is_done}});
    }
    return helpers;
}

}  // namespace

/* Its latest start, and the job that ends then, if no other job comes before it.  Only for a
 * single job, because it takes some time. */
void Api::add_forecast(Json &json, const Job &job) const
{
    Forecast forecast = job.state == JobState::PENDING
        ? rm::forecast(daemon_.state(), job.id)
        : Forecast();
    const Job *other = daemon_.state().job(forecast.waits_for);
    bool private_jobs = daemon_.settings().private_jobs;
    json["expected_start_ms"] = time_or_null(daemon_.shown_ms(forecast.start_ms));
    json["fair_share"] = fair_share_json(job.spec.uid);
    json["expected_after"] = other ? number_for(job, *other, private_jobs) : Json();
    json["shortage"] = shortage_json(daemon_.state(), job, private_jobs);
    json["helpers"] = helpers_json(daemon_.state(), job, private_jobs);
    json["keeps_waiting"] = keeps_waiting_json(daemon_.state(), job, private_jobs);
}

}  // namespace elastic::rm
