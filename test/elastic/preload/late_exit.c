/*
 * Preloaded into mpiexec, makes the child whose pid is in the file LATE_EXIT end between mpiexec's
 * search for events and its search for children that have ended: that takes the file away and waits
 * for it.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t waitpid(pid_t pid, int *status, int options)
{
    static pid_t(*next) (pid_t, int *, int);
    const char *name = getenv("LATE_EXIT");
    FILE *file = pid == -1 && options == WNOHANG && name ? fopen(name, "r") : NULL;
    siginfo_t info;
    int late;

    if (!next)
        *(void **) &next = dlsym(RTLD_NEXT, "waitpid");
    if (file && fscanf(file, "%d", &late) == 1 &&
        !waitid(P_PID, (id_t) late, &info, WEXITED | WNOHANG | WNOWAIT) && unlink(name) == 0) {
        pid = late;
        options = 0;
    }
    if (file)
        fclose(file);
    return next(pid, status, options);
}
