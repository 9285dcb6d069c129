/*
 * One look at a host over ssh: the script that is run there, and what its answer means.  Pure,
 * except for installed_files(), which looks at the files here.
 *
 * The script goes to the standard input of /bin/sh, so that it does not matter which shell the user
 * has there.  It says how many cores the host has and what time it is, and whether that is there
 * without which no process of ours can start: the node daemon and the library, of the same size as
 * here, with all that the library needs.
 */

#ifndef ELASTIC_RM_HOST_PROBE_H_INCLUDED
#define ELASTIC_RM_HOST_PROBE_H_INCLUDED

#include <cstdint>
#include <string>
#include <vector>

#include "base/command.h"

namespace elastic::rm {

/* What must be the same there. */
struct InstalledFile {
    std::string path;
    int64_t bytes = 0;
    bool is_library = false;
};

/* The node daemon and the library that belong to this mpiexec, as far as they are here. */
std::vector<InstalledFile> installed_files(const std::string &mpiexec);

std::string probe_script(const std::vector<InstalledFile> &files);

/* What it means for the jobs on the host. */
enum class HostHealth {
    WELL,
    UNFIT,          /* it answers, and our processes could not start there */
    /* it does not let us in, or not in time: nothing is known of the processes on it */
    NO_ACCESS,
    NO_ANSWER       /* the network does not reach it: for us they are lost */
};

struct HostLook {
    HostHealth health = HostHealth::NO_ACCESS;
    /* unless it is well: what is wrong and what to do; names the host */
    std::string reason;
    int cores = 0;              /* if it is well */
    int64_t clock_ahead_s = 0;  /* of its clock to ours, beyond the time that the look took */
};

/* `asked_ms` and `answered_ms` by our clock.  `ssh` is how a person would try it: "ssh -F FILE
 * h1". */
HostLook judge(const std::string &host, const CommandEnd &end,
               const std::vector<InstalledFile> &files, int64_t asked_ms, int64_t answered_ms,
               const std::string &ssh);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_HOST_PROBE_H_INCLUDED */
