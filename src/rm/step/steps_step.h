/*
 * One step of steps.h, for the files of that: steps_start.cpp starts it, steps.cpp does the rest.
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
    bool suspends = false;              /* as StepdLine */
    std::unique_ptr<LineConnection> stepd;
    std::unique_ptr<StepLink> link;
    std::string connecting;             /* to this socket, by elastic-stepd; then the link's */
    uint64_t epoch_offset = 0;
    std::optional<ResizeStep> held_resize;      /* came while connecting; for the link */
    std::optional<CancelRequest> held_cancel;
    std::optional<EventContent> end;    /* StepStartFailed, StepEnded or StepLost */
    int untold = 0;                     /* events that the core has not handled yet */
    Loop::TimerId rest_timer = 0;
};

/* Of a step, with all that is in it; a failure is logged. */
void remove_step_folder(const std::string &folder);

}  // namespace elastic::rm

#endif
