/* See input.h. */

#include "state.h"
#include "core.h"
#include "demux.h"
#include "input.h"

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

struct HYD_proxy *HYD_step_first_proxy(void)
{
    struct HYD_step_group *g = HYD_step_find_group(first_group);

    if (!g)
        return NULL;
    struct HYD_proxy *proxy = g->proxies[g->processes[first_rank].proxy].proxy;
    return proxy->control_fd == HYD_FD_UNSET || proxy->control_fd == HYD_FD_CLOSED ? NULL : proxy;
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
    if (!HYD_step.core)
        return 1;
    struct HYD_proxy *first = HYD_step_first_proxy();
    if (!first) {
        HYDT_dmx_deregister_fd(STDIN_FILENO);   /* nobody is left to read it */
        return 0;
    }
    *proxy = first;
    hdr->rank = first_rank;
    return 1;
}
