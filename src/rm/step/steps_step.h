/*
 * One step of steps.h, shared by its files: steps_start.cpp starts it, steps.cpp does the rest.
 */

#ifndef ELASTIC_RM_STEPS_STEP_H_INCLUDED
#define ELASTIC_RM_STEPS_STEP_H_INCLUDED

#include <memory>
#include <optional>
#include <string>

#include "step/steps.h"

namespace elastic::rm {

struct Steps::Step {
    Key key;
    std::string folder;
    uint32_t uid = 0, gid = 0;
    bool started = false;
    bool suspends = false;              /* as in StepdLine */
    std::unique_ptr<LineConnection> stepd;
    std::unique_ptr<StepLink> link;
    std::string connecting; /* socket to which elastic-stepd connects; then the link uses it */
    uint64_t epoch_offset = 0;
    std::optional<ResizeStep> held_resize;      /* arrived while connecting; for the link */
    std::optional<CancelRequest> held_cancel;
    std::optional<EventContent> end;    /* StepStartFailed, StepEnded or StepLost */
    int untold = 0;                     /* events that the core has not handled yet */
    Loop::TimerId rest_timer = 0;
};

/* Removes the folder of a step, with its content; a failure is logged.  False: descriptors or other
 * resources are missing at present. */
bool remove_step_folder(const std::string &folder);

}  // namespace elastic::rm

#endif
