/*
 * The running steps: starts them through elastic-stepd, finds them again after a restart, forwards
 * the actions of the core to them, and reports their results to the core.
 *
 * Each action may be repeated (core/action.h): the answer is the present state.  A step's folder
 * (STATE/steps/JOB.STEP, see step_spec.h) shows after a restart whether it was started, runs, or
 * has ended; discard() removes it once its end is durable.
 *
 * Owner of the folders and connections; the processes are independent.  Runs on the daemon's loop.
 */

#ifndef ELASTIC_RM_STEPS_H_INCLUDED
#define ELASTIC_RM_STEPS_H_INCLUDED

#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/user_directory.h"
#include "core/action.h"
#include "core/event.h"
#include "core/state.h"
#include "step/launch.h"
#include "step/step_link.h"
#include "step/step_spec.h"
#include "step/stepd_start.h"

namespace elastic::rm {

struct StepsConfig {
    std::string folder;         /* STATE/steps */
    StepdProgram stepd;
    bool as_root = false;       /* steps become their users */
    bool end_unknown = false;   /* ends running steps that the store does not know */
    std::string control_group;  /* parent of the steps' groups; empty: they have none */
    /* soft limit of descriptors for programs whose user sets none; 0: that of elasticd */
    int64_t files_soft = 0;
    FirstGpu first_gpu = {};
};

/* For users: why no job starts at present. */
std::string cannot_start(const std::string &cause);

class Steps {
  public:
    /* False: the event changes nothing, and is not stored. */
    using Notify = std::function<bool(EventContent)>;
    /* as the core knows it; null: it does not exist any more */
    using JobOf = std::function<const Job *(JobId)>;
    /* An answer of a step to query_performance.  True: the core receives it. */
    using Sampled = std::function<bool(JobId, uint32_t step, const PerformanceAnswer &)>;

    Steps(Loop &loop, StepsConfig config, Notify notify, JobOf job_of, Sampled sampled);
    ~Steps();

    /* Makes the folder, and removes folders of steps that the core has not allocated.  Returns
     * an error, or empty.  Steps that are unknown to the state prove that the store has lost its
     * last events: then nothing is removed. */
    std::string open(const State &state);

    /* `make` returns the step's program and script; it is called only if nothing has been
     * started yet. */
    struct Program {
        StepSpec spec;
        User user;                      /* the present user data, with groups */
        std::string script;
        std::string hosts;
        std::string gpus;               /* content of STEP_GPUS_FILE; empty: no such file */
        /* Sets the limits of its control group before the first process.  Returns an error, or
         * empty; may be null. */
        std::function<std::string(const std::string &group)> confine;
    };
    using Make = std::function<Result<Program>(const std::string &folder)>;
    void start(JobId job, uint32_t step, const Make &make);
    /* Whether it was started, by this elasticd or an earlier one. */
    bool exists(JobId job, uint32_t step) { return find_or_adopt(job, step) != nullptr; }
    void resize(const ResizeStep &resize);
    void cancel(const CancelRequest &cancel);
    void refuse(const RefuseSizeRequest &refusal);
    void grant(const GrantSlots &grant);
    /* False: no such step. */
    bool signal(JobId job, uint32_t step, int number, int64_t kill_after_ms = -1);
    /* See StepLink. */
    bool query_performance(JobId job, uint32_t step, int64_t interval_ms);
    /* Sent to elastic-stepd, which enforces it when elasticd does not run; 0: none. */
    void limit(JobId job, uint32_t step, int64_t time_limit_ms);
    /* Its processes and its time limit.  A repeated call changes nothing. */
    void suspend(JobId job, uint32_t step, bool suspended);
    /* Whether its elastic-stepd is connected and supports suspension. */
    bool can_suspend(JobId job, uint32_t step) const;
    void query(JobId job, uint32_t step);
    /* An event of the step is stored, and the core has handled it. */
    void handled(JobId job, uint32_t step);

    /* The core has handled the end of the step. */
    void discard(JobId job, uint32_t step);
    /* The allocation has changed: written for the next mpiexec of a script. */
    void set_hosts(const Job &job);
    /* Of the present mpiexec; empty: unknown. */
    std::string socket(JobId job) const;

  private:
    struct Step;
    using Key = std::pair<JobId, uint32_t>;

    std::string check_unknown(const State &state) const;
    Step *find(JobId job, uint32_t step) const;
    Step *find_or_adopt(JobId job, uint32_t step);
    std::string folder_of(const Key &key) const;
    std::unique_ptr<Step> adopt(const Key &key);
    struct Blame {
        bool node = false;
        std::string own;        /* what elasticd lacks; empty: nothing */
    };
    std::string create(Step &step, const Make &make, Blame &blame);
    static StepStartFailed own_fault(const Step &step, const std::string &error,
                                     const std::string &cause);
    void connect_later(Step &step);
    std::optional<FileOwner> owner_of_files(const Step &step) const;
    std::string write_hosts(const Step &step, const std::string &hosts,
                            const std::string &gpus) const;
    std::string launch_stepd(Step &step);
    bool connect(Step &step);
    void stepd_line(Step &step, const Json &line);
    void stepd_closed(Step &step);
    void stepd_failed(Step &step);
    void find_remaining_processes(Step &step, const StepStartedFile &started);
    void link_to(Step &step, const std::string &socket, uint64_t epoch_offset,
                 Descriptor connected);
    void connected(Step &step, const std::string &socket);
    void order(Step &step, int signal, int64_t kill_after_ms);
    bool notify(Step &step, EventContent content);
    void report(Step &step);
    void end(Step &step, EventContent content);
    void remove_folder(const std::string &folder);
    void end_when_received(Step &step, EventContent content, int64_t until_ms);
    EventContent end_by_lost_host(StepEnded ended, const std::string &host) const;

    Loop &loop_;
    StepsConfig config_;
    Notify notify_;
    JobOf job_of_;
    Sampled sampled_;
    std::map<Key, std::unique_ptr<Step>> steps_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEPS_H_INCLUDED */
