/* See nested_start.h. */

#include "cli/nested_start.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "backend/nested/allocation.h"
#include "base/descriptor.h"
#include "cli/output.h"
#include "cli/peer.h"
#include "step_socket.h"

namespace elastic {

namespace {

using rm::Allocation;
using rm::Descriptor;

constexpr const char *IDLE_EXIT = "60s";
constexpr std::chrono::seconds START_PATIENCE{60};
constexpr std::chrono::milliseconds LOOK_INTERVAL{20};

bool is_set(const char *name)
{
    return !rm::environment_variable(name).empty();
}

std::string runtime_folder()
{
    char directory[STEP_SOCKET_PATH_MAX], problem[STEP_SOCKET_ERROR_MAX];
    return step_socket_directory(directory, sizeof directory, problem, sizeof problem) == 0
               ? directory
               : "";
}

bool listens(const std::string &socket_path)
{
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (socket_path.size() >= sizeof address.sun_path)
        return false;
    memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
    Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return probe.is_open() &&
           connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) ==
               0 &&
           foreign_peer(probe.get(), false).empty();
}

/* The socket of the elasticd of the present allocation; empty: there is none, or another one is
 * selected. */
std::string socket_of_allocation()
{
    auto allocation = rm::find_allocation();
    std::string base = runtime_folder();
    if (!allocation || base.empty() || is_set("ELASTICD_SOCKET") || is_set("ELASTICD_URL"))
        return "";
    return rm::nested_socket(rm::nested_folder(base, allocation->short_name()));
}

/* In the folder of this program, wherever that is; else in PATH. */
std::string elasticd_program()
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    std::string self(path, length > 0 ? static_cast<size_t>(length) : 0);
    size_t slash = self.rfind('/');
    std::string beside = slash == std::string::npos ? "" : self.substr(0, slash) + "/elasticd";
    return !beside.empty() && access(beside.c_str(), X_OK) == 0 ? beside : "elasticd";
}

/* In a session of its own, so that the end of this command or of its terminal does not affect
 * it.  Returns 0, or an error number. */
int spawn(const std::string &program, const std::string &log, pid_t &pid)
{
    std::string idle = std::string("--idle-exit=") + IDLE_EXIT, nested = "--nested";
    char *words[] = {const_cast<char *>(program.c_str()), nested.data(), idle.data(), nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    int error = posix_spawnp(&pid, program.c_str(), &files, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error;
}

std::string last_words(const std::string &log)
{
    std::ifstream file(log);
    std::string text(std::istreambuf_iterator<char>(file), {});
    while (text.ends_with('\n'))
        text.pop_back();
    size_t line = text.rfind('\n');
    return line == std::string::npos ? text : text.substr(line + 1);
}

/* The user, or a script, has started one, which does not listen yet. */
bool another_one_starts(const std::string &folder)
{
    Descriptor lock(open((folder + "/state/lock").c_str(), O_RDONLY | O_CLOEXEC));
    return lock.is_open() && flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/* Waits until one listens; not if it has ended, and there is no other one. */
int await_start(pid_t pid, const std::string &folder, const std::string &log)
{
    std::string socket = rm::nested_socket(folder);
    auto end = std::chrono::steady_clock::now() + START_PATIENCE;
    bool has_ended = false;
    while (!listens(socket)) {
        has_ended = has_ended || waitpid(pid, nullptr, WNOHANG) == pid;
        if (has_ended && !another_one_starts(folder) && !listens(socket))
            return complain(UNREACHABLE,
                            "elasticd cannot be started for this allocation: " + last_words(log));
        if (std::chrono::steady_clock::now() > end)
            return complain(UNREACHABLE,
                            "elasticd was started for this allocation and does not answer; see " +
                                log);
        std::this_thread::sleep_for(LOOK_INTERVAL);
    }
    return 0;
}

int start(const Allocation &allocation, const std::string &folder, bool quiet)
{
    std::string program = elasticd_program(), log = folder + "/elasticd.log";
    pid_t pid = 0;
    if (int error = spawn(program, log, pid))
        return complain(UNREACHABLE, "elasticd cannot be started for this allocation: " + program +
                                         ": " + strerror(error));
    if (int code = await_start(pid, folder, log))
        return code;
    if (!quiet)
        fprintf(stderr,
                "elastic: started elasticd for the nodes of %s job %s; it ends when nothing has "
                "run for %s\n",
                allocation.system_name(), allocation.id.c_str(), IDLE_EXIT);
    return 0;
}

}  // namespace

std::string allocation_socket()
{
    std::string socket = socket_of_allocation(), base = runtime_folder();
    char problem[STEP_SOCKET_ERROR_MAX];
    bool is_ours =
        !socket.empty() && step_socket_check_directory(base.c_str(), problem, sizeof problem) == 0;
    return is_ours ? socket : "";
}

int start_in_allocation(bool quiet)
{
    std::string socket = socket_of_allocation();
    if (socket.empty())
        return 0;
    std::string base = runtime_folder(), folder = socket.substr(0, socket.rfind('/'));
    char problem[STEP_SOCKET_ERROR_MAX];
    /* The owner of the folders is checked first: a socket in another user's folder may belong to
     * any user. */
    if (step_socket_make_directory(base.c_str(), problem, sizeof problem) != 0)
        return complain(UNREACHABLE, problem);
    if (listens(socket))
        return 0;
    /* If several commands run at once, one starts it. */
    Descriptor lock(open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock.is_open() || flock(lock.get(), LOCK_EX) != 0)
        return complain(UNREACHABLE, "cannot lock " + base + ": " + strerror(errno));
    if (listens(socket))
        return 0;
    if (step_socket_make_directory(folder.c_str(), problem, sizeof problem) != 0)
        return complain(UNREACHABLE, problem);
    return start(*rm::find_allocation(), folder, quiet);
}

}  // namespace elastic
