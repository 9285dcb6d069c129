/*
 * See launch.h. mpiexec itself starts an expansion as MPI_Comm_spawn does: with the launch's
 * executable, arguments, environment and directory (I5), a separate key-value space, and no parent.
 * If several programs were launched together, joining processes run the requested one, identified
 * by its MPI_APPNUM. Processes that a program starts on its slots are started in the same way, with
 * another program.
 */

#include "state.h"
#include "launch.h"
#include "bsci.h"
#include "bscu.h"
#include "capacity.h"
#include "connections.h"
#include "core.h"
#include "stepmgr/stepmgr.h"
#include "demux_internal.h"
#include "groups.h"
#include "launcher_ends.h"
#include "nodes.h"
#include "pmi_adapt_set.h"
#include "pmiserv.h"
#include "pmiserv_utils.h"

/* ---- the process group ----------------------------------------------------------------------- */

/* Each proxy has the list of the launch's programs that it runs. */
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

/* STEP_NO_PROGRAM: a proxy exists as long as one of its processes.  Programs that it starts later
 * have the directory and environment of the first program. */
static HYD_status joining_exec(int count, int program, struct HYD_exec **exec)
{
    static const char *const nothing[] = { "/bin/sleep", "2147483647", NULL };
    const struct HYD_exec *launched = launched_program(program == STEP_NO_PROGRAM ? 0 : program);
    int i;
    HYD_status status = HYDU_alloc_exec(exec);

    HYDU_ERR_POP(status, "unable to allocate exec\n");
    HYDU_ERR_CHKANDJUMP(status, !launched, HYD_INTERNAL_ERROR, "no program %d was launched\n",
                        program);
    const char *const *words =
        program == STEP_NO_PROGRAM ? nothing : (const char *const *) launched->exec;
    for (i = 0; words[i]; i++)
        (*exec)->exec[i] = MPL_strdup(words[i]);
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

/* A pg at the end of Hydra's list, with its proxies on the nodes, which it owns. */
static HYD_status make_pg(int count, struct HYD_exec *exec, struct HYD_node *nodes,
                          struct HYD_pg **new_pg)
{
    struct HYD_pg *last, *pg;
    int i = 0;
    HYD_status status = HYD_SUCCESS;

    for (last = &HYD_server_info.pg_list; last->next; last = last->next);
    status = HYDU_alloc_pg(&pg, last->pgid + 1);
    HYDU_ERR_POP(status, "unable to allocate process group\n");
    last->next = pg;
    *new_pg = pg;
    pg->pg_process_count = count;
    pg->user_node_list = nodes;

    status = HYD_pmcd_pmi_alloc_pg_scratch(pg);
    HYDU_ERR_POP(status, "unable to allocate pg scratch space\n");
    status = HYDU_create_proxy_list(exec, pg->user_node_list, pg);
    HYDU_ERR_POP(status, "error creating proxy list\n");
    /* One block of ranks on each host: processes find local processes by PMI_process_mapping, which
     * repeats one pattern of cores and cannot express other numbers of processes on a host. */
    for (struct HYD_proxy * p = pg->proxy_list; p; p = p->next) {
        p->node->node_id = i++;
        p->node->core_count = p->proxy_process_count;
        p->filler_processes = 0;
        pg->pg_core_count += p->node->core_count;
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* Reverses make_pg: the pg is the last of the list. */
static void drop_pg(struct HYD_pg *pg)
{
    struct HYD_pg *last;

    for (last = &HYD_server_info.pg_list; last->next && last->next != pg; last = last->next);
    last->next = NULL;
    HYD_pmcd_pmi_free_pg_scratch(pg);
    HYDU_free_pg_list(pg);
}

/* ---- its proxies ----------------------------------------------------------------------------- */

/* Adds two arguments of a proxy, which owns the value from now on. */
static HYD_status add_argument(struct HYD_proxy *proxy, const char *name, char *value)
{
    char **list = proxy->exec_launch_info;
    int n = HYDU_strlist_lastidx(list);
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, !value, HYD_NO_MEM, "no memory for the arguments of a proxy\n");
    HYDU_REALLOC_OR_JUMP(list, char **, (n + 3) * sizeof(char *), status);
    list[n] = MPL_strdup(name);
    list[n + 1] = value;
    list[n + 2] = NULL;
    proxy->exec_launch_info = list;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* Appends the numbers of the processes of proxy i, separated by commas, to `before`; NULL: no
 * memory. */
static char *numbers_of(const struct HYD_step_group *g, int i, const char *before,
                        int (*number)(const struct HYD_step_group *, int rank, const void *),
                        const void *what)
{
    size_t capacity = strlen(before) + (size_t) g->proxies[i].processes * 12 + 1;
    size_t used = strlen(before);
    char *text = MPL_malloc(capacity, MPL_MEM_PM);

    if (!text)
        return NULL;
    memcpy(text, before, used + 1);
    for (int k = 0; k < g->proxies[i].processes; k++)
        used += (size_t) snprintf(text + used, capacity - used, k ? ",%d" : "%d",
                                  number(g, g->proxies[i].ranks[k], what));
    return text;
}

static int slot_of(const struct HYD_step_group *g, int rank, const void *unused)
{
    return g->processes[rank].slot;
}

/* The argument of the proxies of an expansion: --adapt. */
struct expansion {
    uint32_t epoch, first_uid;
    int pre, modify;
};

static HYD_status report_expansion(struct HYD_step_group *g, int i, const void *what)
{
    const struct expansion *e = what;
    struct HYD_proxy *proxy = g->proxies[i].proxy;
    char text[128];

    MPL_snprintf(text, sizeof(text), "first_uid=%u,epoch=%u,pre=%d,local_pre=%d,modify=%d",
                 e->first_uid, e->epoch, e->pre, HYD_core_local_pre(proxy->node->hostname),
                 e->modify);
    return add_argument(proxy, "--adapt", MPL_strdup(text));
}

static int request_of(const struct HYD_step_group *g, int rank, const void *what)
{
    return (int) ((const struct step_world *) what)->numbers[rank];
}

static HYD_status notify_world(struct HYD_step_group *g, int i, const void *what)
{
    char uid[16];

    MPL_snprintf(uid, sizeof(uid), "%u:", ((const struct step_world *) what)->uid);
    return add_argument(g->proxies[i].proxy, "--adapt-tasks",
                        numbers_of(g, i, uid, request_of, what));
}

/* Proxies that are started from here must not inherit our descriptors: a copied control connection
 * would hide the end of mpiexec from the other proxies. */
static void close_all_on_exec(void)
{
    for (struct HYDT_dmxu_callback * c = HYDT_dmxu_cb_list; c; c = c->next)
        for (int j = 0; j < c->num_fds; j++)
            if (c->fd[j] > STDERR_FILENO)
                HYDU_sock_cloexec(c->fd[j]);
    HYDU_sock_cloexec(HYD_server_info.cmd_pipe[0]);
    HYDU_sock_cloexec(HYD_server_info.cmd_pipe[1]);
}

/* Number of running launchers; one that could not be started is the last of the list. */
static int launchers_since(int first)
{
    int n = HYD_bscu_pid_count - first;

    while (n > 0 && HYD_bscu_pid_list[first + n - 1] < 0)
        n--;
    return n;
}

/* Sets the number of proxies with a launcher: all, or those before one that could not be
 * started. */
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

/* Some proxies may not have connected yet; their connection fails, and they end. */
static void drop_group(struct HYD_step_group *g)
{
    for (int i = 0; i < g->proxy_count; i++) {
        HYD_step_close_fd(&g->proxies[i].launch_fd);
        HYD_step_close_fd(&g->proxies[i].launcher_watch);
        if (g->proxies[i].node != g->proxies[i].proxy->node)
            g->proxies[i].node->active_processes -= g->proxies[i].processes - g->proxies[i].freed;
    }
    HYD_step_close_fd(&g->listen_fd);
    HYD_step_free_group(g);
}

/* Starts the pg as a group.  `notify` adds the arguments for its proxies. */
static int launch_pg(struct HYD_pg *pg,
                     HYD_status(*notify) (struct HYD_step_group *, int, const void *),
                     const void *what, int is_relay_proxy, int *group, char *error,
                     size_t error_bytes)
{
    struct HYD_step_group *g = NULL;
    struct HYD_string_stash stash;
    char *port = NULL;
    int started = 0;
    HYD_status status = HYD_SUCCESS;

    HYD_STRING_STASH_INIT(stash);
    if (HYD_step_check_capacity(pg, error, error_bytes) < 0) {
        drop_pg(pg);
        return -1;
    }
    status = HYD_step_new_group(pg, &g);
    HYDU_ERR_POP(status, "unable to register a process group\n");
    status = HYD_step_listen(g, &port);
    if (status != HYD_SUCCESS && HYD_server_info.port_range)
        MPL_snprintf(error, error_bytes,
                     "mpiexec found no free port in the range %s (MPIEXEC_PORT_RANGE) for "
                     "connections of proxies: extend the range", HYD_server_info.port_range);
    HYDU_ERR_POP(status, "unable to listen for proxies\n");
    status = HYD_pmcd_pmi_fill_in_proxy_args(&stash, port, pg->pgid);
    HYDU_ERR_POP(status, "unable to fill in proxy arguments\n");
    status = HYD_pmcd_pmi_fill_in_exec_launch_info(pg);
    HYDU_ERR_POP(status, "unable to fill in executable arguments\n");
    g->is_relay_proxy = is_relay_proxy;
    g->is_tasks = notify == notify_world;
    status = HYD_step_count_on_nodes(g);
    HYDU_ERR_POP(status, "unable to count the processes\n");
    for (int i = 0; i < g->proxy_count; i++) {
        status = HYD_step_choose_slots(g, i);
        HYDU_ERR_POP(status, "unable to choose the processes' slots\n");
        status = notify(g, i, what);
        HYDU_ERR_POP(status, "unable to fill in adaptation arguments\n");
        status =
            add_argument(g->proxies[i].proxy, "--adapt-bind", numbers_of(g, i, "", slot_of, NULL));
        HYDU_ERR_POP(status, "unable to fill in adaptation arguments\n");
    }
    status = start_proxies(g, stash.strlist, &started);
    HYDU_ERR_POP(status, "unable to start proxies\n");
    *group = g->group;
    if (HYD_step.launch_limit_ms > 0)
        g->up_by_ms = HYD_step_now_ms() + HYD_step.launch_limit_ms;
    HYD_core_defer_assigned(g);
    for (int i = started; i < g->proxy_count; i++)
        HYD_step_proxy_failed(g, i);

  fn_exit:
    HYD_STRING_STASH_FREE(stash);
    MPL_free(port);
    return status == HYD_SUCCESS ? 0 : -1;

  fn_fail:
    if (g)
        drop_group(g);
    drop_pg(pg);
    goto fn_exit;
}

static void report_unable(char *error, size_t error_bytes)
{
    MPL_snprintf(error, error_bytes,
                 "mpiexec was unable to start the processes: the reason is on its standard "
                 "error");
}

int HYD_step_launch(uint32_t epoch, int count, int program, int pre, uint32_t first_uid, int modify,
                    const char *const *hosts, int n_hosts, int *group, char *error,
                    size_t error_bytes)
{
    const struct expansion expansion = {.epoch = epoch,.first_uid = first_uid,.pre = pre,
                                        .modify = modify };
    struct HYD_exec *exec = NULL;
    struct HYD_node *nodes = NULL;
    struct HYD_pg *pg = NULL;

    report_unable(error, error_bytes);
    HYD_status status = joining_exec(count, program, &exec);
    if (status == HYD_SUCCESS)
        status = HYD_step_candidate_nodes(hosts, n_hosts, &nodes);
    if (status == HYD_SUCCESS)
        status = make_pg(count, exec, nodes, &pg);
    HYDU_free_exec_list(exec);
    if (status == HYD_SUCCESS) {
        HYD_step_set_joining_hosts(hosts, n_hosts);
        int result =
            launch_pg(pg, report_expansion, &expansion, program == STEP_NO_PROGRAM, group, error,
                      error_bytes);
        HYD_step_set_joining_hosts(NULL, 0);
        return result;
    }
    if (pg)
        drop_pg(pg);
    return -1;
}

/* ---- processes of a program's own ------------------------------------------------------------ */

/* The launch's directory and environment, and another program. */
static HYD_status task_exec(const struct step_world *world, int rank, struct HYD_exec **exec)
{
    const struct HYD_exec *launched = launched_program(0);
    HYD_status status = HYDU_alloc_exec(exec);

    HYDU_ERR_POP(status, "unable to allocate exec\n");
    /* at most PMI_TASK_WORLD_ARGUMENTS_MAX (task_call.cpp) */
    for (int i = 0; world->argv[rank][i]; i++) {
        (*exec)->exec[i] = MPL_strdup(world->argv[rank][i]);
        (*exec)->exec[i + 1] = NULL;
    }
    (*exec)->wdir = launched && launched->wdir ? MPL_strdup(launched->wdir) : NULL;
    (*exec)->env_prop = launched && launched->env_prop ? MPL_strdup(launched->env_prop) : NULL;
    (*exec)->user_env = launched ? HYDU_env_list_dup(launched->user_env) : NULL;
    status = HYDU_append_env_to_list(PMI_PARENT_ENV, world->parent, &(*exec)->user_env);
    HYDU_ERR_POP(status, "unable to add to the environment\n");
    (*exec)->proc_count = 1;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status task_execs(const struct step_world *world, struct HYD_exec **list)
{
    struct HYD_exec **end = list;
    HYD_status status = HYD_SUCCESS;

    for (int rank = 0; rank < world->count && status == HYD_SUCCESS; rank++) {
        status = task_exec(world, rank, end);
        if (*end)
            end = &(*end)->next;
    }
    return status;
}

int HYD_step_launch_world(const struct step_world *world, int *group, char *error,
                          size_t error_bytes)
{
    struct HYD_exec *execs = NULL;
    struct HYD_node *nodes = NULL;
    struct HYD_pg *pg = NULL;

    report_unable(error, error_bytes);
    HYD_status status = task_execs(world, &execs);
    if (status == HYD_SUCCESS)
        status = HYD_step_stretches_of_nodes(world->hosts, world->count, &nodes);
    if (status == HYD_SUCCESS)
        status = make_pg(world->count, execs, nodes, &pg);
    HYDU_free_exec_list(execs);
    if (status == HYD_SUCCESS)
        return launch_pg(pg, notify_world, world, 0, group, error, error_bytes);
    if (pg)
        drop_pg(pg);
    return -1;
}
