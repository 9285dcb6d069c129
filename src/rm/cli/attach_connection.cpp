/* See attach_connection.h. */

#include "cli/attach_connection.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/peer.h"

namespace elastic {

namespace {

constexpr size_t INPUT_BLOCK = 4096;
constexpr int DRAIN_MS = 2000;  /* elastic run itself waits for a shorter time */

bool has(const std::vector<pollfd> &found, int fd, int events)
{
    for (const pollfd &one : found)
        if (one.fd == fd && (one.revents & (events | POLLHUP | POLLERR)))
            return true;
    return false;
}

}  // namespace

bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        data += written;
        size -= static_cast<size_t>(written);
    }
    return true;
}

Result<AttachConnection> AttachConnection::connect(const std::string &folder, unsigned uid,
                                                   const Options &options)
{
    std::string path = folder + "/" + ATTACH_SOCKET_FILE;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return Error{path + " is too long for a socket"};
    memcpy(address.sun_path, path.c_str(), path.size() + 1);
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() < 0 ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0)
        return Error{"cannot reach the elastic run that has started the job, at " + path + ": " +
                     strerror(errno) + " (it must run on this machine)"};
    if (std::string whose = other_than(socket.get(), uid); !whose.empty())
        return Error{path + ": " + whose};
    AttachConnection connection(std::move(socket), options);
    connection.pending_ =
        Json({{"version", ATTACH_VERSION}, {"lines", options.lines}, {"input", options.input}})
            .dump() +
        "\n";
    return connection;
}

/* If another process group is in the foreground of the terminal, its input must not be read:
 * reading would stop this process. */
bool AttachConnection::may_read_input() const
{
    return gives_input_ && pending_.empty() &&
           (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp());
}

std::vector<pollfd> AttachConnection::waits() const
{
    std::vector<pollfd> waits;
    if (closed_)
        return waits;
    waits.push_back(
        {socket_.get(), static_cast<short>(pending_.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    if (may_read_input())
        waits.push_back({STDIN_FILENO, POLLIN, 0});
    return waits;
}

std::string AttachConnection::pump(const std::vector<pollfd> &found)
{
    if (closed_)
        return "";
    pass_input(has(found, STDIN_FILENO, POLLIN));
    return has(found, socket_.get(), POLLIN) ? receive() : "";
}

void AttachConnection::pass_input(bool can_read)
{
    if (can_read && may_read_input()) {
        AttachFrame frame{AttachFrame::INPUT, std::string(INPUT_BLOCK, '\0')};
        ssize_t bytes = read(STDIN_FILENO, frame.data.data(), frame.data.size());
        if (bytes < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        frame.data.resize(static_cast<size_t>(std::max<ssize_t>(bytes, 0)));
        gives_input_ = bytes > 0;       /* an empty frame is the end */
        pending_ = frame.bytes();
    }
    ssize_t sent =
        send(socket_.get(), pending_.data(), pending_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    pending_.erase(0, sent > 0 ? static_cast<size_t>(sent) : 0);
}

std::string AttachConnection::receive()
{
    std::string block(AttachFrame::DATA_MAX, '\0');
    ssize_t bytes = recv(socket_.get(), block.data(), block.size(), MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return "";
    if (bytes <= 0) {
        closed_ = true;
        return "";
    }
    received_.append(block, 0, static_cast<size_t>(bytes));
    if (!answered_)
        if (std::string wrong = take_answer(); !wrong.empty())
            return wrong;
    return answered_ ? take_frames() : "";
}

std::string AttachConnection::take_answer()
{
    size_t end = received_.find('\n');
    if (end == std::string::npos)
        return received_.size() > ATTACH_LINE_MAX ? "elastic run uses another protocol" : "";
    Json answer = Json::parse(received_.substr(0, end), nullptr, false);
    received_.erase(0, end + 1);
    if (std::string error = string_or(answer, "error", ""); !error.empty())
        return error;
    if (integer_or(answer, "version", 0) != ATTACH_VERSION)
        return "the elastic run that has started the job is of another release: use the elastic of "
               "that release";
    answered_ = true;
    gives_input_ = bool_or(answer, "input", false);
    if (options_.input && !gives_input_)
        return "input cannot be sent to the job: " + string_or(answer, "why_not", "?");
    return "";
}

std::string AttachConnection::take_frames()
{
    bool good = true;
    while (auto frame = AttachFrame::take(received_, good)) {
        bool is_error =
            frame->kind == AttachFrame::ERROR || frame->kind == AttachFrame::ERROR_MISSED;
        int to = is_error ? STDERR_FILENO : STDOUT_FILENO;
        bool missed =
            frame->kind == AttachFrame::OUTPUT_MISSED || frame->kind == AttachFrame::ERROR_MISSED;
        if (missed && !options_.quiet)
            print_note(frame->data + " bytes were missed: the output was too fast");
        if (!missed && !write_all(to, frame->data.data(), frame->data.size()))
            return std::string("cannot write: ") + strerror(errno);
    }
    return good ? ""
                : "elastic run sent what this elastic does not understand: use the same release";
}

std::string AttachConnection::drain()
{
    pollfd wait = {socket_.get(), POLLIN, 0};
    while (!closed_ && poll(&wait, 1, DRAIN_MS) > 0)
        if (std::string wrong = receive(); !wrong.empty())
            return wrong;
    return "";
}

}  // namespace elastic
