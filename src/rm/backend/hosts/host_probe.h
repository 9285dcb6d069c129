/*
 * A probe of a host over ssh: the script that runs there, and the meaning of its answer.  Pure,
 * except for installed_files(), which checks the files here.
 *
 * The script is the standard input of /bin/sh, so that the user's shell does not matter.  It
 * reports the number of cores and the time of the host, and whether the files exist that every
 * process needs: the proxy and the library, of the same size as here, with all libraries that they
 * need.
 */

#ifndef ELASTIC_RM_HOST_PROBE_H_INCLUDED
#define ELASTIC_RM_HOST_PROBE_H_INCLUDED

#include <cstdint>
#include <string>
#include <vector>

#include "base/command.h"

namespace elastic::rm {

/* The files that must be the same there. */
struct InstalledFile {
    std::string path;
    int64_t bytes = 0;
    bool is_library = false;
};

/* The installed ones of the proxy and the library that belong to this mpiexec. */
std::vector<InstalledFile> installed_files(const std::string &mpiexec);

std::string probe_script(const std::vector<InstalledFile> &files);

/* Meaning for the jobs on the host. */
enum class HostHealth {
    WELL,
    UNFIT,          /* it answers, but the project's processes could not start there */
    /* it refuses the login, or does not answer in time: the state of its processes is unknown */
    NO_ACCESS,
    NO_ANSWER       /* the network does not reach it: its jobs have failed */
};

struct HostReport {
    HostHealth health = HostHealth::NO_ACCESS;
    /* unless it is usable: the error and the remedy; names the host */
    std::string reason;
    int cores = 0;              /* if it is usable */
    int64_t clock_offset_s = 0;  /* difference of its clock, minus the duration of the probe */
};

/* `queried_ms` and `answered_ms` are times of the local clock.  `ssh` is the command for a test
 * by a person: "ssh -F FILE h1". */
HostReport judge(const std::string &host, const CommandEnd &end,
               const std::vector<InstalledFile> &files, int64_t queried_ms, int64_t answered_ms,
               const std::string &ssh);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_HOST_PROBE_H_INCLUDED */
