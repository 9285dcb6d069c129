/*
 * The core's own parts.  handle() performs, for each event: all actions that are due by its time,
 * the event itself, the policy's decisions, the timer.  Owns the state; called by Core alone.
 *
 *   core.cpp           the order of handling, requests of people
 *   core_update.cpp    changes of the specification of a known job
 *   core_refusal.cpp   reasons to refuse a job
 *   core_waiting.cpp   waiting for a time, or for other jobs
 *   core_users.cpp     limits of users and groups, and their use of the machine
 *   core_reservations.cpp       nodes that are reserved for a time
 *   core_nodes.cpp     nodes that go up and down, acquired and released nodes
 *   core_jobs.cpp      the states of a job and their changes
 *   core_suspend.cpp   jobs whose processes are stopped for a time
 *   core_steps.cpp     reports of steps
 *   core_size_requests.cpp      size requests of programs
 *   core_modify.cpp    sizes that programs set themselves
 *   core_slots.cpp     slots beside their worlds
 *   core_names.cpp     names under which their processes are found
 *   core_time.cpp      overdue answers: repetitions, limits; all awaited answers
 *   snapshot.cpp       the state as JSON
 */

#ifndef ELASTIC_RM_CORE_CORE_IMPL_H_INCLUDED
#define ELASTIC_RM_CORE_CORE_IMPL_H_INCLUDED

#include <concepts>

#include "core/core.h"
#include "core/gpus.h"
#include "core/job_table.h"
#include "core/policy/policies.h"

namespace elastic::rm {

class Core::Impl {
  public:
    Actions handle(const Event &event);
    Actions pending() const;
    Json snapshot() const;
    Json begin_snapshot();
    Json next_part(size_t objects_max);
    std::string restore(const Json &snapshot, const std::vector<Json> &parts);

    State state;
    bool keeps_history = true;
    const Policy *other_policy = nullptr;       /* Core::decide_by */
    std::string refusal(const JobSpec &spec, AnswerCode &code) const;
    void complete(JobSpec &spec) const;

  private:
    static constexpr size_t REQUEST_MAX_BYTES = 64;
    static constexpr int SIGNAL_TERMINATE = 15, SIGNAL_KILL = 9;
    static constexpr int BACKOFF_DOUBLINGS_MAX = 6;
    static constexpr int64_t START_PAUSE_MAX_MS = 300000;

    /* core.cpp */
    void on(const Configure &event);
    void on(const Submit &event);
    void on(const Cancel &event);
    void on(const Requeue &event);
    void on(const Hold &event);
    void on(const Release &event);
    void on(const Resize &event);
    void on(const Update &event);
    void on(const Drain &event);
    void on(const Resume &event);
    void on(const Timer &) {}
    void change_partitions();
    void answer(const std::string &request, JobId job);
    void refuse(const std::string &request, AnswerCode code, const std::string &message);
    Job *job_of_request(const std::string &request, JobId id);
    void add(const std::string &request, const std::shared_ptr<const JobSpec> &spec,
             const std::vector<Dependency> &open, std::optional<ArrayTask> task);
    void cancel(Job &job, const Cancel &event);
    void record(const char *event, JobId job, const std::string &node, Json data);
    void record(const char *event, const Job &job, Json data)
    {
        record(event, job.id, "", std::move(data));
    }
    /* For frequent records: `data` is called only if there is a history; the record contains
     * these blocks. */
    template <std::invocable Data>
    void record(const char *event, const Job &job, Data data, const char *list = nullptr,
                const Blocks &blocks = {})
    {
        state.records++;
        if (keeps_history)
            out_.push_back(Record{state.records, state.now_ms, event, job.id, "", data(), list,
                                  blocks, nullptr});
    }
    void unexpected(const std::string &what, JobId job = 0);
    const Policy &rules() const
    {
        return other_policy ? *other_policy : policy(state.config.policy);
    }
    void schedule();
    bool is_decided() const;

    /* core_update.cpp */
    std::string refusal(const Job &job, const JobSpec &size_request, const Update &event,
                        AnswerCode &code) const;
    void change_limit(Job &job);

    /* core_refusal.cpp */
    std::string capacity_refusal(const JobSpec &spec) const;
    std::string small_nodes_refusal(const JobSpec &spec) const;
    std::string listed_refusal(const JobSpec &spec, int size, int capacity) const;
    std::string partition_refusal(const JobSpec &spec) const;
    std::string partition_limit_refusal(const JobSpec &spec) const;
    std::string core_time_refusal(const JobSpec &spec) const;
    std::string too_many_refusal(const JobSpec &spec) const;

    /* core_reservations.cpp */
    static constexpr int ENTERED_MAX = 1000;    /* in one event */
    void on(const SetReservation &event);
    void on(const DeleteReservation &event);
    bool is_of_configuration(const std::string &request, const NodeReservation &reservation);
    void set_reservations(std::vector<NodeReservation> reservations);
    void enter_again();
    bool has_other_nodes(Job &job);
    std::string reservation_refusal(const JobSpec &spec) const;

    /* core_names.cpp */
    void on(const PublishName &event);
    void on(const WithdrawName &event);
    void remove_names(Job &job);

    /* core_array.cpp */
    void add_tasks(const std::string &request, JobSpec spec, const std::vector<Dependency> &open);
    std::vector<Job *> jobs_of_request(const JobRequest &event,
                                       const std::function<bool(const Job &)> &fits,
                                       const std::string &why_not);
    void count_start(Job &job);
    void count_end(Job &job);
    void count_discarded(const Job &job);
    void admit_tasks();

    /* core_waiting.cpp */
    static constexpr int SETTLED_MAX = 1000;    /* in one event */
    std::string open_dependencies(const JobSpec &spec, std::vector<Dependency> &open,
                                  AnswerCode &code) const;
    bool add_namesakes(const JobSpec &spec, std::vector<Dependency> &open) const;
    void begin_if_due(Job &job);
    void check_dependents();
    void decide(Job &waiting, const Turn &turn);

    /* core_users.cpp */
    bool limit_start(const Job &job, Start &start);
    bool limit_growth(Job &job, Change &change);
    bool waits_for_cores(uint32_t uid) const;
    int64_t cores_left(const JobSpec &spec) const;
    int64_t cores_max(const JobSpec &spec, std::string &whose) const;
    void let_in();
    void count_use();
    void count_group_times();
    int64_t budgets_change_ms() const;
    void add_use(const Job &job);
    void set_delays();
    int64_t use_interval_ms() const;

    /* core_gpus.cpp */
    void on(const NodeGpusSet &event);
    std::vector<NodeGpus> choose_gpus(const JobSpec &spec, const Blocks &blocks) const;
    ProcessGpus choose_process_gpus(const JobSpec &spec, const Blocks &blocks) const;
    void change_gpus(Node &node);
    void change_gpus();

    /* core_nodes.cpp */
    void on(const NodeUp &event);
    void on(const NodeSuspect &event);
    void on(const NodeDown &event);
    void on(const NodeRemoved &event);
    void on(const NodesAcquired &event);
    void on(const NodesRefused &event);
    void on(const NodesReleased &event);
    void on(const NodesLost &event);
    void on(const NodesWanted &event);
    void down(Node &node, const std::string &reason);
    void count_as_given(const Node &node);
    void delete_removed_nodes();
    void note_start_fault(const std::string &node, const std::string &reason);
    void pause_starts(Job &job, const std::string &reason);
    bool can_have(const Job &job, const Blocks &instead_of, const Blocks &blocks) const;

    /* core_jobs.cpp */
    /* Every change of a job or node uses these, which maintain the indices.  rebook: also
     * updates the booking of the job. */
    template <class Change> void update(Job &job, Change change)
    {
        change();
        state.index(job);
        eased_ = eased_ || !is_allocated(job.state);
    }
    template <class Change> void rebook(Job &job, Change change)
    {
        int64_t cores = state.of_user(job.spec.uid).cores;
        update(job, change);
        if (job.spec.gpus_per_process > 0)
            collect_gpus(job);
        state.book(job);
        eased_ = eased_ || state.of_user(job.spec.uid).cores < cores;
    }
    template <class Change> void update(Node &node, Change change)
    {
        state.unindex(node);
        change();
        state.index(node);
    }
    static void move(Job &job, JobEvent event);
    void start(Job &job, const Start &decided);
    void started(Job &job);
    void stop(Job &job, JobState verdict, const std::string &reason);
    void over(Job &job, JobState verdict, const std::string &reason);
    void finish(Job &job);
    void wait_again(Job &job);
    /* core_refused_starts.cpp */
    void start_refused(Job &job, const NodesRefused &event);
    int64_t start_pause_ms(const Job &job) const;
    void drop_refusals(Job &job);
    void drop_all_refusals();
    void retry_refused(uint32_t uid);
    void end(Job &job, JobEvent event);
    void remove_finished();
    void adapt(Job &job, const Change &change, bool by_user);
    void commit(Job &job, const StepCommitted &event);
    void stop_believing(Job &job, const std::string &reason);
    void come_to_nothing(Job &job, bool failed, const std::string &reason);
    void adaptation_over(Job &job, const char *outcome, const std::string &reason);
    void unsend_resize(const Job &job);
    void withdraw(Job &job);
    static StartStep start_step(const Job &job);
    static AcquireNodes acquire(const Job &job);
    static ResizeStep resize(const Job &job);
    static ReleaseNodes release_all(const Job &job);
    static ReleaseNodes release(const Job &job, const Departure &departure);

    /* core_suspend.cpp */
    void on(const SuspendJob &event);
    void on(const ResumeJob &event);
    void end_suspension(Job &job);
    int64_t limit_at_ms(const Job &job) const;
    static SuspendStep suspend_step(const Job &job);

    /* core_departures.cpp */
    static void joining_departs(Job &job, bool releasing);
    bool keep_joining(Job &job);
    void wait_for_departures(Job &job);
    void freed(Job &job, uint64_t request);
    void left(Job &job, const StepLeft &event);

    /* core_steps.cpp */
    void on(const StepStarted &event);
    void on(const StepAdaptive &event);
    void on(const StepRigid &event);
    void on(const StepSizes &event);
    void on(const StepSizeRequest &event);
    void on(const StepSizeRequestEnded &event);
    void on(const StepSlots &event);
    void on(const StepStartFailed &event);
    void on(const StepAccepted &event);
    void on(const StepReady &event);
    void on(const StepCommitted &event);
    void on(const StepRefused &event);
    void on(const StepWithdrawn &event);
    void on(const StepFailed &event);
    void on(const StepFreed &event);
    void on(const StepLeft &event);
    void on(const StepSetChange &event);
    void on(const StepSampled &event);
    void on(const StepBroken &event);
    void on(const StepEnded &event);
    void on(const StepLost &event);
    /* The job, if the event concerns its present step and that step has not ended; else nullptr. */
    Job *find_step(const char *event, JobId id, uint32_t step);
    template <class StepEvent> Job *job_of_step(const StepEvent &event)
    {
        return find_step(event.NAME, event.job, event.step);
    }
    /* For a report of the running step.  It implies that the step has started, even without a
     * report of the start. */
    template <class StepEvent> Job *job_of_running(const StepEvent &event)
    {
        Job *job = job_of_step(event);
        if (!job || job->acquiring || job->releasing)
            return nullptr;
        if (job->state == JobState::STARTING)
            started(*job);
        return job;
    }
    template <class StepEvent> Job *job_of_adaptation(const StepEvent &event);
    void set_mode(Job *job, StepMode mode);

    /* core_size_requests.cpp */
    void check_size_request(Job &job);
    int size_for(const Job &job, std::string &why) const;
    std::string why_not_now(const Job &job) const;
    bool refuse_impatient();
    void refuse_size_request(Job &job, const std::string &why);
    void end_size_request(Job &job, const std::string &result, const std::string &reason);
    void remove_size_request(Job &job, const std::string &reason);

    /* core_modify.cpp */
    int own_size_for(const Job &job, std::string &why) const;
    int64_t grant_modifies();
    void grant_modify(Job &job);

    /* core_slots.cpp */
    void take_slots(Job &job, const StepSlots &event);
    void take_spawned(Job &job, const std::vector<NodeProcesses> &spawned);
    void count_beside(Job &job);
    void end_slot_request(const Job &job, uint64_t number, const std::string &result,
                       const std::string &reason);
    void release_left(Job &job, const Blocks &before);
    std::string why_never(const Job &job, const SlotRequest &size_request) const;
    void check_slots(Job &job);
    void refuse_slots(Job &job, uint64_t number, const std::string &why);
    void give_slots();
    void remove_slots(Job &job, const std::string &reason);
    void remove_slot_requests(Job &job, const std::string &reason);
    static GrantSlots grant_slots(const Job &job, const SlotGrant &grant);

    /* core_time.cpp */
    void due();
    void overdue(Job &job);
    void overdue_start(Job &job);
    void overdue_adaptation(Job &job);
    void count_on_it_no_more(Job &job);
    void overdue_end(Job &job);
    int wait_longer(Job &job);
    void query_departures(const Job &job);
    void query_steps();
    void pending_of_running(const Job &job, Actions &actions) const;
    void update_timer();

    /* snapshot.cpp */
    Json head() const;
    std::vector<Node> nodes_left_;      /* of the snapshot that is taken in parts */

    bool eased_ = false;        /* a user has less than before, or requests something else */
    Actions out_;
    /* The input of the last decision, if that was to do nothing; empty: decide again. */
    std::optional<Dependence> last_dependence_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_CORE_IMPL_H_INCLUDED */
