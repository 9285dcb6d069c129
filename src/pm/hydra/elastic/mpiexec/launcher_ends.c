/* See launcher_ends.h. */

#include "state.h"
#include "launcher_ends.h"
#include <sys/syscall.h>
#include <sys/wait.h>
#include "bscu.h"
#include "connections.h"
#include "exits.h"
#include "spawned.h"
#include "wire/children.h"

void HYD_step_compact_launchers(void)
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

/* Whether to leave a launcher of the job's own launch to Hydra.  Hydra waits for the launchers at
 * the end of the job, and would treat the exit code of one that failed, or that was ended with the
 * job, as a separate error. */
static int left_to_hydra(const struct HYD_step_group *g, const struct HYD_step_proxy *p)
{
    siginfo_t info = {.si_code = 0 };

    if (g->group != 0 || HYD_step.ending)
        return 0;
    if (p->proxy->control_fd != HYD_FD_UNSET)
        return 1;
    /* A launcher that ends without an error may have left the proxy running. */
    return waitid(P_PID, (id_t) p->launcher_pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        (info.si_code == CLD_EXITED && info.si_status == 0);
}

static void launcher_ended(struct HYD_step_group *g, int i)
{
    struct HYD_step_proxy *p = &g->proxies[i];
    int ignored;

    if (left_to_hydra(g, p)) {
        HYD_step_close_fd(&p->launcher_watch);
        return;
    }
    waitpid(p->launcher_pid, &ignored, WNOHANG);        /* or Hydra has done so, at its end */
    for (int k = 0; k < HYD_bscu_pid_count; k++)
        if (HYD_bscu_pid_list[k] == p->launcher_pid)
            HYD_bscu_pid_list[k] = -1;
    p->launcher_pid = -1;
    HYD_step_close_fd(&p->launcher_watch);
    HYD_step_compact_launchers();
    /* A proxy may have left a last message in the socket: hello_cb reads it. */
    if (p->proxy->control_fd != HYD_FD_UNSET || p->launch_fd >= 0)
        return;
    HYD_step_proxy_failed(g, i);
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

/* All exit codes of the job are known.  The end of a launcher after that, such as an ssh whose
 * connection breaks, is no error of the job. */
static int has_world_reported(void)
{
    const struct HYD_proxy *p = HYD_server_info.pg_list.proxy_list;

    while (p && p->exit_status)
        p = p->next;
    return !p;
}

/* Whether the end of this launcher does not concern the job.  Hydra may detect the end of a
 * launcher before its watch does, and that of a proxy that was reported as failed or could not be
 * started.  When Hydra ends a job because of a spawned process, it closes the connections of the
 * proxies, which then end with errors. */
static int is_not_of_the_job(pid_t pid)
{
    if (HYD_step_spawned_died() || HYD_step.failed || has_world_reported())
        return 1;
    for (const struct HYD_step_group * g = HYD_step.groups; g; g = g->next)
        for (int i = 0; i < g->proxy_count; i++)
            if (g->proxies[i].launcher_pid == pid)
                return g->group != 0;
    return HYD_spawned_excuses(pid);
}

void HYD_step_excuse_launchers(void)
{
    HYD_excuses_child = is_not_of_the_job;
}

/* Hydra has appended one process for each proxy of the group.  A launcher like srun may have
 * started one process for all proxies, which is then watched for the first proxy. */
HYD_status HYD_step_watch_launchers(struct HYD_step_group *g, int first)
{
    HYD_status status = HYD_SUCCESS;

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

/* ---- launchers of a job without a core ------------------------------------------------------- */

/* The pidfd of the launcher of each proxy of the launch, in the order of the list; -1: not
 * watched. */
static int *watches = NULL;

static int number_of(const struct HYD_proxy *proxy)
{
    int n = 0;

    for (const struct HYD_proxy *p = proxy->pg->proxy_list; p != proxy; p = p->next)
        n++;
    return n;
}

static HYD_status watched_launcher_cb(int fd, HYD_event_t events, void *userp)
{
    const struct HYD_proxy *proxy = userp;
    siginfo_t info = {.si_code = 0 };
    HYD_status status = HYDT_dmx_deregister_fd(fd);

    int known = waitid(P_PIDFD, (id_t) fd, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    close(fd);
    watches[number_of(proxy)] = -1;
    if (known && info.si_status != 0 && proxy->control_fd == HYD_FD_UNSET)
        HYD_step_launch_failed(proxy);
    return status;
}

void HYD_step_watch_launcher(const struct HYD_proxy *proxy)
{
    const struct HYD_proxy *p;
    int n = 0;

    if (HYD_step.core || proxy->pg->pgid != 0)
        return;                 /* all are watched, or those of the launch are not to be watched */
    for (p = proxy->pg->proxy_list; p; p = p->next)
        n++;
    if (!watches && (watches = MPL_malloc((size_t) n * sizeof(int), MPL_MEM_PM)))
        memset(watches, -1, (size_t) n * sizeof(int));
    int k = number_of(proxy), launcher = HYD_bscu_pid_count < n ? 0 : k;
    if (!watches || watches[k] >= 0 || launcher >= HYD_bscu_pid_count)
        return;
    watches[k] = (int) syscall(SYS_pidfd_open, HYD_bscu_pid_list[launcher], 0);
    if (watches[k] >= 0)
        HYDT_dmx_register_fd(1, &watches[k], HYD_POLLIN, (void *) proxy, watched_launcher_cb);
}

