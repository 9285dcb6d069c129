/*
 * The user on the other side of a Unix socket.  `elastic` sends its data (environment, script,
 * file names) to servers of this user and of root alone: a socket in a shared directory may belong
 * to another user.
 */

#ifndef ELASTIC_RM_CLI_PEER_H_INCLUDED
#define ELASTIC_RM_CLI_PEER_H_INCLUDED

#include <string>

namespace elastic {

/* Of a connected socket: empty, or who it is that may not get anything; `or_root`: root may. */
std::string foreign_peer(int socket, bool or_root);
/* The same of a program that must be this user's. */
std::string other_than(int socket, unsigned uid);

}  // namespace elastic

#endif /* ELASTIC_RM_CLI_PEER_H_INCLUDED */
