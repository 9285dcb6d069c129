/* See end.h. */

#include "state.h"
#include "core.h"
#include "output.h"
#include <sys/timerfd.h>
#include <sys/wait.h>
#include "bsci.h"
#include "bscu.h"
#include "demux.h"
#include "pmiserv.h"
#include "pmiserv_utils.h"
#include "end.h"
#include "lines.h"
#include "newcomers.h"

/* for proxies to kill their processes, and for launchers to detect that */
#define AT_ONCE_MS 2000
#define LOOK_EVERY_US 10000
#define COME_S 5                /* for proxies that have not connected yet, after a signal */

/* Number of living launchers, which on this host may be the proxy itself. */
static int launchers_left(void)
{
    int left = 0;

    for (int i = 0; i < HYD_bscu_pid_count; i++) {
        if (HYD_bscu_pid_list[i] > 0 && waitpid(HYD_bscu_pid_list[i], NULL, WNOHANG) != 0)
            HYD_bscu_pid_list[i] = -1;
        left += HYD_bscu_pid_list[i] > 0;
    }
    return left;
}

/* Each launcher leads a process group, and usually a session. */
static void signal_launchers(int signum)
{
    for (int i = 0; i < HYD_bscu_pid_count; i++)
        if (HYD_bscu_pid_list[i] > 0)
            killpg(HYD_bscu_pid_list[i], signum);
}

/* Proxies whose connection closes kill their processes.  Stock waits here for the end of all
 * output, and searches for some launchers in wrong folders. */
void HYD_step_end_at_once(void)
{
    int64_t until = HYD_step_now_ms() + AT_ONCE_MS;

    HYD_newcomers_await_nobody();
    HYD_pmcd_pmiserv_cleanup_all_pgs();
    while (launchers_left() > 0 && HYD_step_now_ms() < until) {
        HYDT_dmx_wait_for_event(0);     /* last output */
        usleep(LOOK_EVERY_US);
    }
    signal_launchers(SIGKILL);
    HYD_lines_finish();
    exit(1);
}

/* ---- signals --------------------------------------------------------------------------------- */

static const struct HYD_proxy *somebody_awaited(const struct HYD_pg *pg)
{
    const struct HYD_proxy *p;

    for (p = pg->proxy_list; p && !HYD_step_is_awaited(p); p = p->next);
    return p;
}

/* The time for proxies to connect is over.  An incomplete launch ends the job; an incomplete growth
 * fails alone. */
static HYD_status come_by_now_cb(int fd, HYD_event_t events, void *userp)
{
    const struct HYD_proxy *missing = somebody_awaited(&HYD_server_info.pg_list);
    HYD_status status = HYDT_dmx_deregister_fd(fd);

    close(fd);
    if (missing) {
        fflush(stdout);
        fprintf(stderr,
                "host %s: its proxy, started by %s, has not connected, and mpiexec has received a "
                "signal to end: mpiexec stops waiting for it\n", missing->node->hostname,
                HYDT_bsci_info.launcher);
        fflush(stderr);
        HYD_step_end_at_once();
    }
    for (struct HYD_step_group * g = HYD_step.groups; g; g = g->next)
        if (g->up_by_ms >= 0)
            g->up_by_ms = HYD_step_now_ms();
    return status;
}

void HYD_step_signalled(int signum)
{
    const struct itimerspec once = {.it_value = {.tv_sec = COME_S} };

    HYD_step_print_signal(signum);
    if (HYD_step.notified_to_end || (signum != SIGTERM && signum != SIGINT && signum != SIGQUIT))
        return;
    HYD_step.notified_to_end = signum;
    HYD_core_notified_to_end(signum);
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0 || timerfd_settime(fd, 0, &once, NULL) < 0 ||
        HYDT_dmx_register_fd(1, &fd, HYD_POLLIN, NULL, come_by_now_cb) != HYD_SUCCESS)
        HYDU_error_printf("unable to set a timer (%s)\n", MPL_strerror(errno));
}
