/* See job_mode.h. */

#include "stepmgr/adapt/job_mode.h"

namespace elastic {

void JobMode::on_init(Process &process, const InitReport &report)
{
    if (report.mode == REPORT_MODE_MODIFY)
        on_modifies(process, report);
    else if (process.init != InitMode::UNKNOWN)
        state_.unexpected("second initialisation of " + state_.describe(process));
    else
        on_first_init(process, report);
}

void JobMode::on_first_init(Process &process, const InitReport &report)
{
    const bool adapts = report.mode == REPORT_MODE_ADAPTIVE;
    process.init = adapts ? InitMode::ADAPTIVE : InitMode::RIGID;
    has_begun_(process.uid);
    process.takes_part = adapts;
    process.bc = report.bc;
    process.pid_namespace = report.pid_namespace;
    if (process.group == 0) {
        unreported_--;
        if (state_.mode == InitMode::SETS)
            refuse_windows(process);
        else if (!adapts)
            become_rigid(process);
        else if (unreported_ == 0 && state_.mode == InitMode::UNKNOWN)
            become_adaptive();
    } else if (state_.mode == InitMode::SETS) {
        refuse_windows(process);
    } else if (state_.is_joining(process) && !adapts &&
               before_agreement(state_.adaptation->state)) {
        control_.raise(AdaptEvent::JOINING_FAILED,
                       state_.describe(process) + " called MPI_Init, not MPI_Init_adapt");
    }
}

/* A member has sent its address, or a process that MPIX_Comm_modify created has initialised. */
void JobMode::on_modifies(Process &process, const InitReport &report)
{
    if (process.takes_part)
        return state_.unexpected("second address of " + state_.describe(process));
    process.takes_part = true;
    process.bc = report.bc;
    process.pid_namespace = report.pid_namespace;
    if (process.init != InitMode::UNKNOWN)
        return;
    process.init = state_.mode == InitMode::ADAPTIVE ? InitMode::ADAPTIVE : InitMode::RIGID;
    if (process.group == 0) {
        unreported_--;   /* the launch was rigid before the step manager was made */
        become_rigid(process);
    }
}

/* SW1; MPI_Init alone changes nothing (SW3). */
void JobMode::refuse_windows(const Process &process)
{
    if (process.init != InitMode::ADAPTIVE)
        return;
    std::string what = state_.describe(process) +
                       " called MPI_Init_adapt in a job that changes through process sets";
    if (state_.is_joining(process))
        control_.raise(AdaptEvent::JOINING_FAILED, what);
    else
        state_.notify_user(what + ": no adaptation is offered to it, call MPI_Init instead");
}

void JobMode::become_rigid(const Process &process)
{
    if (state_.mode == InitMode::RIGID)
        return;
    state_.mode = InitMode::RIGID;
    state_.log("rigid", {{"rank", process.world_rank}});
    std::string why = "rank " + std::to_string(process.world_rank) +
                      " called MPI_Init, not MPI_Init_adapt, so that the job is rigid";
    rigid_because_ = why;
    if (state_.adaptation)
        control_.raise(AdaptEvent::WITHDRAW, why);
}

void JobMode::become_adaptive()
{
    state_.mode = InitMode::ADAPTIVE;
    state_.epoch_began_ms = state_.now_ms;
    state_.log("adaptive", {{"size", state_.world.size()}});
    requests_.adaptive();
    if (state_.adaptation && !state_.ending)
        control_.begin();
}

}  // namespace elastic
