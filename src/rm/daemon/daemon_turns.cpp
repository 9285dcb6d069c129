/* See daemon.h: turns of the loop, in which events are stored and then take effect. */

#include <algorithm>
#include <cmath>

#include "base/crash_note.h"
#include "base/log.h"
#include "base/processor_time.h"
#include "core/redundant.h"
#include "daemon/daemon.h"

namespace elastic::rm {

namespace {

constexpr double LONG_TURN_MS = 40;             /* of processor time */

}  // namespace

/* False: the report changes nothing, and is not stored. */
bool Daemon::report_step(EventContent content)
{
    if (is_redundant(state(), content)) {
        metrics_.count_redundant();
        return false;
    }
    journal_.notify(std::move(content));
    return true;
}

/* A client may wait for it. */
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

/* During one turn no other work is served. */
void Daemon::turned(double processor_seconds)
{
    metrics_.time_turn(processor_seconds);
    if (processor_seconds * 1000 >= LONG_TURN_MS)
        log_line(LogLevel::WARNING, "a turn of elasticd's loop took long",
                 {{"processor_ms", std::lround(processor_seconds * 1000)}});
}

bool Daemon::handle(const Event &event, Journal::Entry &entry, double until_s)
{
    EventInHand note(event.seq);
    if (!in_hand_) {
        JobId last_job = state().last_job;
        metrics_.count_event(name_of(event.content));
        std::visit([this](const auto &content) { before(content); }, event.content);
        in_hand_ = InHand{core_.handle(event), 0, last_job};
    }
    while (in_hand_->next < in_hand_->actions.size()) {
        if (processor_seconds() > until_s)
            return false;
        Action action = std::move(in_hand_->actions[in_hand_->next++]);
        journal_.derive(event, action, in_hand_->last_job);
        if (auto answered = std::get_if<Answer>(&action))
            answer(*answered, entry, in_hand_->last_job);
        else
            std::visit([this](const auto &each) { perform(each); }, action);
    }
    in_hand_.reset();
    if (entry.done) {           /* impossible: each request is answered */
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
    return true;
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

/* From the configuration. */
void Daemon::set_gpus(const std::string &name)
{
    const Node *node = state().node(name);
    if (int gpus = gpu_counts_.of(name); node && node->gpus_next != gpus)
        journal_.notify(NodeGpusSet{name, gpus});
}

/* Nodes that are parts of this machine share its GPUs, in sequence. */
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

}  // namespace elastic::rm
