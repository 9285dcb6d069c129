/*
 * The adaptation under way, as components act on it: they start it, and send it events.  They do
 * not know the component that carries it out; Step gives them the object.
 */

#ifndef ELASTIC_ADAPTATION_CONTROL_H_INCLUDED
#define ELASTIC_ADAPTATION_CONTROL_H_INCLUDED

#include <string>

#include "stepmgr/state/adaptation.h"

namespace elastic {

class AdaptationControl {
  public:
    /* No adaptation is under way: there is one from now on.  SizeRequests alone calls this. */
    virtual const Adaptation &accept(const SizeRequest &request, const Change &change) = 0;
    /* Its first step, when the job can adapt.  It may have ended when this returns. */
    virtual void begin() = 0;
    /* An event of the adaptation under way; `why` is the reason of its end.  It may have ended when
     * this returns. */
    virtual void raise(AdaptEvent event, const std::string &why = "") = 0;

    /* For the component that carries it out: start the joining processes; it has ended, as its
     * state states. */
    virtual void launch() = 0;
    virtual void finish() = 0;

  protected:
    ~AdaptationControl() = default;
};

}  // namespace elastic

#endif /* ELASTIC_ADAPTATION_CONTROL_H_INCLUDED */
