/* Listening sockets of a server: a Unix socket in its own folder, and TCP. */

#ifndef ELASTIC_RM_HTTP_LISTEN_H_INCLUDED
#define ELASTIC_RM_HTTP_LISTEN_H_INCLUDED

#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace elastic::rm {

/* Makes the folder of the Unix socket.  A socket without a listener is replaced, one of a
 * running daemon is an error. */
Result<Descriptor> listen_unix(const std::string &path, unsigned mode);
Result<Descriptor> listen_tcp(const std::string &address_and_port);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_HTTP_LISTEN_H_INCLUDED */
