/* See steps.h. */

#include "step/steps_step.h"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/lacks_resource.h"
#include "base/log.h"
#include "step/as_user.h"
#include "step/control_group.h"
#include "step/step_processes.h"

namespace elastic::rm {

namespace {

namespace fs = std::filesystem;

constexpr int64_t REMAINING_POLL_MS = 200;
constexpr int64_t REMOVE_AGAIN_MS = 2000;
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
        /* No start is pending for it: if it still runs, it must end. */
        Descriptor stepd(connect_unix(entry.path().string() + "/" + STEP_SOCKET_FILE));
        if (stepd.is_open()) {
            std::string order = write(StepdOrder{SIGKILL, -1}).dump() + "\n";
            log_line(LogLevel::WARNING, "a step that belongs to no job is ended",
                     {{"folder", entry.path().string()}});
            [[maybe_unused]] ssize_t bytes = ::write(stepd.get(), order.data(), order.size());
        } else {
            remove_step_folder(entry.path());
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
                " is of a step that is not in the store: the store is older than it (a restored "
                "copy? a disk that has lost its last writes?).  Nothing was changed, and the steps "
                "continue.  Restore the right store, or end such steps: elasticd "
                "--end-unknown-steps";
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

/* ---- steps of an earlier elasticd ------------------------------------------------------------ */

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
    if (lacks_resource(errno)) {        /* that does not contain it */
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
                       "the step does not exist any more: its folder is missing in " +
                           config_.folder});
}

/* Reports all known data again. */
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

/* ---- messages of elastic-stepd --------------------------------------------------------------- */

void Steps::stepd_line(Step &step, const Json &line)
{
    auto parsed = parse<StepdLine>(line);
    if (!parsed)
        return;
    step.suspends = parsed.value().suspends;
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
        return;                 /* its reports are no longer accepted */
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
    setup.first_gpu = config_.first_gpu;
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

/* It writes exit.json before it ends. */
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
        end(step, exit->own_fault
                      ? own_fault(step, exit->reason, "elastic-stepd " + exit->reason)
                      : StepStartFailed{job, number, exit->reason, exit->node_fault});
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

/* Nothing of an earlier boot runs. */
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

/* The last reports of mpiexec come first: they may be unread, while one of them is being stored.
 * The wait is limited: mpiexec may have sent too much, or another process may hold its
 * connection. */
void Steps::end_when_received(Step &step, EventContent content, int64_t until_ms)
{
    if (step.link && step.link->is_open() && monotonic_ms() < until_ms) {
        step.rest_timer = loop_.after(HEARD_LOOK_MS, [this, same = &step, content, until_ms] {
            end_when_received(*same, content, until_ms);
        });
        return;
    }
    auto *ended = std::get_if<StepEnded>(&content);
    if (ended && step.link)
        content = end_by_lost_host(*ended, step.link->lost_host());
    step.link.reset();
    step.end = std::move(content);
    notify(step, *step.end);
}

/* mpiexec ends the job when it loses a host, and its exit code is that of a failed program.  The
 * host must be one of the job: the step is untrusted.  A job is not repeated for ever: its user may
 * be unable to use a host that is well for elasticd. */
EventContent Steps::end_by_lost_host(StepEnded ended, const std::string &host) const
{
    constexpr uint32_t STARTS_MAX = 10;
    const Job *job = job_of_(ended.job);
    bool is_cause = job && ended.exit_code != 0 && !ended.signalled &&
        std::ranges::any_of(job->blocks, [&](const Block &each) { return each.node == host; });
    if (!is_cause)
        return ended;
    ended.reason = "host " + host + " failed, or could not be reached";
    if (job->spec.requeue && ended.step < STARTS_MAX)
        return StepLost{ended.job, ended.step, ended.reason};
    return ended;
}

void Steps::remove_folder(const std::string &folder)
{
    if (!remove_step_folder(folder))
        loop_.after(REMOVE_AGAIN_MS, [this, folder] { remove_folder(folder); });
}

void Steps::discard(JobId job, uint32_t number)
{
    auto found = steps_.find({job, number});
    if (found == steps_.end())
        return;
    loop_.cancel(found->second->rest_timer);
    remove_folder(found->second->folder);
    /* This object may be the caller. */
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
    /* else elastic-stepd will soon report the socket; the core repeats the action */
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
                          "withdrawn before the step received it"}});
}

/* If it is lost: the step reports its request again when it is queried. */
void Steps::refuse(const RefuseSizeRequest &refusal)
{
    Step *step = find(refusal.job, refusal.step);
    if (step && step->link)
        step->link->refuse(refusal);
}

/* If it is lost: the step reports its slots when it is queried. */
void Steps::grant(const GrantSlots &grant)
{
    Step *step = find(grant.job, grant.step);
    if (step && step->link)
        step->link->grant(grant);
}

/* elastic-stepd kills the step itself if it has not ended by then; -1: never. */
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

void Steps::suspend(JobId job, uint32_t number, bool suspended)
{
    Step *step = find_or_adopt(job, number);
    if (step && step->stepd)
        step->stepd->send(write(StepdSuspend{suspended}));
}

bool Steps::can_suspend(JobId job, uint32_t number) const
{
    const Step *step = find(job, number);
    return step && step->stepd && step->suspends;
}

void Steps::set_hosts(const Job &job)
{
    Step *step = find(job.id, job.step);
    if (!step)
        return;
    std::string gpus = changes_gpus(job) ? format_gpus(job, config_.first_gpu) : "";
    std::string error = write_hosts(*step, format_host_lines(job.blocks), gpus);
    if (!error.empty())
        log_line(LogLevel::WARNING, error, {{"job", job.id}});
}

}  // namespace elastic::rm
