/*
 * Hydra's poll loop with a clock in milliseconds, for an mpiexec that adapts.  It takes the place of
 * the demux engine once the step manager's core exists.  Differences from the stock engine:
 *   - it wakes when the core has asked to be woken;
 *   - a callback may deregister any descriptor: an event that was found before is then dropped
 *     (the stock engine assigns events by counting and would give it to another descriptor);
 *   - records of deregistered descriptors are freed: groups that come and go would pile them up.
 */

#include "step_state.h"
#include "demux.h"
#include "demux_internal.h"

extern struct HYDT_dmxu_fns HYDT_dmxu_fns;       /* demux.c; no header declares it */

static int depth = 0;           /* Hydra waits within callbacks when it ends */

static void free_dead_records(void)
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

struct source {
    struct HYDT_dmxu_callback *record;
    int index;
};

static int collect(struct pollfd *fds, struct source *sources)
{
    int n = 0;

    for (struct HYDT_dmxu_callback * record = HYDT_dmxu_cb_list; record; record = record->next) {
        for (int j = 0; j < record->num_fds; j++) {
            if (record->fd[j] == HYD_FD_UNSET)
                continue;
            fds[n].fd = record->fd[j];
            fds[n].events = (short) ((record->events & HYD_POLLIN ? POLLIN : 0) |
                                     (record->events & HYD_POLLOUT ? POLLOUT : 0));
            fds[n].revents = 0;
            sources[n].record = record;
            sources[n].index = j;
            n++;
        }
    }
    return n;
}

static HYD_status dispatch(const struct pollfd *fds, const struct source *sources, int n)
{
    HYD_status status = HYD_SUCCESS;

    for (int i = 0; i < n; i++) {
        struct HYDT_dmxu_callback *record = sources[i].record;
        short found = fds[i].revents;
        HYD_event_t events = 0;

        if (!found || record->fd[sources[i].index] != fds[i].fd)
            continue;
        if (found & POLLIN)
            events |= HYD_POLLIN;
        if (found & POLLOUT)
            events |= HYD_POLLOUT;
        if (found & POLLHUP)
            events |= HYD_POLLHUP;
        HYDU_ASSERT(!(found & ~POLLIN & ~POLLOUT & ~POLLHUP & ~POLLERR), status);
        status = record->callback(fds[i].fd, events, record->userp);
        HYDU_ERR_POP(status, "callback returned error status\n");
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* Milliseconds to wait: what the caller allows, cut short by the clock. */
static int timeout_ms(int wtime)
{
    int64_t allowed = wtime < 0 ? -1 : (int64_t) wtime * 1000, wake = HYD_step_next_wake();

    if (wake >= 0) {
        int64_t left = wake - HYD_step_now_ms();
        left = left < 0 ? 0 : left;
        if (allowed < 0 || left < allowed)
            allowed = left;
    }
    return allowed > 3600 * 1000 ? 3600 * 1000 : (int) allowed;
}

static HYD_status wait_for_event(int wtime)
{
    struct pollfd *fds = NULL;
    struct source *sources = NULL;
    int n, found;
    HYD_status status = HYD_SUCCESS;

    if (depth++ == 0)
        free_dead_records();
    HYDU_MALLOC_OR_JUMP(fds, struct pollfd *, (HYDT_dmxu_num_cb_fds + 1) * sizeof(*fds), status);
    HYDU_MALLOC_OR_JUMP(sources, struct source *, (HYDT_dmxu_num_cb_fds + 1) * sizeof(*sources),
                        status);
    n = collect(fds, sources);
    found = poll(fds, (nfds_t) n, timeout_ms(wtime));
    if (found < 0 && errno != EINTR)
        HYDU_ERR_SETANDJUMP(status, HYD_SOCK_ERROR, "poll error (%s)\n", MPL_strerror(errno));
    if (found > 0) {
        status = dispatch(fds, sources, n);
        HYDU_ERR_POP(status, "error while handling events\n");
    }

    int64_t wake = HYD_step_next_wake();
    if (wake >= 0 && wake <= HYD_step_now_ms())
        HYD_step_tick();
    else if (found == 0 && wtime >= 0)
        status = HYD_TIMED_OUT;

  fn_exit:
    depth--;
    MPL_free(sources);
    MPL_free(fds);
    return status;

  fn_fail:
    goto fn_exit;
}

void HYD_step_use_loop(void)
{
    HYDT_dmxu_fns.wait_for_event = wait_for_event;
}
