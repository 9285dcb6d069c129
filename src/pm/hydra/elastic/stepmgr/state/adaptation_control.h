/*
 * The interface by which components start an adaptation and send it events.  Components do not
 * depend on the class that carries it out; Step passes the object to them.
 */

#ifndef ELASTIC_ADAPTATION_CONTROL_H_INCLUDED
#define ELASTIC_ADAPTATION_CONTROL_H_INCLUDED

#include <string>

#include "stepmgr/state/adaptation.h"

namespace elastic {

class AdaptationControl {
  public:
    /* Makes a new adaptation; none is under way.  Called by SizeRequests only. */
    virtual const Adaptation &accept(const SizeRequest &request, const Change &change) = 0;
    /* Its first step, when the job can adapt.  The adaptation may have ended on return. */
    virtual void begin() = 0;
    /* An event of the adaptation under way; `why` is the reason of its end.  The adaptation may
     * have ended on return. */
    virtual void raise(AdaptEvent event, const std::string &why = "") = 0;

    /* For the component that carries it out. launch: starts the joining processes. finish: the
     * adaptation has ended; its state tells how. */
    virtual void launch() = 0;
    virtual void finish() = 0;

  protected:
    ~AdaptationControl() = default;
};

}  // namespace elastic

#endif /* ELASTIC_ADAPTATION_CONTROL_H_INCLUDED */
