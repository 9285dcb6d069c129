/* See spawned.h. */

#include "spawned.h"
#include "pmip.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "pmip_adapt.h"
#include "answers.h"
#include "demux.h"
#include "exits.h"
#include "reports.h"
#include "wire/children.h"
#include "wire/kinds.h"
#include "wire/spawn.h"

static struct child {
    int watch_fd;               /* pidfd, -1: it has ended */
    int begun, closed;          /* its PMI connection was used; was closed */
    int connection;             /* descriptor of the closed connection */
    int in_init;                /* as reported by the process */
    int exited, wait_status;    /* it has been waited for */
} *children = NULL;             /* by process_id; NULL: the proxy is not of MPI_Comm_spawn */
static int cause = -1;        /* the first process that ended too early */

/* read end for errors of processes that cannot be executed; each execution closes its write end */
static int reader = -1;

HYD_status HYD_spawned_start(void)
{
    int ends[2];
    HYD_status status = HYD_SUCCESS;

    if (!HYD_pmcd_pmip.local.spawner_kvsname)
        goto fn_exit;
    if (pipe2(ends, O_CLOEXEC) < 0)
        HYDU_ERR_SETANDJUMP(status, HYD_INTERNAL_ERROR, "pipe error (%s)\n", MPL_strerror(errno));
    reader = ends[0];
    HYD_child_error_fd = ends[1];

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* ---- MPI_Init and the ends ------------------------------------------------------------------- */

void HYD_spawned_began(int process_id)
{
    if (!children || process_id < 0 || children[process_id].begun)
        return;
    children[process_id].begun = 1;
    for (int i = 0; i < HYD_pmcd_pmip.local.proxy_process_count; i++)
        if (!children[i].begun)
            return;
    /* if mpiexec has failed, the main loop finds out */
    HYD_reports_send(HYD_ADAPT_SPAWN_BEGAN, 0, 0, NULL, 0);
}

void HYD_spawned_note_init(int process_id, int is_in_init)
{
    if (children && process_id >= 0)
        children[process_id].in_init = is_in_init;
}

int HYD_spawned_in_init(int process_id)
{
    return children && children[process_id].in_init;
}

void HYD_spawned_failed(int process_id)
{
    if (children && cause < 0)
        cause = process_id;
}

HYD_status HYD_spawned_close(int fd)
{
    for (int i = 0; children && i < HYD_pmcd_pmip.local.proxy_process_count; i++)
        if (HYD_pmcd_pmip.downstream.pmi_fd[i] == fd) {
            children[i].closed = 1;
            children[i].connection = fd;
        }
    return HYD_answers_close(fd);
}

void HYD_spawned_exited(int process_id, int wait_status)
{
    if (!children)
        return;
    children[process_id].exited = 1;
    children[process_id].wait_status = wait_status;
}

int HYD_spawned_busy(void)
{
    for (int i = 0; children && i < HYD_pmcd_pmip.local.proxy_process_count; i++)
        if (children[i].watch_fd >= 0)
            return 1;
    return 0;
}

/* Reads the last output of the process, and its connection up to the end. */
static HYD_status read_rest(int process_id)
{
    HYD_status status = HYD_SUCCESS;
    int fd = HYD_pmcd_pmip.downstream.pmi_fd[process_id];
    struct pollfd there = {.fd = fd,.events = POLLIN };

    while (status == HYD_SUCCESS && fd >= 0 && !children[process_id].closed &&
           poll(&there, 1, 0) > 0)
        status = HYD_pmcd_pmip_adapt_read_pmi(fd);
    return status;
}

static void report_end(int process_id, int wait_status)
{
    struct HYD_spawn_end end = {.index = (uint32_t) process_id,
                                .wait_status = (uint32_t) wait_status,
        .rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[process_id],
        .begun = (uint32_t) children[process_id].begun,
        .in_init = (uint32_t) children[process_id].in_init
    };

    HYD_reports_send(HYD_ADAPT_SPAWN_ENDED, 0, 0, &end, sizeof(end));
}

/* The wait status; the main loop waits for the process once it is awake, or has done so. */
static int status_of(int process_id)
{
    siginfo_t info = {.si_status = SIGKILL };

    if (children[process_id].exited)
        return children[process_id].wait_status;
    (void) waitid(P_PID, (id_t) HYD_pmcd_pmip.downstream.pid[process_id], &info,
                  WEXITED | WNOHANG | WNOWAIT);
    return info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : info.si_status;
}

static HYD_status ended_cb(int fd, HYD_event_t events, void *userp)
{
    int i = (int) (size_t) userp, wait_status = status_of(i);
    HYD_status status = HYD_SUCCESS;

    status = read_rest(i);
    HYDU_ERR_POP(status, "unable to read from a process that has ended\n");
    /* A child of the process may still have its connection. */
    if (!children[i].begun || !children[i].closed)
        HYD_spawned_failed(i);
    if (cause == i)
        report_end(i, wait_status);
    if (cause == i && (!children[i].begun || HYD_pmcd_pmip.user_global.auto_cleanup))
        HYD_pmcd_pmip_send_signal(SIGKILL);
    else if (cause == i)
        HYD_exits_spawned_ended(i, wait_status, children[i].connection);
    children[i].watch_fd = -1;
    status = HYDT_dmx_deregister_fd(fd);
    HYDU_ERR_POP(status, "unable to deregister fd\n");
    close(fd);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

static HYD_status watch(void)
{
    int n = HYD_pmcd_pmip.local.proxy_process_count;
    HYD_status status = HYD_SUCCESS;

    HYDU_MALLOC_OR_JUMP(children, struct child *, (size_t) n * sizeof(*children), status);
    for (int i = 0; i < n; i++)
        children[i] = (struct child) {.watch_fd = -1 };
    for (int i = 0; i < n; i++) {
        struct child *child = &children[i];
        child->watch_fd = (int) syscall(SYS_pidfd_open, HYD_pmcd_pmip.downstream.pid[i], 0);
        if (child->watch_fd < 0)
            continue;           /* an old kernel: reported to mpiexec when all have ended */
        status = HYDU_sock_cloexec(child->watch_fd);
        HYDU_ERR_POP(status, "unable to set a descriptor to close on exec\n");
        status =
            HYDT_dmx_register_fd(1, &child->watch_fd, HYD_POLLIN, (void *) (size_t) i, ended_cb);
        HYDU_ERR_POP(status, "unable to register fd\n");
    }

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* ---- executions ------------------------------------------------------------------------------ */

HYD_status HYD_spawned_check(void)
{
    char text[1024];
    ssize_t n;
    int failed = 0;

    if (reader < 0)
        return HYD_SUCCESS;
    close(HYD_child_error_fd);
    HYD_child_error_fd = -1;
    while ((n = read(reader, text, sizeof(text) - 1)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        text[n] = '\0';
        HYDU_dump_noprefix(stderr, "%s", text);
        failed = 1;
    }
    close(reader);
    reader = -1;
    if (!failed)
        return watch();
    HYD_pmcd_pmip_send_signal(SIGKILL);
    fflush(stderr);
    exit(0);
}
