/*
 * The adaptation under way, from its request to its end.  In an adaptation window all processes of
 * the world take part (adaptation_table.h); a change through process sets carries out its own
 * actions, which Step passes on.  SPEC six steps, P3, P4, P7, C7, E3, E4.
 *
 *   world_resize.cpp     actions of the rows of adaptation_table.h; the end
 *   resize_reports.cpp   events of processes and proxies, and time
 *
 * Invariants: at most one adaptation is under way (there is no queue); each accepted request gets
 * exactly one of the events committed, withdrawn, failed; epochs of committed adaptations are 1, 2,
 * 3, ...
 */

#ifndef ELASTIC_WORLD_RESIZE_H_INCLUDED
#define ELASTIC_WORLD_RESIZE_H_INCLUDED

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepmgr/state/adaptation_control.h"
#include "stepmgr/state/step_state.h"

namespace elastic {

class WorldResize final : public AdaptationControl {
  public:
    struct Hooks {
        /* Only for a change through process sets. */
        std::function<void()> begin_pset_change;
        std::function<void(AdaptAction action)> act_on_psets;
        std::function<void()> end_pset_change;
        /* The processes have agreed: the new world becomes a process set. */
        std::function<void()> add_coming_world;
        /* schedule_straggler_report: report stragglers from now on. query_counts: query the proxies
         * whether the program is over. notify_unfinished: the program is over, and the adaptation
         * did not happen. notify_unreceived: report messages that were not received. */
        std::function<void()> schedule_straggler_report, query_counts, notify_unfinished,
            notify_unreceived;
        std::function<void(const Process &process)> process_left;
        std::function<void(const Adaptation &adaptation)> ended;
        std::function<void()> job_over; /* all processes have ended */
    };

    WorldResize(StepState &state, const step_config &config, Hooks hooks)
        : state_(state), margin_(config.margin), prepare_ms_(config.prepare_ms),
          hooks_(std::move(hooks))
    {
    }

    const Adaptation &accept(const SizeRequest &request, const Change &change) override;
    void begin() override;
    void raise(AdaptEvent event, const std::string &why = "") override;
    void launch() override;
    void finish() override;

    /* The joining processes have been started. */
    void joining_started(int group, std::span<const step_process> processes);
    /* Reports of processes and proxies. */
    void on_ready(Process &process, uint32_t epoch, const ReadyReport &report);
    void on_unable(const Process &process, uint32_t epoch, const std::string &why);
    void on_prepared(const ProxyId &proxy_id, uint32_t epoch);
    void on_greeted(const ProxyId &proxy_id, uint32_t epoch);
    void on_frozen(const ProxyId &proxy_id, uint32_t epoch, uint64_t ceiling);
    void on_committed(const ProxyId &proxy_id, uint32_t epoch);
    void process_over(const Process &process, bool by_itself, const std::string &cause);
    void proxy_disconnected(const ProxyId &proxy_id);

    /* mpiexec got this signal. */
    void terminate(int signum);
    void check_deadline();
    void check_freeze();

  private:
    /* Processes of one epoch that left and have not ended yet (C7). */
    struct LeftProcesses {
        uint64_t request = 0;
        int remaining = 0;
        std::vector<uint32_t> uids;
        std::map<std::string, int> hosts;
    };

    void perform(AdaptAction action);
    void send_plan();
    void send_plan_to_world();
    void freeze_in(int64_t ms);
    void send_freeze();
    void send_target();
    void release();
    void track_left(const std::vector<Process *> &left);
    void thaw();
    void remove_joining();
    void abort_step();
    void send(const std::set<ProxyId> &proxy_ids, step_command command, std::string_view payload);

    bool is_freezing(uint32_t epoch) const;
    void prepared_in_advance(const ProxyId &proxy_id);
    bool may_come_late(const ProxyId &proxy_id, uint32_t epoch) const;
    void joining_over(const Process &process, bool by_itself, const std::string &cause);
    void member_over(const Process &process, bool by_itself, const std::string &cause);
    void left_over(const Process &process);

    StepState &state_;
    uint64_t margin_;
    int64_t prepare_ms_;
    Hooks hooks_;
    std::string termination_;   /* the signal to mpiexec as a text, for reasons */
    uint32_t planned_epoch_ = 0;        /* epoch of the last plan that was sent to the world */
    uint64_t next_request_ = 1;
    /* a proxy replies to each freeze, also to a withdrawn one */
    std::map<ProxyId, int> freezes_pending_;
    std::map<uint32_t, LeftProcesses> left_;
};

}  // namespace elastic

#endif /* ELASTIC_WORLD_RESIZE_H_INCLUDED */
