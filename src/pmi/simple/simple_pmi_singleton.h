/*
 * A process that was started without mpiexec, and needs one, starts mpiexec itself and waits for it
 * here. mpiexec may not exist, or may end before it has connected.  Hydra's mpiexec ends, because
 * it cannot serve such a process.  DS4.  Included by simple_pmi.c.
 */

#ifndef SIMPLE_PMI_SINGLETON_H_INCLUDED
#define SIMPLE_PMI_SINGLETON_H_INCLUDED

#include <poll.h>
#include <sys/wait.h>

#define PMIU_SINGLETON_ABSENT 127       /* its exit code if it could not be executed */
#define PMIU_SINGLETON_LOOK_MS 50

static void report_singleton(const char *what)
{
    fprintf(stderr, "This program was not started by mpiexec, and needs it now; %s.  Start it with "
            "mpiexec, also as a "
            "single process: mpiexec -n 1 PROGRAM\n", what);
}

/* Waits until mpiexec, the process `pid`, connects to the socket. 0, or -1. */
static int await_singleton(pid_t pid, int listening)
{
    struct pollfd connection = {.fd = listening,.events = POLLIN };
    int status = 0;

    for (;;) {
        /* true also if another part of the program has reaped it */
        int has_ended = waitpid(pid, &status, WNOHANG) != 0;
        if (poll(&connection, 1, has_ended ? 0 : PMIU_SINGLETON_LOOK_MS) > 0)
            return 0;
        if (has_ended)
            break;
    }
    close(listening);
    if (WIFEXITED(status) && WEXITSTATUS(status) == PMIU_SINGLETON_ABSENT)
        report_singleton("no mpiexec on PATH can be executed");
    else
        report_singleton("the mpiexec on PATH ended before it connected, as that of MPICH does");
    return -1;
}

#endif /* SIMPLE_PMI_SINGLETON_H_INCLUDED */
