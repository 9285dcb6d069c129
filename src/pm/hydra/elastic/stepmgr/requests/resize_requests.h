/*
 * Requests of clients of the step protocol: another size, and the end of the adaptation under way.
 * doc/developer/step-protocol.md specifies the replies.
 */

#ifndef ELASTIC_RESIZE_REQUESTS_H_INCLUDED
#define ELASTIC_RESIZE_REQUESTS_H_INCLUDED

#include <optional>
#include <string>

#include "stepmgr/proto/protocol.h"
#include "stepmgr/requests/size_requests.h"

namespace elastic {

class ResizeRequests {
  public:
    ResizeRequests(StepState &state, SizeRequests &requests, AdaptationControl &control)
        : state_(state), requests_(requests), control_(control)
    {
    }

    std::string answer_resize(int client, const Json &id, const ResizeRequest &resize);
    std::string answer_cancel(const Json &id, const CancelRequest &cancel);
    /* The client no longer waits for an end; its request continues. */
    void client_disconnected(int client);

  private:
    std::optional<ProtocolError> check_resize(const Json &id, const ResizeRequest &resize) const;

    StepState &state_;
    SizeRequests &requests_;
    AdaptationControl &control_;
};

}  // namespace elastic

#endif /* ELASTIC_RESIZE_REQUESTS_H_INCLUDED */
