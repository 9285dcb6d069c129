/* See steps.h. */

#include "step/steps.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "step/as_user.h"
#include "step/control_group.h"
#include "step/start_service.h"
#include "step/step_processes.h"

namespace elastic::rm {

namespace {

namespace fs = std::filesystem;

constexpr const char *FILES_LIMIT = "nofile";
constexpr int64_t REMAINING_POLL_MS = 200;
constexpr int64_t HEARD_LOOK_MS = 5, RECEIVED_MS = 2000;

template <class File>
std::optional<File> read_struct_file(const std::string &folder, const char *name)
{
    auto text = read_file(folder, name);
    if (!text || !text.value())
        return std::nullopt;
    auto file = parse<File>(Json::parse(*text.value(), nullptr, false));
    return file ? std::optional<File>(file.value()) : std::nullopt;
}

void remove_folder(const std::string &folder)
{
    std::error_code code;
    fs::remove_all(folder, code);
    if (code)
        log_line(LogLevel::WARNING, "cannot remove the folder of a step",
                 {{"folder", folder}, {"error", code.message()}});
}

/* The name of a step's folder, "JOB.STEP". */
std::optional<std::pair<JobId, uint32_t>> parse_key(const std::string &name)
{
    unsigned long long job = 0;
    unsigned step = 0;
    int end = 0;
    if (sscanf(name.c_str(), "%llu.%u%n", &job, &step, &end) != 2 ||
        static_cast<size_t>(end) != name.size())
        return std::nullopt;
    return std::pair<JobId, uint32_t>(job, step);
}

}  // namespace

struct Steps::Step {
    Key key;
    std::string folder;
    uint32_t uid = 0, gid = 0;
    bool started = false;
    std::unique_ptr<LineConnection> stepd;
    std::unique_ptr<StepLink> link;
    std::string connecting;             /* to this socket, by elastic-stepd; then the link's */
    uint64_t epoch_offset = 0;
    std::optional<ResizeStep> held_resize;      /* came while connecting; for the link */
    std::optional<CancelRequest> held_cancel;
    std::optional<EventContent> end;    /* StepStartFailed, StepEnded or StepLost */
    int untold = 0;                     /* events that the core has not handled yet */
    Loop::TimerId rest_timer = 0;
};

Steps::Steps(Loop &loop, StepsConfig config, Notify notify, JobOf job_of, Sampled sampled)
    : loop_(loop), config_(std::move(config)), notify_(std::move(notify)),
      job_of_(std::move(job_of)), sampled_(std::move(sampled))
{
}

Steps::~Steps()
{
    for (auto &[key, step] : steps_)
        loop_.cancel(step->rest_timer);
}

std::string Steps::open(const State &state)
{
    if (mkdir(config_.folder.c_str(), config_.as_root ? 0711 : 0700) != 0 && errno != EEXIST)
        return "cannot make " + config_.folder + ": " + strerror(errno);
    std::string error = config_.end_unknown ? "" : check_unknown(state);
    if (!error.empty())
        return error;
    std::error_code code;
    for (const auto &entry : fs::directory_iterator(config_.folder, code)) {
        auto key = parse_key(entry.path().filename());
        const Job *job = key ? state.job(key->first) : nullptr;
        if (job && is_allocated(job->state) && job->step == key->second)
            continue;
        /* Nobody waits for it: if it runs all the same, it must not. */
        Descriptor stepd(connect_unix(entry.path().string() + "/" + STEP_SOCKET_FILE));
        if (stepd.is_open()) {
            std::string order = write(StepdOrder{SIGKILL, -1}).dump() + "\n";
            log_line(LogLevel::WARNING, "a step that belongs to no job is ended",
                     {{"folder", entry.path().string()}});
            [[maybe_unused]] ssize_t bytes = ::write(stepd.get(), order.data(), order.size());
        } else {
            remove_folder(entry.path());
        }
    }
    return code ? "cannot read " + config_.folder + ": " + code.message() : "";
}

std::string Steps::check_unknown(const State &state) const
{
    std::error_code code;
    for (const auto &entry : fs::directory_iterator(config_.folder, code)) {
        auto key = parse_key(entry.path().filename());
        const Job *job = key ? state.job(key->first) : nullptr;
        if (key && (key->first > state.last_job || (job && key->second > job->step)))
            return entry.path().string() +
                " is of a step that the store has never heard of: the store is older than "
                "it (a copy that was put back? a disk that has lost its last writes?).  Nothing "
                "was changed, and "
                "the steps go on.  Put the right store back, or let elasticd end such steps: "
                "elasticd --end-unknown-steps";
    }
    return code ? "cannot read " + config_.folder + ": " + code.message() : "";
}

std::string Steps::folder_of(const Key &key) const
{
    return config_.folder + "/" + std::to_string(key.first) + "." + std::to_string(key.second);
}

Steps::Step *Steps::find(JobId job, uint32_t step) const
{
    auto found = steps_.find({job, step});
    return found == steps_.end() ? nullptr : found->second.get();
}

std::string Steps::socket(JobId job) const
{
    for (auto found = steps_.lower_bound({job, 0});
         found != steps_.end() && found->first.first == job; ++found)
        if (found->second->link && !found->second->end)
            return found->second->link->socket();
    return "";
}

/* ---- starting -------------------------------------------------------------------------------- */

void Steps::start(JobId job, uint32_t step, const Make &make)
{
    Step *found = find_or_adopt(job, step);
    if (found) {
        report(*found);
        return;
    }
    auto fresh = std::make_unique<Step>();
    fresh->key = {job, step};
    fresh->folder = folder_of(fresh->key);
    Step &entry = *(steps_[fresh->key] = std::move(fresh));
    bool node_fault = false;
    std::string error = create(entry, make, node_fault);
    if (!error.empty())
        end(entry, StepStartFailed{job, step, error, node_fault});
}

/* `node_fault`: what is to be run is not to blame. */
std::string Steps::create(Step &step, const Make &make, bool &node_fault)
{
    remove_folder(step.folder);
    node_fault = true;
    if (mkdir(step.folder.c_str(), config_.as_root ? 0711 : 0700) != 0)
        return "cannot make " + step.folder + ": " + strerror(errno);
    auto program = make(step.folder);
    node_fault = static_cast<bool>(program);
    if (!program)
        return program.error();
    StepSpec &spec = program.value().spec;
    step.uid = spec.uid;
    std::string error;
    if (!config_.control_group.empty()) {
        spec.control_group = step_group(config_.control_group, step.key.first, step.key.second);
        error = make_control_group(spec.control_group);
        if (error.empty() && program.value().confine)
            error = program.value().confine(spec.control_group);
    }
    if (!error.empty())
        return error;
    const User &user = program.value().user;
    node_fault = user.exists || !config_.as_root || spec.uid == 0;
    if (!node_fault)
        return "there is no user with the number " + std::to_string(spec.uid) + " on this machine";
    spec.user = user.name;
    spec.gid = user.gid;
    spec.groups = user.groups;
    step.gid = user.gid;
    auto names_files = [](const ProcessLimit &limit) { return limit.name == FILES_LIMIT; };
    if (config_.files_soft > 0 && std::ranges::none_of(spec.limits, names_files))
        spec.limits.push_back({FILES_LIMIT, config_.files_soft});
    if (spec.is_script)
        error = write_file(
            step.folder, STEP_SCRIPT_FILE, program.value().script, 0500, owner_of_files(step));
    if (error.empty() && spec.is_script)
        error = write_file(step.folder, STEP_SLOTS_FILE, "", 0600, owner_of_files(step));
    if (error.empty())
        error = write_hosts(step, program.value().hosts);
    if (error.empty())
        error = write_file(step.folder, STEP_SPEC_FILE,
                           write(spec).dump(-1, ' ', false, Json::error_handler_t::replace));
    return error.empty() ? start_stepd(step) : error;
}

/* Files that the user's own processes read belong to the user. */
std::optional<FileOwner> Steps::owner_of_files(const Step &step) const
{
    return config_.as_root ? std::optional<FileOwner>({step.uid, step.gid}) : std::nullopt;
}

std::string Steps::write_hosts(const Step &step, const std::string &hosts) const
{
    return write_file(step.folder, STEP_HOSTS_FILE, hosts, 0600, owner_of_files(step));
}

/* elastic-stepd gets the listening socket, so that there is no moment at which it cannot be
 * reached. */
std::string Steps::start_stepd(Step &step)
{
    Descriptor listening(listen_unix_anywhere(step.folder + "/" + STEP_SOCKET_FILE));
    if (!listening.is_open())
        return "cannot listen in " + step.folder + ": " + strerror(errno);
    std::string error = config_.start_socket.empty()
        ? spawn(step, listening.get())
        : send_start_request(config_.start_socket, step.folder, listening.get());
    if (error.empty() && !connect(step))        /* it runs, and must not be left alone */
        connect_later(step);
    return error;
}

std::string Steps::spawn(const Step &step, int listening) const
{
    std::string log = step.folder + "/stepd.log";
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(
        &files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    /* If both are the same number, dup2 in posix_spawn clears close-on-exec all the same. */
    posix_spawn_file_actions_adddup2(&files, listening, STEPD_LISTEN_FD);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    char *arguments[] = {const_cast<char *>(config_.stepd.c_str()),
                         const_cast<char *>(step.folder.c_str()), nullptr};
    pid_t pid = 0;
    int code = posix_spawn(&pid, config_.stepd.c_str(), &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return code == 0 ? "" : "cannot run " + config_.stepd +
            " (job.stepd in the configuration): " + strerror(code);
}

/* Until it is connected, or has ended: there may be no descriptor at present. */
void Steps::connect_later(Step &step)
{
    constexpr int64_t AGAIN_MS = 200;
    step.rest_timer = loop_.after(AGAIN_MS, [this, same = &step] {
        same->rest_timer = 0;
        if (connect(*same))
            return;
        if (errno == ECONNREFUSED || errno == ENOENT)
            stepd_closed(*same);
        else
            connect_later(*same);
    });
}

bool Steps::connect(Step &step)
{
    Step *same = &step;
    step.stepd = LineConnection::connect(
        loop_, step.folder + "/" + STEP_SOCKET_FILE, geteuid(), LineLimits{.descriptors = true},
        [this, same](const Json &line) { stepd_line(*same, line); },
        [this, same](const std::string &) { stepd_closed(*same); });
    return step.stepd != nullptr;
}

/* ---- finding again --------------------------------------------------------------------------- */

/* Null: it was never started. */
Steps::Step *Steps::find_or_adopt(JobId job, uint32_t number)
{
    if (Step *known = find(job, number))
        return known;
    Key key{job, number};
    auto spec = read_struct_file<StepSpec>(folder_of(key), STEP_SPEC_FILE);
    if (!spec)
        return nullptr;
    auto fresh = std::make_unique<Step>();
    fresh->key = key;
    fresh->folder = folder_of(key);
    fresh->uid = spec->uid;
    fresh->gid = spec->gid;
    Step &step = *fresh;
    if (connect(step)) {
        steps_[key] = std::move(fresh);
        return &step;           /* elastic-stepd reports the rest */
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS ||
        errno == EAGAIN) {      /* that does not contain it */
        steps_[key] = std::move(fresh);
        connect_later(step);
        return &step;
    }
    bool tried = read_struct_file<StepStartedFile>(step.folder, STEP_STARTED_FILE).has_value() ||
                 read_struct_file<StepExitFile>(step.folder, STEP_EXIT_FILE).has_value();
    if (!tried)
        return nullptr;
    steps_[key] = std::move(fresh);
    stepd_closed(step);
    return &step;
}

void Steps::query(JobId job, uint32_t number)
{
    if (Step *step = find_or_adopt(job, number))
        report(*step);
    else
        notify_(StepLost{job, number,
                       "nothing is left of the step: its folder is gone from " + config_.folder});
}

/* All that is known of it, again. */
void Steps::report(Step &step)
{
    auto [job, number] = step.key;
    if (step.started)
        notify(step, StepStarted{{job, number}});
    if (step.link)
        step.link->report_all();
    if (step.end)
        notify(step, *step.end);
}

void Steps::order(Step &step, int signal, int64_t kill_after_ms)
{
    step.stepd->send(write(StepdOrder{signal, -1}));
    if (kill_after_ms >= 0)
        step.stepd->send(write(StepdDeadline{kill_after_ms}));
}

bool Steps::notify(Step &step, EventContent content)
{
    if (!notify_(std::move(content)))
        return false;
    step.untold++;
    return true;
}

void Steps::handled(JobId job, uint32_t number)
{
    Step *step = find(job, number);
    if (!step || step->untold == 0 || --step->untold > 0)
        return;
    if (step->link)
        step->link->resume();
}

/* ---- what comes from elastic-stepd ----------------------------------------------------------- */

void Steps::stepd_line(Step &step, const Json &line)
{
    auto parsed = parse<StepdLine>(line);
    if (!parsed)
        return;
    auto [job, number] = step.key;
    if (parsed.value().started && !step.started) {
        step.started = true;
        notify(step, StepStarted{{job, number}});
    }
    if (!parsed.value().connected.empty())
        return connected(step, parsed.value().connected);
    const std::string &socket = parsed.value().step_socket;
    if (socket.empty() || socket == step.connecting || (step.link && step.link->socket() == socket))
        return;
    const Job *known = job_of_(job);
    if (!known || !known->broken.empty())
        return;                 /* it is not believed any more */
    int64_t offset = parsed.value().epoch_offset;
    if (offset < 0) {           /* a new mpiexec: the core has no report of it */
        offset = static_cast<int64_t>(
            step.link ? std::min(step.link->epoch(), known->epoch + 1) : known->epoch);
        step.stepd->send(write(StepdOrder{0, offset}));
    }
    if (!parsed.value().connects)       /* of an earlier version */
        return link_to(step, socket, static_cast<uint64_t>(offset), Descriptor());
    step.connecting = socket;
    step.epoch_offset = static_cast<uint64_t>(offset);
    step.stepd->send(write(StepdConnect{socket}));
}

void Steps::connected(Step &step, const std::string &socket)
{
    Descriptor connected = step.stepd->take_descriptor();
    if (socket != step.connecting)
        return;                 /* there is another one meanwhile */
    step.connecting.clear();
    if (connected.is_open())
        link_to(step, socket, step.epoch_offset, std::move(connected));
    else
        log_line(LogLevel::WARNING, "cannot connect to the step",
                 {{"job", step.key.first}, {"socket", socket}});
    if (auto held = std::exchange(step.held_resize, {}))
        resize(*held);
    if (auto held = std::exchange(step.held_cancel, {}))
        cancel(*held);
}

void Steps::link_to(Step &step, const std::string &socket, uint64_t epoch_offset,
                    Descriptor connected)
{
    StepLink::Setup setup;
    std::tie(setup.job, setup.step) = step.key;
    setup.socket = socket;
    setup.connected = std::move(connected);
    setup.uid = step.uid;
    setup.epoch_offset = epoch_offset;
    if (const Job *job = job_of_(step.key.first))
        setup.processes_max = most_processes(job->spec);
    setup.last_request = [this, id = step.key.first] {
        const Job *job = job_of_(id);
        return job ? job->requests : 0;
    };
    setup.most_slots = [this, id = step.key.first] {
        const Job *job = job_of_(id);
        return job ? most_slots(*job) : 0;
    };
    setup.notify = [this, same = &step](EventContent content) {
        return notify(*same, std::move(content));
    };
    setup.sampled = [this, key = step.key](const PerformanceAnswer &answer) {
        return sampled_(key.first, key.second, answer);
    };
    step.link = std::make_unique<StepLink>(loop_, std::move(setup));
}

/* It writes exit.json before it goes. */
void Steps::stepd_closed(Step &step)
{
    step.stepd.reset();
    auto [job, number] = step.key;
    auto exit = read_struct_file<StepExitFile>(step.folder, STEP_EXIT_FILE);
    if (!exit)
        stepd_failed(step);
    else if (exit->node_leaves)
        end(step, StepLost{job, number, "its node was shut down in order"});
    else if (exit->started)
        end(step, StepEnded{job, number, exit->exit_code, exit->reason, exit->signalled,
                            exit->cpu_ms, exit->rss_bytes});
    else
        end(step, StepStartFailed{job, number, exit->reason, exit->node_fault});
}

/* elastic-stepd was killed: its program got SIGTERM, or is ended here. */
void Steps::stepd_failed(Step &step)
{
    auto started = read_struct_file<StepStartedFile>(step.folder, STEP_STARTED_FILE);
    if (started)
        find_remaining_processes(step, *started);
    else
        end(step, StepStartFailed{step.key.first, step.key.second,
                                  "elastic-stepd ended before it could start the program"});
}

/* Of an earlier boot nothing runs. */
void Steps::find_remaining_processes(Step &step, const StepStartedFile &started)
{
    auto spec = read_struct_file<StepSpec>(step.folder, STEP_SPEC_FILE);
    bool other_boot = !started.boot.empty() && started.boot != boot_id();
    size_t left = spec && !other_boot ? kill_step_processes(*spec, started, step.folder) : 0;
    if (left == 0) {
        if (spec && step.link)
            remove_socket_as_user(step.link->socket(), *spec);
        if (spec && !spec->control_group.empty())
            remove_control_group(spec->control_group);
        end(step,
            StepLost{step.key.first, step.key.second,
                     other_boot ? "the machine was started anew" : "its elastic-stepd was killed"});
        return;
    }
    step.rest_timer = loop_.after(REMAINING_POLL_MS, [this, same = &step, started] {
        find_remaining_processes(*same, started);
    });
}

void Steps::end(Step &step, EventContent content)
{
    step.stepd.reset();
    end_when_received(step, std::move(content), monotonic_ms() + RECEIVED_MS);
}

/* The last reports of mpiexec precede: they may not be read yet, as one of them is being stored.
 * Not for ever: it may have sent too much, or another process may have its connection. */
void Steps::end_when_received(Step &step, EventContent content, int64_t until_ms)
{
    if (step.link && step.link->is_open() && monotonic_ms() < until_ms) {
        step.rest_timer = loop_.after(HEARD_LOOK_MS, [this, same = &step, content, until_ms] {
            end_when_received(*same, content, until_ms);
        });
        return;
    }
    step.link.reset();
    step.end = std::move(content);
    notify(step, *step.end);
}

void Steps::discard(JobId job, uint32_t number)
{
    auto found = steps_.find({job, number});
    if (found == steps_.end())
        return;
    loop_.cancel(found->second->rest_timer);
    remove_folder(found->second->folder);
    /* We may have been called by it. */
    std::shared_ptr<Step> same = std::move(found->second);
    steps_.erase(found);
    loop_.after(0, [same] {});
}

/* ---- orders ---------------------------------------------------------------------------------- */

void Steps::resize(const ResizeStep &resize)
{
    Step *step = find_or_adopt(resize.job, resize.step);
    if (step && step->link)
        step->link->resize(resize);
    else if (step && step->end)
        notify(*step, *step->end);
    else if (step && !step->connecting.empty())
        step->held_resize = resize;
    else if (step && step->started)
        notify(*step,
             StepRefused{{resize.job, resize.step, resize.request,
                          "no mpiexec of the step can be resized now"}});
    /* else elastic-stepd is about to report the socket; the core repeats the action */
}

void Steps::cancel(const CancelRequest &cancel)
{
    Step *step = find_or_adopt(cancel.job, cancel.step);
    if (step && !step->link && !step->end && !step->connecting.empty()) {
        step->held_cancel = cancel;
        return;
    }
    bool received = step && step->link && step->link->cancel(cancel);
    if (step && step->end)
        notify(*step, *step->end);
    else if (step && !received && (step->started || step->link))
        notify(*step,
             StepRefused{{cancel.job, cancel.step, cancel.request,
                          "withdrawn before the step heard of it"}});
}

/* If it does not arrive: the step reports its request again when it is queried. */
void Steps::refuse(const RefuseSizeRequest &refusal)
{
    Step *step = find(refusal.job, refusal.step);
    if (step && step->link)
        step->link->refuse(refusal);
}

/* The same: the step reports its slots. */
void Steps::grant(const GrantSlots &grant)
{
    Step *step = find(grant.job, grant.step);
    if (step && step->link)
        step->link->grant(grant);
}

/* elastic-stepd kills it by itself if it has not ended by then; -1: never. */
bool Steps::signal(JobId job, uint32_t number, int signal, int64_t kill_after_ms)
{
    Step *step = find_or_adopt(job, number);
    if (step && step->stepd)
        order(*step, signal, kill_after_ms);
    else if (step && step->end)
        notify(*step, *step->end);
    return step != nullptr;
}

bool Steps::query_performance(JobId job, uint32_t number, int64_t interval_ms)
{
    Step *step = find(job, number);
    return step && step->link && !step->end && step->link->query_performance(interval_ms);
}

void Steps::limit(JobId job, uint32_t number, int64_t time_limit_ms)
{
    Step *step = find_or_adopt(job, number);
    if (step && step->stepd)
        step->stepd->send(write(StepdLimit{time_limit_ms}));
}

void Steps::set_hosts(const Job &job)
{
    Step *step = find(job.id, job.step);
    if (!step)
        return;
    std::string error = write_hosts(*step, format_host_lines(job.blocks));
    if (!error.empty())
        log_line(LogLevel::WARNING, error, {{"job", job.id}});
}

}  // namespace elastic::rm
