/* See stdin.h. */

#include "state.h"
#include "agent.h"
#include "demux.h"
#include "reports.h"
#include "stdin.h"
#include "wire/kinds.h"

static int reader = -1;         /* process whose stdin_fd is downstream.in */

int *HYD_pmcd_pmip_adapt_stdin(int process_id, int *otherwise)
{
    return HYD_agent.processes ? &HYD_agent.processes[process_id].stdin_fd : otherwise;
}

/* Rank 0's is where stock keeps it. */
void HYD_stdin_started(void)
{
    reader = HYD_agent_process_of_rank(0);
    if (reader >= 0)
        HYD_agent.processes[reader].stdin_fd = HYD_pmcd_pmip.downstream.in;
}

/* Writing where nobody reads is no signal. */
static int without_signal(int (*write_to) (int fd, void *what), int fd, void *what)
{
    const struct sigaction ignored = {.sa_handler = SIG_IGN };
    struct sigaction before;

    sigaction(SIGPIPE, &ignored, &before);
    int result = write_to(fd, what);
    int error = errno;
    sigaction(SIGPIPE, &before, NULL);
    errno = error;
    return result;
}

/* mpiexec may send so many messages more.  If it is lost, the main loop finds out by itself. */
static void tell_taken(int rank, uint32_t messages)
{
    uint32_t payload[2] = { (uint32_t) rank, messages };

    if (messages > 0)
        (void) HYD_reports_send(HYD_ADAPT_INPUT_TAKEN, HYD_agent.epoch, 0, payload, sizeof(payload));
}

/* ---- what waits for a process that does not read ------------------------------------------------------------- */

static HYD_status room_cb(int fd, HYD_event_t events, void *userp);

static void stop_waiting(int fd)
{
    if (fd >= 0 && HYDT_dmx_query_fd_registration(fd))
        HYDT_dmx_deregister_fd(fd);
}

/* It gets no more; what waits is dropped. */
static void close_input(int process_id)
{
    struct HYD_agent_process *p = &HYD_agent.processes[process_id];

    stop_waiting(p->stdin_fd);
    if (p->stdin_fd >= 0)
        close(p->stdin_fd);
    p->stdin_fd = HYD_FD_CLOSED;
    HYD_queue_clear(&p->input);
    if (process_id == reader)
        HYD_pmcd_pmip.downstream.in = HYD_FD_CLOSED;    /* writing there would be SIGPIPE */
    tell_taken(HYD_pmcd_pmip.downstream.pmi_rank[process_id], p->input_messages);
    p->input_messages = 0;
}

static int send_queue(int fd, void *queue)
{
    return HYD_queue_send(queue, fd, HYD_QUEUE_NONBLOCK);
}

/* Writes what the process takes. */
static HYD_status pass_on(int process_id)
{
    struct HYD_agent_process *p = &HYD_agent.processes[process_id];
    HYD_status status = HYD_SUCCESS;

    int is_read = without_signal(send_queue, p->stdin_fd, &p->input) == 0;
    if (is_read && p->input.bytes > 0) {
        if (!HYDT_dmx_query_fd_registration(p->stdin_fd))
            status = HYDT_dmx_register_fd(1, &p->stdin_fd, HYD_POLLOUT, NULL, room_cb);
        HYDU_ERR_POP(status, "unable to wait for a process that does not read its input\n");
    } else if (is_read && !p->input_ends) {
        stop_waiting(p->stdin_fd);
        tell_taken(HYD_pmcd_pmip.downstream.pmi_rank[process_id], p->input_messages);
        p->input_messages = 0;
    } else {
        close_input(process_id);
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status room_cb(int fd, HYD_event_t events, void *userp)
{
    for (int i = 0; i < HYD_agent_process_count(); i++) {
        if (HYD_agent.processes[i].stdin_fd == fd)
            return pass_on(i);
    }
    return HYD_SUCCESS;
}

/* ---- what comes from mpiexec --------------------------------------------------------------------------------- */

static void choose_reader(int process_id)
{
    reader = process_id;
    int fd = HYD_agent.processes[reader].stdin_fd;
    if (fd >= 0 && !HYD_agent.processes[reader].input_ends && HYDU_sock_set_nonblock(fd) == HYD_SUCCESS)
        HYD_pmcd_pmip.downstream.in = fd;
    else
        HYD_pmcd_pmip.downstream.in = HYD_FD_CLOSED;
}

void HYD_pmcd_pmip_adapt_stdin_to(int rank, int bytes)
{
    int i = HYD_agent.processes && rank >= 0 ? HYD_agent_process_of_rank(rank) : -1;

    if (i >= 0 && i != reader)
        choose_reader(i);
    if (bytes > 0 && HYD_pmcd_pmip.downstream.in == HYD_FD_CLOSED) {
        tell_taken(rank, 1);    /* Hydra drops it */
    } else if (bytes == 0 && reader >= 0) {
        /* Hydra closes downstream.in, and must not while something waits for it */
        struct HYD_agent_process *p = &HYD_agent.processes[reader];
        HYD_pmcd_pmip.downstream.in = HYD_FD_CLOSED;
        p->input_ends = 1;
        if (p->input.bytes == 0)
            close_input(reader);
    }
}

struct piece {
    const char *bytes;
    int n, sent;
};

static int write_piece(int fd, void *piece)
{
    struct piece *p = piece;
    ssize_t written = write(fd, p->bytes, (size_t) p->n);

    p->sent = written > 0 ? (int) written : 0;
    return written < 0 ? -1 : 0;
}

/* Without a board nothing waits: what does not fit is an error, as in stock. */
static HYD_status write_now(const char *bytes, int n, int *sent)
{
    struct piece piece = {.bytes = bytes,.n = n };
    int failed = without_signal(write_piece, HYD_pmcd_pmip.downstream.in, &piece) != 0 ? errno : 0;

    *sent = piece.sent;
    if (failed == EPIPE) {
        close(HYD_pmcd_pmip.downstream.in);
        HYD_pmcd_pmip.downstream.in = HYD_FD_CLOSED;
        *sent = n;
    }
    if (*sent == n)
        tell_taken(0, 1);
    return failed == 0 || failed == EPIPE || failed == EAGAIN ? HYD_SUCCESS : HYD_SOCK_ERROR;
}

HYD_status HYD_pmcd_pmip_adapt_stdin_write(const char *bytes, int n, int *sent, int *closed)
{
    HYD_status status = HYD_SUCCESS;

    *closed = 0;
    if (reader < 0) {
        status = write_now(bytes, n, sent);
        goto fn_exit;
    }
    struct HYD_agent_process *p = &HYD_agent.processes[reader];
    if (HYD_queue_add_bytes(&p->input, bytes, (size_t) n) != 0)
        HYDU_ERR_SETANDJUMP(status, HYD_NO_MEM, "no memory for standard input that is not read\n");
    p->input_messages++;
    *sent = n;
    status = pass_on(reader);
    HYDU_ERR_POP(status, "unable to pass on standard input\n");

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

void HYD_stdin_ended(int process_id)
{
    close_input(process_id);
}
