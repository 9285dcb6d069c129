/* See stepd_start.h. */

#include "step/stepd_start.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "step/line_connection.h"
#include "step/start_service.h"
#include "step/step_spec.h"

namespace elastic::rm {

namespace {

std::string spawn_stepd(const std::string &stepd, const std::string &folder, int listening)
{
    std::string log = folder + "/stepd.log";
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(
        &files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    /* If both numbers are equal, dup2 in posix_spawn still clears close-on-exec. */
    posix_spawn_file_actions_adddup2(&files, listening, STEPD_LISTEN_FD);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    char *arguments[] = {const_cast<char *>(stepd.c_str()), const_cast<char *>(folder.c_str()),
                         nullptr};
    pid_t pid = 0;
    int code = posix_spawn(&pid, stepd.c_str(), &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    errno = code;
    return code == 0 ? "" : "cannot run " + stepd +
            " (job.stepd in the configuration): " + strerror(code);
}

}  // namespace

std::string start_stepd(const StepdProgram &program, const std::string &folder)
{
    Descriptor listening(listen_unix_anywhere(folder + "/" + STEP_SOCKET_FILE));
    if (!listening.is_open())
        return "cannot listen in " + folder + ": " + strerror(errno);
    return program.start_socket.empty()
        ? spawn_stepd(program.path, folder, listening.get())
        : send_start_request(program.start_socket, folder, listening.get());
}

}  // namespace elastic::rm
