/* See as_user.h. */

#include "daemon/as_user.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

namespace elastic::rm {

bool become_user(const StepSpec &spec)
{
    if (geteuid() != 0 || spec.uid == 0)
        return true;
    return initgroups(spec.user.c_str(), spec.gid) == 0 && setgid(spec.gid) == 0 && setuid(spec.uid) == 0;
}

bool remove_socket_as_user(const std::string &path, const StepSpec &spec)
{
    constexpr unsigned PATIENCE_S = 5;
    pid_t child = path.empty() ? -1 : fork();
    if (child == 0) {
        struct stat file;
        alarm(PATIENCE_S);
        if (become_user(spec) && lstat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode))
            unlink(path.c_str());
        _exit(0);
    }
    return child > 0;
}

}  // namespace elastic::rm
