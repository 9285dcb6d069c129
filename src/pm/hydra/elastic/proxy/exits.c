/* See exits.h. */

#include "state.h"
#include <poll.h>
#include <sys/syscall.h>
#include "demux.h"
#include "pmip_adapt.h"
#include "bcasts.h"
#include "committed.h"
#include "end.h"
#include "exits.h"
#include "messages/report_writers.h"
#include "reports.h"
#include "sets.h"
#include "spawned.h"
#include "tasks.h"
#include "upward.h"
#include "stdin.h"
#include "wire/event_loop.h"
#include "wire/kinds.h"

static int cause = -1;        /* process because of whose end we kill the others */
static int killing = 0;         /* all processes have been killed, or will be killed next */
static int may_be_let_go = 0;   /* by a change through process sets */

/* ---- watching -------------------------------------------------------------------------------- */

/* Stock's main loop waits for the process once it is awake.  The descriptor stays readable, so this
 * is called again, and closes it in the next round.  The main loop checks whether all is over
 * before it waits for a process, so it needs one more event for another check. */
static HYD_status close_at_end(const struct HYD_proxy_process *p, int *fd)
{
    const int closed = *fd;

    if (!p->ended)
        return HYD_SUCCESS;
    *fd = -1;
    HYD_status status = HYDT_dmx_deregister_fd(closed);
    close(closed);
    return status;
}

static HYD_status watch_cb(int fd, HYD_event_t events, void *userp)
{
    struct HYD_proxy_process *p = &HYD_proxy_state.processes[(size_t) userp];

    return close_at_end(p, &p->watch_fd);
}

HYD_status HYD_exits_watch(void)
{
    HYD_status status = HYD_SUCCESS;

    for (int i = 0; i < HYD_proxy_process_count(); i++) {
        struct HYD_proxy_process *p = &HYD_proxy_state.processes[i];
        if (p->ended || p->watch_fd >= 0)
            continue;
        p->watch_fd = (int) syscall(SYS_pidfd_open, HYD_pmcd_pmip.downstream.pid[i], 0);
        if (p->watch_fd < 0)
            continue;   /* an old kernel: detected when its output closes */
        status = HYDU_sock_cloexec(p->watch_fd);
        HYDU_ERR_POP(status, "unable to set a descriptor to close on exec\n");
        status = HYDT_dmx_register_fd(1, &p->watch_fd, HYD_POLLIN, (void *) (size_t) i,
                                      watch_cb);
        HYDU_ERR_POP(status, "unable to register fd\n");
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* ---- waking the main loop -------------------------------------------------------------------- */

#define POLL_MS 100             /* for kernels without pidfds */

static HYD_status nothing(void)
{
    return HYD_SUCCESS;
}

static HYD_status wake_cb(int fd, HYD_event_t events, void *userp)
{
    struct HYD_proxy_process *p = &HYD_proxy_state.processes[(size_t) userp];

    return close_at_end(p, &p->wake_fd);
}

void HYD_exits_wake_at_end(int process_id)
{
    struct HYD_proxy_process *p =
        HYD_proxy_state.processes ? &HYD_proxy_state.processes[process_id] : NULL;
    pid_t pid = HYD_pmcd_pmip.downstream.pid[process_id];

    if (p && (p->watch_fd >= 0 || p->wake_fd >= 0))
        return;
    int fd = p ? (int) syscall(SYS_pidfd_open, pid, 0) : -1;
    if (fd >= 0 && HYDU_sock_cloexec(fd) == HYD_SUCCESS &&
        HYDT_dmx_register_fd(1, &fd, HYD_POLLIN, (void *) (size_t) process_id,
                             wake_cb) == HYD_SUCCESS) {
        p->wake_fd = fd;
        return;
    }
    if (fd >= 0)
        close(fd);
    HYD_loop_call(nothing, POLL_MS);
}

/* ---- processes that leave -------------------------------------------------------------------- */

/* mpiexec ends the job if a signal has killed a process.  Reports an exit code instead, as in a
 * shell. */
static void soften_exit_status(int process_id)
{
    int *status = &HYD_pmcd_pmip.downstream.exit_status[process_id];

    if (HYD_proxy_state.processes[process_id].ended && WIFSIGNALED(*status))
        *status = W_EXITCODE(128 + WTERMSIG(*status), 0);
}

static void let_go(int process_id)
{
    HYD_proxy_state.processes[process_id].let_go = 1;
    HYD_proxy_state.processes[process_id].undecided = 0;
    soften_exit_status(process_id);
}

static void break_off(int process_id)
{
    if (!HYD_proxy_state.processes[process_id].undecided)
        return;
    HYD_proxy_state.processes[process_id].undecided = 0;
    if (killing)
        return;
    HYD_pmcd_pmip_adapt_failed(process_id);
    HYD_pmcd_pmip_send_signal(SIGKILL);
}

/* The payload also lists processes of other proxies, which are skipped. */
static HYD_status for_each_uid(const char *payload, size_t bytes, void (*act) (int process_id))
{
    HYD_status status = HYD_SUCCESS;
    uint32_t uid;

    HYDU_ERR_CHKANDJUMP(status, bytes == 0 || bytes % sizeof(uid) != 0, HYD_INTERNAL_ERROR,
                        "the list of processes that leave has a wrong length\n");
    for (size_t at = 0; at < bytes; at += sizeof(uid)) {
        memcpy(&uid, payload + at, sizeof(uid));
        int i = uid < HYD_proxy_state.join.first_uid ? -1 :
            HYD_proxy_process_of_rank((int) (uid - HYD_proxy_state.join.first_uid));
        if (i >= 0)
            act(i);
    }

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

HYD_status HYD_exits_let_go(const char *payload, size_t bytes)
{
    return for_each_uid(payload, bytes, let_go);
}

HYD_status HYD_exits_break(const char *payload, size_t bytes)
{
    return for_each_uid(payload, bytes, break_off);
}

int HYD_exits_kills(void)
{
    return killing;
}

void HYD_exits_may_be_let_go(void)
{
    may_be_let_go = 1;
}

int HYD_exits_query(int process_id)
{
    uint32_t rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[process_id];

    if (!HYD_proxy_state.processes || !may_be_let_go || killing ||
        !HYD_pmcd_pmip.user_global.auto_cleanup)
        return 0;
    if (HYD_proxy_state.processes[process_id].undecided)
        return 1;
    HYD_proxy_state.processes[process_id].undecided =
        HYD_reports_send(REPORT_BROKE, HYD_proxy_state.epoch, 0, &rank,
                         sizeof(rank)) == HYD_SUCCESS;
    return HYD_proxy_state.processes[process_id].undecided;
}

int HYD_pmcd_pmip_adapt_is_let_go(int process_id)
{
    return process_id >= 0 && HYD_proxy_state.processes &&
        (HYD_proxy_state.processes[process_id].let_go ||
         HYD_proxy_state.processes[process_id].undecided);
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* As in stock, for any order of waiting: the exit status of the job is that of the aborted process,
 * and not 0.  Processes that we killed because of it do not count. */
static void adjust_exit_status(int process_id, int wait_status)
{
    int *status = &HYD_pmcd_pmip.downstream.exit_status[process_id];

    if (process_id == cause)
        *status = wait_status ? wait_status : 1 << 8;
    else if (killing && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL)
        *status = 0;
}

/* SIGKILL does not count as an exit status; any other signal does. */
int HYD_pmcd_pmip_adapt_status(int wait_status)
{
    return WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL ? 0 : wait_status;
}

int HYD_pmcd_pmip_adapt_is_adaptive(int process_id)
{
    return HYD_proxy_state.join.given || (HYD_proxy_state.processes &&
                                    HYD_proxy_state.processes[process_id].adaptive);
}

void HYD_pmcd_pmip_adapt_failed(int process_id)
{
    HYD_spawned_failed(process_id);
    if (!HYD_proxy_state.processes)
        return;
    HYD_proxy_state.processes[process_id].broke = 1;
    HYD_proxy_state.processes[process_id].connection = HYD_pmcd_pmip.downstream.pmi_fd[process_id];
    if (HYD_proxy_state.processes[process_id].ended)
        HYD_exits_check_early(process_id);
    else if (!HYD_pmcd_pmip.user_global.auto_cleanup)
        /* its connection closes before it can be waited for */
        HYD_exits_wake_at_end(process_id);
    (void) HYD_committed_poll();
    uint32_t rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[process_id];
    if (cause < 0 && !killing)
        cause = process_id;
    /* Stock has just overwritten the status of a process that was waited for before. */
    if (HYD_proxy_state.processes[process_id].ended)
        adjust_exit_status(process_id, HYD_proxy_state.processes[process_id].wait_status);
    if (HYD_pmcd_pmip.user_global.auto_cleanup && !killing) {
        killing = 1;
        HYD_upward_repeat();
        HYD_reports_send(HYD_ADAPT_BROKE, HYD_proxy_state.epoch, 0, &rank, sizeof(rank));
    }
}

/* Whether the proxy waits for mpiexec.  When all processes have ended by themselves in a window,
 * mpiexec may query their progress (STEP_COUNTS) before it decides.  After a death by signal there
 * is no decision, and stock's report must not wait. */
static int awaits_decision(void)
{
    if (!HYD_board_in_window(&HYD_proxy_state.board) || HYD_pmcd_pmip.downstream.forced_cleanup)
        return 0;
    for (int i = 0; i < HYD_proxy_process_count(); i++)
        if (!HYD_proxy_state.processes[i].ended ||
            !WIFEXITED(HYD_pmcd_pmip.downstream.exit_status[i]))
            return 0;
    return 1;
}

static int runs(int process_id)
{
    siginfo_t info = {.si_pid = 0 };
    pid_t pid = HYD_pmcd_pmip.downstream.pid[process_id];

    return pid > 0 && waitid(P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == 0;
}

/* After a signal that stock passes on, the proxy does not report the ends of processes. */
int HYD_pmcd_pmip_adapt_signalled(int signum)
{
    int suspends = signum == SIGSTOP || signum == SIGCONT;

    killing |= HYD_proxy_state.processes && signum == SIGKILL;
    HYD_pmcd_pmip_end_signalled(signum);
    HYD_tasks_signalled(signum);
    for (int i = 0; suspends && HYD_pmcd_pmip.downstream.pid && i < HYD_proxy_process_count(); i++)
        if (runs(i))
            HYD_pmcd_pmip_adapt_kill(HYD_pmcd_pmip.downstream.pid[i],
                                     getpgid(HYD_pmcd_pmip.downstream.pid[i]), signum);
    return suspends;
}

/* Called when all output is closed.  Stock then only waits for ends of processes: it passes on no
 * signal of mpiexec, and replies to no process. */
int HYD_pmcd_pmip_adapt_busy(void)
{
    int spawned = HYD_spawned_busy(), busy = spawned || HYD_tasks_live();

    for (int i = 0; HYD_proxy_state.processes && i < HYD_proxy_process_count(); i++) {
        const struct HYD_proxy_process *p = &HYD_proxy_state.processes[i];
        if (p->undecided && !killing)
            busy = 1;
        /* its status decides whether the proxy stays; the main loop waits for it first */
        if (!p->ended && p->watch_fd >= 0 &&
            (HYD_board_in_window(&HYD_proxy_state.board) || HYD_sets_connected(i)))
            busy = 1;
    }
    for (int i = 0; i < HYD_proxy_process_count(); i++)
        if (runs(i)) {
            busy = 1;
            if (!spawned)       /* their ends wake the loop */
                HYD_exits_wake_at_end(i);
        }
    return busy || (HYD_proxy_state.processes && awaits_decision());
}

static int all_ended(void)
{
    for (int i = 0; i < HYD_proxy_process_count(); i++)
        if (!HYD_proxy_state.processes[i].ended)
            return 0;
    return 1;
}

static void report_exit(int process_id, int wait_status)
{
    unsigned char payload[REPORT_EXITED_BYTES];

    HYD_write_exited(payload, (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[process_id],
                     (uint32_t) wait_status);
    HYD_proxy_state.processes[process_id].reported = 1;
    /* If mpiexec has failed, the main loop detects that.  An end that is an error must not wait. */
    HYD_upward_repeat();
    HYD_reports_gather(REPORT_EXITED, HYD_proxy_state.epoch, payload, sizeof(payload));
    if (wait_status != 0)
        HYD_reports_flush();
}

void HYD_exits_report_earlier(void)
{
    for (int i = 0; i < HYD_proxy_process_count(); i++) {
        const struct HYD_proxy_process *p = &HYD_proxy_state.processes[i];
        if (p->ended && !p->reported && !p->held)
            report_exit(i, p->wait_status);
    }
}

/* SF3: whether a process that has used sets has exited without being parked or permitted to exit.
 * The end of its connection may be detected later, or never, because a child may have it. */
static int has_broken_off(int process_id)
{
    const struct HYD_proxy_process *p = &HYD_proxy_state.processes[process_id];

    return WIFEXITED(p->wait_status) && !p->adaptive && !killing &&
        HYD_pmcd_pmip.user_global.auto_cleanup && HYD_sets_connected(process_id) &&
        HYD_pmcd_pmip.downstream.pmi_fd_active[process_id] &&
        !HYD_pmcd_pmip_adapt_is_let_go(process_id);
}

/* Same effect as reading the end of the connection. */
static void close_connection(int process_id)
{
    int fd = HYD_pmcd_pmip.downstream.pmi_fd[process_id];

    HYD_loop_outdate();
    if (HYD_pmcd_pmip_adapt_closed(process_id, fd))
        return;
    HYD_pmcd_pmip_adapt_failed(process_id);
    HYDT_dmx_deregister_fd(fd);
    close(fd);
    HYD_pmcd_pmip.downstream.pmi_fd[process_id] = HYD_FD_CLOSED;
    HYD_pmcd_pmip_send_signal(SIGKILL);
}

static void note_exit(int process_id, int wait_status)
{
    struct HYD_proxy_process *p = &HYD_proxy_state.processes[process_id];

    (void) HYD_committed_poll();
    (void) HYD_sets_read(process_id);
    p->ended = 1;
    p->wait_status = wait_status;
    int broke_off = has_broken_off(process_id);
    int watched = p->watch_fd >= 0;
    HYD_board_ended(&HYD_proxy_state.board, process_id);
    HYD_stdin_ended(process_id);
    HYD_sets_ended(process_id);
    HYD_bcasts_ended(process_id);
    if (!watched && !broke_off) {
        adjust_exit_status(process_id, wait_status);
        return;
    }
    if (p->let_go)
        soften_exit_status(process_id);
    else if (WIFSIGNALED(wait_status) && !killing && !HYD_exits_query(process_id)) {
        cause = process_id;   /* stock kills the others for it */
        killing = 1;
    }
    adjust_exit_status(process_id, wait_status);
    /* The number may be used again: no further signal must be sent to it. */
    HYD_pmcd_pmip.downstream.pid[process_id] = -1;
    if (broke_off)
        close_connection(process_id);
    if (!watched)
        return;

    /* The failed process is reported before those that we killed because of it, in any order of
     * waiting. */
    if (cause >= 0 && process_id != cause && !HYD_proxy_state.processes[cause].ended) {
        p->held = 1;
        return;
    }
    report_exit(process_id, wait_status);
    if (HYD_board_in_window(&HYD_proxy_state.board) && all_ended())
        HYD_loop_call(nothing, 0);
    for (int i = 0; process_id == cause && i < HYD_proxy_process_count(); i++) {
        if (HYD_proxy_state.processes[i].held)
            report_exit(i, HYD_proxy_state.processes[i].wait_status);
        HYD_proxy_state.processes[i].held = 0;
    }
}

void HYD_pmcd_pmip_adapt_exited(int process_id, int wait_status)
{
    HYD_spawned_exited(process_id, wait_status);
    if (!HYD_proxy_state.processes || HYD_proxy_state.processes[process_id].ended)
        return;
    note_exit(process_id, wait_status);
    HYD_exits_read_connection(process_id);
    HYD_exits_check_early(process_id);
    if (all_ended()) {          /* before the proxy ends */
        HYD_upward_flush();
        HYD_reports_flush();
    }
}
