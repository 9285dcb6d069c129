/*
 * Standard output and standard error of processes that programs start one by one (task_output.h,
 * tasks.h).  Each has its own pipes, so that its lines are whole, as long as there are free
 * descriptors; the proxy raises its limit if necessary.  Further processes share two pipes; then a
 * message is printed.
 */

#include "state.h"
#include <poll.h>
#include "pmip_adapt.h"
#include "demux.h"
#include "output.h"
#include "task_output.h"
#include "tasks.h"
#include "wire/event_loop.h"
#include "wire/task.h"

#define READS_MAX 32            /* max reads of a pipe that is drained */
#define SPARE_FDS 64            /* descriptors for all else that a proxy opens */
#define PART_MAX 8192           /* bytes of an unfinished line */

/* The read end of a pipe. */
struct stream {
    int fd;
    int which;                  /* 0: standard output, 1: standard error */
    int is_shared;
    uint32_t uid, number;       /* of its process, if it has only one */
    /* unfinished line, PART_MAX bytes; NULL: none */
    char *part;
    int part_bytes;
    struct stream *next;
};

static struct stream *streams = NULL;
static int shared[2] = { -1, -1 };      /* write ends */
static int labels = 0, held = 0;
struct rlimit HYD_task_descriptors;

HYD_status HYD_pmcd_pmip_label_tasks_param(char *arg, char ***argv)
{
    labels = atoi(**argv);
    (*argv)++;
    return HYD_SUCCESS;
}

static HYD_status send_output(const struct stream *s, const char *bytes, int count)
{
    struct HYD_pmcd_hdr hdr;
    int sent, closed;
    HYD_status status = HYD_SUCCESS;

    HYD_pmcd_init_header(&hdr);
    hdr.cmd = s->which == 0 ? STDOUT : STDERR;
    hdr.pgid = HYD_pmcd_pmip.local.pgid;
    hdr.proxy_id = HYD_pmcd_pmip.local.id;
    hdr.rank = HYD_pmcd_pmip.downstream.pmi_rank[0];
    hdr.buflen = count;
    if (!s->is_shared && labels) {      /* wire/task.h */
        hdr.pid = (int) s->uid;
        hdr.pmi_version = (int) s->number;
    }
    status =
        HYDU_sock_write(HYD_pmcd_pmip.upstream.control, &hdr, sizeof(hdr), &sent, &closed,
                        HYDU_SOCK_COMM_MSGWAIT);
    HYDU_ERR_POP(status, "unable to send to mpiexec\n");
    status =
        HYDU_sock_write(HYD_pmcd_pmip.upstream.control, bytes, count, &sent, &closed,
                        HYDU_SOCK_COMM_MSGWAIT);
    HYDU_ERR_POP(status, "unable to send to mpiexec\n");
    HYD_pmcd_pmip_adapt_output(count);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

static HYD_status send_part(struct stream *s)
{
    HYD_status status = s->part_bytes > 0 ? send_output(s, s->part, s->part_bytes) : HYD_SUCCESS;

    s->part_bytes = 0;
    return status;
}

/* Without labels, forwards whole lines, unless they are long.  With labels, mpiexec joins the
 * lines. */
static HYD_status send_lines(struct stream *s, const char *bytes, int count)
{
    HYD_status status = HYD_SUCCESS;

    if (s->is_shared || labels || (!s->part && !(s->part = MPL_malloc(PART_MAX, MPL_MEM_PM))))
        return send_output(s, bytes, count);
    const char *end = memrchr(bytes, '\n', (size_t) count);
    int whole = end ? (int) (end + 1 - bytes) : 0, rest = count - whole;
    if (whole > 0 || s->part_bytes + rest > PART_MAX)
        status = send_part(s);
    if (status == HYD_SUCCESS && (whole > 0 || rest > PART_MAX))
        status = send_output(s, bytes, rest > PART_MAX ? count : whole);
    if (rest > PART_MAX)
        return status;
    memcpy(s->part + s->part_bytes, bytes + whole, (size_t) rest);
    s->part_bytes += rest;
    return status;
}

/* All writers have closed the pipe. */
static HYD_status close_stream(struct stream *s)
{
    HYD_status status = HYDT_dmx_deregister_fd(s->fd);
    struct stream *before = streams;

    if (status == HYD_SUCCESS)
        status = send_part(s);
    MPL_free(s->part);
    close(s->fd);
    while (before != s && before->next != s)
        before = before->next;
    if (before == s)
        streams = s->next;
    else
        before->next = s->next;
    MPL_free(s);
    return status;
}

static HYD_status output_cb(int fd, HYD_event_t events, void *userp)
{
    struct stream *s = userp;
    char bytes[HYD_TMPBUF_SIZE];
    ssize_t n = read(fd, bytes, sizeof(bytes));

    if (n > 0)
        return send_lines(s, bytes, (int) n);
    return n == 0 ? close_stream(s) : HYD_SUCCESS;
}

static struct stream *find_next(struct stream *s, uint32_t uid, uint32_t number)
{
    while (s && !s->is_shared && (s->uid != uid || s->number != number))
        s = s->next;
    return s;
}

/* Forwards all output in the pipes of this process, with the rest of its last line. */
HYD_status HYD_task_output_drain(uint32_t uid, uint32_t number)
{
    HYD_status status = HYD_SUCCESS;
    struct stream *next;

    HYD_loop_outdate();
    for (struct stream * s = find_next(streams, uid, number); s && status == HYD_SUCCESS;
         s = next) {
        struct pollfd there = {.fd = s->fd,.events = POLLIN };
        next = find_next(s->next, uid, number);
        for (int left = READS_MAX; left > 0 && status == HYD_SUCCESS && poll(&there, 1, 0) == 1;
             left--) {
            int is_open = there.revents & POLLIN;
            status = output_cb(s->fd, HYD_POLLIN, s);
            if (!is_open) {
                s = NULL;       /* the stream has been closed */
                break;
            }
        }
        if (s && status == HYD_SUCCESS)
            status = send_part(s);
    }
    return status;
}

void HYD_task_output_hold(int on)
{
    held = on;
    for (struct stream * s = streams; s; s = s->next)
        HYD_loop_pause(s->fd, on);
}

/* Makes a pipe; adds the read end to the streams; `end`: the write end (-1: none).  "" or an
 * error. */
static const char *open_stream(struct stream wanted, int *end)
{
    struct stream *s = NULL;
    int ends[2];

    *end = -1;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return MPL_strerror(errno);
    s = MPL_malloc(sizeof(*s), MPL_MEM_PM);
    if (s) {
        *s = wanted;
        s->fd = ends[0];
    }
    if (!s || HYDT_dmx_register_fd(1, &s->fd, HYD_POLLIN, s, output_cb) != HYD_SUCCESS) {
        MPL_free(s);
        close(ends[0]);
        close(ends[1]);
        return "no memory";
    }
    s->next = streams;
    streams = s;
    HYD_loop_pause(s->fd, held);
    *end = ends[1];
    return "";
}

/* The process was started, or could not be started. */
void HYD_task_output_opened(const int ends[2])
{
    for (int which = 0; which < 2; which++)
        if (ends[which] >= 0 && ends[which] != shared[which])
            close(ends[which]);
}

/* Whether enough descriptors are free, if this is the lowest free one. */
static int has_spare(int lowest)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || (rlim_t) lowest + SPARE_FDS < limit.rlim_cur)
        return 1;
    if (limit.rlim_cur < limit.rlim_max) {
        HYD_task_descriptors = limit;
        limit.rlim_cur = limit.rlim_max;
        (void) setrlimit(RLIMIT_NOFILE, &limit);
    }
    return (rlim_t) lowest + SPARE_FDS < limit.rlim_cur;
}

static int open_own(uint32_t uid, uint32_t number, int ends[2])
{
    for (int which = 0; which < 2; which++)
        (void) open_stream((struct stream) {.which = which,.uid = uid,.number = number },
                           &ends[which]);
    if (ends[0] >= 0 && ends[1] >= 0 && has_spare(ends[1]))
        return 1;
    HYD_task_output_opened(ends);        /* this ends the streams that were made */
    return 0;
}

static void print_shared(void)
{
    static int is_printed = 0;
    struct rlimit limit = {.rlim_cur = 0 };

    if (is_printed)
        return;
    is_printed = 1;
    getrlimit(RLIMIT_NOFILE, &limit);
    HYDU_dump(stderr,
              "there are not enough descriptors for the output of all processes on this host "
              "(ulimit -Hn: %llu): lines of further processes may be mixed; raise the limit\n",
              (unsigned long long) limit.rlim_cur);
}

/* Makes the pipes of a process that is started next; `ends`: write ends for standard output and
 * standard error.  "" or an error. */
const char *HYD_task_output_open(uint32_t uid, uint32_t number, int ends[2])
{
    const char *why = "";

    if (open_own(uid, number, ends))
        return "";
    print_shared();
    for (int which = 0; which < 2 && !*why; which++) {
        if (shared[which] < 0)
            why = open_stream((struct stream) {.which = which,.is_shared = 1 }, &shared[which]);
        ends[which] = shared[which];
    }
    return why;
}
