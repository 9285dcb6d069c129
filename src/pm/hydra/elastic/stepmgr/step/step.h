/*
 * The manager of one job step.  Input: events and time; output: effects. stepmgr.h has the C
 * interface and its contract; a single event loop calls it.  SPEC six steps, P3, P4, P7, P8, C7,
 * E3, E4.
 *
 * Step passes events to components, which share the state of the step (state/step_state.h) and do
 * not call each other:
 *   adapt/world_resize.h            the adaptation under way, and adaptation windows
 *   adapt/job_mode.h                initialisation: can the job adapt?
 *   requests/size_requests.h        requests for another size, of all origins (resize_requests.h:
 *                                   clients)
 *   psets/process_sets.h            calls on process sets
 *   psets/pset_changes.h            changes of the world through process sets (pset_operations.h:
 *                                   requests for them)
 *   monitor/performance_sampler.h   time of the processes in computation and in MPI
 *   monitor/straggler_reporter.h    processes and proxies that an adaptation waits for (P8)
 *   monitor/unreceived_messages.h   messages that were not received in an adaptation window
 *   monitor/state_output.h          --sets-log
 *   tasks/task_manager.h            slots, and processes that the program starts one by one
 *
 * Invariants: at most one size request is open, and each has exactly one end; nothing is sent to a
 * disconnected proxy.
 */

#ifndef ELASTIC_STEP_H_INCLUDED
#define ELASTIC_STEP_H_INCLUDED

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "stepmgr/adapt/job_mode.h"
#include "stepmgr/adapt/world_resize.h"
#include "stepmgr/monitor/performance_sampler.h"
#include "stepmgr/monitor/state_output.h"
#include "stepmgr/monitor/straggler_reporter.h"
#include "stepmgr/monitor/unreceived_messages.h"
#include "stepmgr/proto/protocol.h"
#include "stepmgr/psets/process_sets.h"
#include "stepmgr/psets/pset_changes.h"
#include "stepmgr/psets/pset_operations.h"
#include "stepmgr/requests/resize_requests.h"
#include "stepmgr/requests/size_requests.h"
#include "stepmgr/state/step_state.h"
#include "stepmgr/tasks/task_manager.h"

namespace elastic {

class Step final {
  public:
    static Result<std::unique_ptr<Step>> create(const step_config &config,
                                                const step_effects &effects);

    void id(const std::string &step_id);
    void group(int64_t now_ms, int group, std::span<const step_process> processes);
    void report(int64_t now_ms, const ProxyId &proxy_id, step_report report, uint32_t epoch,
                Bytes payload);
    void proxy_up(int64_t now_ms, int group);
    void proxy_disconnected(int64_t now_ms, const ProxyId &proxy_id);
    void time(int64_t now_ms);
    void terminate(int64_t now_ms, int signum);
    void spawned(int64_t now_ms, const std::map<std::string, int> &hosts);
    std::string why_no_spawn(int count) const { return tasks_.why_no_spawn(count); }
    void unauthenticated(int64_t now_ms, unsigned count);
    void host_lost(int64_t now_ms, const std::string &host);
    void client_line(int64_t now_ms, int client, std::string_view line);
    void client_disconnected(int client);

    /* Adds a set of the launch.  False: its name is in use, or there is no capacity. */
    bool add_set(const std::string &name,
                 const SetMembers &members) { return psets_.table().add(name, members); }

    bool has_sets() const { return psets_.table().serial() > 0; }

    int local_pre(const std::string &host) const { return state_.world.members_on(host); }
    bool owns_failure(int group) const;
    int world_rank(int group, int rank) const;
    std::string summary() const { return state_.statistics.summary(state_.world.size()); }

  private:
    Step(const step_config &config, const step_effects &effects, SizeSource source);

    void launch_started(std::span<const step_process> processes);
    void on_exited(Process &process, uint32_t wait_status);
    void process_over(Process &process, bool by_itself, const std::string &cause);
    void job_over();
    void after_event();
    void update_wake();
    std::string answer(int client, const ClientRequest &request);

    StepState state_;
    WorldResize resize_;
    JobMode mode_;
    ProcessSets psets_;
    PsetMode pset_mode_;
    PsetDepartures pset_departures_;
    PsetChanges pset_changes_;
    PsetOperations pset_operations_;
    SizeRequests requests_;
    ResizeRequests resizes_;
    UnreceivedMessages unreceived_;
    StateOutput state_output_;
    PerformanceSampler sampler_;
    StragglerReporter stragglers_;
    TaskManager tasks_;
    int64_t wake_ms_ = -1;
};

}  // namespace elastic

#endif /* ELASTIC_STEP_H_INCLUDED */
