/* See output.h. */

#include "pmip.h"
#include "wire/message.h"
#include "output.h"
#include "pmip_adapt.h"
#include "reports.h"
#include "task_output.h"
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
static int held = 0;            /* output stays in the pipes */

static int counts(void)
{
    return counting || HYD_reports_have_begun();
}

static int control(void)
{
    return HYD_pmcd_pmip.upstream.control;
}

static void hold(int on)
{
    const struct HYD_pmcd_pmip_s *p = &HYD_pmcd_pmip;

    held = on;
    HYD_task_output_hold(on);
    for (int i = 0; i < p->local.proxy_process_count; i++) {
        HYD_loop_pause(p->downstream.out[i], on);
        HYD_loop_pause(p->downstream.err[i], on);
    }
}

static void after_events(void)
{
    int no_space = (waits_for_space || counts()) && sent >= capacity;

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
    counting = 1;
}

void HYD_pmcd_pmip_adapt_output_space(uint64_t bytes)
{
    capacity = bytes;
}

void HYD_pmcd_pmip_adapt_output(int bytes)
{
    if (counts())
        sent += (uint64_t) bytes;
}

/* ---- end ------------------------------------------------------------------------------------- */

/* If a connection is closed while input is unread, it is reset, and the kernel drops unsent data.
 * mpiexec sends credit as long as the reader of its output makes progress, until it has read the
 * exit status. */
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
