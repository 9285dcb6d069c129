/* See node_programs.h. */

#include "daemon/node_programs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/log.h"
#include "base/words.h"

namespace elastic::rm {

namespace {

namespace fs = std::filesystem;

constexpr const char *PROLOG = "prolog", *EPILOG = "epilog";

std::string step_name(JobId job, uint32_t step)
{
    return std::to_string(job) + "." + std::to_string(step) + ".";
}

bool has(const Blocks &blocks, const NodeName &node)
{
    return std::ranges::find(blocks, node, &Block::node) != blocks.end();
}

std::set<std::string> names_in(const Blocks &blocks)
{
    std::set<std::string> names;
    for (const Block &block : blocks)
        names.insert(block.node);
    return names;
}

}  // namespace

NodePrograms::NodePrograms(Loop &loop, NodeProgramsConfig config, const State &state, Shell shell,
                           Notify notify)
    : loop_(loop), config_(std::move(config)), state_(state), shell_(std::move(shell)),
      notify_(std::move(notify))
{
}

NodePrograms::~NodePrograms()
{
    loop_.cancel(garbage_timer_);
}

std::string NodePrograms::open()
{
    if (any() && mkdir(config_.folder.c_str(), 0700) != 0 && errno != EEXIST)
        return "cannot make " + config_.folder + ": " + strerror(errno);
    std::set<std::string> present;
    for (JobId id : state_.indices().allocated)
        present.insert(step_name(id, state_.job(id)->step));
    std::error_code code;
    for (const auto &entry : fs::directory_iterator(config_.folder, code)) {
        std::string name = entry.path().filename();
        size_t end = name.find('.', name.find('.') + 1);
        if (end == std::string::npos || !present.contains(name.substr(0, end + 1)))
            fs::remove_all(entry.path(), code);
    }
    return "";
}

/* ---- which nodes ----------------------------------------------------------------------------- */

/* Whether the job has the node for a reason other than this request. */
bool NodePrograms::holds(const Job &job, const NodeName &node, uint64_t request, bool joining) const
{
    if (has(job.blocks, node) || has(slots_of(job), node))
        return true;
    if (joining && job.adaptation && has(job.adaptation->joining, node))
        return true;
    auto found = released_.find({job.id, job.step});
    return std::ranges::any_of(job.departures, [&](const Departure &each) {
        bool is_over = found != released_.end() && found->second.contains(each.request);
        return each.request != request && !is_over && has(each.blocks, node);
    });
}

void NodePrograms::acquire(const AcquireNodes &acquire)
{
    Key key{acquire.job, acquire.step, acquire.request, Kind::ACQUIRE};
    const Job *job = state_.job(acquire.job);
    if (!job || batches_.contains(key))
        return;
    auto nodes = config_.prolog.empty() ? std::set<std::string>() : names_in(acquire.blocks);
    if (acquire.request != 0)
        std::erase_if(nodes, [&](const std::string &node) {
            return holds(*job, node, acquire.request, false);
        });
    begin(key, acquire.blocks, nodes);
}

void NodePrograms::release(const ReleaseNodes &release)
{
    Key key{release.job, release.step, release.request,
            release.all ? Kind::RELEASE_ALL : Kind::RELEASE};
    const Job *job = state_.job(release.job);
    if (!job || batches_.contains(key))
        return;
    std::set<uint64_t> &over = released_[{job->id, job->step}];
    auto nodes = names_in(release.all ? job->blocks : release.blocks);
    if (release.all) {
        for (const Departure &each : job->departures) {
            if (!over.contains(each.request))
                nodes.merge(names_in(each.blocks));
        }
    } else {
        over.insert(release.request);
        std::erase_if(nodes, [&](const std::string &node) {
            return holds(*job, node, release.request, true);
        });
    }
    std::erase_if(nodes, [&](const std::string &name) {
        const Node *node = state_.node(name);
        return config_.epilog.empty() || !node || !node->up;
    });
    begin(key, release.blocks, nodes);
}

void NodePrograms::acquired(JobId job, uint32_t step, uint64_t request)
{
    remove({job, step, request, Kind::ACQUIRE});
}

void NodePrograms::released(JobId job, uint32_t step, uint64_t request, bool all)
{
    remove({job, step, request, all ? Kind::RELEASE_ALL : Kind::RELEASE});
    if (!all)
        return;
    for (auto next = batches_.lower_bound({job, step, 0, Kind::ACQUIRE});
         next != batches_.end() && next->first.job == job && next->first.step == step;)
        remove((next++)->first);
    released_.erase({job, step});
}

/* Removes it with its folders, a few in each turn. */
void NodePrograms::remove(const Key &key)
{
    auto found = batches_.find(key);
    if (found == batches_.end() || !found->second.answered)
        return;
    for (std::string &folder : found->second.folders)
        garbage_.push_back(std::move(folder));
    batches_.erase(found);
    if (!garbage_timer_ && !garbage_.empty())
        garbage_timer_ = loop_.after(0, [this] { remove_some_garbage(); });
}

void NodePrograms::remove_some_garbage()
{
    constexpr int REMOVE_AT_ONCE = 8;
    garbage_timer_ = 0;
    for (int i = 0; i < REMOVE_AT_ONCE && !garbage_.empty(); i++) {
        std::error_code code;
        fs::remove_all(garbage_.front(), code);
        if (code)
            log_line(LogLevel::WARNING, "cannot remove the folder of a prolog or epilog",
                     {{"folder", garbage_.front()}, {"error", code.message()}});
        garbage_.pop_front();
    }
    if (!garbage_.empty())
        garbage_timer_ = loop_.after(1, [this] { remove_some_garbage(); });
}

/* ---- runs ------------------------------------------------------------------------------------ */

void NodePrograms::begin(const Key &key, const Blocks &blocks, const std::set<std::string> &nodes)
{
    Batch &batch = batches_[key];
    batch.blocks = blocks;
    batch.runs = nodes.size();
    const char *kind = key.kind == Kind::ACQUIRE ? PROLOG : EPILOG;
    for (const std::string &node : nodes) {
        batch.folders.push_back(config_.folder + "/" + step_name(key.job, key.step) +
                                std::to_string(key.request) + "." + kind + "." + node);
        runs_.push_back(std::make_unique<Run>(Run{key, node, batch.folders.back(), nullptr}));
    }
    answer_if_done(key);
    start_next();
}

void NodePrograms::start_next()
{
    for (size_t i = 0; i < runs_.size() && running_ < AT_ONCE; i++) {
        if (!runs_[i]->program && may_start(i))
            start(*runs_[i]);
    }
}

/* It is the next one on the node. */
bool NodePrograms::may_start(size_t index) const
{
    const Run &run = *runs_[index];
    return std::none_of(
        runs_.begin(), runs_.begin() + static_cast<ptrdiff_t>(index), [&](const auto &earlier) {
            return earlier->key.job == run.key.job && earlier->node == run.node;
        });
}

void NodePrograms::start(Run &run)
{
    NodeProgramSpec spec;
    spec.folder = run.folder;
    spec.job = run.key.job;
    spec.step = run.key.step;
    spec.shell = shell_(run.node);
    spec.words = run.key.kind == Kind::ACQUIRE ? config_.prolog : config_.epilog;
    spec.variables = variables_for(run);
    spec.limit_ms = config_.limit_ms;
    running_++;
    run.program = std::make_unique<NodeProgram>(
        loop_, config_.stepd, std::move(spec),
        [this, same = &run](const NodeProgramEnd &end) { ended(*same, end); });
}

/* Contains no text of the user except the name, which comes from the system. */
std::vector<std::string> NodePrograms::variables_for(const Run &run) const
{
    const Job *job = state_.job(run.key.job);
    std::string id = std::to_string(run.key.job), node = run.node;
    std::string kind = run.key.kind == Kind::ACQUIRE ? PROLOG : EPILOG;
    std::string user = job ? job->spec.user : "", uid = job ? std::to_string(job->spec.uid) : "";
    std::string partition = job ? job->spec.partition : "";
    std::set<std::string> names = names_in(job ? present(*job) : Blocks());
    std::string nodes = join_words({names.begin(), names.end()}, ",");
    std::vector<std::string> variables = {
        "ELASTIC_NODE_PROGRAM=" + kind,
        "ELASTIC_NODE_NAME=" + node,
        "ELASTIC_CLUSTER=" + config_.cluster,
        "ELASTIC_STEP_NUMBER=" + std::to_string(run.key.step),
        "SLURM_SCRIPT_CONTEXT=" + kind + "_slurmd",
        "SLURMD_NODENAME=" + node,
        "SLURM_CLUSTER_NAME=" + config_.cluster,
        "SLURM_JOBID=" + id};
    for (const char *prefix : {"ELASTIC_JOB_", "SLURM_JOB_"})
        for (const auto &[name, value] : {std::pair<std::string, std::string>{"ID", id},
                                          {"USER", user},
                                          {"UID", uid},
                                          {"PARTITION", partition},
                                          {"NODELIST", nodes}})
            variables.push_back(prefix + name + "=" + value);
    return variables;
}

void NodePrograms::ended(const Run &run, const NodeProgramEnd &end)
{
    report(run, end);
    running_--;
    const Key key = run.key;
    if (auto found = batches_.find(key); found != batches_.end()) {
        found->second.runs--;
        if (found->second.problem.empty() && !end.problem.empty())
            found->second.problem = "the prolog has failed on node " + run.node + ": " +
                end.problem;
    }
    std::erase_if(runs_, [&](const auto &each) { return each.get() == &run; });
    answer_if_done(key);
    /* It waits for all programs of the job. */
    answer_if_done({key.job, key.step, 0, Kind::RELEASE_ALL});
    start_next();
}

void NodePrograms::report(const Run &run, const NodeProgramEnd &end)
{
    const char *kind = run.key.kind == Kind::ACQUIRE ? PROLOG : EPILOG;
    bool is_good = end.problem.empty();
    if (!is_good || !end.output.empty())
        log_line(is_good ? LogLevel::INFO : LogLevel::WARNING,
                 is_good ? "output of a program on a node" : "a program on a node has failed",
                 {{"program", kind},
                  {"job", run.key.job},
                  {"node", run.node.str()},
                  {"problem", end.problem},
                  {"output", end.output}});
    if (!is_good)
        notify_(Drain{kind + step_name(run.key.job, run.key.step), run.node,
                      std::string("the ") + kind + " of job " + std::to_string(run.key.job) +
                          " has failed: " + end.problem});
}

void NodePrograms::answer_if_done(const Key &key)
{
    auto found = batches_.find(key);
    if (found == batches_.end() || found->second.answered || found->second.runs > 0)
        return;
    auto is_of_job = [&](const auto &run) {
        return run->key.job == key.job && run->key.step == key.step;
    };
    if (key.kind == Kind::RELEASE_ALL && std::ranges::any_of(runs_, is_of_job))
        return;
    found->second.answered = true;
    answer(key, found->second);
}

void NodePrograms::answer(const Key &key, const Batch &batch)
{
    if (key.kind != Kind::ACQUIRE)
        notify_(NodesReleased{key.job, key.step, key.request, key.kind == Kind::RELEASE_ALL});
    else if (batch.problem.empty())
        notify_(NodesAcquired{key.job, key.step, key.request, batch.blocks});
    else
        notify_(NodesRefused{key.job, key.step, key.request, batch.problem});
}

}  // namespace elastic::rm
