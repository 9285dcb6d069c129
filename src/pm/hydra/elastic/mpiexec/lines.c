/* See lines.h. */

#include "lines.h"
#include <sys/timerfd.h>
#include "demux.h"

struct text {
    char *data;
    size_t bytes, space;
};

struct line {
    int fd;                     /* where it is written */
    struct HYD_lines_source source;
    int uid, number;            /* HYD_lines_task */
    char *prefix;
    struct text rest;           /* the part that has not been written */
    int is_open;                /* an unfinished part of it was the last output to fd */
    struct line *next;
};

static struct line *lines = NULL;
static int clock_fd = -1, clock_runs = 0;
static int task_uid = -1, task_number = -1;

/* ---- texts ----------------------------------------------------------------------------------- */

static HYD_status append(struct text *text, const char *data, size_t bytes)
{
    HYD_status status = HYD_SUCCESS;

    if (text->bytes + bytes > text->space) {
        size_t space = 2 * (text->bytes + bytes);
        HYDU_REALLOC_OR_JUMP(text->data, char *, space, status);
        text->space = space;
    }
    if (bytes)
        memcpy(text->data + text->bytes, data, bytes);
    text->bytes += bytes;

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

static HYD_status write_text(int fd, const struct text *text)
{
    int sent, closed;
    HYD_status status = HYD_SUCCESS;

    if (text->bytes == 0)
        goto fn_exit;
    status =
        HYDU_sock_write(fd, text->data, (int) text->bytes, &sent, &closed, HYDU_SOCK_COMM_MSGWAIT);
    HYDU_ERR_POP(status, "unable to write data to stdout/stderr\n");
    HYDU_ASSERT(!closed, status);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void free_line(struct line *l)
{
    MPL_free(l->prefix);
    MPL_free(l->rest.data);
    MPL_free(l);
}

/* A program may start any number of processes one by one: records without waiting output are
 * freed. */
static void free_tasks(void)
{
    struct line *last = NULL, *next;

    for (struct line * l = lines; l; l = next) {
        next = l->next;
        if (l->uid < 0 || l->is_open || l->rest.bytes > 0) {
            last = l;
            continue;
        }
        if (last)
            last->next = next;
        else
            lines = next;
        free_line(l);
    }
}

static struct line *find_line(int fd, const struct HYD_lines_source *s)
{
    struct line *l;

    for (l = lines; l; l = l->next)
        if (l->fd == fd && l->source.stream == s->stream && l->source.pgid == s->pgid &&
            l->source.proxy == s->proxy && l->source.rank == s->rank && l->uid == task_uid &&
            l->number == task_number)
            return l;
    l = MPL_calloc(1, sizeof(*l), MPL_MEM_PM);
    if (l) {
        *l = (struct line) {.fd = fd,.source = *s,.uid = task_uid,.number = task_number,
                            .next = lines };
        lines = l;
    }
    return l;
}

/* Ends an unfinished line of another process. */
static HYD_status begin(struct text *out, struct line *line)
{
    HYD_status status = HYD_SUCCESS;

    for (struct line * l = lines; l; l = l->next) {
        if (l == line || l->fd != line->fd || !l->is_open)
            continue;
        l->is_open = 0;
        status = append(out, "\n", 1);
        HYDU_ERR_POP(status, "no memory for output\n");
    }
    if (line->is_open || !line->prefix)
        goto fn_exit;
    status = append(out, line->prefix, strlen(line->prefix));
    HYDU_ERR_POP(status, "no memory for output\n");

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* Writes the first bytes of the stored text, up to the end of a line or unfinished. */
static HYD_status write_first(struct line *line, size_t bytes)
{
    struct text out = { 0 };
    size_t done = 0;
    HYD_status status = HYD_SUCCESS;

    while (done < bytes) {
        const char *from = line->rest.data + done, *end = memchr(from, '\n', bytes - done);
        size_t length = end ? (size_t) (end - from) + 1 : bytes - done;
        status = begin(&out, line);
        HYDU_ERR_POP(status, "unable to begin a line\n");
        status = append(&out, from, length);
        HYDU_ERR_POP(status, "no memory for output\n");
        line->is_open = end == NULL;
        done += length;
    }
    line->rest.bytes -= bytes;
    memmove(line->rest.data, line->rest.data + bytes, line->rest.bytes);
    status = write_text(line->fd, &out);

  fn_exit:
    MPL_free(out.data);
    return status;
  fn_fail:
    goto fn_exit;
}

static HYD_status write_unfinished(void)
{
    HYD_status status = HYD_SUCCESS;

    for (struct line * l = lines; l && status == HYD_SUCCESS; l = l->next)
        if (l->rest.bytes > 0)
            status = write_first(l, l->rest.bytes);
    return status;
}

/* ---- time ------------------------------------------------------------------------------------ */

static HYD_status late_cb(int fd, HYD_event_t events, void *userp)
{
    uint64_t times;

    clock_runs = 0;
    if (read(fd, &times, sizeof(times)) < 0)
        return HYD_SUCCESS;
    return write_unfinished();
}

static HYD_status start_clock(void)
{
    const struct itimerspec once = {.it_value = {.tv_nsec = LINES_WAIT_MS * 1000000L } };
    HYD_status status = HYD_SUCCESS;

    if (clock_runs)
        goto fn_exit;
    if (clock_fd < 0) {
        clock_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        HYDU_ERR_CHKANDJUMP(status, clock_fd < 0, HYD_INTERNAL_ERROR, "unable to make a timer\n");
        status = HYDT_dmx_register_fd(1, &clock_fd, HYD_POLLIN, NULL, late_cb);
        HYDU_ERR_POP(status, "unable to register fd\n");
    }
    HYDU_ERR_CHKANDJUMP(status, timerfd_settime(clock_fd, 0, &once, NULL) < 0, HYD_INTERNAL_ERROR,
                        "unable to set a timer\n");
    clock_runs = 1;

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* ---- processes that a program starts --------------------------------------------------------- */

void HYD_lines_task(int uid, int number)
{
    task_uid = uid;
    task_number = number;
}

int HYD_lines_label(char *text, size_t bytes)
{
    if (task_uid < 0)
        return 0;
    MPL_snprintf(text, bytes, "%d.%d", task_uid, task_number);
    return 1;
}

/* ---- for all --------------------------------------------------------------------------------- */

HYD_status HYD_lines_write(int fd, const struct HYD_lines_source *source, const char *prefix,
                           const char *text, size_t bytes)
{
    struct line *line = NULL;
    HYD_status status = HYD_SUCCESS;

    free_tasks();
    line = find_line(fd, source);
    HYDU_ERR_CHKANDJUMP(status, !line, HYD_NO_MEM, "no memory for output\n");
    status = append(&line->rest, text, bytes);
    HYDU_ERR_POP(status, "no memory for output\n");
    MPL_free(line->prefix);
    line->prefix = MPL_strdup(prefix);
    const char *end = memrchr(line->rest.data, '\n', line->rest.bytes);
    size_t whole = end ? (size_t) (end - line->rest.data) + 1 : 0;
    status =
        write_first(line, line->rest.bytes - whole > LINES_BYTES_MAX ? line->rest.bytes : whole);
    HYDU_ERR_POP(status, "unable to write output\n");
    if (line->rest.bytes > 0)
        status = start_clock();

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

void HYD_lines_finish(void)
{
    (void) write_unfinished();
    if (clock_fd >= 0) {
        HYDT_dmx_deregister_fd(clock_fd);
        close(clock_fd);
    }
    clock_fd = -1;
    while (lines) {
        struct line *l = lines;
        lines = l->next;
        free_line(l);
    }
}
