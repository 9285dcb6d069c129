/*
 * One-way messages of the extended PMI to the proxy (doc/developer/pmi.md).  Included at the
 * end of simple_pmi.c, because the connection is that file's own.
 */

#ifndef SIMPLE_PMI_ADAPT_H_INCLUDED
#define SIMPLE_PMI_ADAPT_H_INCLUDED

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include "pmi_adapt_calls.h"

/* Sends one complete line ("cmd=... \n") of any length; no answer is expected.  The caller holds
 * the PMI lock.  Returns 0, or -1 when there is no proxy or the connection is broken. */
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

/* Whether this process is in a barrier, and whether the end of that barrier has arrived. */
static bool in_barrier, barrier_is_over;
static const char barrier_end[] = "cmd=barrier_out";

/* A reply that a thread awaits while its process makes progress.  A query of another thread may
 * read it. */
struct awaited_reply {
    const char *result;         /* begin of its line */
    /* reply to a query about a name; a process has one such query at a time */
    bool is_name;
    bool has_come;
    char *line;                 /* PMIU_MAXLINE bytes */
    struct awaited_reply *next;
};
static struct awaited_reply *awaited_replies;

static bool begins(const char *line, const char *with)
{
    return !strncmp(line, with, strlen(with));
}

/* In simple_pmiutil.c: whether PMIU_readline has read more than the lines that it returned. */
int PMIU_has_unread(void);

static bool line_has_come(int wait_ms)
{
    struct pollfd line = {.fd = PMI_fd,.events = POLLIN };

    return PMIU_has_unread() || poll(&line, 1, wait_ms) > 0;
}

/* Records the line if it is the end of the barrier or an awaited reply, and returns whether it
 * is. */
static bool note_line(const char *line)
{
    struct awaited_reply *each = awaited_replies;

    if (in_barrier && begins(line, barrier_end)) {
        barrier_is_over = true;
        return true;
    }
    while (each && (each->has_come || !begins(line, each->result)))
        each = each->next;
    if (!each)
        return false;
    MPL_strncpy(each->line, line, PMIU_MAXLINE);
    each->has_come = true;
    return true;
}

/* Reads the next line that is neither. 0, or -1. */
static int read_answer(char answer[PMIU_MAXLINE])
{
    do {
        if (PMIU_readline(PMI_fd, answer, PMIU_MAXLINE) <= 0)
            return -1;
    } while (note_line(answer));
    return 0;
}

static void (*make_progress)(int fd, int wait_ms);

void PMIU_Adapt_set_progress(void (*progress)(int fd, int wait_ms))
{
    make_progress = progress;
}

/* Polls often at first, because most messages arrive soon, and then at intervals that load no
 * core. */
#define REPLY_POLLS 1000
#define REPLY_POLL_MS 1

/* Records a line if one arrives while this process makes progress; without progress waits for one.
 * 0, or -1. */
static int poll_line(int polls, bool progresses)
{
    char line[PMIU_MAXLINE];

    progresses = progresses && make_progress;
    if (progresses)
        make_progress(PMI_fd, PMIU_has_unread() || polls < REPLY_POLLS ? 0 : REPLY_POLL_MS);
    if (!line_has_come(progresses ? 0 : -1))
        return 0;
    if (PMIU_readline(PMI_fd, line, sizeof(line)) <= 0)
        return -1;
    (void) note_line(line);     /* no thread waits for any other line */
    return 0;
}

static bool is_awaited(const struct awaited_reply *other)
{
    const struct awaited_reply *each = awaited_replies;

    while (each && (each->has_come || each->is_name != other->is_name))
        each = each->next;
    return each != NULL;
}

/* Waits until no other thread awaits a reply of this kind, because the process manager handles one
 * query at a time. 0, or -1. */
static int await_turn(const struct awaited_reply *mine, bool progresses)
{
    int failed = 0;

    for (int polls = 0; !failed && is_awaited(mine); polls++)
        failed = poll_line(polls, progresses);
    return failed;
}

static void begin_await(struct awaited_reply *mine)
{
    mine->next = awaited_replies;
    awaited_replies = mine;
}

static void end_await(struct awaited_reply *mine)
{
    struct awaited_reply **link = &awaited_replies;

    while (*link != mine)
        link = &(*link)->next;
    *link = mine->next;
}

static int await_reply(struct awaited_reply *mine, bool progresses)
{
    int failed = 0;

    begin_await(mine);
    for (int polls = 0; !failed && !mine->has_come; polls++)
        failed = poll_line(polls, progresses);
    end_await(mine);
    return mine->has_come ? 0 : -1;
}

static const char spawn_result[] = "cmd=spawn_result";

int PMIU_Adapt_await_spawn_turn(void)
{
    const struct awaited_reply spawn = {.result = spawn_result };

    return await_turn(&spawn, true);
}

static int await_spawn(char reply[PMIU_MAXLINE])
{
    struct awaited_reply mine = {.result = spawn_result,.line = reply };

    return await_reply(&mine, true);
}

/* As PMIU_Adapt_send, then reads the line with the reply, ended by 0. 0, or -1. */
int PMIU_Adapt_query(const char *line, int length, char answer[PMIU_MAXLINE])
{
    return PMIU_Adapt_send(line, length) ? -1 : read_answer(answer);
}

/* PMI_Barrier in two parts.  Between them the caller may send queries (PMIU_Adapt_query), and look
 * up and export names. enter: enters the barrier, unless the process is still in it. test: polls
 * without waiting whether all processes have entered.  Both return 0; -1: the connection is
 * broken. */
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

/* Replaces PMI_Finalize: the process may end now, or call PMI_Init again.  Programs that it starts
 * do not inherit the connection.  Returns 0, or -1 as PMIU_Adapt_send. */
int PMIU_Adapt_keep(void)
{
    static const char command[] = "cmd=adapt_parked\n";

    if (PMIU_Adapt_send(command, sizeof(command) - 1))
        return -1;
    fcntl(PMI_fd, F_SETFD, FD_CLOEXEC);
    return 0;
}

#include "simple_pmi_names.h"

#endif /* SIMPLE_PMI_ADAPT_H_INCLUDED */
