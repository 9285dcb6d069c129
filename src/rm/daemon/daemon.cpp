/* See daemon.h. */

#include "daemon/daemon.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/log.h"
#include "http/listen.h"
#include "step/control_group.h"

namespace elastic::rm {

namespace {

constexpr int64_t REMOVE_MS = 3600 * 1000, REMOVE_MORE_MS = 20, REMOVE_BEYOND_MS = 1000;
constexpr size_t LOAD_JOBS = 500;               /* ended ones, in one part */
constexpr uint32_t NOBODY = UINT32_MAX;         /* reader: elasticd itself */
constexpr int64_t LOAD_AGAIN_MS = 1000;
constexpr size_t KEPT_COMMAND_MAX = 4096;       /* a longer one is read on request */

}  // namespace

Daemon::Daemon(const Settings &settings, Store store, Recovered recovered)
    : settings_(settings), core_(std::move(recovered.core)), clock_(recovered.clock),
      access_(settings_), timeline_(std::move(recovered.timeline)),
      quota_(std::move(recovered.quota)),
      journal_({loop_, core_, clock_, metrics_}, std::move(store), recovered.snapshot_seq,
               settings_.snapshot_events, settings_.disk_reserve_bytes,
               [this](const Event &event, Journal::Entry &entry, double until_s) {
                   return handle(event, entry, until_s);
               }),
      lifetime_(loop_, settings_,
                {[this] { return unfinished_jobs(); }, [this] { return !waiting_.empty(); },
                 [this] { cancel_all(); }}),
      waiting_(loop_),
      sampler_(loop_, settings_.monitor_interval_ms,
               [this](JobId id, uint32_t step, int64_t write_ms) {
                   return steps_->query_performance(id, step, write_ms);
               }),
      user_slots_(loop_), requests_(loop_), sliced_work_(loop_), users_(loop_),
      reader_(loop_)
{
    started_ms_ = unix_ms();
    /* Different from those of an earlier process. */
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
    /* Before any process is started: its end must not be missed. */
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
        return "backend.gpus cannot be used with this back end: Slurm books the GPUs of its nodes";
    gpu_counts_ = std::move(gpus.value());
    number_gpus();
    if (std::string wrong = read_lists(); !wrong.empty())
        return wrong;
    auto group = steps_control_group(settings_.control_groups);
    if (!group)
        return group.error();
    if (error = open_confinement(group.value()); !error.empty())
        return error;
    steps_ = std::make_unique<Steps>(
        loop_,
        StepsConfig{settings_.state_dir + "/steps", {settings_.stepd, settings_.start_socket},
                    geteuid() == 0, settings_.end_unknown_steps, group.value(),
                    settings_.files_soft,
                    [this](const NodeName &node) { return first_gpu(node); }},
        [this](EventContent content) { return report_step(std::move(content)); },
        [this](JobId id) { return state().job(id); },
        [this](JobId id, uint32_t step, const PerformanceAnswer &answer) {
            return sampled(id, step, answer);
        });
    error = steps_->open(state());
    if (error.empty())
        error = open_node_programs();
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

/* Reservations made by commands, which the core stores, except ended ones. */
std::vector<NodeReservation> Daemon::made_reservations()
{
    std::vector<NodeReservation> made;
    for (NodeReservation each : state().config.reservations) {
        if (!each.made || each.until_ms <= now_ms())
            continue;
        each.from_ms = shown_ms(each.from_ms);
        each.until_ms = shown_ms(each.until_ms);
        made.push_back(std::move(each));
    }
    return made;
}

std::string Daemon::read_lists()
{
    auto partitions = Partitions::read(settings_.partitions);
    auto groups = GroupLimits::read(settings_.groups);
    auto reservations = Reservations::read(settings_.reservations, made_reservations());
    for (const std::string &wrong : {partitions ? "" : partitions.error(),
                                     groups ? "" : groups.error(),
                                     reservations ? "" : reservations.error()}) {
        if (!wrong.empty())
            return wrong;
    }
    partitions_ = std::move(partitions.value());
    group_limits_ = std::move(groups.value());
    reservations_ = std::move(reservations.value());
    for (const auto *unknown : {&partitions_.unknown_groups(), &group_limits_.unknown_groups(),
                                &reservations_.unknown_groups()}) {
        for (const std::string &group : *unknown)
            log_line(LogLevel::WARNING, "the configuration names a group that does not exist",
                     {{"group", group}});
    }
    return "";
}

/* Without programs it answers at once: jobs may wait for nodes because of an earlier
 * configuration. */
std::string Daemon::open_node_programs()
{
    if (backend_->asynchronous_nodes())
        return "";
    node_programs_ = std::make_unique<NodePrograms>(
        loop_,
        NodeProgramsConfig{settings_.prolog, settings_.epilog, settings_.node_program_limit_ms,
                           settings_.state_dir + "/node-programs", settings_.cluster,
                           {settings_.stepd, settings_.start_socket}},
        state(), [this](const std::string &node) { return backend_->shell_on(node); },
        [this](EventContent content) { journal_.notify(std::move(content)); });
    return node_programs_->open();
}

/* Only for jobs on this machine: other hosts are confined by their owner. */
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
        log_line(LogLevel::WARNING, "a step is not confined to the resources of its job",
                 {{"job", id}, {"error", error}});
}

/* Before all other input, because the first event of a log must be this one. */
void Daemon::configure()
{
    Config config = settings_.core();
    config.partitions = partitions_.all();
    config.groups = group_limits_.all();
    config.reservations = reservations_.configured();
    for (const NodeReservation &each : made_reservations())
        config.reservations.push_back(each);
    for (NodeReservation &each : config.reservations) {
        each.from_ms = core_ms(each.from_ms);
        each.until_ms = core_ms(each.until_ms);
    }
    config.asynchronous_nodes = backend_->asynchronous_nodes() || has_node_programs();
    config.own_nodes = !backend_->asynchronous_nodes();
    config.whole_nodes = backend_->whole_nodes();
    config.check_capacity = backend_->capacity_known();
    /* the settings of the back end, too, may have changed */
    bool refused = std::ranges::any_of(state().jobs, [](const auto &entry) {
        return entry.second.start_refusals > 0;
    });
    if (state().seq == 0 || !(state().config == config) || refused)
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
    log_line(LogLevel::INFO, "elasticd has stopped; running steps continue",
             {{"seq", state().seq}});
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

/* A quarter of a user's limit is kept free for new jobs. */
void Daemon::remove_beyond()
{
    bool more = journal_.error().empty() &&
        journal_.remove_beyond(
            settings_.bytes_per_user_max / 4 * 3, settings_.history_bytes_max);
    loop_.after(more ? REMOVE_MORE_MS : REMOVE_BEYOND_MS, [this] { remove_beyond(); });
}

void Daemon::read_history(uint32_t uid, HistoryReader::Task task)
{
    journal_.when_written([this, uid, task = std::move(task)]() mutable {
        reader_.add(uid, std::move(task));
    });
}

/* Loads jobs of earlier daemons, in parts. */
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

/* On a thread, because it queries user names. */
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

/* ---- called by the interface ----------------------------------------------------------------- */

/* The tasks of an array share one. */
std::shared_ptr<const Launch> Daemon::launch(JobId job)
{
    if (const Job *known = state().job(job); known && known->task)
        job = known->task->array;
    auto found = launches_.find(job);
    if (found != launches_.end())
        return found->second;
    auto row = journal_.launch(job);
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
