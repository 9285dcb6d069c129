/*
 * Whether the job changes through process sets.  The switch to this mode happens at most once, and
 * is final.  SW1, SW3.
 */

#ifndef ELASTIC_PSET_MODE_H_INCLUDED
#define ELASTIC_PSET_MODE_H_INCLUDED

#include <string>

#include "stepmgr/psets/process_sets.h"
#include "stepmgr/state/adaptation_control.h"
#include "stepmgr/state/size_request_control.h"

namespace elastic {

class PsetMode {
  public:
    PsetMode(StepState &state, ProcessSets &psets, AdaptationControl &control,
             SizeRequestControl &requests)
        : state_(state), psets_(psets), control_(control), requests_(requests)
    {
    }

    /* "": the job can change through process sets; else the error for a call. */
    std::string refusal() const;
    /* The same; if "", the job is in this mode from now on. */
    std::string ensure();

  private:
    void enter();
    void refuse_windows();

    StepState &state_;
    ProcessSets &psets_;
    AdaptationControl &control_;
    SizeRequestControl &requests_;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_MODE_H_INCLUDED */
