/* See as_user.h. */

#include "step/as_user.h"

#include <grp.h>
#include <unistd.h>

#include "step_socket.h"

namespace elastic::rm {

bool become_user(const StepSpec &spec)
{
    if (geteuid() != 0 || spec.uid == 0)
        return true;
    return setgroups(spec.groups.size(), spec.groups.data()) == 0 && setgid(spec.gid) == 0 &&
        setuid(spec.uid) == 0;
}

bool remove_socket_as_user(const std::string &path, const StepSpec &spec)
{
    constexpr unsigned PATIENCE_S = 5;
    pid_t child = path.empty() ? -1 : fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        /* another mpiexec may listen there meanwhile */
        if (become_user(spec))
            step_socket_remove_stale(path.c_str());
        _exit(0);
    }
    return child > 0;
}

}  // namespace elastic::rm
