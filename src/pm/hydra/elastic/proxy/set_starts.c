/*
 * See sets.h: the connections of processes that use sessions, and the processes that have begun to
 * use MPI.
 */

#include "state.h"
#include <sys/ioctl.h>
#include <sys/stat.h>
#include "pmip_adapt.h"
#include "answers.h"
#include "reports.h"
#include "set_calls.h"
#include "sets.h"
#include "spawned.h"
#include "wire/event_loop.h"
#include "messages/report_writers.h"
#include "wire/kinds.h"

/* 0: not a socket. */
static uint64_t socket_inode_of(int fd)
{
    struct stat status;

    return fd >= 0 && fstat(fd, &status) == 0 ? (uint64_t) status.st_ino : 0;
}

void HYD_sets_connect(int fd)
{
    int i = HYD_proxy_state.board.fd < 0 ? -1 : HYD_proxy_process_of_fd(fd);

    if (i >= 0)
        HYD_proxy_state.processes[i].socket = socket_inode_of(fd);
}

int HYD_sets_connected(int process_id)
{
    uint64_t socket = HYD_proxy_state.processes ? HYD_proxy_state.processes[process_id].socket : 0;

    return socket && socket_inode_of(HYD_pmcd_pmip.downstream.pmi_fd[process_id]) == socket;
}

/* Bytes of input on a process' connection, if it is the one on which it made its calls. */
static int input_bytes_of(int fd, uint64_t socket)
{
    int bytes = 0;

    return socket && socket_inode_of(fd) == socket && ioctl(fd, FIONREAD, &bytes) == 0 ? bytes : 0;
}

/* Reads only the present input; the event loop reads later input, because a process, or a child
 * with its connection, may never pause.  The event loop also reads from processes that do not read
 * their replies. */
HYD_status HYD_sets_read(int process_id)
{
    int fd = HYD_pmcd_pmip.downstream.pmi_fd[process_id];
    uint64_t socket = HYD_proxy_state.processes ? HYD_proxy_state.processes[process_id].socket : 0;
    HYD_status status = HYD_SUCCESS;

    for (int reads = input_bytes_of(fd, socket) / HYD_TMPBUF_SIZE + 1; reads > 0; reads--) {
        if (status != HYD_SUCCESS || HYD_answers_wait(fd) || input_bytes_of(fd, socket) == 0)
            break;
        HYD_loop_outdate();
        status = HYD_pmcd_pmip_adapt_read_pmi(fd);
    }
    return status;
}

/* Its number on this proxy, -1: not on this proxy. */
int HYD_sets_process_of(uint32_t uid)
{
    return uid <
        HYD_proxy_state.join.
        first_uid ? -1 : HYD_proxy_process_of_rank((int) (uid - HYD_proxy_state.join.first_uid));
}

HYD_status HYD_sets_sync(uint32_t uid)
{
    int i = HYD_sets_process_of(uid);

    return i < 0 ? HYD_SUCCESS : HYD_sets_read(i);
}

HYD_status HYD_sets_comes(uint64_t number, uint64_t creation, uint32_t uid)
{
    unsigned char answer[REPORT_COMES_BYTES];
    int i = HYD_sets_process_of(uid);

    HYD_write_comes(answer, number,
                    i >= 0 && HYD_proxy_state.board.fd >= 0 &&
                    HYD_board_makes(&HYD_proxy_state.board, i, creation));
    return HYD_reports_send(REPORT_COMES, 0, 0, answer, sizeof(answer));
}

/* ---- processes that have begun to use MPI (SR1) ---------------------------------------------- */

static int starts_matter;       /* mpiexec needs reports about them */

static HYD_status report_starts(uint64_t number)
{
    size_t bytes = REPORT_STARTED_BYTES;
    char *payload = NULL;
    HYD_status status = HYD_SUCCESS;

    HYDU_MALLOC_OR_JUMP(payload, char *,
                        bytes + (size_t) HYD_proxy_process_count() * sizeof(uint32_t), status);
    HYD_write_started(payload, number);
    for (int i = 0; HYD_proxy_state.processes && i < HYD_proxy_process_count(); i++) {
        struct HYD_proxy_process *p = &HYD_proxy_state.processes[i];
        uint32_t rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i];
        if (!p->begun || p->begin_reported)
            continue;
        p->begin_reported = 1;
        memcpy(payload + bytes, &rank, sizeof(rank));
        bytes += sizeof(rank);
    }
    if (number > 0 || bytes > REPORT_STARTED_BYTES)
        status = HYD_reports_send(REPORT_STARTED, 0, 0, payload, bytes);

  fn_exit:
    MPL_free(payload);
    return status;
  fn_fail:
    goto fn_exit;
}

void HYD_pmcd_pmip_adapt_began(int process_id)
{
    HYD_spawned_began(process_id);
    if (process_id < 0 || !HYD_proxy_state.processes || HYD_proxy_state.processes[process_id].begun)
        return;
    HYD_proxy_state.processes[process_id].begun = 1;
    if (starts_matter)
        (void) report_starts(0);  /* if mpiexec has failed, the main loop detects that */
}

/* A process writes to its connection before it notifies others that it runs. */
HYD_status HYD_sets_starts(uint64_t number)
{
    for (int i = 0; HYD_proxy_state.processes && i < HYD_proxy_process_count(); i++) {
        int bytes = 0, fd = HYD_pmcd_pmip.downstream.pmi_fd[i];
        if (!HYD_proxy_state.processes[i].begun && fd >= 0 && ioctl(fd, FIONREAD, &bytes) == 0 &&
            bytes > 0)
            HYD_proxy_state.processes[i].begun = 1;
    }
    starts_matter = 1;
    return report_starts(number);
}
