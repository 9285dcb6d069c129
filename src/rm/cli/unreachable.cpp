/* See unreachable.h. */

#include "cli/unreachable.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace elastic {

namespace {

std::string user_name(uid_t uid)
{
    const passwd *user = getpwuid(uid);
    return user ? user->pw_name : std::to_string(uid);
}

/* "there is no /run/elasticd/elasticd.sock" */
std::string state_of(const std::string &socket)
{
    struct stat found = {};
    if (stat(socket.c_str(), &found) != 0)
        return errno == ENOENT ? "there is no " + socket : socket + ": " + strerror(errno);
    if (!S_ISSOCK(found.st_mode))
        return socket + " is not a socket";
    std::string owner = "user " + user_name(found.st_uid);
    if (access(socket.c_str(), W_OK) != 0)
        return socket + " belongs to " + owner + " and is closed to you";
    return socket + " of " + owner + " has no listener: its elasticd has ended";
}

}  // namespace

std::string why_unreachable(const std::vector<Address> &addresses)
{
    if (addresses.empty())
        return "no elasticd is named";
    const Address &first = addresses.front();
    if (first.is_given && first.socket.empty())
        return "no elasticd listens at " + first.url +
               " (ELASTICD_URL): is it running there, with listen.tcp in its configuration?";
    if (first.is_given)
        return "no elasticd can be reached (ELASTICD_SOCKET): " + state_of(first.socket) +
               "; start it with 'elasticd --socket=" + first.socket + "', or unset ELASTICD_SOCKET";
    std::string states;
    for (const Address &each : addresses)
        states += (states.empty() ? "" : ", ") + state_of(each.socket);
    return "no elasticd runs here: " + states +
           "; start one with 'elasticd' (this machine becomes the cluster), or name one with "
           "ELASTICD_SOCKET or ELASTICD_URL";
}

}  // namespace elastic
