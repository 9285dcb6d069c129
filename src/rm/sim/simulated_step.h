/* One step's processes in a simulated cluster: their exact state. */

#ifndef ELASTIC_RM_SIM_SIMULATED_STEP_H_INCLUDED
#define ELASTIC_RM_SIM_SIMULATED_STEP_H_INCLUDED

#include "sim/simulated_cluster.h"

namespace elastic::rm {

struct SimulatedCluster::Step {
    JobId job = 0;
    uint32_t number = 0;
    bool ended = false;
    MixJob program;
    StepMode mode = StepMode::UNKNOWN;
    Blocks world;
    uint64_t epoch = 0;
    int64_t epoch_began_ms = 0;
    double work_left_ms = 0;
    int64_t worked_until_ms = 0;
    bool in_window = false;
    uint64_t life = 0; /* number of changes of speed: plans of older ones are invalid */
    std::optional<ResizeStep> request;  /* in progress */
    bool joined = false, ready = false;
    bool agreed = false;                /* too late to withdraw it */
    uint64_t last_request = 0;
    std::map<uint64_t, Blocks> leaving; /* by epoch, still running */
    std::optional<SizeRequest> size_request;    /* open */
    uint64_t slot_requests = 0;
    std::optional<EventContent> size_request_reports; /* the open one */
    StepSlots slots;                    /* only the last report is valid */
    std::vector<EventContent> reports;     /* slots beside the world, and requests for them */
};

}  // all valid reports

#endif /* ELASTIC_RM_SIM_SIMULATED_STEP_H_INCLUDED */
