/*
 * See children.h.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE             /* execvpe, pipe2 */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "hydra.h"
#include "topo.h"
#include "wire/children.h"

#define N_STREAMS 3             /* standard input, output and error: numbers of their descriptors */

/* A pipe for each stream of a child, -1: the child does not have this stream. */
struct streams {
    int of_child[N_STREAMS], of_parent[N_STREAMS];
};

int (*HYD_excuses_child) (pid_t pid) = NULL;
int HYD_child_clears_env = 0;
int HYD_child_death_signal = 0;
int HYD_child_error_fd = -1;
int HYD_child_session = 1;

/* Returns the PATH in which the program is searched for, or NULL. */
static char *clear_env(void)
{
    const char *path = HYD_child_clears_env ? getenv("PATH") : NULL;
    char *copy = path ? strdup(path) : NULL;

    if (HYD_child_clears_env)
        clearenv();
    return copy;
}

/* As execvp: searches in the program's own PATH if it has one, else in `path`. */
static void execute(char **args, const char *path)
{
    size_t n = 0;

    while (environ && environ[n])
        n++;
    char **only = path && !getenv("PATH") ? calloc(n + 1, sizeof(*only)) : NULL;
    if (!only) {
        execvp(args[0], args);
        return;
    }
    if (n > 0)
        memcpy(only, environ, n * sizeof(*only));
    setenv("PATH", path, 1);    /* for the search, not for the program */
    execvpe(args[0], args, only);
}

/* Moves the process to its own process group, without a terminal, as in its own session. */
static void leave_group(void)
{
    setpgid(0, 0);
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY);
    if (fd >= 0) {
        ioctl(fd, TIOCNOTTY);
        close(fd);
    }
}

/* In the child: makes its ends of pipes its streams.  Execution closes all other descriptors of
 * pipes. */
static HYD_status connect_streams(struct streams *streams)
{
    HYD_status status = HYD_SUCCESS;

    for (int fd = 0; fd < N_STREAMS; fd++) {
        int *end = &streams->of_child[fd];
        if (*end >= 0 && *end < N_STREAMS && (*end = fcntl(*end, F_DUPFD_CLOEXEC, N_STREAMS)) < 0)
            HYDU_ERR_SETANDJUMP(status, HYD_SOCK_ERROR, "dup error (%s)\n", MPL_strerror(errno));
    }
    for (int fd = 0; fd < N_STREAMS; fd++) {
        if (streams->of_child[fd] < 0)
            close(fd);
        else if (dup2(streams->of_child[fd], fd) < 0)
            HYDU_ERR_SETANDJUMP(status, HYD_SOCK_ERROR, "dup2 error (%s)\n", MPL_strerror(errno));
    }

  fn_exit:
  fn_fail:
    return status;
}

/* In the child, which never returns to its parent's code. */
static void ATTRIBUTE((noreturn)) become(char **args, struct HYD_env *env, struct streams *streams,
                                         int slot)
{
    HYD_status status;

    if (HYD_child_session)
        setsid();
    else
        leave_group();
    if (HYD_child_death_signal)
        prctl(PR_SET_PDEATHSIG, HYD_child_death_signal);
    status = connect_streams(streams);
    HYDU_ERR_POP(status, "unable to connect standard streams\n");
    char *path = clear_env();
    if (env) {
        status = HYDU_putenv_list(env, HYD_ENV_OVERWRITE_TRUE);
        HYDU_ERR_POP(status, "unable to putenv\n");
    }
    if (slot >= 0) {
        status = HYDT_topo_bind(slot);
        HYDU_ERR_POP(status, "bind process failed\n");
    }
    execute(args, path);
    int error = errno;
    if (HYD_child_error_fd >= 0)
        dup2(HYD_child_error_fd, STDERR_FILENO);
    HYDU_error_printf("execvp error on file %s (%s)\n", args[0], MPL_strerror(error));

  fn_exit:
  fn_fail:
    _exit(255);
}

static void close_ends(const int *ends)
{
    for (int fd = 0; fd < N_STREAMS; fd++)
        if (ends[fd] >= 0)
            close(ends[fd]);
}

/* Stores the requested ends of pipes in *in, *out and *err; slot < 0: no binding. */
HYD_status HYDU_create_process(char **args, struct HYD_env *env, int *in, int *out, int *err,
                               int *pid, int slot)
{
    int *wanted[N_STREAMS] = { in, out, err };
    struct streams streams = { { -1, -1, -1 }, { -1, -1, -1 } };
    HYD_status status = HYD_SUCCESS;
    pid_t child;

    if (pid)
        *pid = -1;      /* no process, if this fails */
    for (int fd = 0; fd < N_STREAMS; fd++) {
        int ends[2];
        if (!wanted[fd])
            continue;
        if (pipe2(ends, O_CLOEXEC) < 0)
            HYDU_ERR_SETANDJUMP(status, HYD_SOCK_ERROR, "pipe error (%s)\n", MPL_strerror(errno));
        streams.of_child[fd] = ends[fd == STDIN_FILENO ? 0 : 1];
        streams.of_parent[fd] = ends[fd == STDIN_FILENO ? 1 : 0];
    }

    child = fork();
    if (child < 0)
        HYDU_ERR_SETANDJUMP(status, HYD_INTERNAL_ERROR, "fork error (%s)\n", MPL_strerror(errno));
    if (child == 0)
        become(args, env, &streams, slot);
    close_ends(streams.of_child);
    for (int fd = 0; fd < N_STREAMS; fd++)
        if (wanted[fd])
            *wanted[fd] = streams.of_parent[fd];
    if (pid)
        *pid = child;

  fn_exit:
    return status;
  fn_fail:
    close_ends(streams.of_child);
    close_ends(streams.of_parent);
    goto fn_exit;
}
