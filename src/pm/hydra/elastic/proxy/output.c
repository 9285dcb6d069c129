/* See output.h. */

#include "pmip.h"
#include "wire/message.h"
#include "output.h"
#include "agent.h"
#include "reports.h"
#include "tasks.h"
#include "upward.h"
#include "wire/channel.h"
#include "demux.h"
#include "wire/event_loop.h"
#include "pmi_line.h"
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

static int opened = 0, waits_for_space = 0, counting = 0;
static uint64_t sent = 0, capacity = 0;
static int held = 0;            /* output is left where it is */

static int control(void)
{
    return HYD_pmcd_pmip.upstream.control;
}

static void hold(int on)
{
    const struct HYD_pmcd_pmip_s *p = &HYD_pmcd_pmip;

    held = on;
    HYD_tasks_hold_output(on);
    for (int i = 0; i < p->local.proxy_process_count; i++) {
        HYD_loop_pause(p->downstream.out[i], on);
        HYD_loop_pause(p->downstream.err[i], on);
    }
}

static void after_events(void)
{
    int no_space = waits_for_space && sent >= capacity;

    if (no_space != held)
        hold(no_space);
}

static int is_output(int fd)
{
    const struct HYD_pmcd_pmip_s *p = &HYD_pmcd_pmip;

    for (int i = 0; i < p->local.proxy_process_count; i++)
        if (fd == p->downstream.out[i] || fd == p->downstream.err[i])
            return 1;
    return 0;
}

static ssize_t write_lines(void *, const char *text, size_t n)
{
    static char line[BUFSIZ];
    static size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        line[used++] = text[i];
        if (text[i] != '\n' && used < sizeof(line))
            continue;
        (void) !write(STDERR_FILENO, line, used);
        used = 0;
    }
    return (ssize_t) n;
}

void HYD_pmcd_pmip_output_first(void)
{
    const struct HYD_loop_hooks hooks = {.is_first = is_output };
    const cookie_io_functions_t lines = {.write = write_lines };
    FILE *messages = fopencookie(NULL, "w", lines);

    if (messages) {
        setvbuf(messages, NULL, _IONBF, 0);
        stderr = messages;
    }
    if (!opened)
        HYD_loop_use(&hooks);
}

static int64_t reports_wait_ms(void)
{
    int64_t own = HYD_reports_wait_ms(), upward = HYD_upward_wait_ms();

    return own < 0 ? upward : upward < 0 || own < upward ? own : upward;
}

static void reports_due(void)
{
    if (HYD_upward_wait_ms() == 0)
        HYD_upward_due();
    if (HYD_reports_wait_ms() == 0)
        HYD_reports_due();
}

static size_t frame_bytes(const void *head, void *userp)
{
    return HYD_adapt_frame_from_mpiexec(head);
}

HYD_status HYD_pmcd_pmip_adapt_channel(void)
{
    const struct HYD_loop_hooks hooks = {.wait_ms = reports_wait_ms,.due = reports_due,
        .after = after_events,.is_first = is_output
    };
    HYD_status status = HYD_SUCCESS;

    if (opened)
        goto fn_exit;
    opened = 1;
    HYD_loop_use(&hooks);
    status = HYD_channel_open(control());
    HYDU_ERR_POP(status, "unable to open a channel to mpiexec\n");
    status = HYD_channel_read_frames(control(), sizeof(struct HYD_pmcd_hdr), frame_bytes);
    HYDU_ERR_POP(status, "unable to open a channel to mpiexec\n");

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

void HYD_pmcd_pmip_adapt_hold_output(void)
{
    waits_for_space = 1;
}

void HYD_pmcd_pmip_adapt_count_output(void)
{
    waits_for_space = 1;
    counting = 1;
}

void HYD_pmcd_pmip_adapt_output_space(uint64_t bytes)
{
    capacity = bytes;
}

void HYD_pmcd_pmip_adapt_output(int bytes)
{
    if (counting)
        sent += (uint64_t) bytes;
}

/* ---- last words -------------------------------------------------------------------------------- */

static HYD_status send_frame(struct HYD_pmcd_hdr *hdr, const char *bytes, int count)
{
    int sent, closed;
    HYD_status status = HYD_SUCCESS;

    hdr->buflen = count;
    status = HYDU_sock_write(control(), hdr, sizeof(*hdr), &sent, &closed, HYDU_SOCK_COMM_MSGWAIT);
    HYDU_ERR_POP(status, "unable to send to mpiexec\n");
    status = HYDU_sock_write(control(), bytes, count, &sent, &closed, HYDU_SOCK_COMM_MSGWAIT);
    HYDU_ERR_POP(status, "unable to send to mpiexec\n");

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* The content of the pipe of a process' output, as far as it is there. */
static HYD_status send_waiting(int process, int fd, enum HYD_pmcd_cmd cmd)
{
    struct pollfd there = {.fd = fd,.events = POLLIN };
    char buf[HYD_TMPBUF_SIZE];
    struct HYD_pmcd_hdr hdr;
    HYD_status status = HYD_SUCCESS;

    HYD_pmcd_init_header(&hdr);
    hdr.cmd = cmd;
    hdr.pgid = HYD_pmcd_pmip.local.pgid;
    hdr.proxy_id = HYD_pmcd_pmip.local.id;
    hdr.rank = HYD_pmcd_pmip.downstream.pmi_rank[process];
    if (fd < 0 || poll(&there, 1, 0) != 1 || !(there.revents & POLLIN))
        goto fn_exit;
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n > 0) {
        status = send_frame(&hdr, buf, (int) n);
        HYD_pmcd_pmip_adapt_output((int) n);
    }

  fn_exit:
    return status;
}

HYD_status HYD_pmcd_pmip_adapt_fn_abort(int fd, char *args[])
{
    const struct HYD_pmcd_pmip_s *p = &HYD_pmcd_pmip;
    const char *code = HYD_pmi_line_argument(args, "exitcode");
    char line[64];
    struct HYD_pmcd_hdr hdr;
    HYD_status status = HYD_SUCCESS;

    /* A process may have sent all at once: that it has initialised, last words, and the abort. */
    status = HYD_reports_flush();
    HYDU_ERR_POP(status, "unable to send what is reported\n");
    for (int i = 0; i < p->local.proxy_process_count; i++) {
        status = send_waiting(i, p->downstream.out[i], STDOUT);
        HYDU_ERR_POP(status, "unable to send last words\n");
        status = send_waiting(i, p->downstream.err[i], STDERR);
        HYDU_ERR_POP(status, "unable to send last words\n");
    }
    if (HYD_tasks_are_world()) {        /* it ends itself now, and its world for it; nobody else does */
        status = HYD_tasks_answer_abort(fd);
        goto fn_exit;
    }
    HYD_pmcd_init_header(&hdr);
    hdr.cmd = PMI_CMD;
    hdr.pid = fd;
    hdr.pmi_version = 1;
    MPL_snprintf(line, sizeof(line), "cmd=abort exitcode=%s\n", code ? code : "1");
    status = send_frame(&hdr, line, (int) strlen(line));

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* A connection that is closed while something is unread is reset, and what the kernel has not sent yet is dropped.
 * mpiexec reports space as long as the reader of its output takes some, until it has read the exit status. */
static void wait_until_mpiexec_closes(void)
{
    struct pollfd connection = {.fd = control(),.events = POLLIN };
    char unread[4096];
    ssize_t n = -1;

    shutdown(connection.fd, SHUT_WR);
    do {
        poll(&connection, 1, -1);
        n = recv(connection.fd, unread, sizeof(unread), MSG_DONTWAIT);
    } while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
}

HYD_status HYD_pmcd_pmip_adapt_flush(void)
{
    HYD_status status = HYD_SUCCESS;

    while (status == HYD_SUCCESS && HYD_channel_waiting(control()) > 0)
        status = HYDT_dmx_wait_for_event(-1);
    if (status == HYD_SUCCESS)
        wait_until_mpiexec_closes();
    return status;
}
