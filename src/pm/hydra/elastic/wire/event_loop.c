/* See event_loop.h. */

#include "event_loop.h"
#include <limits.h>
#include "channel.h"
#include "clock.h"
#include "demux.h"
#include "demux_internal.h"
#include "keepalive.h"

extern struct HYDT_dmxu_fns HYDT_dmxu_fns;       /* demux.c; no header declares it */

static struct HYD_loop_hooks hooks;
static int depth = 0;           /* Hydra waits within callbacks when it ends */

static int64_t now_ms(void)
{
    return HYD_monotonic_us() / 1000;
}

/* ---- descriptors that are not read ----------------------------------------------------------- */

static int64_t *paused_until = NULL;    /* by descriptor, 0: not paused */
static int n_paused_until = 0;
static int64_t next_resume = -1;        /* of those that rest */

static void pause_until(int fd, int64_t time)
{
    int64_t *grown;
    int n = fd < 64 ? 128 : 2 * fd;

    if (fd < 0 || (fd >= n_paused_until && !time))
        return;
    if (fd >= n_paused_until) {
        grown = MPL_realloc(paused_until, (size_t) n * sizeof(*grown), MPL_MEM_PM);
        if (!grown)
            return;             /* continues without a pause: only the bound is exceeded */
        memset(grown + n_paused_until, 0, (size_t) (n - n_paused_until) * sizeof(*grown));
        paused_until = grown;
        n_paused_until = n;
    }
    paused_until[fd] = time;
}

void HYD_loop_pause(int fd, int paused)
{
    pause_until(fd, paused ? INT64_MAX : 0);
}

void HYD_loop_rest(int fd, int ms)
{
    pause_until(fd, now_ms() + ms);
    next_resume = now_ms() + ms;
}

static int is_paused(int fd, int64_t now)
{
    return fd < n_paused_until && paused_until[fd] > now;
}

/* ---- timers ---------------------------------------------------------------------------------- */

#define TIMERS_MAX 8

static struct timer {
    HYD_status(*due) (void);
    int64_t at_ms;              /* <0: not set */
} timers[TIMERS_MAX];
static int n_timers = 0;

void HYD_loop_call(HYD_status(*due) (void), int64_t ms)
{
    int i = 0;

    while (i < n_timers && timers[i].due != due)
        i++;
    if (i == TIMERS_MAX) {
        HYDU_error_printf("more than %d timers\n", TIMERS_MAX);
        return;
    }
    n_timers += i == n_timers;
    timers[i] = (struct timer) {due, ms < 0 ? -1 : now_ms() + ms };
}

/* Calls due timers; `any`: whether there was one. */
static HYD_status serve_timers(int *any)
{
    HYD_status status = HYD_SUCCESS;

    for (int i = 0; i < n_timers; i++) {
        if (timers[i].at_ms < 0 || timers[i].at_ms > now_ms())
            continue;
        timers[i].at_ms = -1;
        *any = 1;
        status = timers[i].due();
        HYDU_ERR_POP(status, "a timer's function returned error status\n");
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* ---- one round ------------------------------------------------------------------------------- */

static void free_closed_records(void)
{
    struct HYDT_dmxu_callback **link = &HYDT_dmxu_cb_list;

    while (*link) {
        struct HYDT_dmxu_callback *record = *link;
        int live = 0;
        for (int j = 0; j < record->num_fds; j++)
            live |= record->fd[j] != HYD_FD_UNSET;
        if (live) {
            link = &record->next;
            continue;
        }
        *link = record->next;
        MPL_free(record->fd);
        MPL_free(record);
    }
}

/* The object of an entry of the poll set: a registered descriptor, or (record is NULL) the output
 * of a channel. */
struct source {
    struct HYDT_dmxu_callback *record;
    int index;
    int channel;
};

struct poll_set {
    struct pollfd *fds;
    struct source *sources;
    int n, capacity;
    unsigned state;             /* `states` when it was checked */
};

/* Counts events that make older polls invalid: each poll (callbacks may poll themselves), each
 * HYD_loop_outdate. */
static unsigned states = 0;

void HYD_loop_outdate(void)
{
    states++;
}

/* Polls again, because a callback reads without a poll and would block if no data is left. */
static int is_still_there(const struct poll_set *set, int i)
{
    return set->state == states || poll(&set->fds[i], 1, 0) > 0;
}

static HYD_status add(struct poll_set *set, int fd, short events, struct source source)
{
    HYD_status status = HYD_SUCCESS;

    if (set->n == set->capacity) {
        int capacity = 2 * set->capacity + 64;
        HYDU_REALLOC_OR_JUMP(set->fds, struct pollfd *, capacity * sizeof(*set->fds), status);
        HYDU_REALLOC_OR_JUMP(set->sources, struct source *, capacity * sizeof(*set->sources),
                             status);
        set->capacity = capacity;
    }
    set->fds[set->n] = (struct pollfd) {.fd = fd,.events = events };
    set->sources[set->n++] = source;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status collect(struct poll_set *set)
{
    int64_t now = now_ms();
    int busy;
    HYD_status status = HYD_SUCCESS;

    for (struct HYDT_dmxu_callback * record = HYDT_dmxu_cb_list; record; record = record->next)
        for (int j = 0; j < record->num_fds; j++) {
            int fd = record->fd[j];
            short events = (short) ((record->events & HYD_POLLIN ? POLLIN : 0) |
                                    (record->events & HYD_POLLOUT ? POLLOUT : 0));
            if (fd == HYD_FD_UNSET)
                continue;
            HYD_channel_has_frames(fd, &busy);
            if (busy)
                continue;
            status = add(set, fd, is_paused(fd, now) ? 0 : events, (struct source) {record, j, -1});
            HYDU_ERR_POP(status, "no memory to wait for events\n");
        }
    for (int fd = -1; (fd = HYD_channel_next_output(fd)) >= 0;) {
        status = add(set, HYD_channel_output_fd(fd), POLLOUT, (struct source) {NULL, 0, fd});
        HYDU_ERR_POP(status, "no memory to wait for events\n");
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status call(const struct HYDT_dmxu_callback *record, int fd, short found)
{
    HYD_event_t events = 0;
    int busy;
    HYD_status status = HYD_SUCCESS;

    HYDU_ASSERT(!(found & ~POLLIN & ~POLLOUT & ~POLLHUP & ~POLLERR), status);
    if (found & POLLIN)
        events |= HYD_POLLIN;
    if (found & POLLOUT)
        events |= HYD_POLLOUT;
    if (found & POLLHUP)
        events |= HYD_POLLHUP;
    status = HYD_channel_has_frames(fd, &busy)
        ? HYD_channel_input(fd, record->callback, record->userp) :
        record->callback(fd, events, record->userp);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status serve(const struct poll_set *set, int i)
{
    const struct source *source = &set->sources[i];
    int fd = set->fds[i].fd;

    if (source->record && source->record->fd[source->index] == fd)
        return is_still_there(set, i) ? call(source->record, fd, set->fds[i].revents) : HYD_SUCCESS;
    if (!source->record && HYD_channel_output_fd(source->channel) == fd)
        return HYD_channel_flush(source->channel);
    return HYD_SUCCESS;
}

static HYD_status dispatch(struct poll_set *set)
{
    HYD_status status = HYD_SUCCESS;

    for (int i = 0; hooks.is_first && i < set->n; i++)
        if (set->fds[i].revents && set->sources[i].record && hooks.is_first(set->fds[i].fd)) {
            status = serve(set, i);
            HYDU_ERR_POP(status, "callback returned error status\n");
            set->fds[i].revents = 0;
        }
    for (int i = 0; i < set->n; i++)
        if (set->fds[i].revents) {
            status = serve(set, i);
            HYDU_ERR_POP(status, "callback returned error status\n");
        }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static int64_t sooner(int64_t a_ms, int64_t b_ms)
{
    return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

static int64_t until(int64_t time)
{
    int64_t left = time - now_ms();

    return time < 0 ? -1 : left < 0 ? 0 : left;
}

/* Milliseconds to wait: the caller's limit, or less if a timer is due. */
static int timeout_ms(int wtime)
{
    int64_t ms = wtime < 0 ? -1 : (int64_t) wtime * 1000;

    ms = sooner(ms, until(HYD_keepalive_next()));
    ms = sooner(ms, until(next_resume));
    ms = sooner(ms, hooks.wait_ms ? hooks.wait_ms() : -1);
    for (int i = 0; i < n_timers; i++)
        ms = sooner(ms, until(timers[i].at_ms));
    return ms > 3600 * 1000 ? 3600 * 1000 : (int) ms;
}

/* Calls due timers.  Returns whether one was due. */
static int serve_clock(void)
{
    if (next_resume >= 0 && next_resume <= now_ms())
        next_resume = -1;
    if (HYD_keepalive_next() >= 0)
        HYD_keepalive_check(now_ms());
    if (!hooks.wait_ms || hooks.wait_ms() != 0)
        return 0;
    hooks.due();
    return 1;
}

static HYD_status wait_for_event(int wtime)
{
    struct poll_set set = { NULL, NULL, 0, 0, 0 };
    int found, timed = 0;
    HYD_status status = HYD_SUCCESS;

    if (depth++ == 0)
        free_closed_records();
    status = collect(&set);
    HYDU_ERR_POP(status, "unable to collect the descriptors\n");
    found = poll(set.fds, (nfds_t) set.n, timeout_ms(wtime));
    set.state = ++states;
    if (found < 0 && errno != EINTR)
        HYDU_ERR_SETANDJUMP(status, HYD_SOCK_ERROR, "poll error (%s)\n", MPL_strerror(errno));
    if (found > 0) {
        status = dispatch(&set);
        HYDU_ERR_POP(status, "error while handling events\n");
    }
    if (hooks.after)
        hooks.after();
    status = serve_timers(&timed);
    HYDU_ERR_POP(status, "error while handling timers\n");
    if (!serve_clock() && !timed && found == 0 && wtime >= 0)
        status = HYD_TIMED_OUT;

  fn_exit:
    depth--;
    MPL_free(set.sources);
    MPL_free(set.fds);
    return status;

  fn_fail:
    goto fn_exit;
}

void HYD_loop_use(const struct HYD_loop_hooks *h)
{
    hooks = *h;
    HYDT_dmxu_fns.wait_for_event = wait_for_event;
}
