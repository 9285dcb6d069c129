/* See daemon.h. */

#include "daemon/daemon.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/crash_note.h"
#include "base/log.h"
#include "core/record.h"
#include "core/redundant.h"
#include "http/listen.h"
#include "step/control_group.h"

namespace elastic::rm {

namespace {

constexpr int64_t REMOVE_MS = 3600 * 1000, REMOVE_MORE_MS = 20, REMOVE_BEYOND_MS = 1000;
constexpr double LONG_TURN_MS = 40;             /* of processor time */
constexpr size_t LOAD_JOBS = 500;               /* ended ones, at once */
constexpr uint32_t NOBODY = UINT32_MAX;         /* elasticd's own reading */
constexpr int64_t LOAD_AGAIN_MS = 1000;
constexpr size_t KEPT_COMMAND_MAX = 4096;       /* a longer one is read on request */

void log_record(const Record &record)
{
    static const char *const NOTABLE[] = {
        record::SUBMITTED,    record::UPDATED,   record::STARTED,       record::COMMITTED,
        record::LEFT,         record::WITHDRAWN, record::FAILED,        record::ENDED,
        record::REQUEUED,     record::NODE_SUSPECT, record::NODE_DOWN,  record::NODE_DRAINING,
        record::NODE_RESUMED, record::STEP_BROKEN,  record::UNEXPECTED, record::OVERDUE};
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

Daemon::Daemon(const Settings &settings, Store store, Recovered recovered)
    : settings_(settings), core_(std::move(recovered.core)), clock_(recovered.clock),
      access_(settings_), timeline_(std::move(recovered.timeline)),
      quota_(std::move(recovered.quota)),
      journal_({loop_, core_, clock_, metrics_}, std::move(store), recovered.snapshot_seq,
               settings_.snapshot_events, settings_.disk_reserve_bytes,
               [this](const Event &event, Journal::Entry &entry) { handle(event, entry); }),
      lifetime_(loop_, settings_,
                {[this] { return unfinished_jobs(); }, [this] { return !waiting_.empty(); },
                 [this] { cancel_all(); }}),
      waiting_(loop_),
      sampler_(loop_, settings_.monitor_interval_ms,
               [this](JobId id, uint32_t step, int64_t write_ms) {
                   return steps_->query_performance(id, step, write_ms);
               }),
      user_slots_(loop_), sliced_work_(loop_), users_(loop_),
      reader_(loop_)
{
    started_ms_ = unix_ms();
    /* Unlike those of an earlier life. */
    request_prefix_ = "r" + std::to_string(started_ms_) + "-";
}

Daemon::~Daemon()
{
    servers_.clear();           /* they call the interface */
    if (tokens_thread_.joinable())
        tokens_thread_.join();
}

Result<std::unique_ptr<Daemon>> Daemon::start(const Settings &settings,
                                              const MakeInterface &make_interface)
{
    auto store = Store::open(settings.state_dir);
    if (!store)
        return Error{store.error()};
    auto recovered = recover(store.value(), true);
    if (!recovered)
        return Error{recovered.error()};
    std::unique_ptr<Daemon> daemon(
        new Daemon(settings, std::move(store.value()), std::move(recovered.value())));
    daemon->interface_ = make_interface(*daemon);
    std::string error = daemon->start_parts();
    if (!error.empty())
        return Error{error};
    return daemon;
}

/* ---- start ----------------------------------------------------------------------------------- */

std::string Daemon::start_parts()
{
    /* Before anything starts a process: its end must not be missed. */
    loop_.watch_signals({SIGTERM, SIGINT, SIGHUP, SIGCHLD}, [this](int number) {
        on_signal(number);
    });
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);    /* a limit is an error like a full disk */
    auto tokens = Access::read_tokens(settings_.tokens_file);
    if (!tokens)
        return tokens.error();
    access_.set_tokens(std::move(tokens.value()));
    users_.start();
    std::string error = reader_.start(settings_.state_dir);
    if (!error.empty())
        return error;
    if (!settings_.mail_command.empty())
        mailer_ = std::make_unique<Mailer>(
            loop_, settings_.mail_command, settings_.mail_deadline_ms);
    auto backend = make_backend(settings_, loop_);
    if (!backend)
        return backend.error();
    backend_ = std::move(backend.value());
    auto gpus = GpuCounts::parse(settings_.gpus);
    if (!gpus)
        return gpus.error();
    if (!gpus.value().empty() && backend_->asynchronous_nodes())
        return "backend.gpus is of no use with this back end: Slurm books the GPUs of its nodes";
    gpu_counts_ = std::move(gpus.value());
    number_gpus();
    auto group = steps_control_group(settings_.control_groups);
    if (!group)
        return group.error();
    if (error = open_confinement(group.value()); !error.empty())
        return error;
    steps_ = std::make_unique<Steps>(
        loop_,
        StepsConfig{settings_.state_dir + "/steps", settings_.stepd, settings_.start_socket,
                    geteuid() == 0, settings_.end_unknown_steps, group.value(),
                    settings_.files_soft},
        [this](EventContent content) { return report_step(std::move(content)); },
        [this](JobId id) { return state().job(id); },
        [this](JobId id, uint32_t step, const PerformanceAnswer &answer) {
            return sampled(id, step, answer);
        });
    error = steps_->open(state());
    if (error.empty())
        error = backend_->start(state(), [this](EventContent content) {
            journal_.notify(std::move(content));
        });
    if (!error.empty())
        return error;
    configure();
    if (!journal_.commit())
        return journal_.error();
    journal_.handle_accepted();
    for (const auto &[name, node] : state().nodes)
        set_gpus(name);
    for (const Action &action : core_.pending())
        std::visit([this](const auto &each) { perform(each); }, action);
    for (JobId id : state().indices().allocated)
        sampler_.update(id, state().job(id));
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
        return "job.confine_cores and job.memory_per_core are for jobs on this machine "
               "(backend.kind = \"local\")";
    if (groups.empty())
        return "job.confine_cores and job.memory_per_core need control groups: set "
               "job.control_groups to a folder of a "
               "cgroup v2 file system";
    confinement_ = std::make_unique<Confinement>(config);
    std::string error = confinement_->open(groups);
    for (int64_t i = 0; i < settings_.local_nodes && error.empty(); i++)
        error = confinement_->add_node(settings_.local_node_prefix + std::to_string(i),
                                       static_cast<int>(settings_.local_cores_per_node),
                                       static_cast<int>(std::thread::hardware_concurrency()));
    for (JobId id : state().indices().allocated)
        confinement_->adopt(id, step_group(control_groups_, id, state().job(id)->step));
    return error;
}

/* The booking of a running job may have changed. */
void Daemon::confine(JobId id)
{
    const Job *job = confinement_ ? state().job(id) : nullptr;
    if (!job || job->state == JobState::STARTING)
        return;
    if (!is_allocated(job->state))
        return confinement_->discard(id);
    std::string group = step_group(control_groups_, id, job->step);
    std::string error = confinement_->apply(id, booked_cores(state(), *job), group);
    if (!error.empty())
        log_line(LogLevel::WARNING, "a step is not confined to what its job has",
                 {{"job", id}, {"error", error}});
}

/* Before everything else that has come in, since the first event of a log must be this one. */
void Daemon::configure()
{
    Config config = settings_.core();
    config.asynchronous_nodes = backend_->asynchronous_nodes();
    config.whole_nodes = backend_->whole_nodes();
    config.check_capacity = backend_->capacity_known();
    if (state().seq == 0 || !(state().config == config))
        journal_.notify_first(Configure{config});
}

std::string Daemon::listen()
{
    auto peers = make_http_peers();
    HttpLimits limits{static_cast<size_t>(settings_.connections_max),
                      static_cast<size_t>(settings_.connections_per_user_max),
                      settings_.request_time_ms, settings_.answer_time_ms};
    auto add = [&](Result<Descriptor> listening, bool is_unix) -> std::string {
        if (!listening)
            return listening.error();
        auto server = HttpServer::start(loop_, std::move(listening.value()), is_unix, limits,
                                        peers, *interface_);
        if (!server)
            return server.error();
        servers_.push_back(std::move(server.value()));
        return "";
    };
    std::string error =
        add(listen_unix(settings_.socket, static_cast<unsigned>(settings_.socket_mode)), true);
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
    lifetime_.begin();
    remove_old();
    remove_beyond();
    load_ended_jobs(0);
    loop_.run([this] { end_of_turn(); }, [this](double seconds) { turned(seconds); });
    lifetime_.stopping();
    journal_.close();
    servers_.clear();
    unlink(settings_.socket.c_str());
    log_line(LogLevel::INFO, "elasticd has stopped; running steps go on", {{"seq", state().seq}});
    lifetime_.end();
}

void Daemon::remove_old()
{
    int64_t before_ms = now_ms() - settings_.history_keep_ms;
    bool more = journal_.remove_before(before_ms);
    if (!more)
        ended_jobs_.remove_before(before_ms);
    loop_.after(more ? REMOVE_MORE_MS : REMOVE_MS, [this] { remove_old(); });
}

/* A quarter of what a user may have stays for what is to come. */
void Daemon::remove_beyond()
{
    bool more = journal_.error().empty() &&
        journal_.remove_beyond(
            settings_.bytes_per_user_max / 4 * 3, settings_.history_bytes_max);
    loop_.after(more ? REMOVE_MORE_MS : REMOVE_BEYOND_MS, [this] { remove_beyond(); });
}

void Daemon::read_history(uint32_t uid, HistoryReader::Task task)
{
    journal_.store();           /* what follows from former events is written */
    reader_.add(uid, std::move(task));
}

/* Jobs of earlier daemons, in parts. */
void Daemon::load_ended_jobs(JobId after)
{
    EndedQuery query;
    query.after = after;
    query.limit = LOAD_JOBS;
    query.with_launch = false;
    read_history(NOBODY, [this, query](History &history) -> HistoryReader::Done {
        auto page = history.ended(query, [](const Job &) { return true; });
        std::string error = page ? "" : page.error();
        auto facts = std::make_shared<std::vector<JobFacts>>();
        for (const EndedJob &each : page ? page.value().jobs : std::vector<EndedJob>())
            facts->push_back(facts_of(each.job, 0));
        auto last = page ? page.value().last : std::optional<JobId>(query.after);
        return [this, facts, last, error] { loaded_ended_jobs(std::move(*facts), last, error); };
    });
}

void Daemon::loaded_ended_jobs(std::vector<JobFacts> jobs, std::optional<JobId> last,
                               const std::string &error)
{
    if (!error.empty())
        log_line(LogLevel::WARNING, error);
    for (JobFacts &facts : jobs)
        facts.core_ms = timeline_.take_core_ms(facts.id);
    ended_jobs_.load(std::move(jobs));
    if (!last) {
        ended_jobs_.loaded();
        waiting_.wake();
    } else {
        loop_.after(error.empty() ? 0 : LOAD_AGAIN_MS, [this, last] { load_ended_jobs(*last); });
    }
}

void Daemon::cancel_all()
{
    std::vector<JobId> jobs;
    for (const auto &[id, job] : state().jobs)
        jobs.push_back(id);
    for (JobId id : jobs)
        request(Cancel{{next_request_id(), id, ""}}, std::nullopt, [](const Answer *, bool) {});
}

void Daemon::on_signal(int number)
{
    if (number == SIGCHLD) {
        loop_.reap_children();
    } else if (number == SIGHUP) {
        read_tokens_again();
    } else {
        loop_.stop();
    }
}

/* On a thread, since their names are queried. */
void Daemon::read_tokens_again()
{
    if (tokens_thread_.joinable())
        tokens_thread_.join();
    auto read = std::make_shared<Result<Access::Tokens>>(Error{""});
    auto posting = loop_.make_posting([this, read] {
        log_line(*read ? LogLevel::INFO : LogLevel::ERROR,
                 *read ? "tokens read again" : read->error());
        if (*read)
            access_.set_tokens(read->value());
    });
    tokens_thread_ = std::thread([read, posting, path = settings_.tokens_file] {
        *read = Access::read_tokens(path);
        posting.post();
    });
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* False: it changes nothing, and is not stored. */
bool Daemon::report_step(EventContent content)
{
    if (is_redundant(state(), content)) {
        metrics_.count_redundant();
        return false;
    }
    journal_.notify(std::move(content));
    return true;
}

/* Somebody may wait for it. */
bool Daemon::sampled(JobId id, uint32_t step, const PerformanceAnswer &answer)
{
    bool is_due = sampler_.take(id, step, answer);
    waiting_.wake();
    return is_due;
}

void Daemon::request(EventContent content, std::optional<LaunchRow> launch, Done done)
{
    journal_.request({std::move(content), std::move(launch), std::move(done)});
}

std::string Daemon::next_request_id()
{
    return request_prefix_ + std::to_string(next_request_++);
}

void Daemon::end_of_turn()
{
    journal_.end_of_turn();
    if (state().seq == woken_seq_)
        return;
    woken_seq_ = state().seq;
    waiting_.wake();
}

/* While one turn lasts nobody else is served. */
void Daemon::turned(double processor_seconds)
{
    metrics_.time_turn(processor_seconds);
    if (processor_seconds * 1000 >= LONG_TURN_MS)
        log_line(LogLevel::WARNING, "a turn of elasticd's loop was a long one",
                 {{"processor_ms", std::lround(processor_seconds * 1000)}});
}

void Daemon::handle(const Event &event, Journal::Entry &entry)
{
    EventInHand in_hand(event.seq);
    JobId last_job = state().last_job;
    metrics_.count_event(name_of(event.content));
    std::visit([this](const auto &content) { before(content); }, event.content);
    for (const Action &action : core_.handle(event)) {
        journal_.derive(event, action, last_job);
        if (auto answered = std::get_if<Answer>(&action))
            answer(*answered, entry, last_job);
        else
            std::visit([this](const auto &each) { perform(each); }, action);
    }
    if (entry.done) {           /* cannot be: each request is answered */
        log_line(LogLevel::ERROR, "the core has not answered a request", {{"seq", event.seq}});
        entry.done(nullptr, false);
    }
    std::visit(
        [this](const auto &content) {
            /* Its sender may continue to send. */
            if constexpr (requires { content.job; content.step; })
                if (std::string_view(content.NAME).starts_with("step_"))
                    steps_->handled(content.job, content.step);
            after(content);
        },
        event.content);
}

void Daemon::answer(const Answer &answer, Journal::Entry &entry, JobId last_job)
{
    bool is_new = answer.job > last_job;
    auto tasks = static_cast<int64_t>(state().last_job - last_job);
    for (JobId job = answer.job; entry.launch && is_new && job <= state().last_job; job++)
        quota_.add(job, entry.launch->uid, entry.launch->bytes / tasks);
    if (entry.done)
        entry.done(&answer, is_new);
    entry.done = nullptr;
}

void Daemon::before(const StepEnded &ended)
{
    if (ended.exit_code != 0 && !ended.signalled)
        suspect_world(ended.job);
}

void Daemon::suspect_joining(JobId id)
{
    const Job *job = state().job(id);
    if (job && job->adaptation)
        suspect(job->adaptation->joining);
}

void Daemon::suspect_world(JobId id)
{
    if (const Job *job = state().job(id))
        suspect(job->blocks);
}

/* The nodes may be the cause of the failure: they are checked while their names are known. */
void Daemon::suspect(const Blocks &blocks)
{
    std::vector<std::string> nodes;
    for (const Block &block : blocks)
        nodes.push_back(block.node);
    if (!nodes.empty())
        backend_->step_failed_on(nodes);
}

void Daemon::after(const StepCommitted &committed)
{
    if (const Job *job = state().job(committed.job))
        steps_->set_hosts(*job);
}

void Daemon::update_capacity()
{
    if (state().config.check_capacity != backend_->capacity_known())
        configure();
}

/* As the configuration has them. */
void Daemon::set_gpus(const std::string &name)
{
    const Node *node = state().node(name);
    if (int gpus = gpu_counts_.of(name); node && node->gpus_next != gpus)
        journal_.notify(NodeGpusSet{name, gpus});
}

/* Nodes that are this machine share its GPUs, one after the other. */
void Daemon::number_gpus()
{
    bool share = settings_.backend == "local" && !gpu_counts_.empty();
    int first = 0;
    for (int64_t i = 0; share && i < settings_.local_nodes; i++) {
        std::string node = settings_.local_node_prefix + std::to_string(i);
        first_gpus_[node] = first;
        first += gpu_counts_.of(node);
    }
}

/* ---- actions --------------------------------------------------------------------------------- */

void Daemon::perform(const Record &record)
{
    if (record.event == record::ENDED)
        quota_.remove(record.job);
    confine(record.job);
    sampler_.update(record.job, state().job(record.job));
    timeline_.add(record);
    const Job *ended = record.event == record::ENDED ? state().job(record.job) : nullptr;
    if (ended)
        ended_jobs_.add(facts_of(*ended, timeline_.take_core_ms(ended->id)));
    metrics_.count_record(record);
    log_record(record);
    mail(record);
}

/* If its user wants one about it. */
void Daemon::mail(const Record &record)
{
    bool may_be = record.event == record::STARTED || record.event == record::ENDED ||
        record.event == record::REQUEUED;
    const Job *job = mailer_ && may_be ? state().job(record.job) : nullptr;
    auto known = job ? launch(record.job) : nullptr;
    if (!known || known->mail_events.empty())
        return;
    const JobArray *array = job->task ? state().array(job->task->array) : nullptr;
    auto occasion = occasion_of(record.event, *job, array, known->mail_events);
    bool of_tasks = std::ranges::find(known->mail_events, MailEvent::ARRAY_TASKS) !=
        known->mail_events.end();
    const JobArray *whole = of_tasks ? nullptr : array;
    bool is_again = occasion == Occasion::ENDED && whole &&
        !mailer_->is_first(whole->job, state().seq);
    if (occasion && !is_again)
        mailer_->send({job->spec.uid, job->id,
                       mail_message(*occasion, *job, whole, *known, settings_.cluster,
                                    clock_.offset_ms())});
}

void Daemon::perform(const SignalStep &signal)
{
    int64_t kill_after_ms = signal.signal == SIGTERM ? settings_.kill_grace_ms : -1;
    steps_->signal(signal.job, signal.step, signal.signal, kill_after_ms);
}

/* The user's groups are those of now. */
void Daemon::perform(const StartStep &start)
{
    const Job *job = state().job(start.job);
    if (!job || !starting_.insert({start.job, start.step}).second)
        return;
    users_.find(job->spec.uid, UserDirectory::FRESH_MS, [this, start](const User &user) {
        starting_.erase({start.job, start.step});
        const Job *now = state().job(start.job);
        if (now && is_allocated(now->state) && now->step == start.step)
            start_step(start, user);
    });
}

/* While the store cannot be read no answer is sent: the core repeats the query. */
void Daemon::start_step(const StartStep &start, const User &user)
{
    auto row = store().launch(start.job);
    if (row)
        steps_->start(start.job, start.step, [&](const std::string &folder) {
            return make_program(start, row.value(), folder, user);
        });
    else
        log_line(LogLevel::ERROR, row.error(), {{"job", start.job}});
}

Result<Steps::Program> Daemon::make_program(
    const StartStep &start, const std::optional<LaunchRow> &row, const std::string &folder,
    const User &user)
{
    const Job *job = state().job(start.job);
    auto launch = row ? parse<Launch>(row->body)
                      : Result<Launch>(Error{"the store does not know what is to be run"});
    if (!launch || !job)
        return Error{launch ? "the job is gone" : launch.error()};
    std::string error = backend_->prepare_step(*job, folder);
    if (!error.empty())
        return Error{error};
    LaunchSetup setup{
        settings_.mpiexec, backend_->launcher_options(), backend_->launcher_environment(), folder,
        settings_.socket,  settings_.kill_grace_ms,
        settings_.stepd.substr(0, settings_.stepd.rfind('/') + 1) + SLURM_COMMANDS_FOLDER,
        [this](const NodeName &node) {
            auto first = first_gpus_.find(node);
            return first == first_gpus_.end() ? 0 : first->second;
        },
        settings_.backend == "local"};
    auto confine_step = [this, id = start.job](const std::string &group) -> std::string {
        const Job *allocated = confinement_ ? state().job(id) : nullptr;
        return allocated ? confinement_->apply(id, booked_cores(state(), *allocated), group) : "";
    };
    return Steps::Program{make_step(launch.value(), *job, start, setup), user, row->script,
                          format_host_lines(start.blocks), confine_step};
}

/* The machine may sleep: the clock is read periodically. */
void Daemon::perform(const SetTimer &timer)
{
    constexpr int64_t LOOK_AGAIN_MS = 60000;
    loop_.cancel(core_timer_);
    core_timer_ = 0;
    if (timer.at_ms == NEVER)
        return;
    int64_t left_ms = timer.at_ms - now_ms();
    core_timer_ = loop_.after(std::min(left_ms, LOOK_AGAIN_MS), [this, timer] {
        core_timer_ = 0;
        if (now_ms() >= timer.at_ms)
            journal_.notify(Timer{});
        else
            perform(timer);
    });
}

/* ---- for the interface ----------------------------------------------------------------------- */

/* The tasks of an array have one. */
std::shared_ptr<const Launch> Daemon::launch(JobId job)
{
    if (const Job *known = state().job(job); known && known->task)
        job = known->task->array;
    auto found = launches_.find(job);
    if (found != launches_.end())
        return found->second;
    auto row = store().launch(job);
    auto parsed = row && row.value() ? parse<Launch>(row.value()->body) : Result<Launch>(Error{""});
    if (!parsed)
        return nullptr;
    auto launch = std::make_shared<Launch>(std::move(parsed.value()));
    launch->environment.clear();
    remember(job, launch);
    return launch;
}

void Daemon::remember(JobId job, std::shared_ptr<const Launch> launch)
{
    size_t bytes = 0;
    for (const std::string &word : launch->command)
        bytes += word.size();
    if (state().job(job) && bytes <= KEPT_COMMAND_MAX)
        launches_[job] = std::move(launch);
}

size_t Daemon::connections() const
{
    size_t count = 0;
    for (const auto &server : servers_)
        count += server->connections();
    return count;
}

}  // namespace elastic::rm
