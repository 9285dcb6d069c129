/*
 * Slots for processes that programs start one by one, and the life of these processes (SPEC
 * DA1-DA3, DA10, DA12).  A process request waits for a slot, holds one, runs there, and ends; its
 * owner is notified of each step.  At its end its slot becomes free, even if the owner has released
 * the request meanwhile.  So no slot is lost.
 *
 * Without an allocator the caller sets the number of slots.  With one, process requests that find
 * no slot become slot requests to the allocator.  Its grants are numbered, so that it may send one
 * twice.  Slots that are idle for LINGER_MS are returned: a farm that requests again as soon as a
 * run has ended keeps its slots.  Each slot request has exactly one end: it is granted when no
 * process request waits for it any more, else it is refused or withdrawn.
 *
 *   slots.cpp         requests, and slots for them; the allocator
 *   slots_tasks.cpp   processes on slots, and ends of requests
 *
 * Pure: no input or output.  The caller sets hosts, capacity and time.  It takes events for the
 * owners, orders for proxies and notices for the allocator, and delivers them.  At most
 * PMI_TASKS_MAX requests.
 */

#ifndef ELASTIC_SLOTS_H_INCLUDED
#define ELASTIC_SLOTS_H_INCLUDED

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stepmgr/proto/task_call.h"
#include "stepmgr/common/size_request.h"

namespace elastic {

class Slots {
  public:
    struct Host {
        std::string name;
        uint64_t proxy_id = 0;     /* of its proxy; an opaque number */
        bool has_proxy = true; /* else one is started there when a slot is assigned */
    };
    struct Event {
        uint32_t uid = 0, number = 0;
        pmi_task_stage stage = PMI_TASK_CANCELLED;
        uint32_t code = 0;
        std::string text, info;
    };
    struct Order {
        uint64_t proxy_id = 0;
        task_head head{};
        std::string bytes;

        bool operator==(const Order &other) const
        {
            return proxy_id == other.proxy_id &&
                   std::memcmp(&head, &other.head, sizeof head) == 0 && bytes == other.bytes;
        }
    };

    /* Slots that are requested together, on host `host` (MPIX_ANYWHERE: any). */
    struct SlotRequest {
        uint64_t number = 0;    /* counted by the step */
        uint32_t count = 0;     /* slots that are still missing */
        bool hard = false;
        bool alone = false;     /* each slot on a host without other slots of the job */
        std::string host, words;
    };
    /* A request whose process has been started. */
    struct Task {
        uint32_t uid = 0, number = 0;   /* identify the request */
        std::string host, program;
        bool runs = false;      /* its proxy has reported that it runs */
    };
    using HostCounts = std::map<std::string, int>;
    /* A slot request has been made (end: nothing) or has ended.  Without slot request: slots are
     * returned. */
    struct Notice {
        std::optional<SlotRequest> slot_request;
        std::optional<SizeRequestEnd> end;
        std::string reason;
        HostCounts released;
    };

    static constexpr int64_t LINGER_MS = 1000;

    void set_hosts(std::vector<Host> hosts);
    /* Adds the hosts that are not known yet, without proxies. */
    void add_hosts(const std::vector<std::string> &names);
    /* Number of slots that are available now, and greatest number that may become available. */
    void set_capacity(size_t now, size_t ever);
    /* From now on slots come from an allocator, whose slot requests get these numbers. */
    void use_allocator(std::function<uint64_t()> next_number)
    {
        next_slot_request_ = std::move(next_number);
    }
    /* Greatest number of slots that the allocator can grant. */
    void set_most(size_t most) { ever_ = most; }

    /* Sets the time, which never decreases.  Does all work that is due. */
    void time(int64_t now_ms);
    /* Time of the next due work; -1: none. */
    int64_t next_ms() const;

    /* "", or the error in the texts of these requests. */
    static std::string why_malformed(const AllocateSlots &call);
    /* "", or the reason why such slots are impossible; then nothing has changed. */
    std::string allocate(uint32_t uid, const AllocateSlots &call);
    /* False: the request holds no slot, or its process has been started. */
    bool start(uint32_t uid, const StartTask &call);
    /* Starts several requests together.  Returns their hosts.  Nothing: not each of them holds an
     * unused slot and is named once. */
    std::optional<std::vector<std::string>> start_world(
        uint32_t uid, const std::vector<StartWorld::Member> &members);
    /* These requests could not be started. */
    void world_failed(uint32_t uid, const std::vector<uint32_t> &numbers, const std::string &why);
    /* One of them runs on this proxy, which reports when it has executed the program. */
    void runs_on(uint32_t uid, uint32_t number, uint64_t proxy_id);
    void cancel(uint32_t uid, uint32_t number);
    void release(uint32_t uid, uint32_t number);
    /* False: the process does not run. */
    bool signal(uint32_t uid, const SignalTask &call);
    /* The owner has ended.  Ends all of its requests. */
    void owner_ended(uint32_t uid);
    /* A report of a proxy on one of its processes.  False: the report does not fit. */
    bool report(uint64_t proxy_id, const TaskReport &report);
    void proxy_failed(uint64_t proxy_id);

    /* A proxy on a host that had none.  Sends it the pending orders. */
    void proxy_came(const std::string &host, uint64_t proxy_id);
    /* The proxy could not be started. */
    void proxy_failed(const std::string &host, const std::string &why);
    bool awaits_proxy(const std::string &host) const { return awaiting_.contains(host); }
    /* Whether a process runs on this proxy. */
    bool any_at(uint64_t proxy_id) const;

    /* A grant of the allocator.  Grants are numbered 1, 2, 3, ...; a repeated one has no effect.
     * False: an earlier one is missing.  A soft slot request gets no further slots for now. */
    bool grant(uint64_t number, uint64_t slot_request, const std::vector<std::string> &hosts);
    /* False: the slot request is not open. */
    bool refuse(uint64_t slot_request, const std::string &reason);
    uint64_t granted() const { return granted_; }
    const std::map<uint64_t, SlotRequest> &slot_requests() const { return slot_requests_; }
    /* Granted slots that have not been returned, by host. */
    HostCounts given() const;
    /* Whether a request uses this host alone. */
    bool has_alone(const std::string &host) const;
    std::vector<Task> tasks() const;
    size_t had() const { return held_ + idle_.size(); }

    std::vector<Notice> take_notices() { return std::exchange(notices_, {}); }
    std::vector<Event> take_events() { return std::exchange(events_, {}); }
    std::vector<Order> take_orders() { return std::exchange(orders_, {}); }
    size_t held() const { return held_; }
    bool any() const { return !requests_.empty(); }

  private:
    enum class State { WAITING, HELD, STARTED, RUNNING };
    using Key = std::pair<uint32_t, uint32_t>;  /* uid, number */
    struct Request {
        State state = State::WAITING;
        bool wanted = true;     /* the owner has not released it */
        std::string wanted_host;        /* or MPIX_ANYWHERE */
        std::string info;
        bool hard = false, alone = false;       /* alone: on its host */
        Host host;
        uint64_t since = 0;     /* order of arrival */
        int64_t until_ms = -1;  /* the request waits until this time; -1: for ever */
        uint64_t slot_request = 0;      /* the slot request for which it waits; 0: none */
        bool in_world = false;  /* it starts together with others */
        std::string program;    /* started program, for people */
        /* orders for its proxy, sent after its report that the process has started */
        std::vector<Order> late;
    };
    struct Load {
        size_t slots = 0;       /* slots of a host that requests hold */
        size_t alone = 0;       /* those of requests that use the host alone */
    };
    struct Idle {
        std::string host;
        int64_t since_ms = 0;
    };
    using Table = std::map<Key, Request>;

    std::string why_never(uint32_t uid, const AllocateSlots &call,
                          const std::vector<Request> &requests) const;
    std::string why_never_beside(const std::vector<Request> &requests) const;
    static bool is_at(const Request &request, uint64_t proxy_id);
    const Host *find_host(const std::string &name) const;
    const Host *choose(const std::string &wanted, bool alone = false) const;
    bool suits(const Host &host, const std::string &wanted, bool alone) const;
    Load load(const Host &host) const;
    bool assign_slot(const Key &key, Request &request);
    bool take_idle(Request &request);
    std::vector<Table::iterator> waiting();
    void give_waiting();
    void request_size(uint32_t uid, const AllocateSlots &call);
    void one_less(uint64_t slot_request, SizeRequestEnd end, const std::string &reason);
    void give_up(Table::iterator it, SizeRequestEnd end, const std::string &reason);
    void give_back_idle(const std::function<bool(const Idle &)> &which);
    void order(const Key &key, Request &request, task_order kind, const std::string &bytes = "");
    Table::iterator over(Table::iterator it);
    Table::iterator drop(Table::iterator it, SizeRequestEnd end, const std::string &reason);

    std::vector<Host> hosts_;
    std::unordered_map<std::string, size_t> host_at_;   /* by name: index in hosts_ */
    /* by name of the host; contains failed hosts too */
    std::unordered_map<std::string, Load> loads_;
    int64_t now_ms_ = 0;
    size_t now_ = 0, ever_ = 0;
    std::function<uint64_t()> next_slot_request_;       /* empty: there is no allocator */
    uint64_t granted_ = 0;
    std::map<uint64_t, SlotRequest> slot_requests_;     /* open ones */
    std::vector<Idle> idle_;    /* granted slots without a request */
    std::vector<Notice> notices_;
    size_t held_ = 0;           /* requests that are not WAITING */
    uint64_t arrivals_ = 0;
    uint32_t slot_number_ = 0;
    Table requests_;
    std::vector<Event> events_;
    std::vector<Order> orders_;
    /* by host: orders that wait for a proxy */
    std::map<std::string, std::vector<Order>> awaiting_;
};

}  // namespace elastic

#endif /* ELASTIC_SLOTS_H_INCLUDED */
