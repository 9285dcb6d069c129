/*
 * The start of elastic-stepd by the service manager on request of elasticd, so that each step is a
 * service of its own and inherits nothing of elasticd's: rights, sandbox, control group.
 *
 * The service manager listens on a Unix socket and starts one elastic-stepd for each connection
 * (systemd: Accept=yes; inetd and systemd-socket-activate do the same).  elasticd connects, sends
 * one line with the step's folder, and beside it the listening socket of the step.  Until
 * elastic-stepd has received it, the socket is in the connection's queue: a client that connects to
 * the step waits, and is disconnected if elastic-stepd does not start.
 */

#ifndef ELASTIC_RM_START_SERVICE_H_INCLUDED
#define ELASTIC_RM_START_SERVICE_H_INCLUDED

#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace elastic::rm {

struct StartRequest {
    std::string folder;         /* of the step */
    Descriptor listening;       /* STEP_SOCKET_FILE there */
};

/* elasticd's side.  Does not wait.  Empty, or the error. */
std::string send_start_request(const std::string &service_socket, const std::string &folder,
                               int listening);

/* elastic-stepd's side: waits for the request on the connection, at most 30 s.  The peer must be
 * root or this user, and the folder this user's. */
Result<StartRequest> receive_start_request(int connection);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_START_SERVICE_H_INCLUDED */
