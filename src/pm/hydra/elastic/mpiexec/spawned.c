/* See spawned.h. */

#include "state.h"
#include "spawned.h"
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include "bsci.h"
#include "bscu.h"
#include "core.h"
#include "end.h"
#include "exits.h"
#include "pmiserv.h"
#include "pmiserv_pmi.h"
#include "pmiserv_utils.h"
#include "wire/kinds.h"
#include "wire/spawn.h"

struct launcher {
    pid_t pid;                  /* -1: it has ended */
    int watch;                  /* its pidfd */
};

struct spawn {
    struct HYD_pg *pg;
    int fd, pid, group, proxy;  /* of the process that has called MPI_Comm_spawn */
    HYD_spawned_reply reply;    /* NULL: already called */
    int failed;
    int began;                  /* proxies whose processes have all called MPI_Init */
    /* a timer, until all proxies have connected; -1: there is no limit */
    int clock;
    int is_late;                /* the timer has expired once */
    struct launcher *launchers; /* one for each proxy, in their order, or fewer */
    int launcher_count;
    struct spawn *next;
};

static struct spawn *spawns = NULL;

static struct spawn *spawn_of(const struct HYD_pg *pg)
{
    struct spawn *s;

    for (s = spawns; s && s->pg != pg; s = s->next);
    return s;
}

static void free_spawn(struct spawn *s)
{
    struct spawn **link;

    for (link = &spawns; *link && *link != s; link = &(*link)->next);
    if (*link)
        *link = s->next;
    for (int i = 0; i < s->launcher_count; i++)
        HYD_step_close_fd(&s->launchers[i].watch);
    HYD_step_close_fd(&s->clock);
    MPL_free(s->launchers);
    MPL_free(s);
}

/* The process that sent the request may have ended since. */
static void answer(struct spawn *s, int rc)
{
    struct HYD_proxy *proxy = HYD_pmcd_pmi_find_proxy(s->fd);
    HYD_spawned_reply reply = s->reply;
    char line[64];

    s->reply = NULL;
    if (!reply || !proxy || proxy->pg->pgid != s->group || proxy->proxy_id != s->proxy)
        return;
    MPL_snprintf(line, sizeof(line), "cmd=spawn_result rc=%d\n", rc);
    HYD_step_pmi_begin();
    if (HYD_step_pmi_end(proxy, reply(s->fd, s->pid, line)) != HYD_SUCCESS)
        HYDU_error_printf("unable to reply to a process that spawns\n");
}

static void answer_if_over(struct spawn *s)
{
    for (const struct HYD_proxy * p = s->pg->proxy_list; p; p = p->next)
        if (p->control_fd != HYD_FD_CLOSED)
            return;
    answer(s, -1);
}

/* Proxies that have not connected yet are notified when they connect. */
static void fail(struct spawn *s, const struct HYD_proxy *cause, const char *why)
{
    HYD_spawned_count();
    if (!s->failed && !HYD_step.ending) {
        char text[1024];
        MPL_snprintf(text, sizeof(text), "MPI_Comm_spawn: host %s: %s", cause->node->hostname, why);
        HYD_step_print_message(text);
    }
    for (const struct HYD_proxy * p = s->failed ? NULL : s->pg->proxy_list; p; p = p->next)
        if (p != cause)
            HYD_step_send_signal(p, SIGKILL);
    s->failed = 1;
    answer_if_over(s);
}

static void not_started(struct spawn *s, const struct HYD_proxy *cause)
{
    fail(s, cause, "not all processes could be started there");
}

/* ---- how many there are ---------------------------------------------------------------------- */

/* A proxy counts from its launch to its end. */
static int runs_spawned(const struct HYD_pg *pg, const struct HYD_proxy *proxy)
{
    return pg->pgid != 0 && !HYD_step_find_group(pg->pgid) && proxy->control_fd != HYD_FD_CLOSED &&
        proxy->proxy_process_count > 0;
}

void HYD_spawned_count(void)
{
    const char **hosts = NULL;
    int *processes = NULL, n = 0;

    if (!HYD_step.core)
        return;
    for (const struct HYD_pg * pg = &HYD_server_info.pg_list; pg; pg = pg->next)
        for (const struct HYD_proxy * p = pg->proxy_list; p; p = p->next)
            n += runs_spawned(pg, p);
    hosts = MPL_calloc((size_t) n + 1, sizeof(*hosts), MPL_MEM_PM);
    processes = MPL_calloc((size_t) n + 1, sizeof(*processes), MPL_MEM_PM);
    n = 0;
    for (const struct HYD_pg * pg = hosts && processes ? &HYD_server_info.pg_list : NULL; pg;
         pg = pg->next)
        for (const struct HYD_proxy * p = pg->proxy_list; p; p = p->next)
            if (runs_spawned(pg, p)) {
                hosts[n] = p->node->hostname;
                processes[n++] = p->proxy_process_count;
            }
    if (hosts && processes)
        HYD_core_spawned(hosts, processes, n);
    else
        HYDU_error_printf("no memory to count the processes of MPI_Comm_spawn\n");
    MPL_free(hosts);
    MPL_free(processes);
}

/* ---- processes that end too early ------------------------------------------------------------ */

static void ended_before_init(struct spawn *s, const struct HYD_proxy *proxy, int index,
                              int wait_status)
{
    char end[128], text[768];

    HYD_step_describe_end(end, sizeof(end), wait_status);
    MPL_snprintf(text, sizeof(text), "%s %s before it called MPI_Init%s",
                 HYD_step_program_of(proxy, index), end,
                 WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 127 ?
                 ": check that its libraries are on that host" : "");
    fail(s, proxy, text);
}

/* A process that a signal has ended ends the job when its proxy sends the exit codes (exits.c).
 * With -disable-auto-cleanup the job continues, and processes that wait for it detect that
 * themselves. */
static void ended_after_init(const struct HYD_proxy *proxy, const struct HYD_spawn_end *end)
{
    int ends_job = HYD_server_info.user_global.auto_cleanup;
    int wait_status = end->wait_status ? (int) end->wait_status : W_EXITCODE(1, 0);
    char how[128], text[1024];

    if ((ends_job && WIFSIGNALED(wait_status)) || HYD_step.ending || HYD_step.notified_to_end)
        return;
    HYD_step_describe_end(how, sizeof(how), (int) end->wait_status);
    MPL_snprintf(text, sizeof(text),
                 "MPI_Comm_spawn: host %s: %s (rank %u of the spawned processes) %s %s%s",
                 proxy->node->hostname, HYD_step_program_of(proxy, (int) end->index), end->rank,
                 how, end->in_init ? "in MPI_Init" : "after MPI_Init, without MPI_Finalize",
                 ends_job ? ".  The job ends" : "");
    HYD_step_print_message(text);
    if (!ends_job) {
        HYD_step.exit_status |= wait_status;
        return;
    }
    HYD_step_spawned_died_of(wait_status);
    HYD_step_end_job();
}

/* ---- launchers ------------------------------------------------------------------------------- */

static struct HYD_proxy *proxy_at(const struct HYD_pg *pg, int i)
{
    struct HYD_proxy *proxy = pg->proxy_list;

    for (; proxy && i > 0; i--)
        proxy = proxy->next;
    return proxy;
}

static struct launcher *find_launcher(int watch, struct spawn **spawn, int *number)
{
    for (struct spawn * s = spawns; s; s = s->next)
        for (int i = 0; i < s->launcher_count; i++)
            if (s->launchers[i].watch == watch) {
                *spawn = s;
                *number = i;
                return &s->launchers[i];
            }
    return NULL;
}

/* A launcher has failed: its proxy will not connect.  Hydra waits for the launcher at the end of
 * the job. */
static HYD_status launcher_cb(int fd, HYD_event_t events, void *userp)
{
    siginfo_t info = {.si_code = 0 };
    struct spawn *s = NULL;
    int i = 0;
    struct launcher *launcher = find_launcher(fd, &s, &i);

    if (!launcher)
        return HYD_SUCCESS;
    HYD_step_close_fd(&launcher->watch);
    struct HYD_proxy *proxy = proxy_at(s->pg, i);
    int known = waitid(P_PID, (id_t) launcher->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    if (proxy && proxy->control_fd == HYD_FD_UNSET && known && info.si_status != 0) {
        proxy->control_fd = HYD_FD_CLOSED;
        HYD_step_cleanup_proxy(proxy);
        not_started(s, proxy);
    }
    return HYD_SUCCESS;
}

static HYD_status watch_launchers(struct spawn *s, int first)
{
    HYD_status status = HYD_SUCCESS;
    int n = HYD_bscu_pid_count - first;

    if (n <= 0)
        goto fn_exit;
    HYDU_MALLOC_OR_JUMP(s->launchers, struct launcher *, (size_t) n * sizeof(*s->launchers),
                        status);
    for (int i = 0; i < n; i++) {
        struct launcher *launcher = &s->launchers[s->launcher_count++];
        launcher->pid = HYD_bscu_pid_list[first + i];
        launcher->watch = launcher->pid < 0 ? -1 : (int) syscall(SYS_pidfd_open, launcher->pid, 0);
        if (launcher->watch < 0)
            continue;           /* an old kernel: as under stock */
        status = HYDU_sock_cloexec(launcher->watch);
        HYDU_ERR_POP(status, "unable to set a descriptor to close on exec\n");
        status = HYDT_dmx_register_fd(1, &launcher->watch, HYD_POLLIN, NULL, launcher_cb);
        HYDU_ERR_POP(status, "unable to register fd\n");
    }

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* ---- time ------------------------------------------------------------------------------------ */

static int set_clock(const struct spawn *s, int64_t ms)
{
    const struct itimerspec once = {.it_value = {.tv_sec = ms / 1000,
                                                 .tv_nsec = ms % 1000 * 1000000 } };

    return timerfd_settime(s->clock, 0, &once, NULL);
}

static void signal_launcher(const struct spawn *s, int i, int signum)
{
    if (i < s->launcher_count && s->launchers[i].watch >= 0)
        kill(s->launchers[i].pid, signum);
}

static void give_up(const struct spawn *s, struct HYD_proxy *proxy, int i)
{
    char text[512];

    MPL_snprintf(text, sizeof(text),
                 "MPI_Comm_spawn: host %s: its proxy, started by %s, has not connected within "
                 "%lld s (MPIEXEC_ADAPT_LAUNCH), and mpiexec stops waiting for it: check the load "
                 "of the host, and that it can connect to this one", proxy->node->hostname,
                 HYDT_bsci_info.launcher,
                 (long long) HYD_step.launch_limit_ms / 1000);
    HYD_step_print_message(text);
    signal_launcher(s, i, SIGTERM);
    proxy->control_fd = HYD_FD_CLOSED;
    HYD_step_cleanup_proxy(proxy);
}

/* First for proxies that have not connected; then for launchers that were ordered to end and have
 * not. */
static HYD_status late_cb(int fd, HYD_event_t events, void *userp)
{
    struct HYD_proxy *missing = NULL;
    struct spawn *s;
    int i = 0;

    for (s = spawns; s && s->clock != fd; s = s->next);
    if (!s)
        return HYD_SUCCESS;
    for (struct HYD_proxy * p = s->pg->proxy_list; p; p = p->next, i++) {
        if (s->is_late) {
            if (p->control_fd == HYD_FD_CLOSED)
                signal_launcher(s, i, SIGKILL);
        } else if (p->control_fd == HYD_FD_UNSET) {
            give_up(s, p, i);
            missing = p;
        }
    }
    if (s->is_late || !missing || set_clock(s, HYD_STEP_KILL_LAUNCHER_MS) != 0)
        HYD_step_close_fd(&s->clock);
    s->is_late = 1;
    if (missing)
        not_started(s, missing);
    return HYD_SUCCESS;
}

static HYD_status start_clock(struct spawn *s)
{
    HYD_status status = HYD_SUCCESS;

    if (HYD_step.launch_limit_ms <= 0)
        goto fn_exit;
    s->clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (s->clock < 0 || set_clock(s, HYD_step.launch_limit_ms) != 0)
        HYDU_ERR_SETANDJUMP(status, HYD_INTERNAL_ERROR, "unable to set a timer (%s)\n",
                            MPL_strerror(errno));
    status = HYDT_dmx_register_fd(1, &s->clock, HYD_POLLIN, NULL, late_cb);
    HYDU_ERR_POP(status, "unable to register fd\n");

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* ---- the group ------------------------------------------------------------------------------- */

int HYD_spawned_excuses(pid_t pid)
{
    for (const struct spawn * s = spawns; s; s = s->next)
        for (int i = 0; i < s->launcher_count; i++)
            if (s->launchers[i].pid == pid)
                return s->failed;
    return 0;
}

HYD_status HYD_spawned_launch(struct HYD_pg *pg, char **args, int fd, int pid,
                              HYD_spawned_reply reply)
{
    const struct HYD_proxy *queries = HYD_pmcd_pmi_find_proxy(fd);
    struct spawn *s = NULL;
    int first = HYD_bscu_pid_count;
    HYD_status status = HYD_SUCCESS;

    HYDU_ASSERT(queries, status);
    HYDU_MALLOC_OR_JUMP(s, struct spawn *, sizeof(*s), status);
    *s = (struct spawn){.pg = pg,
                        .fd = fd,
                        .pid = pid,
                        .group = queries->pg->pgid,
                        .proxy = queries->proxy_id,
                        .reply = reply,
                        .clock = -1,
                        .next = spawns};
    spawns = s;
    status = HYDT_bsci_launch_procs(args, pg->proxy_list, HYD_FALSE, NULL);
    HYDU_ERR_POP(status, "unable to start proxies\n");
    status = watch_launchers(s, first);
    HYDU_ERR_POP(status, "unable to watch the launchers\n");
    status = start_clock(s);
    HYDU_ERR_POP(status, "unable to limit the time of a spawn\n");
    HYD_spawned_count();

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

static void one_began(const struct HYD_proxy *proxy)
{
    struct spawn *s = spawn_of(proxy->pg);

    if (!s || s->failed)
        return;
    s->began++;
    if (s->began < proxy->pg->proxy_count)
        return;
    answer(s, 0);
    free_spawn(s);
}

void HYD_spawned_message(struct HYD_proxy *proxy, uint32_t kind, const char *payload, size_t bytes)
{
    struct spawn *s = spawn_of(proxy->pg);
    struct HYD_spawn_end end;

    if (kind == HYD_ADAPT_SPAWN_BEGAN) {
        one_began(proxy);
        return;
    }
    if (bytes != sizeof(end))
        return;
    memcpy(&end, payload, sizeof(end));
    if (end.begun && !s)
        ended_after_init(proxy, &end);
    else if (s && !s->failed)
        ended_before_init(s, proxy, (int) end.index, (int) end.wait_status);
}

void HYD_spawned_up(const struct HYD_proxy *proxy)
{
    const struct spawn *s = spawn_of(proxy->pg);

    if (s && s->failed)
        HYD_step_send_signal(proxy, SIGKILL);
}

int HYD_spawned_ended(struct HYD_proxy *proxy)
{
    struct spawn *s = spawn_of(proxy->pg);

    if (!s)
        return 0;
    if (!s->failed)
        ended_before_init(s, proxy, 0, proxy->exit_status[0]);
    answer_if_over(s);
    return 1;
}

int HYD_spawned_failed(struct HYD_proxy *proxy)
{
    struct spawn *s = spawn_of(proxy->pg);

    if (!s)
        return 0;
    HYD_step_cleanup_proxy(proxy);
    not_started(s, proxy);
    return 1;
}

int HYD_spawned_is_pending(const struct HYD_pg *pg)
{
    return spawn_of(pg) != NULL;
}

int HYD_spawned_is_over(const struct HYD_pg *pg)
{
    for (const struct HYD_proxy * p = pg->proxy_list; p; p = p->next)
        if (p->control_fd != HYD_FD_CLOSED)
            return 0;
    return spawn_of(pg) == NULL;
}

void HYD_spawned_free(void)
{
    while (spawns)
        free_spawn(spawns);
}
