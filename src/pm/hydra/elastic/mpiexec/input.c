/* See input.h. */

#include "state.h"
#include "core.h"
#include "demux.h"
#include "demux_internal.h"
#include "input.h"

/* Of at most 64 KiB, that are not known to have been passed on: a connection takes one, also while the daemon waits for
 * mpiexec to read its output.  With more, each would wait for the other. */
#define INPUT_MESSAGES 1

int HYD_step_label(const struct HYD_proxy *proxy, int rank)
{
    struct HYD_step_group *g = HYD_step.core ? HYD_step_find_group(proxy->pg->pgid) : NULL;

    if (!g || rank < 0 || rank >= g->count)
        return rank;
    int world_rank = HYD_core_world_rank(g->group, rank);
    if (world_rank >= 0)
        g->processes[rank].label = world_rank;
    return g->processes[rank].label >= 0 ? g->processes[rank].label : rank;
}

/* The process that is rank 0 of the world: who reads standard input.  At first the launch's. */
static int first_group = 0, first_rank = 0;
static uint32_t untaken = 0;    /* messages of input that it has not taken */

/* By its record, as Hydra's own loop, in which a job begins, knows no pause.  When the other end is closed it is all
 * the same, and bounded: what is left in a pipe. */
static void pause_input(int is_paused)
{
    for (struct HYDT_dmxu_callback * record = HYDT_dmxu_cb_list; record; record = record->next) {
        for (int i = 0; i < record->num_fds; i++) {
            if (record->fd[i] == STDIN_FILENO)
                record->events = is_paused ? 0 : HYD_POLLIN;
        }
    }
}

void HYD_step_input_taken(const struct HYD_proxy *proxy, const void *payload, size_t bytes)
{
    uint32_t words[2];          /* rank, messages */

    if (bytes != sizeof(words) || proxy->pg->pgid != first_group)
        return;
    memcpy(words, payload, sizeof(words));
    if (words[0] != (uint32_t) first_rank)
        return;
    untaken -= words[1] < untaken ? words[1] : untaken;
    if (untaken < INPUT_MESSAGES)
        pause_input(0);
}

static int is_connected(const struct HYD_proxy *proxy)
{
    return proxy->control_fd != HYD_FD_UNSET && proxy->control_fd != HYD_FD_CLOSED;
}

struct HYD_proxy *HYD_step_first_proxy(void)
{
    struct HYD_step_group *g = HYD_step_find_group(first_group);

    if (!g)
        return NULL;
    struct HYD_proxy *proxy = g->proxies[g->processes[first_rank].proxy].proxy;
    return is_connected(proxy) ? proxy : NULL;
}

/* Looks after each event whether rank 0 is somebody else now.  Input that the previous one has got
 * already is its own; a new one that comes after the end of the input is told of that. */
void HYD_step_follow_first(void)
{
    struct HYD_pmcd_hdr hdr;

    if (!HYD_step.core || HYD_core_world_rank(first_group, first_rank) == 0)
        return;
    for (struct HYD_step_group * g = HYD_step.groups; g; g = g->next) {
        for (int rank = 0; rank < g->count; rank++) {
            if (HYD_core_world_rank(g->group, rank) != 0)
                continue;
            first_group = g->group;
            first_rank = rank;
            untaken = 0;
            pause_input(0);
            if (HYDT_dmx_query_fd_registration(STDIN_FILENO) || !HYD_step_first_proxy())
                return;
            HYD_pmcd_init_header(&hdr);
            hdr.cmd = STDIN;
            hdr.rank = rank;
            hdr.buflen = 0;
            HYD_step_send(HYD_step_first_proxy(), &hdr, NULL, 0);
            return;
        }
    }
}

int HYD_step_stdin(struct HYD_proxy **proxy, struct HYD_pmcd_hdr *hdr)
{
    struct HYD_proxy *first = HYD_step.core ? HYD_step_first_proxy() : *proxy;

    if (!first || !is_connected(first)) {
        HYDT_dmx_deregister_fd(STDIN_FILENO);   /* nobody is left to read it */
        return 0;
    }
    if (++untaken >= INPUT_MESSAGES)
        pause_input(1);
    *proxy = first;
    hdr->rank = first_rank;
    return 1;
}
