/* See peer.h. */

#include "cli/peer.h"

#include <sys/socket.h>
#include <unistd.h>

namespace elastic {

std::string foreign_peer(int socket, bool or_root)
{
    ucred peer = {};
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return "the user of the listening process is unknown";
    if (peer.uid == geteuid() || (or_root && peer.uid == 0))
        return "";
    return "it belongs to user " + std::to_string(peer.uid) +
           ", not to you: nothing was sent to it";
}

std::string other_than(int socket, unsigned uid)
{
    ucred peer = {};
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return "the user of the listening process is unknown";
    if (peer.uid == uid)
        return "";
    return "it belongs to user " + std::to_string(peer.uid) + ", not to user " +
           std::to_string(uid) + ": nothing was sent to it";
}

}  // namespace elastic
