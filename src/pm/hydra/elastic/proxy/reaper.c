/* See reaper.h. */

#include "reaper.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "pmi_adapt_set.h"

#define END_MS 1000     /* it usually ends at once */

/* To the reaper: a process group begins or ends; leader 0: none is left.  From the reaper, once:
 * its pid, and 1. */
struct word {
    pid_t leader;
    int lives;
};

static int line = -1;           /* to the reaper; -1: there is none */

/* ---- both ------------------------------------------------------------------------------------ */

static pid_t leaders[PMI_TASKS_MAX];
static int n_leaders = 0;

static void take(const struct word *word)
{
    int i = 0;

    while (i < n_leaders && leaders[i] != word->leader)
        i++;
    if (word->leader == 0)
        n_leaders = 0;
    else if (word->lives && i == n_leaders && n_leaders < PMI_TASKS_MAX)
        leaders[n_leaders++] = word->leader;
    else if (!word->lives && i < n_leaders)
        leaders[i] = leaders[--n_leaders];
}

/* ---- the reaper ------------------------------------------------------------------------------ */

/* Closes all descriptors of the proxy except the line, blocks all signals, and makes a session of
 * its own. */
static int stand_apart(int fd)
{
    sigset_t all;
    int line = fcntl(fd, F_DUPFD_CLOEXEC, 3), null = open("/dev/null", O_RDWR);

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_NAME, "hydra_reaper");
    for (int i = 0; i < 3; i++)
        if (null < 0 || dup2(null, i) < 0)
            close(i);
    if (line > 3)
        close_range(3, (unsigned) line - 1, 0);
    close_range((unsigned) line + 1, ~0U, 0);
    return line;
}

static void guard(int fd)
{
    struct word word = { getpid(), 1 };

    fd = stand_apart(fd);
    if (fd < 0)
        _exit(1);       /* without the line it cannot work */
    send(fd, &word, sizeof(word), MSG_NOSIGNAL);
    while (read(fd, &word, sizeof(word)) == (ssize_t) sizeof(word))
        take(&word);
    for (int i = 0; i < n_leaders; i++)
        killpg(leaders[i], SIGKILL);
    _exit(0);
}

/* ---- the proxy ------------------------------------------------------------------------------ */

/* Starts a reaper and sends it all known groups.  The reaper is not a child: the proxy waits for
 * all children before it ends, and the reaper waits for the end of the proxy. */
static void start(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        if (fork() == 0)
            guard(ends[0]);
        _exit(0);
    }
    close(ends[0]);
    line = ends[1];
    if (child < 0 || waitpid(child, NULL, 0) != child) {
        close(line);
        line = -1;
    }
}

/* Replaces a reaper that was killed or does not read.  Otherwise it might later kill groups whose
 * numbers were used again. */
static void replace(void)
{
    struct word word;

    if (recv(line, &word, sizeof(word), MSG_DONTWAIT) == (ssize_t) sizeof(word))
        kill(word.leader, SIGKILL);
    close(line);
    line = -1;
    start();
}

static void notify(pid_t leader, int lives)
{
    const struct word word = { leader, lives };

    take(&word);
    if (line < 0 && lives)
        start();
    else if (line >= 0 &&
             send(line, &word, sizeof(word), MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t) sizeof(word))
        replace();
}

void HYD_reaper_begun(pid_t leader)
{
    notify(leader, 1);
}

void HYD_reaper_ended(pid_t leader)
{
    notify(leader, 0);
}

void HYD_reaper_dismiss(void)
{
    struct pollfd there = {.fd = line,.events = POLLIN };
    struct word word;

    if (line < 0)
        return;
    notify(0, 0);
    shutdown(line, SHUT_WR);
    while (poll(&there, 1, END_MS) == 1 && read(line, &word, sizeof(word)) > 0);
    close(line);
    line = -1;
}
