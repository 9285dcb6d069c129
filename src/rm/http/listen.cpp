/* See listen.h. */

#include "http/listen.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

namespace elastic::rm {

namespace {

constexpr int BACKLOG = 512;

std::string prepare_folder(const std::string &folder)
{
    bool root = geteuid() == 0;
    if (mkdir(folder.c_str(), root ? 0755 : 0700) != 0 && errno != EEXIST)
        return "cannot make " + folder + ": " + strerror(errno);
    struct stat status = {};
    if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
        status.st_uid != geteuid() || (status.st_mode & 022) != 0)
        return folder + " is not a directory of this user that other users cannot write: remove "
               "it, or set listen.socket to another place";
    return "";
}

bool somebody_listens(const sockaddr_un &address)
{
    Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) ==
        0 ||
        errno == EAGAIN;
}

}  // namespace

Result<Descriptor> listen_unix(const std::string &path, unsigned mode)
{
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return Error{path + " is too long for a socket: set listen.socket to a shorter one"};
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    std::string error = prepare_folder(std::filesystem::path(path).parent_path());
    if (!error.empty())
        return Error{error};
    if (somebody_listens(address))
        return Error{"another elasticd listens on " + path +
                     ": stop that one, or set listen.socket to another path"};
    unlink(path.c_str());
    Descriptor listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listening.is_open() ||
        bind(listening.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0 ||
        chmod(path.c_str(), mode) != 0 || listen(listening.get(), BACKLOG) != 0)
        return Error{"cannot listen on " + path + ": " + strerror(errno)};
    return listening;
}

Result<Descriptor> listen_tcp(const std::string &address_and_port)
{
    size_t colon = address_and_port.rfind(':');
    std::string host = address_and_port.substr(0, colon), port = address_and_port.substr(colon + 1);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    addrinfo hints = {}, *found = nullptr;
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    int code = getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found);
    if (code != 0)
        return Error{"listen.tcp " + address_and_port + ": " + gai_strerror(code)};
    std::unique_ptr<addrinfo, void (*)(addrinfo *)> list(found, freeaddrinfo);
    Descriptor listening(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int on = 1;
    setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!listening.is_open() || bind(listening.get(), found->ai_addr, found->ai_addrlen) != 0 ||
        listen(listening.get(), BACKLOG) != 0)
        return Error{"cannot listen on " + address_and_port + ": " + strerror(errno)};
    return listening;
}

}  // namespace elastic::rm
