/*
 * Processes of the launch that end before MPI_Init, or without MPI_Finalize: others would wait for
 * ever in a PMI barrier that such a process has not entered (exits.h).  MPI_Init has several
 * barriers.  This file also handles processes of MPI_Comm_spawn that had begun to use MPI;
 * spawned.c handles the others.
 *
 * State: the first of them, and whether others wait; owned by early_ends.c, used from the event
 * loop only.
 */

#include "state.h"
#include <poll.h>
#include "pmip_adapt.h"
#include "end.h"
#include "exits.h"
#include "pmip_pmi.h"
#include "reports.h"
#include "sets.h"
#include "spawned.h"
#include "tasks.h"
#include "wire/event_loop.h"
#include "wire/kinds.h"
#include "wire/spawn.h"

static int missed = -1;         /* the first process that has ended early */
static struct HYD_launch_end missed_end;
static int others_wait = 0;     /* a process is in a barrier that it has not entered */
static int *entered = NULL;     /* number of barriers that each process has entered; NULL: none */
static int barriers_over = 0;
/* it was reported to mpiexec that a process in a barrier uses sessions */
static int reported_sets = 0;

/* The first process of MPI_Comm_spawn that ended between MPI_Init and MPI_Finalize; -1: none. */
static struct {
    int process_id, wait_status, connection;
} spawned_end = {.process_id = -1 };

static int barriers_of(int process_id)
{
    return entered ? entered[process_id] : 0;
}

/* Programs with sessions detect the ends of others themselves. */
static int somebody_waits(void)
{
    for (int i = 0; i < HYD_proxy_process_count(); i++)
        if (barriers_of(i) > barriers_over && !HYD_sets_connected(i))
            return 1;
    return 0;
}

static void report_missed(void)
{
    missed_end.others_wait |= (uint32_t) others_wait;
    HYD_reports_send(HYD_ADAPT_IS_MISSED, 0, 0, &missed_end, sizeof(missed_end));
}

static int is_in_init(int process_id)
{
    return HYD_board_in_init(&HYD_proxy_state.board, process_id) || HYD_spawned_in_init(process_id);
}

static void miss(int process_id, int begun, int wait_status, int connection)
{
    const int in_init = begun && is_in_init(process_id);
    const int counts_barriers = HYD_pmcd_pmip_pmi_handle == HYD_pmcd_pmip_pmi_v1;

    missed = process_id;
    missed_end = (struct HYD_launch_end) {.index = (uint32_t) process_id,
        .rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[process_id],
        .wait_status = (uint32_t) wait_status,
        .others_wait = (uint32_t) in_init,
        .begun = (uint32_t) begun,
        .in_init = (uint32_t) (in_init || (counts_barriers && barriers_of(process_id) == 0)),
        .connection = begun && !counts_barriers ? connection : -1
    };
    others_wait = somebody_waits();
    report_missed();
}

#define GROUP_POLL_MS 500

/* With -pmi-port a process, or a child in its process group, connects when it begins to use MPI. */
static int may_connect(int process_id)
{
    return HYD_proxy_state.processes[process_id].leader > 0 &&
        HYD_end_group_lives(HYD_proxy_state.processes[process_id].leader);
}

static int is_unused(int process_id)
{
    int fd = HYD_pmcd_pmip.downstream.pmi_fd[process_id];

    return HYD_proxy_state.processes && !HYD_proxy_state.join.given && !HYD_tasks_are_world() &&
        !HYD_proxy_state.processes[process_id].begun &&
        (fd == HYD_FD_CLOSED || (fd == HYD_FD_UNSET && HYD_pmcd_pmip.user_global.pmi_port));
}

/* Whether a process, all of whose messages have been read, ended while others may wait for it.  In
 * MPI_Init others wait for it, also in shared memory.  Later it will not enter the next barrier:
 * the last one that it entered is over, so others wait in another one.  With auto-cleanup the job
 * ends in any case; with sessions no process waits for it. */
static int ended_in_use(int process_id)
{
    const struct HYD_proxy_process *p =
        HYD_proxy_state.processes ? &HYD_proxy_state.processes[process_id] : NULL;
    const int in_init = p && is_in_init(process_id);

    return p && p->broke && p->begun && (in_init || barriers_of(process_id) <= barriers_over) &&
        !HYD_pmcd_pmip.user_global.auto_cleanup && !HYD_proxy_state.join.given &&
        !HYD_tasks_are_world()
        && !HYD_sets_connected(process_id);
}

static void check_spawned(void)
{
    const int i = spawned_end.process_id;

    if (missed < 0 && i >= 0 && (is_in_init(i) || barriers_of(i) <= barriers_over))
        miss(i, 1, spawned_end.wait_status, spawned_end.connection);
}

static HYD_status check_again(void)
{
    for (int i = 0; HYD_proxy_state.processes && i < HYD_proxy_process_count(); i++)
        HYD_exits_check_early(i);
    check_spawned();
    return HYD_SUCCESS;
}

void HYD_exits_spawned_ended(int process_id, int wait_status, int connection)
{
    spawned_end.process_id = process_id;
    spawned_end.wait_status = wait_status;
    spawned_end.connection = connection;
    check_spawned();
}

/* Stock ends the job if a signal has killed a process. */
void HYD_exits_check_early(int process_id)
{
    const struct HYD_proxy_process *p = &HYD_proxy_state.processes[process_id];

    if (missed >= 0 || HYD_exits_kills() || !p->ended ||
        (!is_unused(process_id) && !ended_in_use(process_id)) || (WIFSIGNALED(p->wait_status) &&
                                                                  HYD_pmcd_pmip.user_global.
                                                                  auto_cleanup))
        return;
    if (may_connect(process_id)) {
        HYD_loop_call(check_again, GROUP_POLL_MS);
        return;
    }
    miss(process_id, p->begun, p->wait_status, p->connection);
}

void HYD_exits_started(void)
{
    for (int i = 0; HYD_pmcd_pmip.user_global.pmi_port && i < HYD_proxy_process_count(); i++) {
        HYD_proxy_state.processes[i].leader = HYD_pmcd_pmip.downstream.pid[i];
        HYD_exits_wake_at_end(i);
    }
}

void HYD_exits_closed(int process_id)
{
    if (missed >= 0 || !is_unused(process_id))
        return;
    if (HYD_proxy_state.processes[process_id].ended)
        HYD_exits_check_early(process_id);
    else
        HYD_exits_wake_at_end(process_id);
}

/* Reads the connection up to its end, which may not have been read yet.  A used connection may be
 * closed here, too. */
void HYD_exits_read_connection(int process_id)
{
    int fd =
        HYD_pmcd_pmip.downstream.pmi_fd_active[process_id] ? -1 : HYD_pmcd_pmip.downstream.
        pmi_fd[process_id];
    struct pollfd there = {.fd = fd,.events = POLLIN };
    HYD_status status = HYD_SUCCESS;

    HYD_loop_outdate();
    while (status == HYD_SUCCESS && fd >= 0 && !HYD_proxy_state.processes[process_id].begun &&
           HYD_pmcd_pmip.downstream.pmi_fd[process_id] == fd && poll(&there, 1, 0) > 0)
        status = HYD_pmcd_pmip_adapt_read_pmi(fd);
}

void HYD_pmcd_pmip_adapt_barrier(int fd)
{
    int i = HYD_proxy_process_of_fd(fd);

    if (!entered)
        entered = MPL_calloc((size_t) HYD_proxy_process_count(), sizeof(*entered), MPL_MEM_PM);
    if (i < 0 || !entered)
        return;
    entered[i]++;
    if (!reported_sets && HYD_sets_connected(i)) {
        reported_sets = 1;
        HYD_reports_send(HYD_ADAPT_IN_SETS, 0, 0, NULL, 0);     /* before the barrier itself */
    }
    if (missed < 0 || others_wait || !somebody_waits())
        return;
    others_wait = 1;
    report_missed();
}

void HYD_pmcd_pmip_adapt_barrier_over(void)
{
    barriers_over++;
    if (!HYD_pmcd_pmip.user_global.auto_cleanup)
        (void) check_again();
}
