/*
 * Slots for processes that the program starts one by one (slots.h), these processes, and the
 * proxies that run them.  Calls arrive from the proxies of the calling processes.  Orders are sent
 * to the proxies of the slots.  DA1-DA3, DA9, DA10, DA12.
 *
 *   task_manager.cpp    calls, orders and events; requests to a resource manager
 *   relay_proxies.cpp   proxies on hosts without a process of the world
 */

#ifndef ELASTIC_TASK_MANAGER_H_INCLUDED
#define ELASTIC_TASK_MANAGER_H_INCLUDED

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "stepmgr/proto/call_reply.h"
#include "stepmgr/proto/protocol.h"
#include "stepmgr/proto/task_call.h"
#include "stepmgr/state/step_state.h"
#include "stepmgr/tasks/slots.h"

namespace elastic {

class TaskManager {
  public:
    struct Hooks {
        std::function<void(const std::vector<SetReply> &)> reply;
        /* proxies report the end of each process from now on */
        std::function<void()> track_ends;
    };

    TaskManager(StepState &state, const step_config &config, Hooks hooks);

    void on_task_call(const SetCaller &caller, const TaskCall &call);
    bool on_task(const ProxyId &proxy_id, const TaskReport &report);
    /* A process has ended. */
    void tasks_without(uint32_t uid);
    void tasks_without(const ProxyId &proxy_id);
    /* Called after every event: the world may have shrunk, and time has passed. */
    void consider_slots();
    /* Time of the next change that needs no event; -1: none. */
    int64_t next_ms() const;

    /* The proxy of a group without a program is connected. */
    void proxy_up(int group);
    bool is_task_world(int group) const { return task_worlds_.contains(group); }
    void task_world_started(int group, std::span<const step_process> processes);

    /* Number of slots that are held. */
    size_t held() const { return slots_.held(); }
    /* "": the range has capacity for a world of this size and the held slots; else the reason why
     * not. */
    std::string why_no_capacity(int new_size) const;
    /* "": `count` more processes of MPI_Comm_spawn may run; else the reason why not. */
    std::string why_no_spawn(int count) const;

    /* Replies to the resource manager, and to the command `elastic`. */
    std::string answer_grant(const Json &id, const GrantRequest &grant);
    std::string answer_slots(const Json &id, const SlotsRequest &slots);
    std::string answer_tasks(const Json &id) const;
    /* False: no slot request has this number. */
    bool refuse(const RefuseRequest &refuse);

  private:
    struct TaskListener {
        std::optional<SetCaller> caller;        /* the process whose call has no reply yet */
        std::deque<Slots::Event> events;        /* events that were not sent to it yet */
    };
    struct TaskWorld {
        uint32_t uid = 0;       /* of the process that started it */
        std::vector<uint32_t> numbers;  /* of its requests, by rank; empty after the start */
    };
    struct RelayProxy {
        int group = 0;
        bool is_up = false;
        int64_t idle_since_ms = -1;     /* since when no request needs it */
    };

    std::string answer_task(const SetCaller &caller, const AllocateSlots &call);
    std::string answer_task(const SetCaller &caller, const StartTask &call);
    std::string answer_task(const SetCaller &caller, const CancelSlot &call);
    std::string answer_task(const SetCaller &caller, const ReleaseSlot &call);
    std::string answer_task(const SetCaller &caller, const SignalTask &call);
    std::string answer_task(const SetCaller &caller, const AwaitTaskEvents &call);
    std::string answer_task(const SetCaller &caller, const StartWorld &call);
    void update_slot_capacity();
    void carry_out_tasks();
    void send_order(const Slots::Order &order);
    void log_slots(const Slots::Notice &notice);
    static std::string write_task_events(std::deque<Slots::Event> &events);

    void add_relay_hosts(std::vector<Slots::Host> &hosts) const;
    void update_relay_proxies();
    bool is_needed(const std::string &host, const RelayProxy &post,
                   const Slots::HostCounts &used) const;
    bool has_member_on(const std::string &host) const;
    void start_relay_proxy(const std::string &host);
    void relay_proxy_failed(const ProxyId &proxy_id);
    void end_relay_group(int group);
    int64_t relay_proxies_next_ms() const;

    StepState &state_;
    Hooks hooks_;
    Slots slots_;
    std::map<std::string, RelayProxy> relay_proxies_;   /* by host */
    std::set<std::string> unreachable_; /* hosts on which no proxy could be started */
    std::vector<std::string> launch_hosts_;
    std::map<uint32_t, TaskListener> task_listeners_;   /* by uid */
    std::map<int, TaskWorld> task_worlds_;      /* by group; contains ended ones too */
};

}  // namespace elastic

#endif /* ELASTIC_TASK_MANAGER_H_INCLUDED */
