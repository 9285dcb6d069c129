/*
 * mpiexec's connections to proxies and its own output, as channels (wire/channel.h): a reader that
 * does not read blocks its senders, but never mpiexec.
 *
 * Output.  A proxy that counts its output (proxy/output.h) may send a limited number of bytes, and
 * gets more credit as mpiexec writes its output.  So its connection stays usable for all other
 * messages when the reader of mpiexec's output pauses; its processes wait in write, as under stock
 * MPICH. mpiexec does not read from other proxies (of rigid processes, of MPI_Comm_spawn)
 * meanwhile, as stock.
 *
 * Bounds: at most WAITING_HIGH bytes and the credit of all proxies wait.  Beyond WAITING_MAX
 * (children of ended processes may still write) mpiexec reads from no proxy.  Input that the job's
 * first process does not read stays unread.
 */

#include "state.h"
#include "input.h"
#include "lines.h"
#include "output.h"
#include "relay.h"
#include <stdio.h>
#include "wire/message.h"
#include "bscu.h"
#include "wire/channel.h"
#include "demux.h"
#include "wire/event_loop.h"
#include "pmiserv.h"
#include "pmiserv_utils.h"

#define WAITING_HIGH (1024 * 1024)
#define WAITING_MAX (256 * 1024 * 1024)
#define INPUT_WAITING_MAX (256 * 1024)
#define ROOM_OF_ALL (64 * 1024 * 1024)
#define ROOM_MIN (64 * 1024)    /* of a proxy */
#define ROOM_MAX (1024 * 1024)
#define LAST_WORDS_MS 5000      /* for the reader of output when mpiexec has to end */

static FILE *plain_stdout, *plain_stderr;       /* mpiexec's own messages went there */
static int unpaid = 0;          /* some proxy could get more credit */

/* Descriptors that are not read because output waits. */
static enum { READ_ALL, READ_COUNTED, READ_NOTHING } reading = READ_ALL;

/* ---- the connections ------------------------------------------------------------------------- */

static size_t frame_bytes(const void *head, void *userp)
{
    const struct HYD_proxy *proxy = userp;

    return HYD_adapt_frame_from_proxy(head, proxy->proxy_process_count);
}

static int connected(const struct HYD_proxy *proxy)
{
    return proxy->control_fd != HYD_FD_UNSET && proxy->control_fd != HYD_FD_CLOSED;
}

void HYD_step_take_connection(struct HYD_proxy *proxy)
{
    if (!connected(proxy))
        return;
    if (HYD_channel_open(proxy->control_fd) == HYD_SUCCESS)
        HYD_channel_read_frames(proxy->control_fd, sizeof(struct HYD_pmcd_hdr), frame_bytes);
    if (reading == READ_NOTHING)
        HYD_loop_pause(proxy->control_fd, 1);
}

/* ---- space for output ------------------------------------------------------------------------ */

static struct HYD_step_proxy *record_of(const struct HYD_proxy *proxy)
{
    struct HYD_step_group *g = HYD_step.core ? HYD_step_find_group(proxy->pg->pgid) : NULL;

    return g ? &g->proxies[proxy->proxy_id] : NULL;
}

static uint64_t capacity_of_one(void)
{
    uint64_t n = 0;

    for (const struct HYD_step_group * g = HYD_step.groups; g; g = g->next)
        for (int i = 0; i < g->proxy_count; i++)
            n += !g->proxies[i].ended;
    n = ROOM_OF_ALL / (n ? n : 1);
    return n < ROOM_MIN ? ROOM_MIN : n > ROOM_MAX ? ROOM_MAX : n;
}

/* Sends new credit when half of the last one is used. */
static void pay(struct HYD_step_proxy *p)
{
    uint64_t capacity = capacity_of_one();

    if (!p->counts_output || !connected(p->proxy) ||
        (p->output_capacity > p->output_came && p->output_capacity - p->output_came > capacity / 2))
        return;
    p->output_capacity = p->output_came + capacity;
    HYD_step_send_message(p, HYD_ADAPT_OUTPUT_SPACE, &p->output_capacity,
                          sizeof(p->output_capacity));
}

void HYD_step_output_counted(struct HYD_step_proxy *p)
{
    if (p->counts_output)
        return;
    p->counts_output = 1;
    HYD_loop_pause(p->proxy->control_fd, reading == READ_NOTHING);
    pay(p);
}

int HYD_step_output(const struct HYD_proxy *proxy, const struct HYD_pmcd_hdr *hdr)
{
    struct HYD_step_proxy *p = record_of(proxy);

    HYD_lines_task(hdr->pid, hdr->pmi_version);
    if (p && p->counts_output) {
        p->output_came += (uint64_t) hdr->buflen;
        if (reading == READ_ALL)
            pay(p);
        else
            unpaid = 1;
    }
    return HYD_step_label(proxy, hdr->rank);
}

static void pay_all(void)
{
    unpaid = 0;
    for (struct HYD_step_group * g = HYD_step.groups; g; g = g->next)
        for (int i = 0; i < g->proxy_count; i++)
            if (!g->proxies[i].ended)
                pay(&g->proxies[i]);
}

/* ---- what is read ---------------------------------------------------------------------------- */

static size_t output_waiting(void)
{
    return HYD_channel_waiting(STDOUT_FILENO) + HYD_channel_waiting(STDERR_FILENO);
}

static void choose_what_is_read(void)
{
    for (struct HYD_pg * pg = &HYD_server_info.pg_list; pg; pg = pg->next)
        for (struct HYD_proxy * proxy = pg->proxy_list; proxy; proxy = proxy->next) {
            const struct HYD_step_proxy *p = record_of(proxy);
            int counts = p && p->counts_output;
            if (connected(proxy))
                HYD_loop_pause(proxy->control_fd, reading == READ_NOTHING ||
                               (reading == READ_COUNTED && !counts));
        }
    for (int i = 0; i < HYD_bscu_fd_count; i++)
        if (HYD_bscu_fd_list[i] >= 0)
            HYD_loop_pause(HYD_bscu_fd_list[i], reading != READ_ALL);
}

static void after_events(void)
{
    size_t waiting = output_waiting();
    int before = (int) reading;

    if (waiting >= WAITING_MAX)
        reading = READ_NOTHING;
    else if (waiting >= WAITING_HIGH)
        reading = READ_COUNTED;
    else if (waiting < WAITING_HIGH / 2)
        reading = READ_ALL;
    if ((int) reading != before)
        choose_what_is_read();
    if (reading == READ_ALL && unpaid)
        pay_all();

    const struct HYD_proxy *first = HYD_step_first_proxy();
    HYD_loop_pause(STDIN_FILENO, first &&
                   HYD_channel_waiting(first->control_fd) > INPUT_WAITING_MAX);
}

/* ---- mpiexec's own messages ------------------------------------------------------------------ */

static ssize_t write_to_channel(void *cookie, const char *text, size_t n)
{
    int sent, closed;

    /* A failed notice must not end the job: the forwarding of output detects the failure. */
    if (n > 0)
        (void) HYDU_sock_write((int) (size_t) cookie, text, (int) n, &sent, &closed,
                               HYDU_SOCK_COMM_MSGWAIT);
    return (ssize_t) n;
}

/* These messages are queued like output of processes: after waiting output, without blocking. */
static FILE *stream_to(int fd, FILE * plain)
{
    const cookie_io_functions_t functions = {.write = write_to_channel };
    FILE *stream =
        HYD_channel_open(fd) == HYD_SUCCESS ? fopencookie((void *) (size_t) fd, "w",
                                                          functions) : NULL;

    fflush(plain);
    if (stream)
        setvbuf(stream, NULL, _IOLBF, BUFSIZ);
    return stream ? stream : plain;
}

/* Waits until all output is read.  If mpiexec has to end or has failed, only as long as the reader
 * makes progress. */
static void await_output(int failed)
{
    size_t waiting = output_waiting(), left = waiting;
    int64_t progress_ms = HYD_step_now_ms();

    while (left > 0 && ((!failed && !HYD_step.notified_to_end) ||
            HYD_step_now_ms() - progress_ms < LAST_WORDS_MS)) {
        HYD_status status = HYDT_dmx_wait_for_event(1);
        if (status != HYD_SUCCESS && status != HYD_TIMED_OUT)
            break;
        left = output_waiting();
        if (left != waiting)
            progress_ms = HYD_step_now_ms();
        waiting = left;
    }
}

static pid_t owner = 0;         /* children that call exit() must not print it */

static void last_words(void)
{
    if (owner != getpid())
        return;
    fflush(stdout);
    fflush(stderr);
    if (!HYD_step.notified_to_end)
        await_output(1);
    owner = 0;
}

/* Whether HYD_step_print_signal prints the message about this signal, outside of the signal
 * handler. */
int HYD_step_prints_signals(void)
{
    return owner != 0;
}

void HYD_step_print_signal(int signum)
{
    if (owner && signum == SIGINT) {
        HYDU_dump(stdout, "Sending Ctrl-C to processes as requested\n");
        HYDU_dump(stdout, "Press Ctrl-C again to force abort\n");
    }
}

/* ---- start and end --------------------------------------------------------------------------- */

static int64_t (*next_wake)(void);

static int64_t wait_ms(void)
{
    int64_t wake = next_wake(), left = wake - HYD_step_now_ms();

    return wake < 0 ? -1 : left < 0 ? 0 : left;
}

void HYD_step_use_loop(int64_t(*next) (void), void (*due) (void))
{
    const struct HYD_loop_hooks hooks = {.wait_ms = wait_ms,.due = due,.after = after_events };

    next_wake = next;
    HYD_loop_use(&hooks);
    plain_stdout = stdout;
    plain_stderr = stderr;
    stdout = stream_to(STDOUT_FILENO, stdout);
    stderr = stream_to(STDERR_FILENO, stderr);
    owner = getpid();
    atexit(last_words);
    for (struct HYD_pg * pg = &HYD_server_info.pg_list; pg; pg = pg->next)
        for (struct HYD_proxy * proxy = pg->proxy_list; proxy; proxy = proxy->next)
            HYD_step_take_connection(proxy);
}

void HYD_step_finish_output(void)
{
    fflush(stdout);
    fflush(stderr);
    await_output(0);
    if (output_waiting() == 0) {        /* else later messages are dropped too */
        stdout = plain_stdout;
        stderr = plain_stderr;
    }
    owner = 0;
}
