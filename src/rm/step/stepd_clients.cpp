/* See stepd.h: elasticd, which connects to elastic-stepd, and its orders. */

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/bounded_json.h"
#include "step/as_user.h"
#include "step/line_connection.h"
#include "step/pass_descriptor.h"
#include "step/program_child.h"
#include "step/stepd.h"

namespace elastic::rm {

namespace {

constexpr unsigned CONNECT_PATIENCE_S = 30;
constexpr size_t LINE_MAX_BYTES = 4096;

}  // namespace

void Stepd::watch_listen()
{
    loop_.watch(listen_.get(), EPOLLIN, [this](uint32_t) { accept_client(); });
}

void Stepd::accept_client()
{
    Descriptor socket(accept4(listen_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    ucred peer = {};
    socklen_t length = sizeof peer;
    if (!socket.is_open() ||
        getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
        (peer.uid != geteuid() && peer.uid != 0))
        return;
    int fd = socket.get();
    clients_[fd].socket = std::move(socket);
    loop_.watch(fd, EPOLLIN, [this, fd](uint32_t) { client_ready(fd); });
    send(clients_[fd], line());
}

void Stepd::client_ready(int fd)
{
    Client &client = clients_[fd];
    char block[LINE_MAX_BYTES];
    ssize_t bytes = recv(fd, block, sizeof block, 0);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes > 0)
        client.in.append(block, static_cast<size_t>(bytes));
    if (bytes <= 0 || client.in.size() > LINE_MAX_BYTES) {
        loop_.discard(fd);
        clients_.erase(fd);
        return;
    }
    for (size_t end; (end = client.in.find('\n')) != std::string::npos;) {
        std::string line = client.in.substr(0, end);
        client.in.erase(0, end + 1);
        take_order(fd, line);
    }
}

void Stepd::take_order(int fd, const std::string &line)
{
    Json json = parse_bounded(line);
    auto deadline = parse<StepdDeadline>(json);
    if (deadline && json.contains("kill_after_ms"))
        return kill_after(std::max<int64_t>(deadline.value().kill_after_ms, 0));
    auto limit = parse<StepdLimit>(json);
    if (limit && json.contains("time_limit_ms"))
        return change_limit(limit.value().time_limit_ms);
    auto suspend = parse<StepdSuspend>(json);
    if (suspend && json.contains("suspended"))
        return set_suspended(suspend.value().suspended);
    auto connect = parse<StepdConnect>(json);
    if (connect && json.contains("connect"))
        return connect_for(fd, connect.value().connect);
    auto order = parse<StepdOrder>(json);
    if (order && order.value().epoch_offset >= 0)
        epoch_offset_ = order.value().epoch_offset;
    if (order && order.value().signal > 0 && order.value().signal < NSIG)
        signal_step(order.value().signal);
}

StepdLine Stepd::line() const
{
    return {started_, step_socket_, epoch_offset_, true, "", true};
}

void Stepd::send(Client &client, const StepdLine &line, int descriptor)
{
    /* Some hundred bytes into an empty socket; a peer that does not read them sends the query
     * again. */
    send_with_descriptor(client.socket.get(), write(line).dump() + "\n", descriptor);
}

void Stepd::send_all()
{
    for (auto &[fd, client] : clients_)
        send(client, line());
}

/* A child does it, with the user's rights and separately: the path may block it. */
void Stepd::connect_for(int client, const std::string &socket)
{
    constexpr size_t AT_ONCE = 8;
    int ends[2];
    if (socket != step_socket_ || connecting_.size() >= AT_ONCE ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return;
    Descriptor reading(ends[0]), writing(ends[1]);
    pid_t child = fork();
    if (child == 0) {
        alarm(CONNECT_PATIENCE_S);
        reset_signals();
        Descriptor connected(become_user(spec_) ? connect_unix(socket) : -1);
        send_with_descriptor(writing.get(), "\n", connected.get());
        _exit(0);
    }
    int report = reading.get();
    connecting_[report] = std::move(reading);
    loop_.watch(report, EPOLLIN,
                [this, report, client, socket](uint32_t) { connected(report, client, socket); });
}

void Stepd::connected(int report, int client, const std::string &socket)
{
    char byte;
    std::vector<Descriptor> descriptors;
    receive_with_descriptors(report, &byte, 1, descriptors);
    loop_.discard(report);
    connecting_.erase(report);
    auto found = clients_.find(client);
    if (found == clients_.end())
        return;
    StepdLine answer = line();
    answer.connected = socket;
    send(found->second, answer, descriptors.empty() ? -1 : descriptors[0].get());
}

}  // namespace elastic::rm
