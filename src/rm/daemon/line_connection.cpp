/* See line_connection.h. */

#include "daemon/line_connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace elastic::rm {

namespace {

constexpr size_t READ_BYTES = 65536;    /* of one connection in a turn */

/* The address, and what must stay open as long as it is used. */
bool make_address(const std::string &path, sockaddr_un &address, Descriptor &folder)
{
    address = {};
    address.sun_family = AF_UNIX;
    std::string name = path;
    if (name.size() >= sizeof address.sun_path) {
        size_t slash = path.rfind('/');
        folder = Descriptor(open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        name = "/proc/self/fd/" + std::to_string(folder.get()) + path.substr(slash);
    }
    errno = ENAMETOOLONG;
    if (name.size() >= sizeof address.sun_path)
        return false;
    memcpy(address.sun_path, name.c_str(), name.size() + 1);
    return true;
}

}  // namespace

int connect_unix(const std::string &path)
{
    sockaddr_un address;
    Descriptor folder, socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.is_open() || !make_address(path, address, folder) ||
        connect(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0)
        return -1;
    return socket.release();
}

int listen_unix_anywhere(const std::string &path)
{
    sockaddr_un address;
    Descriptor folder, socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.is_open() || !make_address(path, address, folder) ||
        bind(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0 ||
        listen(socket.get(), 64) != 0)
        return -1;
    return socket.release();
}

std::unique_ptr<LineConnection> LineConnection::connect(Loop &loop, const std::string &path, uint32_t uid,
                                                        OnLine on_line, OnClose on_close)
{
    Descriptor socket(connect_unix(path));
    ucred peer = {};
    socklen_t length = sizeof peer;
    if (!socket.is_open() || getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return nullptr;
    if (peer.uid != uid) {
        errno = EPERM;
        return nullptr;
    }
    return std::unique_ptr<LineConnection>(
        new LineConnection(loop, std::move(socket), std::move(on_line), std::move(on_close)));
}

LineConnection::LineConnection(Loop &loop, Descriptor socket, OnLine on_line, OnClose on_close)
    : loop_(loop), socket_(std::move(socket)), on_line_(std::move(on_line)), on_close_(std::move(on_close))
{
    loop_.watch(socket_.get(), EPOLLIN, [this](uint32_t events) { ready(events); });
}

LineConnection::~LineConnection()
{
    *alive_ = false;
    loop_.forget(socket_.get());
}

void LineConnection::send(const Json &object)
{
    if (out_.size() > OUTPUT_BYTES_MAX)
        return;                 /* nothing has been read for long: it will be closed */
    out_ += object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    flush();                    /* an error shows itself in reading, too */
}

bool LineConnection::flush()
{
    size_t done = 0;
    while (done < out_.size()) {
        ssize_t bytes = ::send(socket_.get(), out_.data() + done, out_.size() - done, MSG_NOSIGNAL);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0 && errno != EAGAIN)
            return false;
        if (bytes < 0)
            break;
        done += static_cast<size_t>(bytes);
    }
    out_.erase(0, done);
    if (out_.empty() == waits_to_write_) {
        waits_to_write_ = !out_.empty();
        loop_.change(socket_.get(), waits_to_write_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
    return out_.size() <= OUTPUT_BYTES_MAX;
}

bool LineConnection::read_some()
{
    char block[READ_BYTES];
    ssize_t bytes = recv(socket_.get(), block, sizeof block, 0);
    if (bytes < 0)
        return errno == EAGAIN || errno == EINTR;
    in_.append(block, static_cast<size_t>(bytes));
    return bytes > 0 && in_.size() <= LINE_BYTES_MAX;
}

void LineConnection::give_lines()
{
    auto alive = alive_;
    for (size_t end; *alive && (end = in_.find('\n', searched_)) != std::string::npos;) {
        Json object = Json::parse(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(end), nullptr, false);
        in_.erase(0, end + 1);
        searched_ = 0;
        if (object.is_object())
            on_line_(object);
    }
    if (*alive)
        searched_ = in_.size();
}

void LineConnection::ready(uint32_t events)
{
    auto alive = alive_;
    bool good = !(events & EPOLLOUT) || flush();
    if (good && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        good = read_some();
    give_lines();
    if (!*alive || good)
        return;
    loop_.forget(socket_.get());
    OnClose on_close = std::move(on_close_);
    on_close();
}

}  // namespace elastic::rm
