/* See capacity.h. */

#include "capacity.h"
#include <sys/resource.h>

/* Descriptors that a proxy needs: for each process, and for itself. */
#define FDS_PER_PROCESS 6
#define FDS_PER_PROXY 32

/* Descriptors that mpiexec itself opens for a launch: the port; for each proxy two ends of its
 * output, one that reports its launcher's end, and its connection; temporarily the other ends, its
 * input and what its launcher inherits. */
#define FDS_PER_LAUNCH 8
#define FDS_PER_LAUNCHER 4

/* The limit of descriptors of a proxy limits the number of its processes.  For the launch too, but
 * there Hydra fails with the whole job. */
static int check_proxies(const struct HYD_pg *pg, char *error, size_t error_bytes)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    for (const struct HYD_proxy * p = pg->proxy_list; p; p = p->next) {
        rlim_t need = FDS_PER_PROXY + (rlim_t) p->proxy_process_count * FDS_PER_PROCESS;
        if (need <= limit.rlim_cur)
            continue;
        MPL_snprintf(error, error_bytes,
                     "host %s cannot start %d more processes at once: they need %llu open files "
                     "and the limit is %llu (ulimit -n); grow in smaller steps, name more hosts or "
                     "raise the limit",
                     p->node->hostname, p->proxy_process_count, (unsigned long long) need,
                     (unsigned long long) limit.rlim_cur);
        return -1;
    }
    return 0;
}

/* Whether `count` more files can be opened. */
static int can_open(int count)
{
    int *fds = MPL_malloc((size_t) count * sizeof(int), MPL_MEM_PM), opened = 0, error =
        fds ? 0 : ENOMEM;

    while (!error && opened < count)
        if ((fds[opened] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
            error = errno;
        else
            opened++;
    for (int i = 0; i < opened; i++)
        close(fds[i]);
    MPL_free(fds);
    errno = error;
    return !error;
}

static int check_mpiexec(const struct HYD_pg *pg, char *error, size_t error_bytes)
{
    struct rlimit limit = {.rlim_cur = 0 };
    int need = FDS_PER_LAUNCH;

    for (const struct HYD_proxy * p = pg->proxy_list; p; p = p->next)
        need += FDS_PER_LAUNCHER;
    if (can_open(need))
        return 0;
    int why = errno;
    getrlimit(RLIMIT_NOFILE, &limit);
    MPL_snprintf(error, error_bytes,
                 "mpiexec cannot open the %d files that the proxies of the joining processes "
                 "need (%s; its "
                 "limit is %llu, ulimit -n): raise the limit, or try again with fewer hosts", need,
                 MPL_strerror(why), (unsigned long long) limit.rlim_cur);
    return -1;
}

int HYD_step_check_capacity(const struct HYD_pg *pg, char *error, size_t error_bytes)
{
    return check_proxies(pg, error, error_bytes) < 0 ? -1 : check_mpiexec(pg, error, error_bytes);
}
