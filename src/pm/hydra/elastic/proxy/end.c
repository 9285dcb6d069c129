/* See end.h. */

#include "pmip.h"
#include <dirent.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "pmip_adapt.h"
#include "wire/event_loop.h"

#define STUCK_S 5               /* a process without progress for this time is stuck */
#define STUCK_TICKS_PERMILLE 5  /* of a processor; less counts as no progress */

static int signal_sent = 0;            /* the signal */
static int signal_s = 0;          /* seconds since the signal */
static int64_t end_after_ms = 0;
static uint64_t *ticks = NULL;  /* of each process, when they were checked last */

HYD_status HYD_pmcd_pmip_end_after_param(char *arg, char ***argv)
{
    end_after_ms = atoll(**argv);
    (*argv)++;
    return HYD_SUCCESS;
}

void HYD_pmcd_pmip_adapt_kill(pid_t pid, pid_t group, int signum)
{
    if (group == getpgrp())
        kill(pid, signum);
    else
        killpg(group, signum);
}

/* ---- what the kernel knows about a process --------------------------------------------------- */

struct process_status {
    char state;                 /* of the first thread: R, S, D, T, ... */
    uint64_t ticks;             /* of processor time, all threads */
    int left_alone;             /* a debugger traces it, or it writes a core file */
    int catches, blocks;        /* the signal */
    int threads;
    int busy;                   /* another thread runs, or waits for a device */
    int in_futex;
};

static int lives(int process_id)
{
    siginfo_t info = {.si_pid = 0 };
    pid_t pid = HYD_pmcd_pmip.downstream.pid[process_id];

    return pid > 0 && waitid(P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == 0;
}

static int read_text(const char *path, char *text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, bytes - 1);

    if (fd >= 0)
        close(fd);
    text[n < 0 ? 0 : n] = '\0';
    return n > 0;
}

/* State, process group and processor time: fields 3, 5, 14 and 15.  The name before them may
 * contain any characters. */
static int read_stat(const char *folder, char *state, int *group, uint64_t *used)
{
    char path[64], text[1024];
    unsigned long user, system;

    MPL_snprintf(path, sizeof(path), "%s/stat", folder);
    const char *rest = read_text(path, text, sizeof(text)) ? strrchr(text, ')') : NULL;
    if (!rest ||
        sscanf(rest + 1, " %c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", state, group, &user,
               &system) != 4)
        return 0;
    *used = user + system;
    return 1;
}

static int is_living_member(const char *folder, pid_t leader)
{
    char state;
    int group;
    uint64_t used;

    return read_stat(folder, &state, &group, &used) && group == (int) leader && state != 'Z' &&
        state != 'X';
}

/* killpg() alone would also find ended processes for which no parent waits, as in some
 * containers. */
int HYD_end_group_lives(pid_t leader)
{
    char folder[32];
    int lives = 0;
    DIR *dir = killpg(leader, 0) == 0 ? opendir("/proc") : NULL;

    for (struct dirent * e; dir && !lives && (e = readdir(dir));) {
        MPL_snprintf(folder, sizeof(folder), "/proc/%.16s", e->d_name);
        lives = isdigit((unsigned char) e->d_name[0]) && is_living_member(folder, leader);
    }
    if (dir)
        closedir(dir);
    return lives;
}

static uint64_t number_after(const char *text, const char *label, int base)
{
    const char *found = strstr(text, label);

    return found ? strtoull(found + strlen(label), NULL, base) : 0;
}

static int waits_in_futex(const char *folder)
{
    char path[64], text[256];

    MPL_snprintf(path, sizeof(path), "%s/wchan", folder);
    if (read_text(path, text, sizeof(text)) && strstr(text, "futex"))
        return 1;
    MPL_snprintf(path, sizeof(path), "%s/syscall", folder);
    return read_text(path, text, sizeof(text)) && isdigit((unsigned char) text[0]) &&
        atoi(text) == SYS_futex;
}

static int some_thread_is_busy(const char *folder)
{
    char path[64], thread[128], state = 'S';
    uint64_t used;
    int busy = 0, group;

    MPL_snprintf(path, sizeof(path), "%s/task", folder);
    DIR *dir = opendir(path);
    for (struct dirent * e; dir && (e = readdir(dir));) {
        MPL_snprintf(thread, sizeof(thread), "%s/%.16s", path, e->d_name);
        busy |= e->d_name[0] != '.' && read_stat(thread, &state, &group, &used) &&
            (state == 'R' || state == 'D');
    }
    if (dir)
        closedir(dir);
    return busy;
}

static int read_status(pid_t pid, struct process_status *process_status)
{
    char folder[32], path[64], text[4096];
    uint64_t bit = (uint64_t) 1 << (signal_sent - 1);
    int group;

    MPL_snprintf(folder, sizeof(folder), "/proc/%d", (int) pid);
    MPL_snprintf(path, sizeof(path), "%s/status", folder);
    if (!read_stat(folder, &process_status->state, &group, &process_status->ticks) ||
        !read_text(path, text, sizeof(text)))
        return 0;
    process_status->left_alone =
        number_after(text, "TracerPid:", 10) != 0 || number_after(text, "CoreDumping:", 10) != 0;
    process_status->threads = (int) number_after(text, "Threads:", 10);
    process_status->blocks = (number_after(text, "SigBlk:", 16) & bit) != 0;
    process_status->catches =
        ((number_after(text, "SigCgt:", 16) | number_after(text, "SigIgn:", 16)) & bit) != 0;
    process_status->busy = some_thread_is_busy(folder);
    process_status->in_futex = waits_in_futex(folder);
    return 1;
}

/* ---- what that means ------------------------------------------------------------------------- */

/* Whether the signal has not reached the process: it was being created at that time, or it is
 * stopped. */
static int was_not_reached(const struct process_status *process_status)
{
    return !process_status->catches && !process_status->blocks;
}

static int is_stuck(int process_id, const struct process_status *process_status)
{
    uint64_t few = (uint64_t) sysconf(_SC_CLK_TCK) * STUCK_S * STUCK_TICKS_PERMILLE / 1000;

    /* An interactive program continues after an interrupt, and its first thread may wait for
     * others. */
    if (signal_sent == SIGINT && process_status->threads > 1)
        return 0;
    return process_status->in_futex && !process_status->busy &&
        process_status->ticks - ticks[process_id] <= few;
}

static void end_process(int process_id, const char *why)
{
    pid_t pid = HYD_pmcd_pmip.downstream.pid[process_id];

    HYDU_dump(stderr, "rank %d, process %d, %s %d s after signal %d (%s): it is killed\n",
              HYD_pmcd_pmip.downstream.pmi_rank[process_id], (int) pid, why, signal_s, signal_sent,
              strsignal(signal_sent));
    if (getpgid(pid) == pid)
        killpg(pid, SIGKILL);
    else
        kill(pid, SIGKILL);
}

static void judge(int process_id)
{
    int late = end_after_ms > 0 && signal_s * (int64_t) 1000 >= end_after_ms &&
        HYD_pmcd_pmip_adapt_is_adaptive(process_id);
    pid_t pid = HYD_pmcd_pmip.downstream.pid[process_id];
    struct process_status process_status;

    if (!lives(process_id))
        return;
    if (!read_status(pid, &process_status)) { /* no free descriptor to read it */
        if (late)
            end_process(process_id, "has not ended");
        return;
    }
    if (process_status.left_alone)
        return;
    if (was_not_reached(&process_status) && signal_s < STUCK_S)
        kill(pid, signal_sent);
    else if (was_not_reached(&process_status))
        end_process(process_id, "has not received the signal");
    else if (late)
        end_process(process_id, "has not ended");
    else if (signal_s % STUCK_S == 0 && is_stuck(process_id, &process_status))
        end_process(process_id, "hangs");
    if (signal_s % STUCK_S == 1)
        ticks[process_id] = process_status.ticks;
}

static HYD_status every_second(void)
{
    HYD_loop_call(every_second, 1000);
    signal_s++;
    for (int i = 0; HYD_pmcd_pmip.downstream.pid && i < HYD_pmcd_pmip.local.proxy_process_count;
         i++)
        judge(i);
    return HYD_SUCCESS;
}

void HYD_pmcd_pmip_end_signalled(int signum)
{
    int n = HYD_pmcd_pmip.local.proxy_process_count;

    if (signal_sent || n <= 0 || (signum != SIGTERM && signum != SIGINT && signum != SIGQUIT))
        return;
    ticks = MPL_calloc((size_t) n, sizeof(*ticks), MPL_MEM_PM);
    if (!ticks) {
        HYDU_error_printf("no memory to watch the end of the processes\n");
        return;
    }
    HYD_loop_call(every_second, 1000);
    signal_sent = signum;
}
