/* See daemon.h: actions of the core: records, mail, starts and signals of steps, timers. */

#include <signal.h>

#include <algorithm>

#include "base/log.h"
#include "core/record.h"
#include "daemon/daemon.h"

namespace elastic::rm {

namespace {

constexpr int64_t STEP_FILES_BYTES = 64 << 10;  /* of a step's folder, beside its script */

void log_record(const Record &record)
{
    static const char *const NOTABLE[] = {
        record::SUBMITTED,    record::UPDATED,   record::STARTED,       record::COMMITTED,
        record::SUSPENDED,    record::RESUMED,
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

/* Sends one if its user wants it. */
void Daemon::mail(const Record &record)
{
    bool could_not_start = record.event == record::REQUEUED &&
        record.data["reason"] == state().start_pause.reason;    /* perhaps every minute */
    bool may_be = record.event == record::STARTED || record.event == record::ENDED ||
        (record.event == record::REQUEUED && !could_not_start);
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

/* Uses the user's present groups. */
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

void Daemon::start_step(const StartStep &start, const User &user)
{
    auto row = journal_.launch(start.job);
    if (!row) {
        log_line(LogLevel::ERROR, row.error(), {{"job", start.job}});
        return cannot_start_now(start, "its store cannot be read");
    }
    size_t script_bytes = row.value() ? row.value()->script.size() : 0;
    if (!journal_.make_space(STEP_FILES_BYTES + static_cast<int64_t>(script_bytes))) {
        log_line(LogLevel::WARNING, "a step waits for space on the disk of the store",
                 {{"job", start.job}, {"step", start.step}});
        return cannot_start_now(start, "the disk of its store is full");
    }
    steps_->start(start.job, start.step, [&](const std::string &folder) {
        return make_program(start, row.value(), folder, user);
    });
}

/* Neither the job nor its node is the cause.  It may run already: the order may be a repetition. */
void Daemon::cannot_start_now(const StartStep &start, const std::string &cause)
{
    if (!steps_->exists(start.job, start.step))
        journal_.notify(
            StepStartFailed{start.job, start.step, cannot_start(cause), false, true});
}

Result<Steps::Program> Daemon::make_program(
    const StartStep &start, const std::optional<LaunchRow> &row, const std::string &folder,
    const User &user)
{
    const Job *job = state().job(start.job);
    auto launch = row ? parse<Launch>(row->body)
                      : Result<Launch>(Error{"the store has no program for this job"});
    if (!launch || !job)
        return Error{launch ? "the job does not exist any more" : launch.error()};
    std::string error = backend_->prepare_step(*job, folder);
    if (!error.empty())
        return Error{error};
    LaunchSetup setup{
        settings_.mpiexec, backend_->launcher_options(), backend_->launcher_environment(), folder,
        settings_.socket,  settings_.kill_grace_ms,
        settings_.beside_stepd(SLURM_COMMANDS_FOLDER),
        [this](const NodeName &node) { return first_gpu(node); },
        settings_.backend == "local", settings_.spawn_beyond_slots};
    auto confine_step = [this, id = start.job](const std::string &group) -> std::string {
        const Job *allocated = confinement_ ? state().job(id) : nullptr;
        return allocated ? confinement_->apply(id, booked_cores(state(), *allocated), group) : "";
    };
    return Steps::Program{make_step(launch.value(), *job, start, setup), user, row->script,
                          format_host_lines(start.blocks),
                          changes_gpus(*job) ? format_gpus(*job, setup.first_gpu) : "",
                          confine_step};
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

}  // namespace elastic::rm
