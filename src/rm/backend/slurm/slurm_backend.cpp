/* See slurm_backend.h: the configuration of Slurm, polls, answers to the core. */

#include "backend/slurm/slurm_backend.h"

#include <unistd.h>

#include <random>
#include <sstream>

#include "backend/slurm/slurm_launch.h"
#include "base/log.h"
#include "step/step_spec.h"

namespace elastic::rm {

namespace {

constexpr const char *CLUSTER_FILE = "slurm_id";
constexpr int64_t RETRY_FIRST_MS = 500, RETRY_MAX_MS = 10000;
constexpr int64_t RELEASE_LOOK_MS = 200;

/* Distinguishes Slurm jobs of this elasticd from those of another one; created once, stored with
 * the store. */
Result<std::string> read_cluster_id(const std::string &folder)
{
    auto content = read_file(folder, CLUSTER_FILE);
    if (!content)
        return Error{content.error()};
    if (content.value() && content.value()->size() == 16)
        return *content.value();
    std::random_device random;
    char text[17];
    snprintf(text, sizeof text, "%08x%08x", random(), random());
    std::string error = write_file(folder, CLUSTER_FILE, text);
    if (!error.empty())
        return Error{error};
    return std::string(text);
}

}  // namespace

SlurmBackend::SlurmBackend(const Settings &settings, Loop &loop)
    : settings_(settings), loop_(loop), client_(loop), users_(loop),
      demand_(settings.slurm_yield_priority, settings.slurm_yield_patience_ms),
      options_{settings.slurm_partition, settings.slurm_account, settings.slurm_qos,
               settings.slurm_options}
{
}

SlurmBackend::~SlurmBackend()
{
    loop_.cancel(poll_timer_);
}

std::string SlurmBackend::start(const State &known, Notify notify)
{
    state_ = &known;
    notify_ = std::move(notify);
    launcher_ = settings_.beside_stepd("elastic-srun");
    if (access(launcher_.c_str(), X_OK) != 0)
        return launcher_ +
            " cannot be run, which starts processes through Slurm: it is installed beside "
            "elastic-stepd";
    auto id = read_cluster_id(settings_.state_dir);
    if (!id)
        return id.error();
    cluster_ = id.value();
    users_.start();
    query_configuration();
    return "";
}

/* ---- state of Slurm -------------------------------------------------------------------------- */

void SlurmBackend::query_configuration()
{
    client_.run(config_command(), 0, [this](const SlurmAnswer &answer) {
        if (!answer.good()) {
            no_answer(answer.problem);
            poll_timer_ = loop_.after(retry_ms_, [this] { query_configuration(); });
            return;
        }
        answers();
        read_configuration(parse_config(answer.output));
        query_partition();
    });
}

/* Merging must be permitted by Slurm; and without accounting Slurm cannot release nodes of a
 * merged job. */
void SlurmBackend::read_configuration(const std::map<std::string, std::string> &values)
{
    auto value = [&](const char *name) {
        auto found = values.find(name);
        return found == values.end() ? std::string() : found->second;
    };
    bool permitted = has_word(value("SchedulerParameters"), "permit_job_expansion");
    std::string accounting = value("AccountingStorageType");
    bool accounted = !accounting.empty() && accounting != "accounting_storage/none";
    if (settings_.slurm_resize != "auto")
        use(settings_.slurm_resize == "merge" ? Resize::MERGE : Resize::SET,
            "slurm.resize in the configuration");
    else if (!permitted)
        use(Resize::SET, "SchedulerParameters of Slurm has no permit_job_expansion");
    else if (!accounted)
        use(Resize::SET,
            "Slurm has no accounting, without which a merged job cannot release nodes");
    else
        use(Resize::MERGE, "Slurm permits it");
}

void SlurmBackend::use(Resize resize, const std::string &why)
{
    if (resize_ == resize)
        return;
    resize_ = resize;
    resize_why_ = why;
    log_line(LogLevel::INFO, "Slurm jobs are resized: " + about());
}

/* Without a name: Slurm's default. */
void SlurmBackend::query_partition()
{
    if (!options_.partition.empty())
        return poll();
    client_.run(partitions_command(), 0, [this](const SlurmAnswer &answer) {
        std::istringstream words(answer.output);
        for (std::string word; answer.good() && words >> word;)
            if (word.ends_with("*"))
                options_.partition = word.substr(0, word.size() - 1);
        if (!options_.partition.empty())
            return poll();
        no_answer(answer.good() ? "Slurm has no default partition: name one as slurm.partition"
                                : answer.problem);
        poll_timer_ = loop_.after(retry_ms_, [this] { query_partition(); });
    });
}

void SlurmBackend::no_answer(const std::string &problem)
{
    if (problem_ != problem)
        log_line(LogLevel::WARNING, "Slurm does not answer: " + problem,
                 {{"advice", "running jobs continue; no job starts or grows until it answers"}});
    problem_ = problem.empty() ? "no reason is known" : problem;
    retry_ms_ = std::clamp(retry_ms_ * 2, RETRY_FIRST_MS, RETRY_MAX_MS);
}

void SlurmBackend::answers()
{
    if (!problem_.empty())
        log_line(LogLevel::INFO, "Slurm answers again");
    problem_.clear();
    retry_ms_ = 0;
}

std::string SlurmBackend::about() const
{
    std::string partition = options_.partition.empty()
        ? ""
        : "partition " + options_.partition + ", ";
    switch (resize_) {
        case Resize::MERGE:
            return partition + "by merging expansions into one job (" + resize_why_ + ")";
        case Resize::SET:
            return partition + "each job is a set of Slurm jobs, one for each node (" +
                resize_why_ + ")";
        case Resize::UNKNOWN: return partition + "how jobs are resized is not known yet";
    }
    return "";
}

std::string SlurmBackend::trouble() const
{
    return problem_.empty() ? "" : "Slurm does not answer: " + problem_;
}

/* ---- orders of the core ---------------------------------------------------------------------- */

void SlurmBackend::acquire(const AcquireNodes &action)
{
    Set &set = sets_[action.job];
    if (set.answered == action.request && set.step == action.step)
        set.answered.reset();           /* queried again */
    poll_soon(0);
}

void SlurmBackend::release(const ReleaseNodes &action)
{
    std::vector<ReleaseNodes> &open = releases_[action.job];
    std::erase_if(open, [&](const ReleaseNodes &each) {
        return each.request == action.request && each.all == action.all && each.step == action.step;
    });
    open.push_back(action);
    poll_soon(0);
}

void SlurmBackend::check_node(const std::string &)
{
    poll_soon(0);
}

/* ---- polls ----------------------------------------------------------------------------------- */

void SlurmBackend::poll_soon(int64_t delay_ms)
{
    if (looking_) {
        poll_again_ = poll_again_ || delay_ms == 0;
        return;
    }
    if (options_.partition.empty() || resize_ == Resize::UNKNOWN)
        return;                         /* called again when the configuration is known */
    delay_ms = std::max(delay_ms, problem_.empty() ? 0 : retry_ms_);
    int64_t at_ms = monotonic_ms() + delay_ms;
    if (poll_timer_ && next_poll_ms_ <= at_ms)
        return;
    loop_.cancel(poll_timer_);
    next_poll_ms_ = at_ms;
    poll_timer_ = loop_.after(delay_ms, [this] { poll(); });
}

void SlurmBackend::poll()
{
    loop_.cancel(poll_timer_);
    poll_timer_ = 0;
    looking_ = true;
    poll_again_ = false;
    poll_began_ = ++clock_;
    client_.poll(options_.partition, [this](const SlurmAnswer &answer, const SlurmReport &poll) {
        polled(answer, poll);
    });
}

void SlurmBackend::polled(const SlurmAnswer &answer, const SlurmReport &poll)
{
    looking_ = false;
    if (!answer.good() || poll.nodes.empty()) {
        no_answer(
            answer.good() ? "partition " + options_.partition + " has no nodes" : answer.problem);
        return poll_soon(retry_ms_);
    }
    answers();
    job_nodes_min_ = poll.nodes.front().job_nodes_min;
    job_nodes_max_ = poll.nodes.front().job_nodes_max;
    equal_nodes_ = std::ranges::all_of(poll.nodes, [&](const SlurmNode &node) {
        return node.cores == poll.nodes.front().cores && node.kind == poll.nodes.front().kind;
    });
    drop_started();
    /* Nodes that an own job released may belong to others already.  The order matters: first the
     * nodes are released here, then assigned to others, and only then does the demand of others
     * end.  In any other order they would count as free. */
    answer_releases(poll);
    for (EventContent &event : node_events(*state_, poll.nodes, poll.jobs, cluster_))
        notify_(std::move(event));
    wanted_by_others(poll);
    reconcile_all(poll);
    poll_soon(poll_again_ ? 0 : pause_ms());
}

int64_t SlurmBackend::pause_ms() const
{
    int64_t pause_ms = settings_.slurm_poll_ms, now_ms = monotonic_ms();
    if (!releases_.empty())
        pause_ms = std::min(pause_ms, RELEASE_LOOK_MS);
    for (const auto &[id, set] : sets_)
        if (set.busy && set.waited)
            pause_ms = std::min(pause_ms,
                                poll_pause_ms(settings_.slurm_poll_ms, now_ms - set.sent_ms));
    return pause_ms;
}

/* What Slurm refused is known until the job has started or ended. */
void SlurmBackend::drop_started()
{
    auto is_over = [&](const auto &each) {
        const Job *job = state_->job(each.first);
        return !job || (job->state != JobState::PENDING && job->state != JobState::STARTING &&
                        job->state != JobState::COMPLETING);
    };
    std::erase_if(unfit_, is_over);
    std::erase_if(refused_, is_over);
}

void SlurmBackend::wanted_by_others(const SlurmReport &poll)
{
    NodesWanted wanted;
    if (settings_.slurm_yield)
        wanted = demand_.poll(*state_, poll.jobs, cluster_, monotonic_ms());
    if (wanted.nodes != state_->wanted_nodes || wanted.by != state_->wanted_by)
        notify_(wanted);
}

/* ---- released nodes -------------------------------------------------------------------------- */

void SlurmBackend::answer_releases(const SlurmReport &poll)
{
    for (auto entry = releases_.begin(); entry != releases_.end();) {
        std::vector<ReleaseNodes> &open = entry->second;
        bool all_over = false;
        std::erase_if(open, [&](const ReleaseNodes &release) {
            if (!is_given_back(release, poll))
                return false;
            all_over = all_over || release.all;
            notify_(NodesReleased{release.job, release.step, release.request, release.all});
            return true;
        });
        if (all_over)
            sets_.erase(entry->first);
        entry = open.empty() || all_over ? releases_.erase(entry) : std::next(entry);
    }
}

bool SlurmBackend::is_given_back(const ReleaseNodes &release, const SlurmReport &poll) const
{
    auto set = sets_.find(release.job);
    if (set != sets_.end() && (set->second.busy || set->second.changed > poll_began_))
        return false;
    const Job *job = state_->job(release.job);
    SlurmNodeSet wanted, given;
    if (job && !release.all) {
        SlurmTarget target = target_of(*job);
        wanted = target.keep;
        wanted.insert(target.acquire.begin(), target.acquire.end());
    }
    for (const Block &block : release.blocks)
        given.insert(block.node);
    for (const SlurmJob &each : poll.jobs) {
        if (!is_own(each, cluster_, *state_) || each.tag->job != release.job ||
            each.tag->step != release.step || each.state == SlurmJobState::ENDED)
            continue;
        bool has_given =
            std::any_of(each.nodes.begin(), each.nodes.end(), [&](const std::string &node) {
                return given.contains(node) && !wanted.contains(node);
            });
        if (release.all || has_given)
            return false;
    }
    return true;
}

/* ---- launching ------------------------------------------------------------------------------- */

std::vector<std::string> SlurmBackend::launcher_options() const
{
    return {"-launcher", "slurm", "-launcher-exec", launcher_};
}

std::vector<std::string> SlurmBackend::launcher_environment() const
{
    return {"HYDRA_LAUNCHER=slurm", "HYDRA_LAUNCHER_EXEC=" + launcher_};
}

std::string SlurmBackend::prepare_step(const Job &job, const std::string &folder)
{
    return write_node_map(sets_[job.id], folder);
}

}  // namespace elastic::rm
