/* See daemon.h. */

#include "daemon/daemon.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "api/api.h"
#include "base/crash_note.h"
#include "base/log.h"
#include "core/record.h"
#include "core/redundant.h"
#include "step/control_group.h"

namespace elastic::rm {

namespace {

constexpr int64_t FLUSH_MS = 200;               /* derived rows wait so long for an event to go with */
constexpr int64_t STORAGE_RETRY_MS = 1000;
constexpr int64_t FORGET_MS = 3600 * 1000;
constexpr uint64_t TIMELINE_RECORDS = 200000;   /* the newest, that are read at the start */
constexpr size_t KEPT_COMMAND_MAX = 4096;       /* a longer one is read when it is asked for */
constexpr int64_t IDLE_LOOK_MS = 500;
constexpr int64_t OVER_GRACE_MS = 60000;        /* for the jobs of an allocation that is over to end */
constexpr size_t EVENTS_PER_TURN = 1000;        /* of one commit: others are served in between */
constexpr size_t INBOX_MAX = 10000;             /* people's requests that wait; beyond it they are refused */

/* Tells systemd how we are, if it has started us. */
void notify_systemd(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (!path || !*path || strlen(path) >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, strlen(path));
    if (address.sun_path[0] == '@')
        address.sun_path[0] = '\0';
    Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + strlen(path));
    sendto(socket.get(), text, strlen(text), MSG_NOSIGNAL, reinterpret_cast<const sockaddr *>(&address), length);
}

bool is_of_people(const EventContent &content)
{
    return std::holds_alternative<Submit>(content) || std::holds_alternative<Cancel>(content) ||
           std::holds_alternative<Hold>(content) || std::holds_alternative<Release>(content) ||
           std::holds_alternative<Resize>(content) || std::holds_alternative<Update>(content) ||
           std::holds_alternative<Drain>(content) || std::holds_alternative<Resume>(content);
}

void log_record(const Record &record)
{
    static const char *const NOTABLE[] = {record::SUBMITTED,     record::UPDATED,      record::STARTED,
                                          record::COMMITTED,
                                          record::WITHDRAWN,     record::FAILED,       record::ENDED,
                                          record::REQUEUED,      record::NODE_SUSPECT, record::NODE_DOWN,
                                          record::NODE_DRAINING, record::NODE_RESUMED, record::STEP_BROKEN,
                                          record::UNEXPECTED};
    bool notable = std::any_of(std::begin(NOTABLE), std::end(NOTABLE),
                               [&](const char *name) { return record.event == name; });
    nlohmann::ordered_json fields;
    if (record.job)
        fields["job"] = record.job;
    if (!record.node.empty())
        fields["node"] = record.node;
    for (const char *name : {"size", "old_size", "request", "state", "exit_code", "reason", "what"})
        if (record.data.contains(name))
            fields[name] = record.data[name];
    log_line(notable ? LogLevel::INFO : LogLevel::DEBUG, record.event, fields);
}

}  // namespace

Daemon::Daemon(const Settings &settings, Store store)
    : settings_(settings), store_(std::move(store)), access_(settings_)
{
    started_ms_ = unix_ms();
    /* Unlike those of an earlier life. */
    request_prefix_ = "r" + std::to_string(started_ms_) + "-";
}

Daemon::~Daemon()
{
    servers_.clear();           /* they call the interface */
}

Result<std::unique_ptr<Daemon>> Daemon::start(const Settings &settings)
{
    auto store = Store::open(settings.state_dir);
    if (!store)
        return Error{store.error()};
    std::unique_ptr<Daemon> daemon(new Daemon(settings, std::move(store.value())));
    std::string error = daemon->recover();
    if (error.empty())
        error = daemon->start_parts();
    if (!error.empty())
        return Error{error};
    return daemon;
}

/* ---- start ---------------------------------------------------------------------------------------------- */

/* The core as it was.  All of the store must be readable: what is not known to it would be ended. */
std::string Daemon::recover()
{
    auto last = store_.last_record();
    std::string error = last ? read_timeline(last.value()) : last.error();
    for (uint64_t below = INT64_MAX; error.empty();) {
        auto snapshot = store_.last_snapshot(below);
        if (!snapshot) {
            error = snapshot.error();
            break;
        }
        std::string wrong = recover_from(snapshot.value(), last.value());
        auto mark = store_.clock();
        if (wrong.empty() && mark) {
            clock_.start(mark.value(), state().now_ms, boot_id(), monotonic_ms(), unix_ms());
            error = store_.write(std::exchange(derived_, {}));
            return error.empty() ? read_quota() : error;
        }
        if (wrong.empty())
            wrong = mark.error();
        if (!snapshot.value())
            error = wrong;
        else
            log_line(LogLevel::ERROR, wrong + "; the snapshot before it is tried",
                     {{"snapshot", snapshot.value()->seq}});
        below = snapshot.value() ? snapshot.value()->seq : 0;
    }
    return error + "\nNothing was changed, and all running steps go on.  doc/elasticd.md (\"A store that cannot be "
                   "read\") says what to do; an event that cannot be used is taken out with "
                   "elasticd --quarantine-event NUMBER";
}

std::string Daemon::read_timeline(uint64_t last)
{
    for (uint64_t since = last > TIMELINE_RECORDS ? last - TIMELINE_RECORDS : 1;;) {
        auto records = store_.records({since, 10000, 0, ""});
        if (!records || records.value().empty())
            return records ? "" : records.error();
        for (const Json &row : records.value()) {
            Record record{row["seq"], row["time_ms"], row["event"], row["job"].is_null() ? 0 : row["job"].get<JobId>(),
                          row["node"].is_null() ? "" : row["node"].get<std::string>(), row["data"]};
            timeline_.add(record);
            since = record.number + 1;
        }
    }
}

std::string Daemon::read_quota()
{
    auto sizes = store_.launch_sizes();
    if (!sizes)
        return sizes.error();
    for (const Store::LaunchSize &each : sizes.value())
        quota_.add(each.job, each.uid, each.bytes);
    return "";
}

/* A snapshot and the events after it; the rows that may not have been written before the death are derived again. */
std::string Daemon::recover_from(const std::optional<Store::Snapshot> &snapshot, uint64_t last_record)
{
    core_ = Core();
    derived_ = {};
    snapshot_seq_ = snapshot ? snapshot->seq : 0;
    if (snapshot) {
        auto restored = Core::restore(snapshot->body);
        if (!restored)
            return "the snapshot in " + settings_.state_dir + "/store.sqlite: " + restored.error();
        core_ = std::move(restored.value());
    }
    std::string error = store_.each_event(snapshot_seq_, [&](const Event &event) -> std::string {
        if (event.seq != state().seq + 1)
            return "it should follow event " + std::to_string(state().seq) + ": those between are missing";
        return replay(event);
    });
    if (!error.empty())
        return error;
    for (const Record &record : derived_.records)
        if (record.number > last_record)
            timeline_.add(record);
    return "";
}

std::string Daemon::replay(const Event &event)
{
    EventInHand in_hand(event.seq);
    try {
        JobId last_job = state().last_job;
        for (const Action &action : core_.handle(event)) {
            derive(action);
            if (auto answer = std::get_if<Answer>(&action))
                bind_launch(event, *answer, last_job);
        }
        return "";
    } catch (const std::exception &exception) {
        return std::string("the core cannot bear it (") + exception.what() + "): " + quarantine_advice(event.seq);
    }
}

std::string Daemon::start_parts()
{
    /* Before anything starts a process: its end must not be missed. */
    loop_.watch_signals({SIGTERM, SIGINT, SIGHUP, SIGCHLD}, [this](int number) { on_signal(number); });
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);    /* a limit is an error like a full disk */
    std::string error = access_.read_tokens();
    if (!error.empty())
        return error;
    auto backend = make_backend(settings_, loop_);
    if (!backend)
        return backend.error();
    backend_ = std::move(backend.value());
    auto group = steps_control_group(settings_.control_groups);
    if (!group)
        return group.error();
    if (error = open_confinement(group.value()); !error.empty())
        return error;
    steps_ = std::make_unique<Steps>(
        loop_, StepsConfig{settings_.state_dir + "/steps", settings_.stepd, geteuid() == 0,
                           settings_.end_unknown_steps, group.value()},
        [this](EventContent content) { return tell_of_step(std::move(content)); },
        [this](JobId id) { return state().job(id); });
    error = steps_->open(state());
    if (error.empty())
        error = backend_->start(state(), [this](EventContent content) { tell(std::move(content)); });
    if (!error.empty())
        return error;
    configure();
    if (!commit())
        return storage_error_;
    for (const Action &action : core_.pending())
        perform(action);
    return listen();
}

/* For jobs on this machine alone: others are confined by whoever owns their hosts. */
std::string Daemon::open_confinement(const std::string &groups)
{
    ConfinementConfig config{settings_.confine_cores, settings_.memory_per_core_mib << 20};
    control_groups_ = groups;
    if (!config.any())
        return "";
    if (settings_.backend != "local")
        return "job.confine_cores and job.memory_per_core are for jobs on this machine (backend.kind = \"local\")";
    if (groups.empty())
        return "job.confine_cores and job.memory_per_core need control groups: set job.control_groups to a folder of a "
               "cgroup v2 file system";
    confinement_ = std::make_unique<Confinement>(config);
    std::string error = confinement_->open(groups);
    for (int64_t i = 0; i < settings_.local_nodes && error.empty(); i++)
        error = confinement_->add_node(settings_.local_node_prefix + std::to_string(i),
                                       static_cast<int>(settings_.local_cores_per_node),
                                       static_cast<int>(std::thread::hardware_concurrency()));
    for (JobId id : state().indices().placed)
        confinement_->adopt(id, step_group(control_groups_, id, state().job(id)->step));
    return error;
}

/* What a running job has booked may have changed. */
void Daemon::confine(JobId id)
{
    const Job *job = confinement_ ? state().job(id) : nullptr;
    if (!job || job->state == JobState::STARTING)
        return;
    if (!is_placed(job->state))
        return confinement_->forget(id);
    std::string group = step_group(control_groups_, id, job->step);
    std::string error = confinement_->apply(id, booked_cores(state(), *job), group);
    if (!error.empty())
        log_line(LogLevel::WARNING, "a step is not confined to what its job has", {{"job", id}, {"error", error}});
}

/* Before everything else that has come in, since the first event of a log must be this one. */
void Daemon::configure()
{
    Config config = settings_.core();
    config.asynchronous_nodes = backend_->asynchronous_nodes();
    config.whole_nodes = backend_->whole_nodes();
    config.check_capacity = backend_->capacity_known();
    bool is_told = !inbox_.empty() && std::holds_alternative<Configure>(inbox_.front().content);
    if (!is_told && (state().seq == 0 || !(state().config == config)))
        inbox_.push_front({Configure{config}, std::nullopt, nullptr});
    loop_.turn_again();
}

std::string Daemon::listen()
{
    api_ = std::make_unique<Api>(*this);
    auto handler = [this](const HttpRequest &request, Responder responder) {
        api_->handle(request, std::move(responder));
    };
    auto admit = [this](const HttpRequest &request) { return api_->admit(request); };
    HttpLimits limits{static_cast<size_t>(settings_.connections_max),
                      static_cast<size_t>(settings_.connections_per_user_max), settings_.request_time_ms,
                      settings_.answer_time_ms};
    auto add = [&](Result<Descriptor> listening, bool is_unix) -> std::string {
        if (!listening)
            return listening.error();
        auto server = HttpServer::start(loop_, std::move(listening.value()), is_unix, limits, admit, handler);
        if (!server)
            return server.error();
        servers_.push_back(std::move(server.value()));
        return "";
    };
    std::string error = add(listen_unix(settings_.socket, static_cast<unsigned>(settings_.socket_mode)), true);
    if (error.empty() && !settings_.tcp.empty())
        error = add(listen_tcp(settings_.tcp), false);
    return error;
}

void Daemon::run()
{
    log_line(LogLevel::INFO, "elasticd is ready",
             {{"version", ELASTIC_VERSION},
              {"socket", settings_.socket},
              {"tcp", settings_.tcp},
              {"state_dir", settings_.state_dir},
              {"policy", settings_.policy},
              {"jobs", state().jobs.size()},
              {"seq", state().seq}});
    notify_systemd("READY=1");
    forget_old();
    if (!settings_.nested_slurm_job.empty())
        allocation_ = std::make_unique<AllocationWatch>(
            loop_, settings_.nested_slurm_job, [this](const std::string &reason) { allocation_is_over(reason); });
    idle_since_ms_ = monotonic_ms();
    if (settings_.idle_exit_ms > 0)
        watch_idleness();
    loop_.run([this] { end_of_turn(); });
    notify_systemd("STOPPING=1");
    write_derived();
    snapshot();
    servers_.clear();
    unlink(settings_.socket.c_str());
    log_line(LogLevel::INFO, "elasticd has stopped; running steps go on", {{"seq", state().seq}});
    remove_nested_folder();
}

/* ---- ends that nobody asks for ------------------------------------------------------------------------------ */

void Daemon::watch_idleness()
{
    int64_t now_ms = monotonic_ms();
    if (unfinished_jobs() > 0 || !waiters_.empty())
        idle_since_ms_ = now_ms;
    bool is_over = over_at_ms_ && (now_ms >= *over_at_ms_ || unfinished_jobs() == 0);
    bool is_idle = settings_.idle_exit_ms > 0 && now_ms - idle_since_ms_ >= settings_.idle_exit_ms;
    if (!is_over && !is_idle) {
        loop_.after(IDLE_LOOK_MS, [this] { watch_idleness(); });
        return;
    }
    log_line(LogLevel::INFO,
             is_over ? "elasticd ends with its allocation" : "elasticd ends: there has been no job for a while");
    loop_.stop();
}

/* Its nodes are others' now. */
void Daemon::allocation_is_over(const std::string &reason)
{
    log_line(LogLevel::WARNING, reason + "; all jobs in it are cancelled", {{"jobs", unfinished_jobs()}});
    std::vector<JobId> jobs;
    for (const auto &[id, job] : state().jobs)
        jobs.push_back(id);
    for (JobId id : jobs)
        request(Cancel{{next_request_id(), id}}, std::nullopt, [](const Answer *, bool) {});
    over_at_ms_ = monotonic_ms() + OVER_GRACE_MS;
    if (settings_.idle_exit_ms == 0)
        watch_idleness();
}

/* Nobody will come back to the state of an allocation in which nothing runs. */
void Daemon::remove_nested_folder()
{
    if (settings_.nested_folder.empty() || (unfinished_jobs() > 0 && !over_at_ms_))
        return;
    std::error_code code;
    std::filesystem::remove_all(settings_.nested_folder, code);
    if (code)
        log_line(LogLevel::WARNING, "cannot remove the folder of this allocation",
                 {{"folder", settings_.nested_folder}, {"error", code.message()}});
}

void Daemon::on_signal(int number)
{
    if (number == SIGCHLD) {
        loop_.reap_children();
    } else if (number == SIGHUP) {
        std::string error = access_.read_tokens();
        log_line(error.empty() ? LogLevel::INFO : LogLevel::ERROR, error.empty() ? "tokens read again" : error);
    } else {
        loop_.stop();
    }
}

/* ---- turns ---------------------------------------------------------------------------------------------- */

void Daemon::tell(EventContent content)
{
    inbox_.push_back({std::move(content), std::nullopt, nullptr});
    loop_.turn_again();
}

/* False: it says nothing new, and nothing is stored of it. */
bool Daemon::tell_of_step(EventContent content)
{
    if (is_redundant(state(), content)) {
        metrics_.count_redundant();
        return false;
    }
    tell(std::move(content));
    return true;
}

void Daemon::request(EventContent content, std::optional<LaunchRow> launch, Done done)
{
    if (requests_waiting_ >= INBOX_MAX) {
        done(nullptr, false);
        return;
    }
    requests_waiting_++;
    inbox_.push_back({std::move(content), std::move(launch), std::move(done)});
    loop_.turn_again();
}

std::string Daemon::next_request_id()
{
    return request_prefix_ + std::to_string(next_request_++);
}

void Daemon::end_of_turn()
{
    if (!inbox_.empty() && storage_error_.empty())
        commit();
    else if (!inbox_.empty())
        storage_failed(storage_error_);         /* people are told at once; the rest waits for the retry */
    if (state().seq != woken_seq_)
        wake_waiters();
}

/* Makes durable what has come in, then lets the core see it. */
bool Daemon::commit()
{
    Batch batch = derived_;
    size_t count = std::min(inbox_.size(), EVENTS_PER_TURN);
    int64_t event_ms = std::max(now_ms(), state().now_ms);
    batch.clock = clock_.mark();
    for (size_t i = 0; i < count; i++) {
        Pending &pending = inbox_[i];
        batch.events.push_back({state().seq + 1 + i, event_ms, pending.content});
        if (pending.launch) {
            pending.launch->seq = state().seq + 1 + i;
            batch.launches.push_back(*pending.launch);
        }
    }
    auto begin = std::chrono::steady_clock::now();
    std::string error = batch.empty() ? "" : store_.write(batch);
    metrics_.time_commit(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    if (!error.empty()) {
        storage_failed(error);
        return false;
    }
    if (!storage_error_.empty())
        log_line(LogLevel::INFO, "the store can be written again");
    storage_error_.clear();
    derived_ = {};
    std::vector<Pending> taken(std::make_move_iterator(inbox_.begin()),
                               std::make_move_iterator(inbox_.begin() + static_cast<ptrdiff_t>(count)));
    inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<ptrdiff_t>(count));
    for (const Pending &pending : taken)
        requests_waiting_ -= pending.done != nullptr;
    for (size_t i = 0; i < count; i++)
        handle(batch.events[i], taken[i]);
    if (!inbox_.empty())
        loop_.turn_again();
    if (state().seq - snapshot_seq_ >= static_cast<uint64_t>(settings_.snapshot_events))
        snapshot();
    if (!derived_.empty() && !flush_timer_)
        flush_timer_ = loop_.after(FLUSH_MS, [this] {
            flush_timer_ = 0;
            write_derived();
        });
    return true;
}

/* People try again themselves; what came from steps and the back end must not be lost. */
void Daemon::storage_failed(const std::string &error)
{
    if (storage_error_.empty())
        log_line(LogLevel::ERROR, error,
                 {{"advice", "free some space on that file system; elasticd tries again by itself"}});
    metrics_.count_storage_error();
    storage_error_ = error;
    std::deque<Pending> kept;
    for (Pending &pending : inbox_) {
        if (is_of_people(pending.content) && pending.done)
            pending.done(nullptr, false);
        else
            kept.push_back(std::move(pending));
    }
    inbox_ = std::move(kept);
    requests_waiting_ = 0;
    if (!retry_timer_)
        retry_timer_ = loop_.after(STORAGE_RETRY_MS, [this] {
            retry_timer_ = 0;
            std::string still = store_.probe();
            if (still.empty())
                commit();
            else
                storage_failed(still);
        });
}

void Daemon::handle(const Event &event, Pending &pending)
{
    EventInHand in_hand(event.seq);
    JobId last_job = state().last_job;
    metrics_.count_event(name_of(event.content));
    look_for_cause(event.content);
    Actions actions = core_.handle(event);
    for (const Action &action : actions) {
        derive(action);
        if (auto record = std::get_if<Record>(&action)) {
            confine(record->job);
            timeline_.add(*record);
            metrics_.count_record(*record);
            log_record(*record);
        } else if (auto answer = std::get_if<Answer>(&action)) {
            bind_launch(event, *answer, last_job);
            if (pending.launch && answer->job > last_job)
                quota_.add(answer->job, pending.launch->uid, pending.launch->bytes);
            if (pending.done)
                pending.done(answer, answer->job > last_job);
            pending.done = nullptr;
        } else {
            perform(action);
        }
    }
    if (pending.done) {         /* cannot be: each request is answered */
        log_line(LogLevel::ERROR, "the core has not answered a request", {{"seq", event.seq}});
        pending.done(nullptr, false);
    }
    after_event(event.content);
}

/* What fails may be the nodes' fault: they are looked at while it is still known which they are. */
void Daemon::look_for_cause(const EventContent &content)
{
    auto look = [this](JobId id, auto &&blocks_of) {
        const Job *job = state().job(id);
        std::vector<std::string> nodes;
        for (const Block &block : job ? blocks_of(*job) : Blocks())
            nodes.push_back(block.node);
        if (!nodes.empty())
            backend_->step_failed_on(nodes);
    };
    auto world = [](const Job &job) { return job.blocks; };
    auto joining = [](const Job &job) { return job.adaptation ? job.adaptation->joining : Blocks(); };
    if (auto failed = std::get_if<StepFailed>(&content))
        look(failed->job, joining);
    else if (auto withdrawn = std::get_if<StepWithdrawn>(&content))
        look(withdrawn->job, joining);
    else if (auto ended = std::get_if<StepEnded>(&content); ended && ended->exit_code != 0 && !ended->signalled)
        look(ended->job, world);
    else if (auto lost = std::get_if<StepLost>(&content))
        look(lost->job, world);
}

/* The rows that follow from an event. */
void Daemon::derive(const Action &action)
{
    auto record = std::get_if<Record>(&action);
    if (!record)
        return;
    derived_.records.push_back(*record);
    const Job *job = record->event == record::ENDED ? state().job(record->job) : nullptr;
    if (!job)
        return;
    quota_.remove(job->id);
    derived_.ended.push_back({job->id, job->spec.uid, job->submitted_ms, job->ended_ms, write(*job)});
}

/* The launch of a submission belongs to the job that it made; of a repeated or refused one to none. */
void Daemon::bind_launch(const Event &event, const Answer &answer, JobId last_job)
{
    if (std::holds_alternative<Submit>(event.content))
        derived_.bound.emplace_back(event.seq, answer.code == AnswerCode::OK && answer.job > last_job ? answer.job : 0);
}

/* Who told it may go on talking. */
void Daemon::step_event_handled(const EventContent &content)
{
    std::visit(
        [this](const auto &event) {
            if constexpr (requires { event.job; event.step; })
                if (std::string_view(event.NAME).starts_with("step_"))
                    steps_->handled(event.job, event.step);
        },
        content);
}

void Daemon::after_event(const EventContent &content)
{
    step_event_handled(content);
    if (auto ended = std::get_if<StepEnded>(&content))
        steps_->forget(ended->job, ended->step);
    else if (auto lost = std::get_if<StepLost>(&content))
        steps_->forget(lost->job, lost->step);
    else if (auto failed = std::get_if<StepStartFailed>(&content))
        steps_->forget(failed->job, failed->step);
    else if (auto committed = std::get_if<StepCommitted>(&content)) {
        if (const Job *job = state().job(committed->job))
            steps_->set_hosts(*job);
    } else if (std::holds_alternative<NodeUp>(content) || std::holds_alternative<NodeDown>(content)) {
        if (state().config.check_capacity != backend_->capacity_known())
            configure();
    }
}

void Daemon::write_derived()
{
    if (derived_.empty())
        return;
    std::string error = store_.write(derived_);
    if (error.empty())
        derived_ = {};
    else
        storage_failed(error);
}

Store &Daemon::store()
{
    write_derived();
    return store_;
}

/* What is derived from earlier events must be there before: a restart would not derive it again. */
void Daemon::snapshot()
{
    if (state().seq == snapshot_seq_)
        return;
    write_derived();
    if (!derived_.empty())
        return;
    std::string error = store_.write_snapshot(state().seq, now_ms(), core_.snapshot());
    if (error.empty())
        snapshot_seq_ = state().seq;
    else
        log_line(LogLevel::WARNING, error);
}

void Daemon::forget_old()
{
    std::string error = store_.forget_before(now_ms() - settings_.history_keep_ms);
    if (!error.empty())
        log_line(LogLevel::WARNING, error);
    loop_.after(FORGET_MS, [this] { forget_old(); });
}

/* ---- actions -------------------------------------------------------------------------------------------- */

void Daemon::perform(const Action &action)
{
    if (auto start = std::get_if<StartStep>(&action))
        start_step(*start);
    else if (auto resize = std::get_if<ResizeStep>(&action))
        steps_->resize(*resize);
    else if (auto cancel = std::get_if<CancelRequest>(&action))
        steps_->cancel(*cancel);
    else if (auto signal = std::get_if<SignalStep>(&action))
        steps_->signal(signal->job, signal->step, signal->signal,
                       signal->signal == SIGTERM ? settings_.kill_grace_ms : -1);
    else if (auto limit = std::get_if<LimitStep>(&action))
        steps_->limit(limit->job, limit->step, limit->time_limit_ms);
    else if (auto query = std::get_if<QueryStep>(&action))
        steps_->query(query->job, query->step);
    else if (auto acquire = std::get_if<AcquireNodes>(&action))
        backend_->acquire(*acquire);
    else if (auto release = std::get_if<ReleaseNodes>(&action))
        backend_->release(*release);
    else if (auto timer = std::get_if<SetTimer>(&action))
        set_timer(timer->at_ms);
    else if (auto forget = std::get_if<ForgetJob>(&action))
        launches_.erase(forget->job);
}

/* While the store cannot be read nothing is told: the core asks again. */
void Daemon::start_step(const StartStep &start)
{
    auto row = store().launch(start.job);
    if (!row) {
        log_line(LogLevel::ERROR, row.error(), {{"job", start.job}});
        return;
    }
    steps_->start(start.job, start.step, [&](const std::string &folder) -> Result<Steps::Program> {
        const Job *job = state().job(start.job);
        const auto &stored = row.value();
        auto launch = stored ? parse<Launch>(stored->body)
                          : Result<Launch>(Error{"the store does not know what is to be run"});
        if (!launch || !job)
            return Error{launch ? "the job is gone" : launch.error()};
        std::string error = backend_->prepare_step(*job, folder);
        if (!error.empty())
            return Error{error};
        LaunchPlace place{settings_.mpiexec, backend_->launcher_options(), backend_->launcher_environment(),
                          folder, settings_.socket, settings_.kill_grace_ms};
        return Steps::Program{make_step(launch.value(), *job, start, place), stored->script,
                              format_host_lines(start.blocks),
                              [this, id = start.job](const std::string &group) -> std::string {
                                  const Job *placed = confinement_ ? state().job(id) : nullptr;
                                  return placed ? confinement_->apply(id, booked_cores(state(), *placed), group) : "";
                              }};
    });
}

/* The machine may sleep: the clock is looked at again now and then. */
void Daemon::set_timer(int64_t at_ms)
{
    constexpr int64_t LOOK_AGAIN_MS = 60000;
    loop_.cancel(core_timer_);
    core_timer_ = 0;
    if (at_ms == NEVER)
        return;
    int64_t left_ms = at_ms - now_ms();
    core_timer_ = loop_.after(std::min(left_ms, LOOK_AGAIN_MS), [this, at_ms] {
        core_timer_ = 0;
        if (now_ms() >= at_ms)
            tell(Timer{});
        else
            set_timer(at_ms);
    });
}

/* ---- for the interface ------------------------------------------------------------------------------------ */

void Daemon::wait(int64_t for_ms, Waiter waiter)
{
    if (for_ms <= 0 || waiter(false)) {
        if (for_ms <= 0)
            waiter(true);
        return;
    }
    auto entry = waiters_.insert(waiters_.end(), {std::move(waiter), 0});
    entry->timer = loop_.after(for_ms, [this, entry] {
        Waiter late = std::move(entry->waiter);
        waiters_.erase(entry);
        late(true);
    });
}

void Daemon::wake_waiters()
{
    woken_seq_ = state().seq;
    for (auto entry = waiters_.begin(); entry != waiters_.end();) {
        if (entry->waiter(false)) {
            loop_.cancel(entry->timer);
            entry = waiters_.erase(entry);
        } else {
            ++entry;
        }
    }
}

std::shared_ptr<const Launch> Daemon::launch(JobId job)
{
    auto found = launches_.find(job);
    if (found != launches_.end())
        return found->second;
    auto row = store().launch(job);
    auto parsed = row && row.value() ? parse<Launch>(row.value()->body) : Result<Launch>(Error{""});
    if (!parsed)
        return nullptr;
    auto launch = std::make_shared<Launch>(std::move(parsed.value()));
    launch->environment.clear();
    size_t bytes = 0;
    for (const std::string &word : launch->command)
        bytes += word.size();
    if (state().job(job) && bytes <= KEPT_COMMAND_MAX)
        launches_[job] = launch;
    return launch;
}

size_t Daemon::connections() const
{
    size_t count = 0;
    for (const auto &server : servers_)
        count += server->connections();
    return count;
}

}  // namespace elastic::rm
