/* See connections.h. */

#include "state.h"
#include "connections.h"
#include "bsci.h"
#include "core.h"
#include "exits.h"
#include "input.h"
#include "newcomers.h"
#include "output.h"
#include "pmiserv.h"
#include "pmiserv_pmi.h"
#include "relay.h"
#include "spawned.h"
#include "wire/accept.h"
#include "wire/keepalive.h"

static void remove_launch_fd(struct HYD_step_group *g, int fd)
{
    for (int i = 0; i < g->proxy_count; i++)
        if (g->proxies[i].launch_fd == fd)
            g->proxies[i].launch_fd = -1;
}

void HYD_step_stop_listening(struct HYD_step_group *g)
{
    struct HYD_pmcd_pmi_pg_scratch *scratch = g->pg->pg_scratch;

    HYD_step_close_fd(&g->listen_fd);
    if (scratch && scratch->control_listen_fd != HYD_FD_CLOSED)
        scratch->control_listen_fd = HYD_FD_UNSET;
}

void HYD_step_proxy_failed(struct HYD_step_group *g, int i)
{
    struct HYD_step_proxy *p = &g->proxies[i];

    HYD_step_close_fd(&p->launch_fd);
    p->node->active_processes -= p->processes - p->freed;
    p->freed = p->processes;
    p->proxy->control_fd = HYD_FD_CLOSED;
    HYD_step_cleanup_proxy(p->proxy);
    HYD_core_defer_disconnected(g, i);
}

static void check_all_up(struct HYD_step_group *g)
{
    for (int i = 0; i < g->proxy_count; i++)
        if (g->proxies[i].proxy->control_fd == HYD_FD_UNSET)
            return;
    HYD_step_stop_listening(g);
    g->up_by_ms = -1;
}

/* ---- first words ----------------------------------------------------------------------------- */

/* The first message of a proxy, for stock's handler; or the end of the proxy before that; or
 * another program, whose connection is closed (handshake.h). */
static HYD_status hello_cb(int fd, HYD_event_t events, void *userp)
{
    struct HYD_step_group *g = HYD_step_find_group((int) (size_t) userp);
    int mine = -1, up = -1;
    HYD_status status = HYD_SUCCESS;

    for (int i = 0; g && i < g->proxy_count; i++)
        if (g->proxies[i].launch_fd == fd)
            mine = i;
    if (g)
        HYD_step_pmi_begin();
    HYD_status taken = HYD_pmcd_pmiserv_proxy_init_cb(fd, events, userp);
    status = g ? HYD_step_pmi_end(g->proxies[0].proxy, taken) : taken;
    HYDU_ERR_POP(status, "unable to register a proxy\n");

    for (int i = 0; g && i < g->proxy_count; i++)
        if (g->proxies[i].proxy->control_fd == fd)
            up = i;
    if (up >= 0) {
        remove_launch_fd(g, fd);
        if (taken != HYD_SUCCESS)
            HYD_step_proxy_disconnected(g->proxies[up].proxy);
        check_all_up(g);
    } else if (mine >= 0 && !HYDT_dmx_query_fd_registration(fd)) {
        g->proxies[mine].launch_fd = -1;
        if (g->proxies[mine].proxy->control_fd == HYD_FD_UNSET)
            HYD_step_proxy_failed(g, mine);
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* A lack of resources must not end a running job.  A launch without resources ends, as with
 * stock. */
HYD_status HYD_step_accept(int listen_fd, const struct HYD_pg *pg, int *fd)
{
    for (const struct HYD_proxy * p = pg->proxy_list; p; p = p->next)
        if (!HYD_step.core || HYD_step_is_awaited(p))
            return HYDU_sock_accept(listen_fd, fd);
    *fd = HYD_accept(listen_fd, "a proxy");
    return HYD_SUCCESS;
}

static HYD_status accept_cb(int fd, HYD_event_t events, void *userp)
{
    int proxy_fd = HYD_accept(fd, "a proxy");
    HYD_status status = HYD_SUCCESS;

    if (proxy_fd < 0)
        goto fn_exit;
    HYD_newcomers_accepted(proxy_fd);
    status = HYDT_dmx_register_fd(1, &proxy_fd, HYD_POLLIN, userp, hello_cb);
    HYDU_ERR_POP(status, "unable to register fd\n");

  fn_exit:
    return status;

  fn_fail:
    if (proxy_fd >= 0)
        close(proxy_fd);
    goto fn_exit;
}

HYD_status HYD_step_await_on(struct HYD_step_group *g, int i, int fd)
{
    g->proxies[i].launch_fd = fd;
    return HYDT_dmx_register_fd(1, &fd, HYD_POLLIN, (void *) (size_t) g->group, hello_cb);
}

HYD_status HYD_step_listen(struct HYD_step_group *g, char **port_string)
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

void HYD_step_proxy_up(struct HYD_proxy *proxy)
{
    struct HYD_step_group *g = HYD_step_find_group(proxy->pg->pgid);

    HYD_spawned_up(proxy);
    if (g)
        g->proxies[proxy->proxy_id].up = 1;
    if (HYD_step.core)
        HYD_step_take_connection(proxy);
    if (g && g->group != 0) {
        HYD_keepalive_watch(proxy->control_fd);
        HYD_step_output_counted(&g->proxies[proxy->proxy_id]);
    }
    HYD_step_input_up(proxy);
    if (HYD_step.notified_to_end)
        HYD_step_send_signal(proxy, HYD_step.notified_to_end);
    if (g ? g->removed : HYD_step.ending)
        HYD_step_send_signal(proxy, SIGKILL);
    else if (g) {
        HYD_step_relay_connected(&g->proxies[proxy->proxy_id]);
        HYD_step_relay_prepare();
    }
    if (g && g->is_relay_proxy)
        HYD_core_defer_up(g);
}

/* ---- time ------------------------------------------------------------------------------------ */

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
        fprintf(stderr, "host %s: its proxy, started by %s, has not connected within %lld s "
                "(MPIEXEC_ADAPT_LAUNCH), and mpiexec stops waiting for it: check the load of the "
                "host, and that it can connect to this one\n", p->proxy->node->hostname,
                HYDT_bsci_info.launcher,
                (long long) HYD_step.launch_limit_ms / 1000);
        fflush(stderr);
    }
    p->given_up = 1;
    if (p->launcher_pid > 0)
        kill(p->launcher_pid, SIGTERM);
    HYD_step_proxy_failed(g, i);
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
            g->up_by_ms = now_ms + HYD_STEP_KILL_LAUNCHER_MS;
        }
    }
}
