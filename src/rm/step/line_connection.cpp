/* See line_connection.h. */

#include "step/line_connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace elastic::rm {

namespace {

constexpr size_t READ_BYTES = 65536;    /* of one connection in a turn */

/* The address, and the descriptor that must stay open while it is used. */
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

bool is_peer(int socket, uint32_t uid)
{
    ucred peer = {};
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return false;
    errno = EPERM;
    return peer.uid == uid;
}

std::unique_ptr<LineConnection>
LineConnection::connect(Loop &loop, const std::string &path, uint32_t uid, const LineLimits &limits,
                        OnLine on_line, OnClose on_close)
{
    Descriptor socket(connect_unix(path));
    if (!socket.is_open() || !is_peer(socket.get(), uid))
        return nullptr;
    return std::make_unique<LineConnection>(
        loop, std::move(socket), limits, std::move(on_line), std::move(on_close));
}

LineConnection::LineConnection(Loop &loop, Descriptor socket, const LineLimits &limits,
                               OnLine on_line, OnClose on_close)
    : loop_(loop), socket_(std::move(socket)), limits_(limits), on_line_(std::move(on_line)),
      on_close_(std::move(on_close)),
      rate_(static_cast<double>(limits.bytes_per_s), static_cast<double>(limits.bytes_at_once))
{
    update_watch();
}

LineConnection::~LineConnection()
{
    *alive_ = false;
    loop_.cancel(timer_);
    if (watched_)
        loop_.discard(socket_.get());
}

/* ---- writing --------------------------------------------------------------------------------- */

void LineConnection::send(const Json &object)
{
    out_ += object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    flush();
    if (out_.size() <= limits_.output_bytes)
        return;
    out_.clear();
    broken_ = "it does not read the messages that it is sent";
    ended_ = true;
    go_on_soon(0);              /* not now: the sender does not expect a close */
}

/* Reading detects an error, too: data that the other side has sent before its end is still read. */
void LineConnection::flush()
{
    size_t done = 0;
    while (done < out_.size()) {
        ssize_t bytes = ::send(
            socket_.get(), out_.data() + done, out_.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0 && errno != EAGAIN)
            done = out_.size();
        if (bytes < 0)
            break;
        done += static_cast<size_t>(bytes);
    }
    out_.erase(0, done);
    update_watch();
}

/* ---- reading --------------------------------------------------------------------------------- */

void LineConnection::update_watch()
{
    bool reads = !paused_ && !slowed_ && !ended_;
    uint32_t wanted = (reads ? EPOLLIN : 0u) | (out_.empty() ? 0u : EPOLLOUT);
    if (wanted == watched_)
        return;
    if (!wanted)                /* the close of the other side would be reported repeatedly */
        loop_.discard(socket_.get());
    else if (watched_)
        loop_.change(socket_.get(), wanted);
    else
        loop_.watch(socket_.get(), wanted, [this](uint32_t events) { ready(events); });
    watched_ = wanted;
}

void LineConnection::ready(uint32_t events)
{
    if (events & EPOLLOUT)
        flush();
    if (watched_ & EPOLLIN)
        read_some();
    give_lines();
}

void LineConnection::read_some()
{
    char block[READ_BYTES];
    ssize_t bytes = limits_.descriptors
                        ? receive_with_descriptors(socket_.get(), block, sizeof block, descriptors_)
                        : recv(socket_.get(), block, sizeof block, MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    ended_ = bytes <= 0;
    if (ended_)
        return;
    in_.append(block, static_cast<size_t>(bytes));
    int64_t wait_ms = rate_.take(static_cast<double>(bytes), monotonic_ms());
    slowed_ = wait_ms > 0;
    if (slowed_)
        go_on_soon(wait_ms);
}

void LineConnection::go_on_soon(int64_t delay_ms)
{
    loop_.cancel(timer_);
    timer_ = loop_.after(delay_ms, [this] {
        timer_ = 0;
        slowed_ = false;
        give_lines();
    });
}

Descriptor LineConnection::take_descriptor()
{
    if (descriptors_.empty())
        return Descriptor();
    Descriptor first = std::move(descriptors_.front());
    descriptors_.erase(descriptors_.begin());
    return first;
}

void LineConnection::resume()
{
    paused_ = false;
    if (!slowed_)
        go_on_soon(0);
}

void LineConnection::give_lines()
{
    auto alive = alive_;
    while (broken_.empty() && !paused_) {
        size_t end = in_.find('\n', searched_);
        size_t bytes = std::min(end, in_.size()) - given_;
        if (bytes > limits_.line_bytes)
            broken_ = "a line is longer than " + std::to_string(limits_.line_bytes) + " bytes";
        if (bytes > limits_.line_bytes || end == std::string::npos) {
            searched_ = in_.size();
            break;
        }
        std::string line = in_.substr(given_, bytes);
        given_ = searched_ = end + 1;
        give_line(line);
        if (!*alive)
            return;
    }
    in_.erase(0, given_);
    searched_ -= given_;
    given_ = 0;
    if (!broken_.empty() || (ended_ && !paused_))
        close();
    else
        update_watch();
}

/* An error in the receiver of a line closes only this connection. */
void LineConnection::give_line(std::string_view text)
{
    auto alive = alive_;
    try {
        Json object = parse_bounded(text, limits_.depth);
        if (object.is_object())
            on_line_(object);
        else
            broken_ = "a line is not a JSON object, or is nested deeper than " +
                std::to_string(limits_.depth);
    } catch (const std::exception &exception) {
        if (*alive)
            broken_ = std::string("a line that cannot be taken: ") + exception.what();
    }
}

void LineConnection::close()
{
    if (watched_)
        loop_.discard(socket_.get());
    socket_.reset();
    watched_ = 0;
    ended_ = true;              /* the object may exist for some time */
    in_.clear();
    given_ = searched_ = 0;
    std::string broken = std::move(broken_);
    OnClose on_close = std::move(on_close_);
    if (on_close)
        on_close(broken);
}

}  // namespace elastic::rm
