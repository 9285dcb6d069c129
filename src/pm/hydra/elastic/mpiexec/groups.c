/* See groups.h. */

#include "state.h"
#include "groups.h"
#include "connections.h"
#include "exits.h"
#include "pmiserv_utils.h"
#include "relay.h"
#include "spawned.h"

static void free_record(struct HYD_step_group *g)
{
    for (int i = 0; g->proxies && i < g->proxy_count; i++) {
        HYD_step_relay_drop(&g->proxies[i]);
        MPL_free(g->proxies[i].ranks);
    }
    MPL_free(g->processes);
    MPL_free(g->proxies);
    MPL_free(g);
}

void HYD_step_free_group(struct HYD_step_group *group)
{
    struct HYD_step_group **link;

    for (link = &HYD_step.groups; *link && *link != group; link = &(*link)->next);
    if (*link)
        *link = group->next;
    free_record(group);
}

/* Computes the rank of the k-th process of a proxy by Hydra's rule: first the filler processes of
 * all proxies get ranks, then all others round robin over their cores. */
struct rank_rule {
    int filler, filler_start, cores, cores_start, all_cores;
};

static int rank_of(const struct rank_rule *r, int k)
{
    if (k < r->filler)
        return r->filler_start + k;
    int layer = (k - r->filler) / r->cores;
    return r->cores_start + layer * r->all_cores + (k - r->filler) % r->cores;
}

static void assign_ranks(struct HYD_step_group *g)
{
    int fillers = 0, cores = 0, filler_start = 0, cores_start;

    for (int i = 0; i < g->proxy_count; i++) {
        fillers += g->proxies[i].proxy->filler_processes;
        cores += g->proxies[i].proxy->node->core_count;
    }
    cores_start = fillers;
    for (int i = 0; i < g->proxy_count; i++) {
        const struct HYD_proxy *p = g->proxies[i].proxy;
        struct rank_rule rule = { p->filler_processes, filler_start, p->node->core_count,
            cores_start, cores
        };
        for (int k = 0; k < p->proxy_process_count; k++) {
            int rank = rank_of(&rule, k);
            g->proxies[i].ranks[k] = rank;
            if (rank < g->count)
                g->processes[rank].proxy = i;
        }
        filler_start += p->filler_processes;
        cores_start += p->node->core_count;
    }
}

HYD_status HYD_step_new_group(struct HYD_pg *pg, struct HYD_step_group **group)
{
    struct HYD_step_group *g = NULL, **end;
    int i;
    HYD_status status = HYD_SUCCESS;

    g = MPL_calloc(1, sizeof(*g), MPL_MEM_PM);
    HYDU_ERR_CHKANDJUMP(status, !g, HYD_NO_MEM, "no memory for a process group\n");
    g->group = pg->pgid;
    g->pg = pg;
    g->count = pg->pg_process_count;
    g->proxy_count = pg->proxy_count;
    g->listen_fd = -1;
    g->up_by_ms = -1;
    g->processes = MPL_calloc((size_t) g->count, sizeof(*g->processes), MPL_MEM_PM);
    g->proxies = MPL_calloc((size_t) g->proxy_count, sizeof(*g->proxies), MPL_MEM_PM);
    HYDU_ERR_CHKANDJUMP(status, !g->processes || !g->proxies, HYD_NO_MEM,
                        "no memory for a process group\n");
    i = 0;
    for (struct HYD_proxy * p = pg->proxy_list; p; p = p->next, i++) {
        g->proxies[i] = (struct HYD_step_proxy) {
            .proxy = p,.node = p->node,.processes = p->proxy_process_count,.launch_fd = -1,
            .launcher_pid = -1,.launcher_watch = -1
        };
        HYDU_MALLOC_OR_JUMP(g->proxies[i].ranks, int *, p->proxy_process_count * sizeof(int),
                            status);
    }
    for (i = 0; i < g->count; i++)
        g->processes[i].label = -1;
    assign_ranks(g);

    for (end = &HYD_step.groups; *end; end = &(*end)->next);
    *end = g;
    *group = g;

  fn_exit:
    return status;

  fn_fail:
    if (g)
        free_record(g);
    goto fn_exit;
}

/* Some launchers pass an open connection to a proxy. */
static int is_up(const struct HYD_proxy *proxy)
{
    struct HYD_proxy *found;

    HASH_FIND_INT(HYD_server_info.proxy_hash, &proxy->control_fd, found);
    return found == proxy;
}

HYD_status HYD_step_adopt_launch(void)
{
    struct HYD_step_group *g;
    HYD_status status = HYD_step_new_group(&HYD_server_info.pg_list, &g);

    for (int i = 0; status == HYD_SUCCESS && i < g->proxy_count; i++) {
        g->proxies[i].up = is_up(g->proxies[i].proxy);
        for (int k = 0; k < g->proxies[i].processes; k++)
            if (g->proxies[i].ranks[k] < g->count)
                g->processes[g->proxies[i].ranks[k]].slot = k;
    }
    return status;
}

/* ---- removal --------------------------------------------------------------------------------- */

void HYD_step_kill_group(int group)
{
    struct HYD_step_group *g = HYD_step_find_group(group);

    if (!g || g->group == 0)
        return;
    g->removed = HYD_STEP_FAILED;
    /* hello_cb handles proxies that have not connected yet. */
    for (int i = 0; i < g->proxy_count; i++)
        HYD_step_send_signal(g->proxies[i].proxy, SIGKILL);
}

static int finished(const struct HYD_pg *pg, const struct HYD_step_group *g)
{
    for (const struct HYD_proxy * p = pg->proxy_list; p; p = p->next)
        if (p->control_fd != HYD_FD_CLOSED)
            return 0;
    for (int i = 0; i < g->proxy_count; i++)
        if (g->proxies[i].launcher_pid != -1 || !g->proxies[i].ended)
            return 0;
    return 1;
}

void HYD_step_reap(struct HYD_pg *current)
{
    struct HYD_pg *before = &HYD_server_info.pg_list, *pg;

    /* The last one stays, so that no later group gets its number. */
    while ((pg = before->next) && pg->next) {
        struct HYD_step_group *g = HYD_step_find_group(pg->pgid);
        if (pg == current || !(g ? finished(pg, g) : HYD_spawned_is_over(pg))) {
            before = pg;
            continue;
        }
        if (g) {
            HYD_step_stop_listening(g);
            HYD_step_free_group(g);
        }
        HYD_step_free_missed(pg);
        before->next = pg->next;
        pg->next = NULL;
        for (struct HYD_pg * p = &HYD_server_info.pg_list; p; p = p->next)
            if (p->spawner_pg == pg)
                p->spawner_pg = NULL;
        HYD_pmcd_pmi_free_pg_scratch(pg);
        HYDU_free_pg_list(pg);
    }
}
