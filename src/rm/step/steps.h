/*
 * The steps that run: starts them through elastic-stepd, finds them again after a restart, passes
 * on what the core wants of them, and tells the core what became of them.
 *
 * Each action may come again (core/action.h): the answer is what is the case.  A step's folder
 * (STATE/steps/JOB.STEP, see step_spec.h) tells after a restart whether it was started, runs, or
 * has ended; it is removed by forget(), once its end is durable.
 *
 * Owner of the folders and connections; the processes own themselves.  On the daemon's loop.
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

namespace elastic::rm {

struct StepsConfig {
    std::string folder;         /* STATE/steps */
    std::string stepd;          /* program */
    bool as_root = false;       /* steps become their users */
    bool end_unknown = false;   /* what runs and is newer than the store */
    std::string control_group;  /* above those of the steps; empty: they have none */
    /* descriptors that a program may open, if its user does not say; 0: as many as elasticd */
    int64_t files_soft = 0;
};

class Steps {
  public:
    /* False: it changes nothing, and is not stored. */
    using Tell = std::function<bool(EventContent)>;
    /* as the core knows it; null: not any more */
    using JobOf = std::function<const Job *(JobId)>;
    /* A step's answer to ask_performance.  True: the core is to hear of it. */
    using Sampled = std::function<bool(JobId, uint32_t step, const PerformanceAnswer &)>;

    Steps(Loop &loop, StepsConfig config, Tell tell, JobOf job_of, Sampled sampled);
    ~Steps();

    /* Makes the folder, removes what belongs to no step that the core has placed.  Empty, or why it
     * cannot.  Steps that the state has never heard of prove that the store has lost its last
     * events: then nothing is touched. */
    std::string open(const State &state);

    /* `make` gives the step's program and script; it is called only if nothing has been started
     * yet. */
    struct Program {
        StepSpec spec;
        User user;                      /* as it is now, with its groups */
        std::string script;
        std::string hosts;
        /* What its control group may use, before anything is in it.  Empty, or what is wrong; may
         * be null. */
        std::function<std::string(const std::string &group)> confine;
    };
    using Make = std::function<Result<Program>(const std::string &folder)>;
    void start(JobId job, uint32_t step, const Make &make);
    void resize(const ResizeStep &resize);
    void cancel(const CancelRequest &cancel);
    void refuse(const RefuseWish &refusal);
    void grant(const GrantSlots &grant);
    /* False: no such step. */
    bool signal(JobId job, uint32_t step, int number, int64_t kill_after_ms = -1);
    /* See StepLink. */
    bool ask_performance(JobId job, uint32_t step, int64_t interval_ms);
    /* For elastic-stepd, which keeps it when we are not there; 0: none. */
    void limit(JobId job, uint32_t step, int64_t time_limit_ms);
    void query(JobId job, uint32_t step);
    /* An event of the step that was told is stored, and the core has handled it. */
    void handled(JobId job, uint32_t step);

    /* The core knows the end of the step. */
    void forget(JobId job, uint32_t step);
    /* The allocation has changed: for the next mpiexec of a script. */
    void set_hosts(const Job &job);
    /* Of the mpiexec that runs now; empty: none known. */
    std::string socket(JobId job) const;

  private:
    struct Step;
    using Key = std::pair<JobId, uint32_t>;

    std::string check_unknown(const State &state) const;
    Step *find(JobId job, uint32_t step) const;
    Step *find_or_adopt(JobId job, uint32_t step);
    std::string folder_of(const Key &key) const;
    std::unique_ptr<Step> adopt(const Key &key);
    std::string create(Step &step, const Make &make, bool &node_fault);
    void connect_later(Step &step);
    std::optional<FileOwner> owner_of_files(const Step &step) const;
    std::string write_hosts(const Step &step, const std::string &hosts) const;
    std::string spawn(Step &step);
    bool connect(Step &step);
    void stepd_line(Step &step, const Json &line);
    void stepd_gone(Step &step);
    void lost(Step &step);
    void look_for_rest(Step &step, const StepStartedFile &started);
    void link_to(Step &step, const std::string &socket, uint64_t epoch_offset,
                 Descriptor connected);
    void connected(Step &step, const std::string &socket);
    void order(Step &step, int signal, int64_t kill_after_ms);
    bool tell(Step &step, EventContent content);
    void say(Step &step);
    void end(Step &step, EventContent content);
    void end_when_heard(Step &step, EventContent content, int64_t until_ms);

    Loop &loop_;
    StepsConfig config_;
    Tell tell_;
    JobOf job_of_;
    Sampled sampled_;
    std::map<Key, std::unique_ptr<Step>> steps_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEPS_H_INCLUDED */
