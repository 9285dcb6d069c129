/*
 * How the job can change: its processes initialise MPI, and each one reports how.  If one of the
 * launch has called MPI_Init, the job is rigid; if all have called MPI_Init_adapt, it is adaptive.
 * A job that changes through process sets (psets/pset_changes.h) gets no adaptation windows.  SPEC
 * SW1, SW3.
 */

#ifndef ELASTIC_JOB_MODE_H_INCLUDED
#define ELASTIC_JOB_MODE_H_INCLUDED

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "stepmgr/proto/payload.h"
#include "stepmgr/state/adaptation_control.h"
#include "stepmgr/state/size_request_control.h"
#include "stepmgr/state/step_state.h"

namespace elastic {

class JobMode {
  public:
    /* has_begun: the process with this uid has begun to use MPI. */
    JobMode(StepState &state, AdaptationControl &control, SizeRequestControl &requests,
            std::function<void(uint32_t)> has_begun)
        : state_(state), control_(control), requests_(requests), has_begun_(std::move(has_begun))
    {
    }

    /* The launch has started this number of processes. */
    void launched(size_t processes) { unreported_ = processes; }
    void on_init(Process &process, const InitReport &report);
    /* Reported at the end only: until then the job may still switch to changes through process
     * sets. */
    const std::string &rigid_because() const { return rigid_because_; }

  private:
    void on_first_init(Process &process, const InitReport &report);
    void on_modifies(Process &process, const InitReport &report);
    void refuse_windows(const Process &process);
    void become_rigid(const Process &process);
    void become_adaptive();

    StepState &state_;
    AdaptationControl &control_;
    SizeRequestControl &requests_;
    std::function<void(uint32_t)> has_begun_;
    size_t unreported_ = 0;     /* processes of the launch that have not initialised */
    std::string rigid_because_;
};

}  // namespace elastic

#endif /* ELASTIC_JOB_MODE_H_INCLUDED */
