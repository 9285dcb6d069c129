/*
 * One-way messages of the extended PMI to the node daemon (doc/developer/pmi.md).  Included at the end of
 * simple_pmi.c, because the connection is that file's own.
 */

#ifndef SIMPLE_PMI_ADAPT_H_INCLUDED
#define SIMPLE_PMI_ADAPT_H_INCLUDED

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>

/* Sends one complete line ("cmd=... \n") of any length; no answer is expected.  The caller holds the
 * PMI lock.  Returns 0, or -1 when there is no daemon or the connection is broken. */
int PMIU_Adapt_send(const char *line, int length);

int PMIU_Adapt_send(const char *line, int length)
{
    if (PMI_initialized != NORMAL_INIT_WITH_PM || PMI_fd == -1)
        return -1;

    while (length > 0) {
        ssize_t sent = write(PMI_fd, line, length);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return -1;
        line += sent;
        length -= sent;
    }
    return 0;
}

/* A barrier that this process is in: it has begun, and its end has come. */
static bool in_barrier, barrier_is_over;

/* The next line but that end.  0, or -1. */
static int read_answer(char answer[PMIU_MAXLINE])
{
    static const char end[] = "cmd=barrier_out";

    for (;;) {
        if (PMIU_readline(PMI_fd, answer, PMIU_MAXLINE) <= 0)
            return -1;
        if (!in_barrier || strncmp(answer, end, sizeof(end) - 1))
            return 0;
        barrier_is_over = true;
    }
}

/* As PMIU_Adapt_send, and then the line that is the answer, ended by 0.  0, or -1. */
int PMIU_Adapt_ask(const char *line, int length, char answer[PMIU_MAXLINE]);

int PMIU_Adapt_ask(const char *line, int length, char answer[PMIU_MAXLINE])
{
    return PMIU_Adapt_send(line, length) ? -1 : read_answer(answer);
}

/* PMI_Barrier that calls idle() again and again while it waits, which may ask (PMIU_Adapt_ask).  Returns 0; -1 if the
 * connection is broken; 1 if idle() returned another number than 0, and the next call waits on for the same barrier. */
int PMIU_Adapt_barrier(int (*idle) (void));

int PMIU_Adapt_barrier(int (*idle) (void))
{
    static const char command[] = "cmd=barrier_in\n", end[] = "cmd=barrier_out";
    struct pollfd answer = {.fd = PMI_fd,.events = POLLIN };
    char line[PMIU_MAXLINE];

    if (PMI_initialized <= SINGLETON_INIT_BUT_NO_PM)
        return 0;
    if (!in_barrier && PMIU_Adapt_send(command, sizeof(command) - 1))
        return -1;
    barrier_is_over = barrier_is_over && in_barrier;
    in_barrier = true;
    while (!barrier_is_over) {
        if (poll(&answer, 1, 0) == 0) {
            if (idle())
                return 1;
            continue;
        }
        if (PMIU_readline(PMI_fd, line, sizeof(line)) <= 0 || strncmp(line, end, sizeof(end) - 1))
            return -1;
        barrier_is_over = true;
    }
    in_barrier = false;
    return 0;
}

bool PMIU_Adapt_has_manager(void);

bool PMIU_Adapt_has_manager(void)
{
    return PMI_initialized > SINGLETON_INIT_BUT_NO_PM;
}

/* In place of PMI_Finalize: the process may end now, or begin again with PMI_Init.  What it starts does not inherit the
 * connection.  Returns 0, or -1 as PMIU_Adapt_send. */
int PMIU_Adapt_keep(void);

int PMIU_Adapt_keep(void)
{
    static const char command[] = "cmd=adapt_parked\n";

    if (PMIU_Adapt_send(command, sizeof(command) - 1))
        return -1;
    fcntl(PMI_fd, F_SETFD, FD_CLOEXEC);
    return 0;
}

/* PMI_Publish_name and PMI_Lookup_name, also with process managers that answer info=ok in place of rc=0, as PMI's first
 * implementations did (Slurm's plugin pmi2).  value has room for MPI_MAX_PORT_NAME characters.  Returns 0, or -1. */
int PMIU_Adapt_publish(const char *name, const char *value);
int PMIU_Adapt_lookup(const char *name, char *value);

static bool is_info_ok(void)
{
    char info[PMIU_MAXLINE] = "";

    PMIU_getval("info", info, sizeof(info));
    return !strcmp(info, "ok");
}

int PMIU_Adapt_publish(const char *name, const char *value)
{
    return PMI_Publish_name(name, value) == PMI_SUCCESS || is_info_ok()? 0 : -1;
}

int PMIU_Adapt_lookup(const char *name, char *value)
{
    if (PMI_Lookup_name(name, value) == PMI_SUCCESS)
        return 0;
    return is_info_ok() && PMIU_getval("port", value, MPI_MAX_PORT_NAME) ? 0 : -1;
}

#endif /* SIMPLE_PMI_ADAPT_H_INCLUDED */
