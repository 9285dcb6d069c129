/*
 * Places for processes that programs start one by one, and what becomes of them (SPEC DA1-DA3, DA10, DA12).  A process
 * request waits for a place, holds one, runs there, and is over; who has asked for it is told of each step.  Its place
 * is free again when it is over, whoever has forgotten it meanwhile: none is lost, and none is kept.
 *
 * Pure: no input or output.  The caller says which hosts there are and how many places may be held, takes the events
 * for those who asked and the orders for daemons, and carries these out.  At most PMI_TASKS_MAX requests.
 */

#ifndef ELASTIC_PLACES_H_INCLUDED
#define ELASTIC_PLACES_H_INCLUDED

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "task_call.h"

namespace elastic {

class Places {
  public:
    struct Host {
        std::string name;
        uint64_t agent = 0;     /* its daemon, whatever the number means */
    };
    struct Event {
        uint32_t uid = 0, number = 0;
        pmi_task_stage stage = PMI_TASK_CANCELLED;
        uint32_t code = 0;
        std::string text, info;
    };
    struct Order {
        uint64_t agent = 0;
        task_head head{};
        std::string bytes;
    };

    void set_hosts(std::vector<Host> hosts) { hosts_ = std::move(hosts); }
    /* How many places there may be now, and could ever be. */
    void set_room(size_t now, size_t ever);

    /* "", or why there could never be such places; nothing has changed then. */
    std::string allocate(uint32_t uid, const AllocatePlaces &call);
    /* Whether there is such a place, with nothing started. */
    bool start(uint32_t uid, const StartTask &call);
    void cancel(uint32_t uid, uint32_t number);
    void release(uint32_t uid, uint32_t number);
    /* Whether it runs. */
    bool signal(uint32_t uid, const SignalTask &call);
    /* The process has ended, and so does all that it has asked for. */
    void owner_ended(uint32_t uid);
    /* A daemon tells of one of its processes.  Whether that can be. */
    bool report(uint64_t agent, const TaskReport &report);
    void agent_lost(uint64_t agent);

    std::vector<Event> take_events() { return std::exchange(events_, {}); }
    std::vector<Order> take_orders() { return std::exchange(orders_, {}); }
    size_t held() const { return held_; }
    bool any() const { return !requests_.empty(); }

  private:
    enum class State { WAITING, HELD, STARTED, RUNNING };
    using Key = std::pair<uint32_t, uint32_t>;  /* uid, number */
    struct Request {
        State state = State::WAITING;
        bool wanted = true;     /* somebody still asks */
        std::string wish;       /* host, or MPIX_ANYWHERE */
        std::string info;
        Host host;
        uint64_t since = 0;     /* order of arrival */
    };
    using Table = std::map<Key, Request>;

    std::string why_never(uint32_t uid, const AllocatePlaces &call) const;
    const Host *choose(const std::string &wish) const;
    size_t load(const Host &host) const;
    bool grant(const Key &key, Request &request);
    void grant_waiting();
    void order(const Key &key, const Request &request, task_order kind, const std::string &bytes = "");
    Table::iterator over(Table::iterator it);

    std::vector<Host> hosts_;
    size_t now_ = 0, ever_ = 0;
    size_t held_ = 0;           /* requests that are not WAITING */
    uint64_t arrivals_ = 0;
    uint32_t place_number_ = 0;
    Table requests_;
    std::vector<Event> events_;
    std::vector<Order> orders_;
};

}  // namespace elastic

#endif /* ELASTIC_PLACES_H_INCLUDED */
