/*
 * Who is on the other side of a Unix socket.  What `elastic` sends (environment, script, file
 * names) is for this user's own servers and root's alone: a socket in a shared directory may be
 * anybody's.
 */

#ifndef ELASTIC_RM_CLI_PEER_H_INCLUDED
#define ELASTIC_RM_CLI_PEER_H_INCLUDED

#include <string>

namespace elastic {

/* Of a connected socket: empty, or who it is that may not get anything; `or_root`: root may. */
std::string stranger(int socket, bool or_root);
/* The same of a program that must be this user's. */
std::string other_than(int socket, unsigned uid);

}  // namespace elastic

#endif /* ELASTIC_RM_CLI_PEER_H_INCLUDED */
