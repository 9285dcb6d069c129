/* See core.h and core_impl.h. */

#include "core/core.h"

#include <cassert>

#include "base/change.h"
#include "core/core_impl.h"
#include "core/placement.h"
#include "core/record.h"

namespace elastic::rm {

Core::Core() : impl_(std::make_unique<Impl>()) {}
Core::~Core() = default;
Core::Core(Core &&) noexcept = default;
Core &Core::operator=(Core &&) noexcept = default;

Actions Core::handle(const Event &event)
{
    return impl_->handle(event);
}

Actions Core::pending() const
{
    return impl_->pending();
}

const State &Core::state() const
{
    return impl_->state;
}

std::string Core::refusal(const JobSpec &spec, AnswerCode &code) const
{
    JobSpec wanted = spec;
    impl_->complete(wanted);
    return impl_->refusal(wanted, code);
}

void Core::keep_no_history()
{
    impl_->keeps_history = false;
}

void Core::decide_by(const Policy &policy)
{
    impl_->other_policy = &policy;
}

Json Core::snapshot() const
{
    return impl_->snapshot();
}

Json Core::begin_snapshot()
{
    return impl_->begin_snapshot();
}

Json Core::next_part(size_t objects_max)
{
    return impl_->next_part(objects_max);
}

Result<Core> Core::restore(const Json &snapshot, const std::vector<Json> &parts)
{
    Core core;
    std::string error = core.impl_->restore(snapshot, parts);
    if (!error.empty())
        return Error{error};
    return core;
}

Actions Core::Impl::handle(const Event &event)
{
    if (event.seq <= state.seq)
        return {};
    state.seq = event.seq;
    state.now_ms = std::max(state.now_ms, event.time_ms);
    remove_finished();
    if (std::holds_alternative<Timer>(event.content))
        state.timer_ms = NEVER;
    due();
    std::visit([this](const auto &content) { on(content); }, event.content);
    check_dependents();
    enter_again();
    admit_tasks();              /* tasks may have become ready, or are no longer ready */
    change_gpus();
    schedule();
    delete_removed_nodes();
    update_timer();
    return std::exchange(out_, {});
}

/* Repeats until the policy decides nothing more: a decision may permit another one (a
 * reservation may have another time now).  The loop ends, because each decision removes a
 * waiting or running job from consideration. */
void Core::Impl::schedule()
{
    let_in();
    give_slots();
    int64_t again_ms = grant_modifies();
    if (is_decided()) {
        state.policy_at_ms = earlier(state.policy_at_ms, again_ms);
        return;
    }
    Decisions decisions;
    do {
        state.clear_changes();
        decisions = rules().decide(state);
        if (state.starts_pause())
            decisions.starts.clear();
        for (Start &each : decisions.starts) {
            Job &job = state.jobs.change(each.job);
            if (!has_other_nodes(job) && limit_start(job, each))
                start(job, each);
        }
        for (Change &each : decisions.changes) {
            Job &job = state.jobs.change(each.job);
            if (limit_growth(job, each))
                adapt(job, each, false);
        }
        admit_tasks();          /* for tasks whose nodes have been reserved meanwhile */
    } while (!decisions.starts.empty() || !decisions.changes.empty() || refuse_impatient());
    state.policy_at_ms = earlier(decisions.recheck_ms, again_ms);
    if (state.starts_pause())
        state.policy_at_ms = earlier(state.policy_at_ms, state.start_pause.until_ms);
    last_dependence_ = decisions.depends_on;
}

/* Whether another call of the policy would decide nothing, because no input of its last decision
 * has changed. */
bool Core::Impl::is_decided() const
{
    const Changes &changes = state.changes();
    if (!last_dependence_ || changes.capacity || changes.slot_requests ||
        (last_dependence_->sizes && changes.sizes))
        return false;
    if (state.policy_at_ms != NEVER && state.policy_at_ms <= state.now_ms)
        return false;
    if (last_dependence_->until_ms != NEVER && last_dependence_->until_ms <= state.now_ms)
        return false;
    bool queue_is_same =
        changes.queue == QUEUE_END || changes.queue > last_dependence_->queue_until;
    bool limits_are_same =
        changes.limit_ms == LIMITS_END || changes.limit_ms > last_dependence_->limits_until_ms;
    return queue_is_same && limits_are_same &&
           (last_dependence_->sharers < 0 || last_dependence_->sharers == waiting_sharers(state));
}

/* ---- answers and records ------------------------------------------------------------ */

void Core::Impl::answer(const std::string &request, JobId job)
{
    out_.push_back(Answer{request, AnswerCode::OK, "", job});
}

void Core::Impl::refuse(const std::string &request, AnswerCode code, const std::string &message)
{
    out_.push_back(Answer{request, code, message, 0});
}

void Core::Impl::record(const char *event, JobId job, const std::string &node, Json data)
{
    state.records++;
    if (keeps_history)
        out_.push_back(
            Record{state.records, state.now_ms, event, job, node, std::move(data)});
}

void Core::Impl::unexpected(const std::string &what, JobId job)
{
    state.unexpected++;
    record(record::UNEXPECTED, job, "", {{"what", what}});
}

Job *Core::Impl::job_of_request(const std::string &request, JobId id)
{
    if (state.job(id))
        return &state.jobs.change(id);
    refuse(request, AnswerCode::UNKNOWN, "there is no job " + std::to_string(id));
    return nullptr;
}

/* ---- requests of people ------------------------------------------------------------ */

namespace {

/* Limits the delays of users with much use, as far as that use still counts. */
void limit_delays(State &state)
{
    for (auto &entry : state.uses) {
        Use &use = entry.second;
        int64_t delay_ms = std::min(use.delay_ms, state.config.fair_share_ms);
        if (delay_ms != use.delay_ms)
            state.requeue(use.uid, [&] { use.delay_ms = delay_ms; });
    }
    if (state.config.fair_share_ms > 0)
        return;
    state.uses.clear();
    state.uses_at_ms = NEVER;
}

/* The jobs whose positions by priority, times of next offers or stored gains depend on it. */
void reindex(State &state, const Config &before)
{
    bool extra_slots = before.priority_weight_ms != state.config.priority_weight_ms;
    bool pauses = before.offer_pause_ms != state.config.offer_pause_ms;
    bool worth = before.efficiency_ppm != state.config.efficiency_ppm ||
        before.efficiency_idle_ppm != state.config.efficiency_idle_ppm ||
        before.default_time_limit_ms != state.config.default_time_limit_ms;
    auto index_each = [&](const std::set<JobId> &jobs) {
        for (JobId id : jobs)
            state.index(state.jobs.at(id));
    };
    if (extra_slots)
        index_each(state.indices().prioritised);
    if (pauses || worth)
        index_each(state.indices().allocated);
}

}  // namespace

/* Adds the values of the configuration to the specification of a new job. */
void Core::Impl::complete(JobSpec &spec) const
{
    spec.whole_nodes = spec.whole_nodes || state.config.whole_nodes;
    state.enter(spec);
}

/* Running jobs keep their nodes. */
void Core::Impl::change_partitions()
{
    state.set_partitions();
    std::vector<JobId> jobs;
    for (const auto &[id, job] : state.jobs) {
        if (!is_end(job.state))
            jobs.push_back(id);
    }
    for (JobId id : jobs) {
        Job &job = state.jobs.change(id);
        update(job, [&] { state.enter(job, state.now_ms); });
    }
    state.to_enter = 0;
    state.reservations_at_ms = state.reservations_change_ms(state.now_ms);
}

void Core::Impl::on(const Configure &event)
{
    if (std::string wrong = check(event.config); !wrong.empty())
        return unexpected("configuration: " + wrong);
    drop_all_refusals();
    if (event.config == state.config && state.seq > 1)
        return;
    Config before = std::exchange(state.config, event.config);
    eased_ = true;
    limit_delays(state);
    count_group_times();        /* from now on */
    reindex(state, before);
    if (before.partitions != state.config.partitions ||
        before.reservations != state.config.reservations)
        change_partitions();
    state.changed();
    record(record::CONFIGURED, 0, "", {{"config", write(event.config)}});
}

void Core::Impl::on(const Submit &event)
{
    if (event.request.empty() || event.request.size() > REQUEST_MAX_BYTES)
        return refuse(event.request, AnswerCode::FIELD,
                      "a request's name must have 1 to " + std::to_string(REQUEST_MAX_BYTES) +
                          " bytes");
    auto known = state.requests.find(event.request);
    if (known != state.requests.end())
        return answer(event.request, known->second);
    AnswerCode code;
    JobSpec spec = event.spec;
    complete(spec);
    set_program_sizes(spec, "");
    if (std::string why = refusal(spec, code); !why.empty())
        return refuse(event.request, code, why);
    std::vector<Dependency> open;
    if (std::string why = open_dependencies(spec, open, code); !why.empty())
        return refuse(event.request, code, why);
    state.requests[event.request] = state.last_job + 1;
    JobId first = state.last_job + 1;
    if (spec.array.empty())
        add(event.request, std::make_shared<const JobSpec>(std::move(spec)), open, std::nullopt);
    else
        add_tasks(event.request, std::move(spec), open);
    answer(event.request, first);
}

void Core::Impl::add(const std::string &request, const std::shared_ptr<const JobSpec> &spec,
                     const std::vector<Dependency> &open, std::optional<ArrayTask> task)
{
    Job &job = state.jobs.add(++state.last_job);
    job.request = request;
    job.spec = *spec;
    job.held = spec->held;
    job.task = task;
    job.submitted_ms = state.now_ms;
    job.waits_for = open;
    job.deferred = spec->begin_ms > state.now_ms;
    job.deadline_ms = job.deferred ? spec->begin_ms : NEVER;
    state.enter(job, state.now_ms);
    state.index(job);
    state.records++;
    if (!keeps_history)
        return;
    Record submitted{state.records, state.now_ms, record::SUBMITTED, job.id, ""};
    if (task)
        submitted.data = {{"array", task->array}, {"index", task->index}};
    submitted.spec = spec;
    out_.push_back(std::move(submitted));
}

namespace {

/* "cancelled by alice while it waited: wrong input; the step could not be started: ..." */
std::string cancel_reason(const Job &job, const Cancel &event)
{
    bool waits = job.state == JobState::PENDING;
    return "cancelled" + (event.by.empty() ? "" : " by " + event.by) +
        (waits ? " while it waited" : "") + (event.reason.empty() ? "" : ": " + event.reason) +
        (waits && !job.reason.empty() ? "; " + job.reason : "");
}

}  // namespace

void Core::Impl::on(const Cancel &event)
{
    for (Job *job : jobs_of_request(
             event, [](const Job &each) { return !is_end(each.state); }, "it has ended already"))
        cancel(*job, event);
}

void Core::Impl::on(const Requeue &event)
{
    auto runs = [](const Job &job) {
        return is_allocated(job.state) && job.state != JobState::COMPLETING;
    };
    for (Job *job : jobs_of_request(event, runs, "only a job that starts or runs can be requeued"))
        stop(*job, JobState::PENDING, "requeued" + (event.by.empty() ? "" : " by " + event.by));
}

void Core::Impl::cancel(Job &job, const Cancel &event)
{
    if (job.state == JobState::PENDING) {
        update(job, [&] { job.reason = cancel_reason(job, event); });
        end(job, JobEvent::END_CANCELLED);
    } else if (job.state != JobState::COMPLETING) {
        stop(job, JobState::CANCELLED, cancel_reason(job, event));
    } else if (job.verdict == JobState::PENDING) {
        job.verdict = JobState::CANCELLED;
        job.reason = cancel_reason(job, event);
    }
}

void Core::Impl::on(const Hold &event)
{
    auto waits = [](const Job &job) { return job.state == JobState::PENDING; };
    for (Job *job : jobs_of_request(event, waits, "only a waiting job can be held")) {
        if (job->held && (job->held_by_administrator || !event.administrator))
            continue;
        update(*job, [&] {
            job->held = true;
            job->held_by_administrator = event.administrator;
        });
        record(record::HELD, *job,
               event.administrator ? Json{{"by", "administrator"}} : Json::object());
    }
}

void Core::Impl::on(const Release &event)
{
    auto is_held = [](const Job &job) { return job.state == JobState::PENDING && job.held; };
    auto may = [&](const Job &job) {
        return is_held(job) && (event.administrator || !job.held_by_administrator);
    };
    const Job *one = event.tasks.empty() ? state.job(event.job) : nullptr;
    const char *why = one && is_held(*one)
        ? "it is held by an administrator; only an administrator can release it"
        : "it is not on hold";
    for (Job *job : jobs_of_request(event, may, why)) {
        update(*job, [&] { job->held = job->held_by_administrator = false; });
        record(record::RELEASED, *job, Json::object());
    }
}

void Core::Impl::on(const Resize &event)
{
    Job *job = job_of_request(event.request, event.job);
    if (!job)
        return;
    std::string name = "job " + std::to_string(job->id);
    if (job->state == JobState::ADAPTING)
        return refuse(event.request, AnswerCode::BUSY,
                      name + " is changing its size already; try again when it has ended");
    if (job->state != JobState::RUNNING)
        return refuse(event.request, AnswerCode::STATE,
                      name + " is " + to_string(job->state) +
                          "; only a running job can be resized");
    if (is_modified(*job))
        return refuse(event.request, AnswerCode::BUSY,
                      name + "'s program waits for " + std::to_string(job->size_request->size) +
                          " processes; try again when it has them");
    if (job->spec.elasticity != Elasticity::MALLEABLE)
        return refuse(event.request, AnswerCode::RIGID,
                      name + " was not submitted as malleable: its size cannot change");
    if (job->mode != StepMode::ADAPTIVE)
        return refuse(event.request, AnswerCode::RIGID,
                      job->mode == StepMode::RIGID
                          ? name + "'s program calls MPI_Init, not MPI_Init_adapt: its size cannot "
                                   "change"
                          : name + "'s processes have not initialised MPI yet; try again later");
    int old_size = job->size();
    if (event.size < 1 || event.size == old_size ||
        size_at_most(job->spec, event.size) != event.size)
        return refuse(event.request, AnswerCode::FIELD,
                      event.size == old_size
                          ? name + " has that size already"
                          : name + " cannot have that size: it " + describe_sizes(job->spec));
    if (int held = count_slots(*job);
        event.size > old_size && event.size + held > most_processes(job->spec))
        return refuse(event.request, AnswerCode::STATE,
                      name + " has " + std::to_string(held) +
                          " slots for processes that its program starts: with them it has at "
                          "most " + std::to_string(most_processes(job->spec)));
    Change change{job->id, event.size, {}, {},
                  event.reason.empty() ? "requested by the user" : event.reason};
    change.by = event.by;
    change.why = [size = event.size](const State &, const Job &) -> Json {
        return {{"rule", "user"}, {"size", size}};
    };
    if (event.size < old_size) {
        change.leave = choose_leaving(state, job->blocks, old_size - event.size);
    } else {
        Space space(state);
        Blocks own = present(*job);
        if (!space.fits(job->spec, event.size - old_size, own))
            return refuse(event.request, AnswerCode::CAPACITY,
                          "there is capacity for " +
                              std::to_string(space.capacity(job->spec, own)) +
                              " more processes of " + name + " now");
        change.joining = space.allocate(job->spec, event.size - old_size, own);
        int64_t more = int64_t{event.size - old_size} * job->spec.cores_per_process,
                left = cores_left(job->spec);
        if (more > left)
            return refuse(event.request, AnswerCode::CAPACITY,
                          "its user may have " + std::to_string(left) + " more cores, by the "
                          "limits of users and groups");
    }
    answer(event.request, job->id);
    if (job->size_request)
        refuse_size_request(*job,
                            "its user has requested " + std::to_string(event.size) + " processes");
    job->wished_size = event.size;
    adapt(*job, change, true);
}

void Core::Impl::on(const Drain &event)
{
    auto found = state.nodes.find(event.node);
    if (found == state.nodes.end())
        return refuse(event.request, AnswerCode::UNKNOWN, "there is no node " + event.node);
    Node &node = found->second;
    answer(event.request, 0);
    if (node.draining)
        return;
    update(node, [&] {
        node.draining = true;
        node.reason = event.reason;
    });
    record(record::NODE_DRAINING, 0, node.name, {{"reason", event.reason}});
}

void Core::Impl::on(const Resume &event)
{
    auto found = state.nodes.find(event.node);
    if (found == state.nodes.end())
        return refuse(event.request, AnswerCode::UNKNOWN, "there is no node " + event.node);
    Node &node = found->second;
    if (!node.draining)
        return refuse(
            event.request, AnswerCode::STATE,
            "node " + node.name + " is not draining" +
                (node.state() == NodeState::UP
                     ? ""
                     : "; elasticd checks it now, and uses it again when the check succeeds"));
    answer(event.request, 0);
    update(node, [&] {
        node.draining = false;
        node.reason = node.up ? "" : node.reason;
    });
    record(record::NODE_RESUMED, 0, node.name, Json::object());
}

}  // namespace elastic::rm
