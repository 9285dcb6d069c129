/*
 * One-way messages of the extended PMI to the node daemon (doc/developer/pmi.md).  Included at the end of
 * simple_pmi.c, because the connection is that file's own.
 */

#ifndef SIMPLE_PMI_ADAPT_H_INCLUDED
#define SIMPLE_PMI_ADAPT_H_INCLUDED

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include "pmi_adapt_calls.h"

/* Sends one complete line ("cmd=... \n") of any length; no answer is expected.  The caller holds the
 * PMI lock.  Returns 0, or -1 when there is no daemon or the connection is broken. */
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
static const char barrier_end[] = "cmd=barrier_out";

/* A spawn whose reply is awaited; that reply, if another query has read it. */
static bool spawn_pending;
static char spawn_reply[PMIU_MAXLINE];
static const char spawn_result[] = "cmd=spawn_result";

static bool begins(const char *line, const char *with)
{
    return !strncmp(line, with, strlen(with));
}

/* Of simple_pmiutil.c: whether PMIU_readline has read more than the lines that it returned. */
int PMIU_has_unread(void);

static bool line_has_come(int wait_ms)
{
    struct pollfd line = {.fd = PMI_fd,.events = POLLIN };

    return PMIU_has_unread() || poll(&line, 1, wait_ms) > 0;
}

/* The next line, but for that end and that reply.  0, or -1. */
static int read_answer(char answer[PMIU_MAXLINE])
{
    for (;;) {
        if (PMIU_readline(PMI_fd, answer, PMIU_MAXLINE) <= 0)
            return -1;
        if (in_barrier && begins(answer, barrier_end))
            barrier_is_over = true;
        else if (spawn_pending && begins(answer, spawn_result))
            MPL_strncpy(spawn_reply, answer, sizeof(spawn_reply));
        else
            return 0;
    }
}

static void (*make_progress)(void);

void PMIU_Adapt_set_progress(void (*progress)(void))
{
    make_progress = progress;
}

/* Progress is polled often at first, as most messages come soon, and then at intervals that load no core. */
#define SPAWN_POLLS 1000
#define SPAWN_POLL_MS 1

static int await_spawn(char reply[PMIU_MAXLINE])
{
    int failed = 0;

    spawn_pending = true;
    spawn_reply[0] = '\0';
    for (int polls = 0; !failed && !spawn_reply[0]; polls++) {
        if (make_progress)
            make_progress();
        if (spawn_reply[0] || !line_has_come(!make_progress ? -1 : polls < SPAWN_POLLS ? 0 : SPAWN_POLL_MS))
            continue;
        failed = PMIU_readline(PMI_fd, reply, PMIU_MAXLINE) <= 0;
        if (in_barrier && begins(reply, barrier_end))
            barrier_is_over = true;
        else
            MPL_strncpy(spawn_reply, reply, sizeof(spawn_reply));
    }
    spawn_pending = false;
    MPL_strncpy(reply, spawn_reply, PMIU_MAXLINE);
    return failed ? -1 : 0;
}

/* As PMIU_Adapt_send, and then the line that is the answer, ended by 0.  0, or -1. */
int PMIU_Adapt_query(const char *line, int length, char answer[PMIU_MAXLINE])
{
    return PMIU_Adapt_send(line, length) ? -1 : read_answer(answer);
}

/* PMI_Barrier in two parts, between which the caller may send queries (PMIU_Adapt_query), resolve names and export
 * them: enter reports that this process has come, unless it has done so and not seen the end since; test polls,
 * without waiting, whether all have.  Both return 0; -1 if the connection is broken. */
int PMIU_Adapt_barrier_enter(void)
{
    static const char command[] = "cmd=barrier_in\n";

    if (in_barrier || PMI_initialized <= SINGLETON_INIT_BUT_NO_PM)
        return 0;
    if (PMIU_Adapt_send(command, sizeof(command) - 1))
        return -1;
    barrier_is_over = false;
    in_barrier = true;
    return 0;
}

int PMIU_Adapt_barrier_test(bool * is_over)
{
    char line[PMIU_MAXLINE];

    if (in_barrier && !barrier_is_over && line_has_come(0)) {
        if (PMIU_readline(PMI_fd, line, sizeof(line)) <= 0 || !begins(line, barrier_end))
            return -1;
        barrier_is_over = true;
    }
    *is_over = !in_barrier || barrier_is_over;
    in_barrier = in_barrier && !*is_over;
    return 0;
}

bool PMIU_Adapt_has_manager(void)
{
    return PMI_initialized > SINGLETON_INIT_BUT_NO_PM;
}

/* Instead of PMI_Finalize: the process may end now, or begin again with PMI_Init.  Programs that it starts do not
 * inherit the connection.  Returns 0, or -1 as PMIU_Adapt_send. */
int PMIU_Adapt_keep(void)
{
    static const char command[] = "cmd=adapt_parked\n";

    if (PMIU_Adapt_send(command, sizeof(command) - 1))
        return -1;
    fcntl(PMI_fd, F_SETFD, FD_CLOEXEC);
    return 0;
}

/* PMI_Publish_name and PMI_Lookup_name, also while this process is in a barrier, and with process managers that answer
 * info=ok instead of rc=0, as PMI's first implementations did (Slurm's plugin pmi2).  value has space for
 * MPI_MAX_PORT_NAME characters.  Returns 0, or -1. */
/* Sends the line and reads the answer, in which values may be searched then: whether it reports success. */
static bool request_name(const char *line, int length, const char *expected)
{
    char answer[PMIU_MAXLINE], text[PMIU_MAXLINE] = "";

    if (PMI_initialized <= SINGLETON_INIT_BUT_NO_PM || length >= PMIU_MAXLINE ||
        PMIU_Adapt_query(line, length, answer) || PMIU_parse_keyvals(answer) < 0)
        return false;
    PMIU_getval("cmd", text, sizeof(text));
    if (strcmp(text, expected))
        return false;
    PMIU_getval("rc", text, sizeof(text));
    if (!strcmp(text, "0"))
        return true;
    text[0] = 0;
    PMIU_getval("info", text, sizeof(text));
    return !strcmp(text, "ok");
}

int PMIU_Adapt_publish(const char *name, const char *value)
{
    char line[PMIU_MAXLINE];
    int length = snprintf(line, sizeof(line), "cmd=publish_name service=%s port=%s\n", name, value);

    return request_name(line, length, "publish_result") ? 0 : -1;
}

int PMIU_Adapt_lookup(const char *name, char *value)
{
    char line[PMIU_MAXLINE];
    int length = snprintf(line, sizeof(line), "cmd=lookup_name service=%s\n", name);

    return request_name(line, length, "lookup_result") && PMIU_getval("port", value, MPI_MAX_PORT_NAME) ? 0 : -1;
}

#endif /* SIMPLE_PMI_ADAPT_H_INCLUDED */
