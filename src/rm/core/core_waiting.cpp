/*
 * See core_impl.h: jobs that wait not only for their turn, but for a time (--begin) or for other
 * jobs (--after).
 *
 * Starts and ends are recorded (State::turns) and processed after the event: a job that can never
 * start any more is then cancelled, and so are the jobs that wait for it.  The number for one event
 * is bounded; the rest follows with the next event, for which a timer is set at once.
 */

#include "core/core_impl.h"
#include "core/record.h"

namespace elastic::rm {

/* Empty and the open dependencies of the request, or why it is refused. */
std::string Core::Impl::open_dependencies(const JobSpec &spec, std::vector<Dependency> &open,
                                          AnswerCode &code) const
{
    for (const Dependency &each : spec.dependencies) {
        auto other = state.state_of(each);
        code = AnswerCode::UNKNOWN;
        if (!other)
            return std::string("there is no ") + (each.array ? "array " : "job ") +
                std::to_string(each.job) + " to wait for";
        code = AnswerCode::STATE;
        switch (dependency_state(each.kind, *other)) {
            case DependencyState::MET: break;
            case DependencyState::OPEN: open.push_back(each); break;
            case DependencyState::NEVER_MET:
                return "job " + std::to_string(each.job) + " has ended as " +
                    to_string(*other) + ": a job with " + describe(each) +
                    " could never start";
        }
    }
    if (spec.singleton && !add_namesakes(spec, open)) {
        code = AnswerCode::LIMIT;
        return "more than " + std::to_string(DEPENDENCIES_MAX) + " jobs with the name " +
            spec.name + " exist: submit it again when some have ended";
    }
    return "";
}

/* Adds the jobs and arrays of the same user and name that have not ended.  False: there are too
 * many. */
bool Core::Impl::add_namesakes(const JobSpec &spec, std::vector<Dependency> &open) const
{
    std::set<Awaited> known;
    for (const Dependency &each : open) {
        if (each.kind == DependencyKind::AFTER_ANY || each.kind == DependencyKind::AFTER_OK)
            known.insert({each.job, each.array});
    }
    size_t count = 0;
    for (const auto &[id, job] : state.jobs) {
        if (job.spec.uid != spec.uid || is_end(job.state) || job.spec.name != spec.name)
            continue;
        Awaited awaited{job.task ? job.task->array : id, job.task.has_value()};
        if (!known.insert(awaited).second)
            continue;
        if (++count > DEPENDENCIES_MAX)
            return false;
        open.push_back({DependencyKind::AFTER_ANY, awaited.job, awaited.array});
    }
    return true;
}

void Core::Impl::begin_if_due(Job &job)
{
    bool begins = job.deferred && job.spec.begin_ms <= state.now_ms;
    update(job, [&] {
        job.deferred = job.deferred && !begins;
        job.deadline_ms = job.deferred ? job.spec.begin_ms : NEVER;
        if (begins)
            job.eligible_ms = state.now_ms;
    });
    if (begins && is_queued(job))
        record(record::ELIGIBLE, job, Json::object());
}

void Core::Impl::check_dependents()
{
    const auto &dependents = state.indices().dependents;
    int left = SETTLED_MAX;
    for (; !state.turns.empty(); state.turns.pop_front()) {     /* the list may become longer */
        Turn &turn = state.turns.front();
        const Awaited awaited{turn.job, turn.array};
        auto next = dependents.upper_bound({awaited, turn.examined_until});
        while (next != dependents.end() && next->first == awaited) {
            if (left-- == 0)
                return;
            turn.examined_until = next->second;
            decide(state.jobs.change(turn.examined_until), turn);
            next = dependents.upper_bound({awaited, turn.examined_until});
        }
    }
}

/* The dependency on that job is now fulfilled, or can never be. */
void Core::Impl::decide(Job &waiting, const Turn &turn)
{
    std::optional<Dependency> never;
    update(waiting, [&] {
        std::erase_if(waiting.waits_for, [&](const Dependency &each) {
            auto means = each.job == turn.job && each.array == turn.array
                ? dependency_state(each.kind, turn.state)
                : DependencyState::OPEN;
            if (means == DependencyState::NEVER_MET)
                never = each;
            return means == DependencyState::MET;
        });
        if (never)
            waiting.reason = std::string("it could never start: ") +
                (turn.array ? "array " : "job ") + std::to_string(turn.job) +
                " has ended as " + to_string(turn.state) + " (" + describe(*never) + ")";
        else if (waiting.waits_for.empty())
            waiting.eligible_ms = state.now_ms;
    });
    if (never)
        end(waiting, JobEvent::END_CANCELLED);
    else if (is_queued(waiting))
        record(record::ELIGIBLE, waiting, Json::object());
}

}  // namespace elastic::rm
