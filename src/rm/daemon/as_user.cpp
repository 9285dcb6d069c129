/* See as_user.h. */

#include "daemon/as_user.h"

#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace elastic::rm {

bool become_user(const StepSpec &spec)
{
    if (geteuid() != 0 || spec.uid == 0)
        return true;
    return initgroups(spec.user.c_str(), spec.gid) == 0 && setgid(spec.gid) == 0 && setuid(spec.uid) == 0;
}

void remove_socket_as_user(const std::string &path, const StepSpec &spec)
{
    pid_t child = path.empty() ? -1 : fork();
    if (child == 0) {
        struct stat file;
        if (become_user(spec) && lstat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode))
            unlink(path.c_str());
        _exit(0);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace elastic::rm
