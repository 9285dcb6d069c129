/* Sockets that a server listens on: a Unix socket in a folder of its own, and TCP. */

#ifndef ELASTIC_RM_HTTP_LISTEN_H_INCLUDED
#define ELASTIC_RM_HTTP_LISTEN_H_INCLUDED

#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace elastic::rm {

/* The folder of the Unix socket is made; a socket without a listener is
 * replaced, one of a running daemon is an error. */
Result<Descriptor> listen_unix(const std::string &path, unsigned mode);
Result<Descriptor> listen_tcp(const std::string &address_and_port);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_HTTP_LISTEN_H_INCLUDED */
