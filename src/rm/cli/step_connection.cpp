/* See step_connection.h. */

#include "cli/step_connection.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/change.h"
#include "cli/peer.h"
#include "step_socket.h"

namespace elastic {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t ANSWER_ID = 1;       /* one request at a time on a connection */

}  // namespace

Descriptor::~Descriptor()
{
    if (fd_ >= 0)
        close(fd_);
}

Result<StepConnection> StepConnection::connect(const std::string &socket_path)
{
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (socket_path.size() >= sizeof address.sun_path)
        return Error{socket_path + " is too long for a socket"};
    std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    /* a full backlog must not block this process */
    timeval timeout = {ANSWER_TIMEOUT.count() / 1000, 0};
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (socket.get() < 0 || ::connect(socket.get(), reinterpret_cast<const sockaddr *>(&address),
                                      sizeof address) != 0)
        return Error{std::string("cannot connect to ") + socket_path + ": " + strerror(errno)};
    if (std::string whose = foreign_peer(socket.get(), false); !whose.empty())
        return Error{socket_path + ": " + whose};
    return StepConnection(std::move(socket));
}

bool StepConnection::send_line(const std::string &line)
{
    std::string data = line + "\n";
    for (size_t sent = 0; sent < data.size();) {
        ssize_t bytes = send(socket_.get(), data.data() + sent, data.size() - sent, MSG_NOSIGNAL);
        if (bytes < 0 && errno != EINTR)
            return false;
        sent += bytes > 0 ? static_cast<size_t>(bytes) : 0;
    }
    return true;
}

ReadStatus StepConnection::read_line(std::string &line,
                                     std::optional<std::chrono::milliseconds> timeout)
{
    auto deadline = Clock::now() + timeout.value_or(std::chrono::milliseconds(0));
    while (true) {
        size_t end = received_.find('\n', searched_);
        if (end != std::string::npos) {
            line = received_.substr(0, end);
            received_.erase(0, end + 1);
            searched_ = 0;
            return ReadStatus::LINE;
        }
        searched_ = received_.size();
        if (received_.size() > ANSWER_MAX_BYTES)
            return ReadStatus::BROKEN;
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd waiting = {socket_.get(), POLLIN, 0};
        int ready = poll(&waiting, 1, timeout ? static_cast<int>(std::max<long>(left, 0)) : -1);
        if (ready == 0)
            return ReadStatus::TIMEOUT;
        char block[65536];
        ssize_t bytes = ready < 0 ? -1 : recv(socket_.get(), block, sizeof block, 0);
        if (bytes == 0)
            return ReadStatus::CLOSED;
        if (bytes < 0 && errno != EINTR)
            return errno == ECONNRESET ? ReadStatus::CLOSED : ReadStatus::BROKEN;
        received_.append(block, bytes > 0 ? static_cast<size_t>(bytes) : 0);
    }
}

ReadStatus StepConnection::read(Json &object, std::optional<std::chrono::milliseconds> timeout)
{
    std::string line;
    ReadStatus status = read_line(line, timeout);
    if (status != ReadStatus::LINE)
        return status;
    object = Json::parse(line, nullptr, false);
    return object.is_object() ? ReadStatus::LINE : ReadStatus::BROKEN;
}

Result<Json> StepConnection::query(const Json &request)
{
    Json numbered = request;
    numbered["id"] = ANSWER_ID;
    if (!send_line(numbered.dump()))
        return Error{"the step has closed the connection: it has probably ended"};
    Json answer;
    while (true) {
        switch (read(answer, ANSWER_TIMEOUT)) {
            case ReadStatus::LINE:
                if (answer.value("id", Json()) == Json(ANSWER_ID))
                    return answer;
                break;
            case ReadStatus::CLOSED:
                return Error{"the step has closed the connection: it has probably ended"};
            case ReadStatus::TIMEOUT:
                return Error{"the step does not answer: is its mpiexec stopped?"};
            case ReadStatus::BROKEN:
                return Error{"the step's answer is not understood: is its mpiexec of another "
                             "version?"};
        }
    }
}

Result<std::vector<StepSocket>> list_step_sockets()
{
    char directory[STEP_SOCKET_PATH_MAX], error[STEP_SOCKET_ERROR_MAX];
    if (step_socket_directory(directory, sizeof directory, error, sizeof error) != 0)
        return Error{error};
    std::vector<StepSocket> sockets;
    if (step_socket_check_directory(directory, error, sizeof error) != 0) {
        if (errno == ENOENT)
            return sockets;     /* no step has ever run */
        return Error{error};
    }
    std::unique_ptr<DIR, int (*)(DIR *)> open(opendir(directory), closedir);
    if (!open)
        return Error{std::string(directory) + ": " + strerror(errno)};
    while (dirent *entry = readdir(open.get())) {
        std::string path = std::string(directory) + "/" + entry->d_name;
        char id[STEP_ID_MAX];
        if (step_socket_id_of(entry->d_name, id, sizeof id) &&
            !step_socket_remove_stale(path.c_str()))
            sockets.push_back({id, path});
    }
    std::sort(sockets.begin(), sockets.end(), [](const StepSocket &x, const StepSocket &y) {
        return strverscmp(x.id.c_str(), y.id.c_str()) < 0;
    });
    return sockets;
}

std::optional<FoundStep> find_step(const std::string &id, FindError &kind, std::string &error)
{
    auto sockets = list_step_sockets();
    kind = FindError::UNREACHABLE;
    if (!sockets) {
        error = sockets.error();
        return std::nullopt;
    }
    for (const StepSocket &socket : sockets.value()) {
        auto connection = StepConnection::connect(socket.path);
        auto status = connection ? connection.value().query({{"op", "status"}})
                                 : Result<Json>(Error{connection.error()});
        bool wanted = status && status.value().value("step", "") == id;
        if (wanted)
            return FoundStep{std::move(connection.value()), status.value()};
        if (!status && socket.id == id) {
            error = "step " + id + ": " + status.error();
            return std::nullopt;
        }
    }
    kind = FindError::NOT_FOUND;
    error = "there is no step " + id + " of yours on this machine: 'elastic ps' lists the steps "
            "that run; one that is missing has ended";
    return std::nullopt;
}

}  // namespace elastic
