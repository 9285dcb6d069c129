/* See stdin.h. */

#include "state.h"
#include "pmip_adapt.h"
#include "demux.h"
#include <fcntl.h>
#include "reports.h"
#include "stdin.h"
#include "wire/kinds.h"

static int reader = -1;         /* process whose stdin_fd is downstream.in */
static int planned = -1;        /* process that will be the reader if the plan is committed */
/* without a board: write end of the process that was started last */
static int unread = HYD_FD_UNSET;

static int for_all = 0;         /* -s all */
static int to_all = 0;          /* the present message is for all */

HYD_status HYD_pmcd_pmip_input_all_param(char *arg, char ***argv)
{
    for_all = atoi(**argv);
    (*argv)++;
    return HYD_SUCCESS;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = HYD_FD_CLOSED;
}

int *HYD_pmcd_pmip_adapt_stdin(int process_id)
{
    if (HYD_proxy_state.processes)
        return &HYD_proxy_state.processes[process_id].stdin_fd;
    close_end(&unread);
    return &unread;
}

/* ---- pipes that are closed and opened again -------------------------------------------------- */

static int open_again(int fd, int flags)
{
    char path[64];

    MPL_snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, flags | O_CLOEXEC);
}

/* Lets the process read the end of its input; resume_input may undo that. */
static void suspend_input(struct HYD_proxy_process *p)
{
    if (p->stdin_fd < 0)
        return;
    if (p->input_path < 0)
        p->input_path = open_again(p->stdin_fd, O_PATH);
    close_end(&p->stdin_fd);
}

/* Opens the input again if the process still has it: an O_PATH descriptor does not keep the pipe
 * open. */
static void resume_input(struct HYD_proxy_process *p)
{
    if (p->stdin_fd >= 0 || p->input_path < 0)
        return;
    p->stdin_fd = open_again(p->input_path, O_WRONLY | O_NONBLOCK);
    close_end(&p->input_path);
}

/* Stock stores the descriptor of rank 0.  At first only the first group of the job gets input;
 * another group gets it when it is in the world, if it has a board. */
void HYD_stdin_started(void)
{
    int is_launch = HYD_pmcd_pmip.local.pgid == 0, first = HYD_proxy_process_of_rank(0);

    close_end(&unread);
    if (!HYD_proxy_state.processes) {
        if (!is_launch)
            close_end(&HYD_pmcd_pmip.downstream.in);
        return;
    }
    if (first >= 0)
        HYD_proxy_state.processes[first].stdin_fd = HYD_pmcd_pmip.downstream.in;
    if (is_launch)
        reader = first;
    else
        HYD_pmcd_pmip.downstream.in = HYD_FD_CLOSED;
    for (int i = 0; i < HYD_proxy_process_count(); i++) {
        if (for_all)
            (void) HYDU_sock_set_nonblock(HYD_proxy_state.processes[i].stdin_fd);
        else if (i != reader)
            suspend_input(&HYD_proxy_state.processes[i]);
    }
}

/* Calls a write function such that a missing reader raises no signal. */
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

/* mpiexec may send this number of further messages.  If it has failed, the main loop detects
 * that. */
static void report_taken(int rank, uint32_t messages)
{
    uint32_t payload[2] = { (uint32_t) rank, messages };

    if (messages > 0)
        (void) HYD_reports_send(HYD_ADAPT_INPUT_TAKEN, HYD_proxy_state.epoch, 0, payload,
                                sizeof(payload));
}

/* ---- what waits for a process that does not read --------------------------------------------- */

static HYD_status space_cb(int fd, HYD_event_t events, void *userp);

static void stop_waiting(int fd)
{
    if (fd >= 0 && HYDT_dmx_query_fd_registration(fd))
        HYDT_dmx_deregister_fd(fd);
}

/* Closes the input of a process, and drops waiting data. */
static void close_input(int process_id)
{
    struct HYD_proxy_process *p = &HYD_proxy_state.processes[process_id];

    stop_waiting(p->stdin_fd);
    close_end(&p->stdin_fd);
    close_end(&p->input_path);
    HYD_queue_clear(&p->input);
    if (process_id == reader)
        HYD_pmcd_pmip.downstream.in = HYD_FD_CLOSED;    /* writing there would be SIGPIPE */
    report_taken(HYD_pmcd_pmip.downstream.pmi_rank[process_id], p->input_messages);
    p->input_messages = 0;
}

static int send_queue(int fd, void *queue)
{
    return HYD_queue_send(queue, fd, HYD_QUEUE_NONBLOCK);
}

/* Writes as much as the process accepts. */
static HYD_status pass_on(int process_id)
{
    struct HYD_proxy_process *p = &HYD_proxy_state.processes[process_id];
    HYD_status status = HYD_SUCCESS;

    int is_read = without_signal(send_queue, p->stdin_fd, &p->input) == 0;
    if (is_read && p->input.bytes > 0) {
        if (!HYDT_dmx_query_fd_registration(p->stdin_fd))
            status = HYDT_dmx_register_fd(1, &p->stdin_fd, HYD_POLLOUT, NULL, space_cb);
        HYDU_ERR_POP(status, "unable to wait for a process that does not read its input\n");
    } else if (is_read && !p->input_ends) {
        stop_waiting(p->stdin_fd);
        report_taken(HYD_pmcd_pmip.downstream.pmi_rank[process_id], p->input_messages);
        p->input_messages = 0;
    } else {
        close_input(process_id);
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status space_cb(int fd, HYD_event_t events, void *userp)
{
    for (int i = 0; i < HYD_proxy_process_count(); i++) {
        if (HYD_proxy_state.processes[i].stdin_fd == fd)
            return pass_on(i);
    }
    return HYD_SUCCESS;
}

/* ---- what comes from mpiexec ----------------------------------------------------------------- */

/* Number of messages that one message counts for when rank 0 alone can get it: with -s all, one for
 * each process. */
static uint32_t taken_at_once(void)
{
    return for_all ? (uint32_t) HYD_proxy_process_count() : 1;
}

static void choose_reader(int process_id)
{
    reader = process_id;
    resume_input(&HYD_proxy_state.processes[reader]);
    int fd = HYD_proxy_state.processes[reader].stdin_fd;
    if (fd >= 0 && !HYD_proxy_state.processes[reader].input_ends &&
        HYDU_sock_set_nonblock(fd) == HYD_SUCCESS)
        HYD_pmcd_pmip.downstream.in = fd;
    else
        HYD_pmcd_pmip.downstream.in = HYD_FD_CLOSED;
}

static int is_open(int process_id)
{
    return HYD_proxy_state.processes[process_id].stdin_fd >= 0 &&
        !HYD_proxy_state.processes[process_id].input_ends;
}

/* Ends the input after the waiting data. */
static void end_when_written(int process_id)
{
    struct HYD_proxy_process *p = &HYD_proxy_state.processes[process_id];

    p->input_ends = 1;
    if (p->input.bytes == 0)
        close_input(process_id);
}

/* Hydra drops it if downstream.in is closed. */
static void choose_readers(int bytes)
{
    int n = HYD_proxy_process_count(), open = -1;

    for (int i = 0; i < n; i++) {
        if (bytes == 0)
            end_when_written(i);
        else if (is_open(i))
            open = i;
    }
    reader = open;
    HYD_pmcd_pmip.downstream.in = open >= 0 ? HYD_proxy_state.processes[open].stdin_fd
        : HYD_FD_CLOSED;
    to_all = open >= 0;
    if (bytes > 0 && open < 0)
        report_taken(0, (uint32_t) n);
}

void HYD_pmcd_pmip_adapt_stdin_to(int rank, int bytes)
{
    int i = HYD_proxy_state.processes && rank >= 0 ? HYD_proxy_process_of_rank(rank) : -1;

    to_all = 0;
    if (HYD_proxy_state.processes && rank == HYD_INPUT_TO_ALL) {
        choose_readers(bytes);
        return;
    }
    if (i >= 0 && i != reader)
        choose_reader(i);
    if (bytes > 0 && HYD_pmcd_pmip.downstream.in == HYD_FD_CLOSED) {
        report_taken(rank, taken_at_once());      /* Hydra drops it */
    } else if (bytes == 0 && reader >= 0) {
        /* Hydra closes downstream.in, which it must not do while data waits */
        HYD_pmcd_pmip.downstream.in = HYD_FD_CLOSED;
        end_when_written(reader);
    }
}

/* ---- plans ----------------------------------------------------------------------------------- */

void HYD_stdin_planned(int rank)
{
    HYD_stdin_withdrawn();
    planned = HYD_proxy_state.processes && rank >= 0 &&
        !for_all ? HYD_proxy_process_of_rank(rank) : -1;
    if (planned >= 0)
        resume_input(&HYD_proxy_state.processes[planned]);
}

void HYD_stdin_withdrawn(void)
{
    if (planned >= 0 && planned != reader)
        suspend_input(&HYD_proxy_state.processes[planned]);
    planned = -1;
}

/* mpiexec sends the input, or its end, as soon as it detects the commit. */
void HYD_stdin_committed(void)
{
    planned = -1;
}

HYD_status HYD_stdin_reads(const char *payload, size_t bytes)
{
    uint32_t rank;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, bytes != sizeof(rank), HYD_INTERNAL_ERROR,
                        "malformed reader of standard input\n");
    memcpy(&rank, payload, sizeof(rank));
    int i = HYD_proxy_state.processes ? HYD_proxy_process_of_rank((int) rank) : -1;
    if (i >= 0 && i != reader)
        choose_reader(i);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* ---- writing --------------------------------------------------------------------------------- */

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

/* Without a board no data waits: data that does not fit is an error, as in stock. */
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
        report_taken(0, taken_at_once());
    return failed == 0 || failed == EPIPE || failed == EAGAIN ? HYD_SUCCESS : HYD_SOCK_ERROR;
}

static HYD_status write_to(int process_id, const char *bytes, int n)
{
    struct HYD_proxy_process *p = &HYD_proxy_state.processes[process_id];
    HYD_status status = HYD_SUCCESS;

    if (!is_open(process_id)) {
        report_taken(HYD_pmcd_pmip.downstream.pmi_rank[process_id], 1);
        goto fn_exit;
    }
    if (HYD_queue_add_bytes(&p->input, bytes, (size_t) n) != 0)
        HYDU_ERR_SETANDJUMP(status, HYD_NO_MEM, "no memory for standard input that is not read\n");
    p->input_messages++;
    status = pass_on(process_id);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_pmcd_pmip_adapt_stdin_write(const char *bytes, int n, int *sent, int *closed)
{
    HYD_status status = HYD_SUCCESS;

    *closed = 0;
    if (reader < 0) {
        status = write_now(bytes, n, sent);
        goto fn_exit;
    }
    *sent = n;
    for (int i = to_all ? 0 : reader; i < (to_all ? HYD_proxy_process_count() : reader + 1); i++) {
        status = write_to(i, bytes, n);
        HYDU_ERR_POP(status, "unable to forward standard input\n");
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

void HYD_stdin_ended(int process_id)
{
    close_input(process_id);
}
