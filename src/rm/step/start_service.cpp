/* See start_service.h. */

#include "step/start_service.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <vector>

#include "step/line_connection.h"
#include "step/pass_descriptor.h"

namespace elastic::rm {

namespace {

constexpr int PATIENCE_MS = 30000;

bool is_listening(int socket)
{
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value != 0;
}

bool is_folder_of_mine(const std::string &path)
{
    struct stat status = {};
    return path.starts_with("/") && lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
        status.st_uid == geteuid();
}

}  // namespace

std::string send_start_request(const std::string &service_socket, const std::string &folder,
                               int listening)
{
    Descriptor connection(connect_unix(service_socket));
    if (connection.is_open() && send_with_descriptor(connection.get(), folder + "\n", listening))
        return "";
    return "cannot request the start of elastic-stepd at " + service_socket + ": " +
        strerror(errno) + " (job.start_socket in the configuration; "
        "does its service run: systemctl status elastic-step.socket?)";
}

Result<StartRequest> receive_start_request(int connection)
{
    if (!is_peer(connection, 0) && !is_peer(connection, geteuid()))
        return Error{"the request to start a step is another user's"};
    std::string line;
    std::vector<Descriptor> descriptors;
    while (!line.ends_with('\n')) {
        pollfd ready = {connection, POLLIN, 0};
        char block[PATH_MAX + 1];
        int count = poll(&ready, 1, PATIENCE_MS);
        if (count < 0 && errno == EINTR)
            continue;
        ssize_t bytes = count > 0
            ? receive_with_descriptors(connection, block, sizeof block, descriptors) : 0;
        if (bytes <= 0)
            return Error{"the request to start a step did not arrive"};
        line.append(block, static_cast<size_t>(bytes));
        if (line.size() > PATH_MAX)
            return Error{"the request to start a step is too long"};
    }
    line.pop_back();
    if (descriptors.size() != 1 || !is_listening(descriptors[0].get()))
        return Error{"the request to start a step does not carry one listening socket"};
    if (!is_folder_of_mine(line))
        return Error{"the step's folder in the request is not a directory of this user: " + line};
    return StartRequest{line, std::move(descriptors[0])};
}

}  // namespace elastic::rm
