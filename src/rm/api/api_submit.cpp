/* See api.h: reading of submissions. */

#include <cmath>
#include <pwd.h>
#include <unistd.h>

#include <chrono>

#include "api/api.h"
#include "api/gpu_request.h"
#include "api/node_lists.h"
#include "api/node_request.h"
#include "base/signal_names.h"
#include "core/forecast.h"
#include "core/program_key.h"
#include "daemon/mail_message.h"
#include "settings/setting.h"

namespace elastic::rm {

namespace {

constexpr size_t COMMAND_COUNT_MAX = 4096, COMMAND_BYTES_MAX = 1024 * 1024,
                 ENVIRONMENT_BYTES_MAX = 1024 * 1024;
constexpr size_t SCRIPT_BYTES_MAX = 4 * 1024 * 1024, PATH_BYTES_MAX = 4095, KEY_BYTES_MAX = 40;
/* By the wall clock, the year 3084; with any offset the core's time is below BEGIN_MAX_MS. */
constexpr int64_t BEGIN_CLOCK_MAX_MS = BEGIN_MAX_MS / 2;
constexpr int64_t LONGEST_LIMIT_MS = int64_t{366} * 24 * 3600 * 1000;
constexpr int64_t TIME_LIMIT_MAX_MS = 100 * LONGEST_LIMIT_MS;

template <class Enum> Enum read_name(BodyReader &body, const char *name, Enum otherwise)
{
    std::string text = body.text(name, 32), known;
    if (text.empty())
        return otherwise;
    size_t number = 0;
    for (const char *each : NamesOf<Enum>::names) {
        if (text == each)
            return static_cast<Enum>(number);
        known += (number++ ? ", " : "") + std::string(each);
    }
    body.fail(name, "must be one of " + known);
}

/* Memory is counted in cores: each core includes a fixed amount of memory. */
struct MemoryRequest {
    int64_t per_core_mib = 0, per_node_mib = 0; /* 0: none */
    int64_t core_mib = 0;       /* memory of a core; 0: memory is not counted */
};

MemoryRequest read_memory(BodyReader &body, const Settings &settings)
{
    constexpr int64_t MEMORY_MAX_MIB = int64_t{1} << 30;
    MemoryRequest memory;
    memory.per_core_mib = body.number("memory_per_core_mib", 1, MEMORY_MAX_MIB, 0);
    memory.per_node_mib = body.number("memory_per_node_mib", 1, MEMORY_MAX_MIB, 0);
    memory.core_mib = settings.counted_memory_per_core_mib
        ? settings.counted_memory_per_core_mib
        : settings.memory_per_core_mib;
    return memory;
}

/* Books as many cores as are needed for the memory of a process. */
void book_memory(const BodyReader &body, JobSpec &spec, const char *field, int64_t mib,
                 const MemoryRequest &memory)
{
    if (mib == 0 || memory.core_mib == 0)
        return;
    int64_t cores = quotient_up(mib, memory.core_mib);
    if (cores > CORES_MAX)
        body.fail(field, "is more than " + std::to_string(CORES_MAX) + " cores have, " +
                             std::to_string(memory.core_mib) + " MiB each");
    spec.cores_per_process = std::max(spec.cores_per_process, static_cast<int>(cores));
}

void book_memory_of_nodes(const BodyReader &body, JobSpec &spec, int cores_of_node,
                          const MemoryRequest &memory)
{
    constexpr const char *FIELD = "memory_per_node_mib";
    int64_t most_mib = cores_of_node * memory.core_mib;
    if (memory.per_node_mib == 0 || memory.core_mib == 0)
        return;
    if (memory.per_node_mib > most_mib)
        body.fail(FIELD, "is more than any node has: " + std::to_string(most_mib) + " MiB");
    if (spec.whole_nodes)
        return;
    /* Without a number of processes for a node, that of a full one. */
    int full = std::max(1, cores_of_node / spec.cores_per_process);
    int on_node = std::min(spec.processes_per_node ? spec.processes_per_node : full,
                           most_processes(spec));
    book_memory(body, spec, FIELD, quotient_up<int64_t>(memory.per_node_mib, on_node), memory);
}

/* Whole nodes of which some are named. */
void check_listed(const BodyReader &body, const JobSpec &spec, int nodes)
{
    if (nodes > 0 && spec.nodelist.size() > static_cast<size_t>(nodes))
        body.fail("nodelist", "names " + std::to_string(spec.nodelist.size()) +
                                  " nodes, and the job has " + std::to_string(nodes));
}

/* {"rule": "multiple:4"}, or {"rule": "multiple", "of": 4} */
void read_size_rule(BodyReader &body, JobSpec &spec)
{
    BodyReader sizes = body.object("sizes");
    std::string rule = sizes.text("rule", PMI_ADAPT_SIZES_MAX, "any");
    if (int64_t of = sizes.number("of", 1, PROCESSES_MAX, 1); rule == "multiple")
        rule += ":" + std::to_string(of);
    sizes.finish();
    if (std::string wrong = set_size_rule(spec, rule); !wrong.empty())
        sizes.fail("rule", wrong);
}

void read_sizes(BodyReader &body, JobSpec &spec, const State &state, const MemoryRequest &memory,
                std::vector<std::string> &notes)
{
    int cores_of_node = cores_of_largest_node(state, spec);
    auto capacity_of = [&state](const JobSpec &any) {
        return state.capacity_when_empty(state.unreserved(any), false);
    };
    spec.extra_slots = static_cast<int>(body.number("places", 0, SLOTS_MAX, 0));
    spec.cores_per_process = static_cast<int>(body.number("cores_per_process", 1, CORES_MAX, 1));
    book_memory(body, spec, "memory_per_core_mib", memory.per_core_mib * spec.cores_per_process,
                memory);
    spec.processes_per_node = static_cast<int>(body.number("processes_per_node", 1, CORES_MAX, 0));
    spec.whole_nodes = body.flag("exclusive", false);
    NodeRange range = read_node_range(body);
    int per_node = spec.processes_per_node
        ? spec.processes_per_node
        : std::max(1, cores_of_node / spec.cores_per_process);
    check_listed(body, spec, range.maximum);
    int64_t listed = std::max<int64_t>(static_cast<int64_t>(spec.nodelist.size()), 1);
    read_gpus_of_parts(body, spec);
    int64_t least = range.minimum ? int64_t{range.minimum} * per_node : listed;
    if (int all = range.minimum ? processes_on_nodes(spec, range.minimum, capacity_of) : 0; all > 0)
        least = all;
    spec.minimum =
        static_cast<int>(body.number("min", 1, PROCESSES_MAX, std::min(least, PROCESSES_MAX)));
    spec.maximum = static_cast<int>(body.number("max", 1, PROCESSES_MAX, spec.minimum));
    spec.preferred = static_cast<int>(body.number("preferred", 1, PROCESSES_MAX, 0));
    spec.elasticity = read_name(
        body, "kind", spec.minimum == spec.maximum ? Elasticity::RIGID : Elasticity::MALLEABLE);
    int nodes = put_on_nodes(body, spec, range, capacity_of, notes);
    book_memory_of_nodes(body, spec, cores_of_node, memory);
    read_size_rule(body, spec);
    read_gpus_of_all(body, spec, nodes);
}

void check_range(const JobSpec &spec)
{
    if (spec.minimum > spec.maximum)
        throw ApiError{400, "range",
                       "the minimum " + std::to_string(spec.minimum) + " is above the maximum " +
                           std::to_string(spec.maximum) + ": exchange min and max",
                       "min"};
    if (spec.preferred && (spec.preferred < spec.minimum || spec.preferred > spec.maximum))
        throw ApiError{400, "range", "preferred must lie between min and max", "preferred"};
    if (spec.elasticity == Elasticity::RIGID && spec.minimum != spec.maximum)
        throw ApiError{400, "range",
                       "a rigid job has one size: give equal min and max, or another kind", "kind"};
    std::string problem = check(spec);
    if (!problem.empty())
        throw ApiError{400, "range", problem};
}

std::string last_part(const std::string &path)
{
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string read_path(BodyReader &body, const char *name)
{
    std::string path = body.text(name, PATH_BYTES_MAX);
    if (body.has(name) && path.empty())
        body.fail(name, "must not be empty: leave it out for the default");
    return path;
}

void read_limits(BodyReader &body, std::vector<ProcessLimit> &limits)
{
    BodyReader given = body.object("limits");
    for (const LimitName &known : LIMIT_NAMES) {
        if (given.has(known.name))
            limits.push_back(
                {known.name, given.number(known.name, ProcessLimit::UNLIMITED, INT64_MAX, 0)});
    }
    given.finish();
}

void read_launch(BodyReader &body, Launch &launch, std::string &script)
{
    launch.command = body.texts("command", COMMAND_COUNT_MAX, COMMAND_BYTES_MAX);
    if (launch.command.empty() || launch.command[0].empty())
        body.fail("command", "is missing or empty: give the program and its arguments");
    script = body.text("script", SCRIPT_BYTES_MAX);
    launch.is_script = body.has("script");
    if (launch.is_script && !script.starts_with("#!"))
        body.fail("script", "must begin with #! and the program that runs it, such as #!/bin/sh");
    launch.slurm_environment = body.flag("slurm_environment", false);
    launch.directory = body.required_text("directory", PATH_BYTES_MAX);
    if (launch.directory[0] != '/')
        body.fail("directory", "must be an absolute path");
    for (const auto &[name, value] : body.map_of_texts("environment", ENVIRONMENT_BYTES_MAX))
        launch.environment.push_back(name + "=" + value);
    launch.output = read_path(body, "output");
    launch.error = read_path(body, "error");
    launch.input = read_path(body, "input");
    launch.mpiexec = body.texts("mpiexec", COMMAND_COUNT_MAX, COMMAND_BYTES_MAX);
    if (launch.is_script && !launch.mpiexec.empty())
        body.fail("mpiexec", "cannot be used with a script: write the options into the script");
    launch.umask = static_cast<int>(body.number("umask", 0, 0777, launch.umask));
    read_limits(body, launch.limits);
}

/* A signal some time before the time limit; at the start, if that time is longer than the limit. */
void read_limit_signal(BodyReader &body, const JobSpec &spec, Launch &launch)
{
    if (!body.has("limit_signal"))
        return;
    BodyReader given = body.object("limit_signal");
    launch.warn_signal = signal_number(given.required_text("signal", 16));
    if (!launch.warn_signal)
        given.fail("signal", "must be one of " + known_signals());
    launch.warn_before_ms = given.number("before_ms", 0, TIME_LIMIT_MAX_MS, 60000);
    given.finish();
    if (spec.time_limit_ms == 0)
        body.fail("limit_signal", "needs a time limit");
}

/* Sent if a command for it is configured; else a note reports that. */
void read_mail(BodyReader &body, const Settings &settings, const JobSpec &spec, Launch &launch,
               std::vector<std::string> &notes)
{
    if (!body.has("mail"))
        return;
    BodyReader mail = body.object("mail");
    const auto &names = NamesOf<MailEvent>::names;
    for (const std::string &text : mail.texts("events", std::size(names), 32)) {
        auto known = std::ranges::find(names, text, [](const char *name) { return name; });
        if (known == std::end(names))
            mail.fail("events", "must be some of begin, end, fail, requeue and array_tasks");
        launch.mail_events.push_back(static_cast<MailEvent>(known - std::begin(names)));
    }
    launch.mail_to = mail.text("to", ADDRESS_BYTES_MAX, spec.user);
    if (std::string wrong = wrong_with_address(launch.mail_to); !wrong.empty())
        mail.fail("to", wrong);
    mail.finish();
    if (settings.mail_command.empty() && !launch.mail_events.empty())
        notes.push_back("--mail-type has no effect: elasticd sends no mail (mail.command in the "
                        "configuration); 'elastic submit --wait' returns at the end");
}

}  // namespace

/* The requested number, or the default, within the limit of the system and of the partition, if
 * there is one; 0: none. */
int64_t Api::read_time_limit(BodyReader &body, int64_t otherwise, bool may_be_none,
                             const Partition *partition) const
{
    int64_t most_ms = daemon_.settings().max_time_limit_ms;
    int64_t of_partition = partition ? partition->max_time_ms : 0;
    bool is_less = of_partition > 0 && (most_ms == 0 || of_partition < most_ms);
    if (is_less)
        most_ms = of_partition;
    int64_t limit_ms = body.number("time_limit_ms", 0, TIME_LIMIT_MAX_MS, otherwise);
    if (body.has("time_limit_ms") && limit_ms < 1000 && (limit_ms > 0 || !may_be_none))
        body.fail("time_limit_ms", "must be at least 1000");
    if (body.has("time_limit_ms") && limit_ms == 0 && otherwise > 0 && most_ms == 0)
        return LONGEST_LIMIT_MS;        /* 0 means the default */
    if (most_ms == 0 || (limit_ms > 0 && limit_ms <= most_ms))
        return limit_ms;
    if (body.has("time_limit_ms"))
        body.fail("time_limit_ms",
                  "is above the longest that " +
                      (is_less ? "partition " + partition->name : std::string("this system")) +
                      " allows, " + format_duration(most_ms));
    return most_ms;
}

int Api::read_priority(BodyReader &body, const Caller &caller) const
{
    int priority = static_cast<int>(body.number("priority", -PRIORITY_MAX, PRIORITY_MAX, 0));
    if (priority > 0 && !caller.administrator)
        throw ApiError{403, "forbidden", "only administrators give a priority above 0", "priority"};
    return priority;
}

/* Ended jobs may be unknown to the core. */
void Api::add_dependencies(const Call &call, BodyReader &body, JobSpec &spec)
{
    for (size_t kind = 0; kind < std::size(NamesOf<DependencyKind>::names); kind++) {
        const char *name = NamesOf<DependencyKind>::names[kind];
        for (const std::string &text : body.job_names(name, DEPENDENCIES_MAX)) {
            Call of{call.request, call.responder, call.caller, call.known, text};
            Job other = job_of(of, false);
            Dependency dependency{static_cast<DependencyKind>(kind), other.id};
            dependency.array = other.task && parse_id(text) == other.task->array;
            bool is_known = daemon_.state().state_of(dependency).has_value();
            bool is_unclear = dependency.array && dependency.kind == DependencyKind::AFTER_OK;
            if (!is_known && is_unclear)
                body.fail(name, "names array " + text + ", whose result is no longer stored: leave "
                                "it out, or name its tasks, such as " + text + "_1");
            if (is_known ||
                dependency_state(dependency.kind, other.state) != DependencyState::MET)
                spec.dependencies.push_back(dependency);
        }
    }
}

/* The contents of a submission. */
struct Api::Submission {
    JobSpec spec;
    Launch launch;
    std::string script, key;
    std::vector<std::string> notes;     /* for the user */
    bool test_only = false;
};

Api::Submission Api::read_submission(const Call &call)
{
    BodyReader body(call.request.body);
    Submission submission;
    JobSpec &spec = submission.spec;
    Launch &launch = submission.launch;
    spec.uid = call.caller.uid;
    spec.user = call.caller.name;
    read_launch(body, launch, submission.script);
    MemoryRequest memory = read_memory(body, daemon_.settings());
    if ((memory.per_core_mib || memory.per_node_mib) && memory.core_mib == 0)
        submission.notes.push_back(
            "the requested memory has no effect: elasticd does not count memory "
            "(job.counted_memory_per_core in the configuration)");
    read_partition(body, call.caller, spec, submission.notes);
    read_reservation(body, call.caller, spec);
    spec.groups = daemon_.group_limits().groups_of(daemon_.users().known(spec.uid));
    spec.nodelist = read_node_set(body, "nodelist", daemon_.state());
    spec.exclude = read_node_set(body, "exclude", daemon_.state());
    read_sizes(body, spec, daemon_.state(), memory, submission.notes);
    spec.name = body.text("name", JOB_NAME_BYTES_MAX,
                          last_part(launch.command[0]).substr(0, JOB_NAME_BYTES_MAX));
    if (spec.name.empty())
        body.fail("name", "must not be empty");
    int64_t default_ms = spec.in ? spec.in->default_time_ms : 0;
    default_ms = default_ms > 0 ? default_ms : daemon_.settings().default_time_limit_ms;
    spec.time_limit_ms = read_time_limit(body, default_ms, true, spec.in.get());
    spec.priority = read_priority(body, call.caller);
    if (body.has("begin_ms"))
        spec.begin_ms = std::max<int64_t>(
            daemon_.core_ms(body.number("begin_ms", 0, BEGIN_CLOCK_MAX_MS, 0)), 0);
    add_dependencies(call, body, spec);
    read_limit_signal(body, spec, launch);
    read_mail(body, daemon_.settings(), spec, launch, submission.notes);
    spec.array = body.text("array", ARRAY_TEXT_MAX);
    spec.singleton = body.flag("singleton", false);
    spec.held = body.flag("held", false);
    spec.requeue = body.flag("requeue", false);
    spec.expect_ms = body.number("expect_ms", 1000, TIME_LIMIT_MAX_MS, 0);
    if (body.has("speedup")) {
        BodyReader speedup = body.object("speedup");
        if (speedup.required_text("law", 20) != "amdahl")
            speedup.fail("law", "must be amdahl");
        spec.serial_ppm = std::llround(speedup.ratio("serial") * static_cast<double>(PPM));
        speedup.finish();
    }
    spec.program = launch.is_script ? "" : program_of(launch.command);
    submission.key = body.text("key", KEY_BYTES_MAX);
    submission.test_only = body.flag("test_only", false);
    body.finish();
    check_range(spec);
    return submission;
}

void Api::check_stored_bytes(uint32_t uid, size_t bytes, int64_t tasks) const
{
    auto all = static_cast<int64_t>(daemon_.state().jobs.size() - daemon_.state().finished.size());
    int64_t own = daemon_.quota().jobs_of(uid);
    const Settings &settings = daemon_.settings();
    if (all + tasks > settings.jobs_max || own + tasks > settings.jobs_per_user_max)
        throw ApiError{
            503,
            "full",
            all + tasks > settings.jobs_max
                ? "the queue is full: " + std::to_string(all) + " jobs of all users, " +
                    std::to_string(own) + " of them yours, have not ended (limits.jobs = " +
                    std::to_string(settings.jobs_max) + "): submit again later"
                : "you, user " + std::to_string(uid) + ", have " + std::to_string(own) +
                    " jobs that have not ended" +
                    (tasks > 1 ? ", and the array has " + std::to_string(tasks) + " tasks" : "") +
                    " (limits.jobs_per_user = " +
                    std::to_string(settings.jobs_per_user_max) +
                    "): wait for one, or cancel one, and submit again",
            "",
            {{"Retry-After", "60"}}};
    if (!daemon_.has_space())
        throw ApiError{503,
                       "storage",
                       "the disk of elasticd's store is full: no jobs are accepted until space is "
                       "free again; submitted jobs continue",
                       "",
                       {{"Retry-After", "60"}}};
    check_bytes(uid, bytes);
    if (daemon_.quota().bytes_of(uid) + static_cast<int64_t>(bytes) > settings.bytes_per_user_max)
        throw ApiError{
            503,
            "full",
            "scripts, environments and commands of your jobs that have not ended would be more "
            "than " +
                std::to_string(settings.bytes_per_user_max) +
                " bytes (limits.bytes_per_user): wait until one has ended, and submit again",
            "",
            {{"Retry-After", "60"}}};
}

/* Includes all stored data of ended jobs; the oldest of these are deleted if it is too much. */
void Api::check_bytes(uint32_t uid, size_t bytes) const
{
    int64_t most = daemon_.settings().bytes_per_user_max;
    int64_t used = stored(daemon_.store().used_bytes(uid));
    if (used + static_cast<int64_t>(bytes) <= most)
        return;
    throw ApiError{503,
                   "full",
                   "the stored data of your jobs would be more than " + std::to_string(most) +
                       " bytes (limits.bytes_per_user): your oldest ended jobs are being deleted; "
                       "try again later",
                   "",
                   {{"Retry-After", "5"}}};
}

/* Whether it would be accepted, and when it would start. */
void Api::test_submission(Call &call, const JobSpec &spec)
{
    Answer answer;
    answer.message = daemon_.core().refusal(spec, answer.code);
    if (!answer.message.empty())
        throw error_of(answer);
    Forecast found = forecast_of_new(daemon_.state(), spec);
    const Job *other = daemon_.state().job(found.waits_for);
    bool visible = other && may_see(call.caller, other->spec.uid);
    int64_t start_ms = daemon_.shown_ms(found.start_ms);
    Json test = {{"expected_start_ms", start_ms == NEVER ? Json() : Json(start_ms)},
                 {"expected_after", visible ? Json(other->id) : Json()},
                 {"min", spec.minimum},
                 {"max", spec.maximum}};
    respond_json(call.responder, {{"test", std::move(test)}});
}

void Api::submit(Call &call)
{
    auto begin = std::chrono::steady_clock::now();
    if (geteuid() != 0 && call.caller.uid != geteuid())
        throw ApiError{403, "forbidden",
                       "this elasticd runs as the user with the uid " +
                           std::to_string(geteuid()) + " and can run jobs of that user only: start "
                           "your own, or use one that runs as root"};
    Submission submission = read_submission(call);
    JobSpec &spec = submission.spec;
    Launch &launch = submission.launch;
    const std::string &key = submission.key;
    const std::vector<std::string> &notes = submission.notes;
    auto array = spec.array.empty() ? ArrayIndices() : parse_array(spec.array).value();
    check_stored_bytes(spec.uid, call.request.body.size(),
               std::max<int64_t>(static_cast<int64_t>(array.indices.size()), 1));
    if (submission.test_only)
        return test_submission(call, spec);
    LaunchRow row{0, spec.uid, write(launch), submission.script,
                  static_cast<int64_t>(call.request.body.size())};
    launch.environment.clear();
    auto saved = std::make_shared<Launch>(std::move(launch));
    std::string request = key.empty()
        ? daemon_.next_request_id()
        : "k" + std::to_string(spec.uid) + ":" + key;
    daemon_.request(
        Submit{request, spec}, std::move(row),
        [this, responder = call.responder, begin, saved, notes](const Answer *answer, bool is_new) {
            if (answer && is_new)
                daemon_.remember(answer->job, saved);
            daemon_.metrics().time_submit(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
            answer_safely(responder, "/v1/jobs",
                          [&] { submitted(responder, answer, is_new, notes); });
        });
}

}  // namespace elastic::rm
