/*
 * Process groups that come and go while the job runs.  An expansion is started like MPI_Comm_spawn
 * does it, but by mpiexec itself: the launch's executable, arguments, environment and directory
 * (I5), a key-value space of its own, no parent.  Where several programs were launched together,
 * joining processes run the one that is asked for, by its MPI_APPNUM.
 *
 * Where: nodes.h.
 *
 * A record of a launched proxy has three ends, in any order: its control connection, its output
 * (both are stock's), and the process that launched it, which is waited for here.  When all have
 * come for all proxies of a group, HYD_step_reap frees it.
 */

#include "state.h"
#include "core.h"
#include "exits.h"
#include "groups.h"
#include "launch.h"
#include "nodes.h"
#include "output.h"
#include "relay.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "wire/accept.h"
#include "wire/children.h"
#include "bsci.h"
#include "bscu.h"
#include "demux_internal.h"
#include "pmci.h"
#include "pmiserv.h"
#include "pmiserv_utils.h"
#include "wire/silence.h"

/* Descriptors that a proxy needs: for each process, and for itself. */
#define FDS_PER_PROCESS 6
#define FDS_PER_PROXY 32
#define KILL_AFTER_MS 5000      /* for a launcher that was given up to end, before it is killed */

static void say(char *error, size_t error_bytes, const char *format, ...)
    ATTRIBUTE((format(printf, 3, 4)));
static void say(char *error, size_t error_bytes, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(error, error_bytes, format, list);
    va_end(list);
}

/* ---- bounds ------------------------------------------------------------------------------------ */

/* What one proxy can serve is bounded by the descriptors that it may open (for the launch too, but
 * there Hydra fails with the whole job). */
static int check_capacity(const struct HYD_pg *pg, char *error, size_t error_bytes)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    for (const struct HYD_proxy * p = pg->proxy_list; p; p = p->next) {
        rlim_t need = FDS_PER_PROXY + (rlim_t) p->proxy_process_count * FDS_PER_PROCESS;
        if (need <= limit.rlim_cur)
            continue;
        say(error, error_bytes, "host %s cannot take %d more processes at once: they need %llu open"
            " files and the limit is %llu (ulimit -n); grow in smaller steps, name more hosts or"
            " raise the limit", p->node->hostname, p->proxy_process_count,
            (unsigned long long) need, (unsigned long long) limit.rlim_cur);
        return -1;
    }
    return 0;
}

/* What mpiexec itself opens for a launch: the port; for each proxy two ends of its output, what tells its launcher's
 * end, and its connection; and for a moment the other ends, its input and what its launcher inherits. */
#define FDS_PER_LAUNCH 8
#define FDS_PER_LAUNCHER 4

/* Whether so many files more can be opened. */
static int can_open(int count)
{
    int *fds = MPL_malloc((size_t) count * sizeof(int), MPL_MEM_PM), opened = 0, error = fds ? 0 : ENOMEM;

    while (!error && opened < count)
        if ((fds[opened] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
            error = errno;
        else
            opened++;
    for (int i = 0; i < opened; i++)
        close(fds[i]);
    MPL_free(fds);
    errno = error;
    return !error;
}

/* A launch that lacks something in its middle leaves launchers that nobody awaits. */
static int check_own_descriptors(const struct HYD_pg *pg, char *error, size_t error_bytes)
{
    struct rlimit limit = {.rlim_cur = 0 };
    int need = FDS_PER_LAUNCH;

    for (const struct HYD_proxy * p = pg->proxy_list; p; p = p->next)
        need += FDS_PER_LAUNCHER;
    if (can_open(need))
        return 0;
    int why = errno;
    getrlimit(RLIMIT_NOFILE, &limit);
    say(error, error_bytes, "mpiexec cannot open the %d files that the node daemons of the joining processes need (%s;"
        " its limit is %llu, ulimit -n): raise the limit, or try again with fewer hosts", need,
        MPL_strerror(why), (unsigned long long) limit.rlim_cur);
    return -1;
}

/* ---- proxies that come up ---------------------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd < 0)
        return;
    if (HYDT_dmx_query_fd_registration(*fd))
        HYDT_dmx_deregister_fd(*fd);
    close(*fd);
    *fd = -1;
}

static void forget_launch_fd(struct HYD_step_group *g, int fd)
{
    for (int i = 0; i < g->proxy_count; i++)
        if (g->proxies[i].launch_fd == fd)
            g->proxies[i].launch_fd = -1;
}

static void stop_listening(struct HYD_step_group *g)
{
    struct HYD_pmcd_pmi_pg_scratch *scratch = g->pg->pg_scratch;

    close_fd(&g->listen_fd);
    if (scratch && scratch->control_listen_fd != HYD_FD_CLOSED)
        scratch->control_listen_fd = HYD_FD_UNSET;
}

/* A proxy will not come up. */
static void proxy_failed(struct HYD_step_group *g, int i)
{
    struct HYD_step_proxy *p = &g->proxies[i];

    close_fd(&p->launch_fd);
    p->node->active_processes -= p->processes - p->freed;
    p->freed = p->processes;
    p->proxy->control_fd = HYD_FD_CLOSED;
    HYD_step_cleanup_proxy(p->proxy);
    HYD_core_defer_departed(g, i);
}

static void check_all_up(struct HYD_step_group *g)
{
    for (int i = 0; i < g->proxy_count; i++)
        if (g->proxies[i].proxy->control_fd == HYD_FD_UNSET)
            return;
    stop_listening(g);
    g->up_by_ms = -1;
}

/* The first words of a daemon, for stock's handler, or its end before that; or a stranger, who is cut
 * off (greeting.h). */
static HYD_status hello_cb(int fd, HYD_event_t events, void *userp)
{
    struct HYD_step_group *g = HYD_step_find_group((int) (size_t) userp);
    int mine = -1, up = -1;
    HYD_status status = HYD_SUCCESS;

    for (int i = 0; g && i < g->proxy_count; i++)
        if (g->proxies[i].launch_fd == fd)
            mine = i;
    if (g)
        HYD_step_pmi_begin(g->proxies[0].proxy);
    HYD_status taken = HYD_pmcd_pmiserv_proxy_init_cb(fd, events, userp);
    status = g ? HYD_step_pmi_end(g->proxies[0].proxy, taken) : taken;
    HYDU_ERR_POP(status, "unable to take in a proxy\n");

    for (int i = 0; g && i < g->proxy_count; i++)
        if (g->proxies[i].proxy->control_fd == fd)
            up = i;
    if (up >= 0) {
        forget_launch_fd(g, fd);
        if (taken != HYD_SUCCESS)
            HYD_step_proxy_lost(g->proxies[up].proxy);
        check_all_up(g);
    } else if (mine >= 0 && !HYDT_dmx_query_fd_registration(fd)) {
        g->proxies[mine].launch_fd = -1;
        if (g->proxies[mine].proxy->control_fd == HYD_FD_UNSET)
            proxy_failed(g, mine);
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* What runs out must not end a job that runs; a launch that lacks it ends, as stock's. */
HYD_status HYD_step_accept(int listen_fd, const struct HYD_pg *pg, int *fd)
{
    for (const struct HYD_proxy * p = pg->proxy_list; p; p = p->next)
        if (!HYD_step.core || HYD_step_is_awaited(p))
            return HYDU_sock_accept(listen_fd, fd);
    *fd = HYD_accept(listen_fd, "a node daemon");
    return HYD_SUCCESS;
}

void HYD_step_proxy_up(struct HYD_proxy *proxy)
{
    struct HYD_step_group *g = HYD_step_find_group(proxy->pg->pgid);

    if (g)
        g->proxies[proxy->proxy_id].up = 1;
    if (HYD_step.core)
        HYD_step_take_connection(proxy);
    if (g && g->group != 0) {
        HYD_silence_watch(proxy->control_fd);
        HYD_step_output_counted(&g->proxies[proxy->proxy_id]);
    }
    if (HYD_step_told_to_end())
        HYD_step_send_signal(proxy, HYD_step_told_to_end());
    if (g && g->removed)
        HYD_step_send_signal(proxy, SIGKILL);
    else if (g)
        HYD_step_relay_prepare();
}

static HYD_status accept_cb(int fd, HYD_event_t events, void *userp)
{
    int proxy_fd = HYD_accept(fd, "a node daemon");
    HYD_status status = HYD_SUCCESS;

    if (proxy_fd < 0)
        goto fn_exit;
    HYD_step_newcomer(proxy_fd);
    status = HYDT_dmx_register_fd(1, &proxy_fd, HYD_POLLIN, userp, hello_cb);
    HYDU_ERR_POP(status, "unable to register fd\n");

  fn_exit:
    return status;

  fn_fail:
    if (proxy_fd >= 0)
        close(proxy_fd);
    goto fn_exit;
}

/* ---- the processes that launch proxies ---------------------------------------------------------- */

/* Hydra's lists of launcher processes and of their output only grow; take out what has ended. */
static void compact_launcher_lists(void)
{
    int n = 0;

    for (int i = 0; i < HYD_bscu_pid_count; i++)
        if (HYD_bscu_pid_list[i] != -1)
            HYD_bscu_pid_list[n++] = HYD_bscu_pid_list[i];
    for (int i = n; i < HYD_bscu_pid_count; i++)
        HYD_bscu_pid_list[i] = -1;
    HYD_bscu_pid_count = n;

    n = 0;
    for (int i = 0; i < HYD_bscu_fd_count; i++)
        if (HYD_bscu_fd_list[i] != HYD_FD_CLOSED)
            HYD_bscu_fd_list[n++] = HYD_bscu_fd_list[i];
    HYD_bscu_fd_count = n;
}

/* The job's own launch: Hydra waits for the launchers when all is over, and would take the exit code of
 * one that failed, or that was ended with the job, for an error of its own.  Whether to leave it to Hydra. */
static int left_to_hydra(const struct HYD_step_group *g, const struct HYD_step_proxy *p)
{
    siginfo_t info = {.si_code = 0 };

    if (g->group != 0 || HYD_step.ending)
        return 0;
    if (p->proxy->control_fd != HYD_FD_UNSET)
        return 1;
    /* One that ends well without a word may have left the daemon running. */
    return waitid(P_PID, (id_t) p->launcher_pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        (info.si_code == CLD_EXITED && info.si_status == 0);
}

static void launcher_ended(struct HYD_step_group *g, int i)
{
    struct HYD_step_proxy *p = &g->proxies[i];
    int ignored;

    if (left_to_hydra(g, p)) {
        close_fd(&p->launcher_watch);
        return;
    }
    waitpid(p->launcher_pid, &ignored, WNOHANG);        /* or Hydra has, at its end */
    for (int k = 0; k < HYD_bscu_pid_count; k++)
        if (HYD_bscu_pid_list[k] == p->launcher_pid)
            HYD_bscu_pid_list[k] = -1;
    p->launcher_pid = -1;
    close_fd(&p->launcher_watch);
    compact_launcher_lists();
    /* A proxy that said nothing yet may have left a last word in the socket: hello_cb sees it. */
    if (p->proxy->control_fd != HYD_FD_UNSET || p->launch_fd >= 0)
        return;
    proxy_failed(g, i);
    if (g->group == 0)
        HYD_step_launch_failed(p->proxy);
}

static HYD_status launcher_cb(int fd, HYD_event_t events, void *userp)
{
    struct HYD_step_group *g = HYD_step_find_group((int) (size_t) userp);

    for (int i = 0; g && i < g->proxy_count; i++)
        if (g->proxies[i].launcher_watch == fd) {
            launcher_ended(g, i);
            break;
        }
    return HYD_SUCCESS;
}

/* Hydra may find a launcher's end before its watch does. */
static int launches_a_growth(pid_t pid)
{
    for (const struct HYD_step_group * g = HYD_step.groups; g; g = g->next)
        for (int i = 0; i < g->proxy_count; i++)
            if (g->proxies[i].launcher_pid == pid)
                return g->group != 0;
    return 0;
}

/* Hydra has appended one process for each proxy of the group (a launcher of its own kind, like
 * srun, may have started one for all: it is then watched for the first). */
static HYD_status watch_launchers(struct HYD_step_group *g, int first)
{
    HYD_status status = HYD_SUCCESS;

    HYD_excuses_child = launches_a_growth;
    for (int i = 0; i < g->proxy_count && first + i < HYD_bscu_pid_count; i++) {
        struct HYD_step_proxy *p = &g->proxies[i];
        p->launcher_pid = HYD_bscu_pid_list[first + i];
        p->launcher_watch = (int) syscall(SYS_pidfd_open, p->launcher_pid, 0);
        if (p->launcher_watch < 0) {
            p->launcher_pid = -1;       /* Hydra waits for it at the end of the job */
            continue;
        }
        status = HYDU_sock_cloexec(p->launcher_watch);
        HYDU_ERR_POP(status, "unable to set a descriptor to close on exec\n");
        status = HYDT_dmx_register_fd(1, &p->launcher_watch, HYD_POLLIN,
                                      (void *) (size_t) g->group, launcher_cb);
        HYDU_ERR_POP(status, "unable to register fd\n");
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_step_watch_launch(int first)
{
    struct HYD_step_group *g = HYD_step_find_group(0);

    return g ? watch_launchers(g, first) : HYD_SUCCESS;
}

int64_t HYD_step_next_launch_limit(void)
{
    int64_t next = -1;

    for (const struct HYD_step_group * g = HYD_step.groups; g; g = g->next)
        if (g->up_by_ms >= 0 && (next < 0 || g->up_by_ms < next))
            next = g->up_by_ms;
    return next;
}

static void give_up_proxy(struct HYD_step_group *g, int i)
{
    struct HYD_step_proxy *p = &g->proxies[i];

    if (!g->removed) {
        fflush(stdout);
        fprintf(stderr, "host %s: its node daemon, started by %s, has not connected within %lld s "
                "(MPIEXEC_ADAPT_LAUNCH): is the host overloaded, or can it not reach this one?  It is given up\n",
                p->proxy->node->hostname, HYDT_bsci_info.launcher,
                (long long) HYD_step.launch_limit_ms / 1000);
        fflush(stderr);
    }
    p->given_up = 1;
    if (p->launcher_pid > 0)
        kill(p->launcher_pid, SIGTERM);
    proxy_failed(g, i);
}

void HYD_step_end_slow_launches(int64_t now_ms)
{
    for (struct HYD_step_group * g = HYD_step.groups; g; g = g->next) {
        if (g->up_by_ms < 0 || g->up_by_ms > now_ms)
            continue;
        g->up_by_ms = -1;
        for (int i = 0; i < g->proxy_count; i++) {
            if (g->proxies[i].given_up && g->proxies[i].launcher_pid > 0)
                kill(g->proxies[i].launcher_pid, SIGKILL);
            if (g->proxies[i].proxy->control_fd != HYD_FD_UNSET)
                continue;
            give_up_proxy(g, i);
            g->up_by_ms = now_ms + KILL_AFTER_MS;
        }
    }
}

/* ---- launch ------------------------------------------------------------------------------------ */

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

static HYD_status listen_for(struct HYD_step_group *g, char **port_string)
{
    struct HYD_pmcd_pmi_pg_scratch *scratch = g->pg->pg_scratch;
    char *ip = NULL, *range = NULL;
    uint16_t port = 0;
    HYD_status status = HYD_SUCCESS;

    if (HYD_server_info.port_range)
        range = MPL_strdup(HYD_server_info.port_range);
    status = HYDU_sock_listen(&g->listen_fd, range, &port);
    HYDU_ERR_POP(status, "unable to listen on port\n");
    status = HYDT_dmx_register_fd(1, &g->listen_fd, HYD_POLLIN, (void *) (size_t) g->group,
                                  accept_cb);
    HYDU_ERR_POP(status, "unable to register fd\n");
    if (HYD_server_info.user_global.iface) {
        status = HYDU_sock_get_iface_ip(HYD_server_info.user_global.iface, &ip);
        HYDU_ERR_POP(status, "unable to get network interface IP\n");
    } else
        ip = MPL_strdup(HYD_server_info.localhost);
    HYDU_MALLOC_OR_JUMP(*port_string, char *, strlen(ip) + 16, status);
    MPL_snprintf(*port_string, strlen(ip) + 16, "%s:%u", ip, (unsigned) port);
    scratch->control_listen_fd = HYD_FD_UNSET;

  fn_exit:
    MPL_free(range);
    MPL_free(ip);
    return status;

  fn_fail:
    goto fn_exit;
}

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
        compact_launcher_lists();
    HYDU_ERR_CHKANDJUMP(status, *started == 0, status, "launcher cannot launch processes\n");
    for (int i = 0; i < *started; i++) {
        if (control_fd[i] == HYD_FD_UNSET)
            continue;
        g->proxies[i].launch_fd = control_fd[i];
        status = HYDT_dmx_register_fd(1, &control_fd[i], HYD_POLLIN, (void *) (size_t) g->group,
                                      hello_cb);
        HYDU_ERR_POP(status, "unable to register fd\n");
    }
    status = watch_launchers(g, first);
    HYDU_ERR_POP(status, "unable to watch the launchers\n");

  fn_exit:
    MPL_free(control_fd);
    return status;

  fn_fail:
    goto fn_exit;
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
    say(error, error_bytes, "mpiexec was unable to start the processes: its standard error says why");
    status = make_pg(count, program, hosts, n_hosts, &pg);
    HYDU_ERR_POP(status, "unable to make a process group\n");
    if (check_capacity(pg, error, error_bytes) < 0 || check_own_descriptors(pg, error, error_bytes) < 0) {
        drop_pg(pg);
        return -1;
    }
    status = HYD_step_new_group(pg, &g);
    HYDU_ERR_POP(status, "unable to note a process group\n");
    status = listen_for(g, &port);
    if (status != HYD_SUCCESS && HYD_server_info.port_range)
        say(error, error_bytes, "mpiexec finds no free port among %s (MPIEXEC_PORT_RANGE) on which node daemons could "
            "reach it: give it more ports", HYD_server_info.port_range);
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
        proxy_failed(g, i);

  fn_exit:
    HYD_STRING_STASH_FREE(stash);
    MPL_free(port);
    return status == HYD_SUCCESS ? 0 : -1;

  fn_fail:
    if (g) {
        /* Some proxies may be on their way; they find nobody listening and give up. */
        for (int i = 0; i < g->proxy_count; i++) {
            close_fd(&g->proxies[i].launch_fd);
            close_fd(&g->proxies[i].launcher_watch);
            if (g->proxies[i].node != g->proxies[i].proxy->node)
                g->proxies[i].node->active_processes -= g->proxies[i].processes;
        }
        close_fd(&g->listen_fd);
        HYD_step_free_group(g);
    }
    if (pg)
        drop_pg(pg);
    goto fn_exit;
}

/* ---- removal ----------------------------------------------------------------------------------- */

void HYD_step_kill_group(int group)
{
    struct HYD_step_group *g = HYD_step_find_group(group);

    if (!g || g->group == 0)
        return;
    g->removed = HYD_STEP_FAILED;
    /* Proxies that have not come up yet are dealt with when they do (hello_cb). */
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

    if (!HYD_step.core)
        return;
    /* The last one stays, so that no later group gets its number. */
    while ((pg = before->next) && pg->next) {
        struct HYD_step_group *g = pg == current ? NULL : HYD_step_find_group(pg->pgid);
        if (!g || !finished(pg, g)) {
            before = pg;
            continue;
        }
        stop_listening(g);
        HYD_step_free_group(g);
        before->next = pg->next;
        pg->next = NULL;
        for (struct HYD_pg * p = &HYD_server_info.pg_list; p; p = p->next)
            if (p->spawner_pg == pg)
                p->spawner_pg = NULL;
        HYD_pmcd_pmi_free_pg_scratch(pg);
        HYDU_free_pg_list(pg);
    }
}
