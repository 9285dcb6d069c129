/*
 * Processes and proxies of a simulated job, for the parts of simulated_job.h.
 */

#ifndef ELASTIC_SIMULATED_PARTS_H_INCLUDED
#define ELASTIC_SIMULATED_PARTS_H_INCLUDED

#include "stepmgr/sim/simulated_job.h"

namespace elastic {

inline constexpr uint32_t STATUS_KILLED = 9, STATUS_EXIT_3 = 3 << 8;

struct SimulatedJob::Actor {
    int group = 0;
    uint32_t rank = 0, uid = 0;
    ProxyId proxy_id;
    std::string host;
    bool alive = true;
    bool joining = false;       /* until its first commit */
    bool prepared = false;      /* joining: has the addresses of all others */
    uint32_t epoch = 0;         /* last committed */
    uint64_t count = 0;         /* its slot on the board */
    uint32_t phase = PMI_ADAPT_PHASE_NONE;
    int work_left = 0;
    int64_t compute_us = 1;
    uint64_t prepared_for = 0;      /* request for which it has prepared */
    bool leaves = false;        /* has committed, waits to be released */
    uint32_t size_requests = 0; /* number of requests that it has made */
    bool modified = false;      /* has called MPIX_Comm_modify, or was created by it */
    int64_t last_write_us = 0;
};

struct SimulatedJob::Proxy {
    ProxyId id;
    std::vector<Actor *> actors;
    bool disconnected = false, over = false, busy = false;
    std::vector<std::function<void()>> held;
    int64_t last_up_us = 0, last_down_us = 0;   /* so that connections keep the order of messages */
    /* the board */
    uint64_t gate = PMI_ADAPT_GATE_OPEN, limit = PMI_ADAPT_GATE_OPEN;
    uint32_t agreed = 0, epoch = 0, released = 0, plan_epoch = 0;
    size_t committed = 0, participants = 0;
    Plan plan;
};

}  // namespace elastic

#endif /* ELASTIC_SIMULATED_PARTS_H_INCLUDED */
