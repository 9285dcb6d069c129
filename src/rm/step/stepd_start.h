/*
 * The start of an elastic-stepd for a folder that holds step.json (step_spec.h): as a child, or by
 * the service manager (start_service.h).
 */

#ifndef ELASTIC_RM_STEPD_START_H_INCLUDED
#define ELASTIC_RM_STEPD_START_H_INCLUDED

#include <string>

namespace elastic::rm {

struct StepdProgram {
    std::string path;
    std::string start_socket;   /* of the service that starts it; empty: none */
};

/* Does not wait.  Empty, or the error.  elastic-stepd inherits the listening socket, so that
 * clients can connect at any time. */
std::string start_stepd(const StepdProgram &program, const std::string &folder);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEPD_START_H_INCLUDED */
