/*
 * The user on the other side of a Unix socket.  `elastic` sends its data (environment, script, file
 * names) only to servers of this user and of root: a socket in a shared directory may belong to
 * another user.
 */

#ifndef ELASTIC_RM_CLI_PEER_H_INCLUDED
#define ELASTIC_RM_CLI_PEER_H_INCLUDED

#include <string>

namespace elastic {

/* For a connected socket: empty, or the user that must not receive data; `or_root`: root is
 * accepted. */
std::string foreign_peer(int socket, bool or_root);
/* The same for a program that must run as this user. */
std::string other_than(int socket, unsigned uid);

}  // namespace elastic

#endif /* ELASTIC_RM_CLI_PEER_H_INCLUDED */
