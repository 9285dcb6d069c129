/*
 * See launch.h.  An expansion is started like MPI_Comm_spawn does it, but by mpiexec itself: the launch's executable,
 * arguments, environment and directory (I5), a key-value space of its own, no parent.  Where several programs were
 * launched together, joining processes run the one that is asked for, by its MPI_APPNUM.
 */

#include "state.h"
#include "launch.h"
#include "bsci.h"
#include "bscu.h"
#include "capacity.h"
#include "connections.h"
#include "core.h"
#include "demux_internal.h"
#include "groups.h"
#include "launcher_ends.h"
#include "nodes.h"
#include "pmiserv.h"
#include "pmiserv_utils.h"

/* ---- the process group ------------------------------------------------------------------------- */

/* The launch as a list of programs lies with its proxies, where each has those that it runs. */
static const struct HYD_exec *launched_program(int appnum)
{
    for (const struct HYD_proxy * p = HYD_server_info.pg_list.proxy_list; p; p = p->next)
        for (const struct HYD_exec * e = p->exec_list; e; e = e->next)
            if (e->appnum == appnum)
                return e;
    return NULL;
}

int HYD_step_programs(void)
{
    int last = 0;

    for (const struct HYD_proxy * p = HYD_server_info.pg_list.proxy_list; p; p = p->next)
        for (const struct HYD_exec * e = p->exec_list; e; e = e->next)
            if (e->appnum > last)
                last = e->appnum;
    return last + 1;
}

static HYD_status joining_exec(int count, int program, struct HYD_exec **exec)
{
    const struct HYD_exec *launched = launched_program(program);
    int i;
    HYD_status status = HYDU_alloc_exec(exec);

    HYDU_ERR_POP(status, "unable to allocate exec\n");
    HYDU_ERR_CHKANDJUMP(status, !launched, HYD_INTERNAL_ERROR, "no program %d was launched\n", program);
    for (i = 0; launched->exec[i]; i++)
        (*exec)->exec[i] = MPL_strdup(launched->exec[i]);
    (*exec)->exec[i] = NULL;
    (*exec)->wdir = launched->wdir ? MPL_strdup(launched->wdir) : NULL;
    (*exec)->env_prop = launched->env_prop ? MPL_strdup(launched->env_prop) : NULL;
    (*exec)->user_env = HYDU_env_list_dup(launched->user_env);
    (*exec)->appnum = launched->appnum;
    (*exec)->proc_count = count;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* A pg at the end of Hydra's list, with its proxies placed. */
static HYD_status make_pg(int count, int program, const char *const *hosts, int n_hosts,
                          struct HYD_pg **new_pg)
{
    struct HYD_pg *last, *pg;
    struct HYD_exec *exec = NULL;
    int i = 0;
    HYD_status status = HYD_SUCCESS;

    for (last = &HYD_server_info.pg_list; last->next; last = last->next);
    status = HYDU_alloc_pg(&pg, last->pgid + 1);
    HYDU_ERR_POP(status, "unable to allocate process group\n");
    last->next = pg;
    *new_pg = pg;
    pg->pg_process_count = count;

    status = joining_exec(count, program, &exec);
    HYDU_ERR_POP(status, "unable to copy the program's description\n");
    status = HYD_pmcd_pmi_alloc_pg_scratch(pg);
    HYDU_ERR_POP(status, "unable to allocate pg scratch space\n");
    status = HYD_step_candidate_nodes(hosts, n_hosts, &pg->user_node_list);
    HYDU_ERR_POP(status, "unable to make the node list\n");
    status = HYDU_create_proxy_list(exec, pg->user_node_list, pg);
    HYDU_ERR_POP(status, "error creating proxy list\n");
    /* One block of ranks on each host: PMI_process_mapping, from which the processes take who is local,
     * repeats one pattern of cores and cannot say that a host got more or fewer than its share. */
    for (struct HYD_proxy * p = pg->proxy_list; p; p = p->next) {
        p->node->node_id = i++;
        p->node->core_count = p->proxy_process_count;
        p->filler_processes = 0;
        pg->pg_core_count += p->node->core_count;
    }

  fn_exit:
    HYDU_free_exec_list(exec);
    return status;

  fn_fail:
    goto fn_exit;
}

/* Undo of make_pg: the pg is the last of the list. */
static void drop_pg(struct HYD_pg *pg)
{
    struct HYD_pg *last;

    for (last = &HYD_server_info.pg_list; last->next && last->next != pg; last = last->next);
    last->next = NULL;
    HYD_pmcd_pmi_free_pg_scratch(pg);
    HYDU_free_pg_list(pg);
}

/* ---- its proxies ------------------------------------------------------------------------------- */

/* Adds --adapt and --adapt-bind to what a proxy is told. */
static HYD_status tell_proxy(struct HYD_step_group *g, int i, uint32_t epoch, int pre,
                             uint32_t first_uid, int modify)
{
    struct HYD_proxy *proxy = g->proxies[i].proxy;
    char **list = proxy->exec_launch_info, text[128], *places = NULL;
    size_t room = (size_t) g->proxies[i].processes * 12 + 1, used = 0;
    int n;
    HYD_status status = HYD_SUCCESS;

    HYDU_MALLOC_OR_JUMP(places, char *, room, status);
    for (int k = 0; k < g->proxies[i].processes; k++)
        used += (size_t) snprintf(places + used, room - used, k ? ",%d" : "%d",
                                  g->processes[g->proxies[i].ranks[k]].place);
    n = HYDU_strlist_lastidx(list);
    HYDU_REALLOC_OR_JUMP(list, char **, (n + 5) * sizeof(char *), status);
    MPL_snprintf(text, sizeof(text), "first_uid=%u,epoch=%u,pre=%d,local_pre=%d,modify=%d", first_uid, epoch,
                 pre, HYD_core_local_pre(proxy->node->hostname), modify);
    list[n] = MPL_strdup("--adapt");
    list[n + 1] = MPL_strdup(text);
    list[n + 2] = MPL_strdup("--adapt-bind");
    list[n + 3] = places;
    list[n + 4] = NULL;
    proxy->exec_launch_info = list;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* Nothing of ours may live on in the proxies that are started from here: a copied control
 * connection would hide our own end from the other proxies. */
static void close_all_on_exec(void)
{
    for (struct HYDT_dmxu_callback * c = HYDT_dmxu_cb_list; c; c = c->next)
        for (int j = 0; j < c->num_fds; j++)
            if (c->fd[j] > STDERR_FILENO)
                HYDU_sock_cloexec(c->fd[j]);
    HYDU_sock_cloexec(HYD_server_info.cmd_pipe[0]);
    HYDU_sock_cloexec(HYD_server_info.cmd_pipe[1]);
}

/* How many launchers run; one that could not be started is the last of the list. */
static int launchers_since(int first)
{
    int n = HYD_bscu_pid_count - first;

    while (n > 0 && HYD_bscu_pid_list[first + n - 1] < 0)
        n--;
    return n;
}

/* Sets how many proxies have a launcher: all, or those before one that could not be started. */
static HYD_status start_proxies(struct HYD_step_group *g, char **arguments, int *started)
{
    int *control_fd = NULL, first = HYD_bscu_pid_count;
    HYD_status status = HYD_SUCCESS;

    close_all_on_exec();
    HYDU_MALLOC_OR_JUMP(control_fd, int *, g->proxy_count * sizeof(int), status);
    for (int i = 0; i < g->proxy_count; i++)
        control_fd[i] = HYD_FD_UNSET;
    status = HYDT_bsci_launch_procs(arguments, g->pg->proxy_list, HYD_FALSE, control_fd);
    *started = status == HYD_SUCCESS ? g->proxy_count : launchers_since(first);
    for (int i = *started; i < g->proxy_count; i++)
        if (control_fd[i] != HYD_FD_UNSET)
            close(control_fd[i]);
    if (*started == 0)
        HYD_step_compact_launchers();
    HYDU_ERR_CHKANDJUMP(status, *started == 0, status, "launcher cannot launch processes\n");
    for (int i = 0; i < *started; i++) {
        if (control_fd[i] == HYD_FD_UNSET)
            continue;
        status = HYD_step_await_on(g, i, control_fd[i]);
        HYDU_ERR_POP(status, "unable to register fd\n");
    }
    status = HYD_step_watch_launchers(g, first);
    HYDU_ERR_POP(status, "unable to watch the launchers\n");

  fn_exit:
    MPL_free(control_fd);
    return status;

  fn_fail:
    goto fn_exit;
}

/* Some proxies may be on their way; they find nobody listening and give up. */
static void drop_group(struct HYD_step_group *g)
{
    for (int i = 0; i < g->proxy_count; i++) {
        HYD_step_close_fd(&g->proxies[i].launch_fd);
        HYD_step_close_fd(&g->proxies[i].launcher_watch);
        if (g->proxies[i].node != g->proxies[i].proxy->node)
            g->proxies[i].node->active_processes -= g->proxies[i].processes;
    }
    HYD_step_close_fd(&g->listen_fd);
    HYD_step_free_group(g);
}

int HYD_step_launch(uint32_t epoch, int count, int program, int pre, uint32_t first_uid, int modify,
                    const char *const *hosts, int n_hosts, int *group, char *error,
                    size_t error_bytes)
{
    struct HYD_pg *pg = NULL;
    struct HYD_step_group *g = NULL;
    struct HYD_string_stash stash;
    char *port = NULL;
    int started = 0;
    HYD_status status = HYD_SUCCESS;

    HYD_STRING_STASH_INIT(stash);
    MPL_snprintf(error, error_bytes, "mpiexec was unable to start the processes: its standard error says why");
    status = make_pg(count, program, hosts, n_hosts, &pg);
    HYDU_ERR_POP(status, "unable to make a process group\n");
    if (HYD_step_check_capacity(pg, error, error_bytes) < 0) {
        drop_pg(pg);
        return -1;
    }
    status = HYD_step_new_group(pg, &g);
    HYDU_ERR_POP(status, "unable to note a process group\n");
    status = HYD_step_listen(g, &port);
    if (status != HYD_SUCCESS && HYD_server_info.port_range)
        MPL_snprintf(error, error_bytes,
                     "mpiexec finds no free port among %s (MPIEXEC_PORT_RANGE) on which node daemons could reach it: "
                     "give it more ports", HYD_server_info.port_range);
    HYDU_ERR_POP(status, "unable to listen for proxies\n");
    status = HYD_pmcd_pmi_fill_in_proxy_args(&stash, port, pg->pgid);
    HYDU_ERR_POP(status, "unable to fill in proxy arguments\n");
    status = HYD_pmcd_pmi_fill_in_exec_launch_info(pg);
    HYDU_ERR_POP(status, "unable to fill in executable arguments\n");
    status = HYD_step_count_on_nodes(g);
    HYDU_ERR_POP(status, "unable to count the processes\n");
    for (int i = 0; i < g->proxy_count; i++) {
        status = HYD_step_choose_places(g, i);
        HYDU_ERR_POP(status, "unable to choose the processes' places\n");
        status = tell_proxy(g, i, epoch, pre, first_uid, modify);
        HYDU_ERR_POP(status, "unable to fill in adaptation arguments\n");
    }
    status = start_proxies(g, stash.strlist, &started);
    HYDU_ERR_POP(status, "unable to start proxies\n");
    *group = g->group;
    if (HYD_step.launch_limit_ms > 0)
        g->up_by_ms = HYD_step_now_ms() + HYD_step.launch_limit_ms;
    HYD_core_defer_placed(g);
    for (int i = started; i < g->proxy_count; i++)
        HYD_step_proxy_failed(g, i);

  fn_exit:
    HYD_STRING_STASH_FREE(stash);
    MPL_free(port);
    return status == HYD_SUCCESS ? 0 : -1;

  fn_fail:
    if (g)
        drop_group(g);
    if (pg)
        drop_pg(pg);
    goto fn_exit;
}
