/* See hooks.h: start and end, time, and what all files of this folder use.  See state.h for the shared state. */

#include "state.h"
#include "bsci.h"
#include "connections.h"
#include "core.h"
#include "demux.h"
#include "end.h"
#include "exits.h"
#include "groups.h"
#include "launchers.h"
#include "lines.h"
#include "names.h"
#include "output.h"
#include "performance.h"
#include "relay.h"
#include "socket.h"
#include "wire/channel.h"
#include "wire/clock.h"
#include "wire/job_secret.h"
#include "wire/sessions.h"

#define KILL_DEFAULT_MS 5000
#define LAUNCH_DEFAULT_MS 120000

struct HYD_step HYD_step = {.wake_ms = -1,.abort_ms = -1,.log_fd = -1,.sets_log_fd = -1 };

int64_t HYD_step_now_ms(void)
{
    return (HYD_monotonic_us() - HYD_step.zero_us) / 1000;
}

struct HYD_step_group *HYD_step_find_group(int group)
{
    struct HYD_step_group *g;

    for (g = HYD_step.groups; g && g->group != group; g = g->next);
    return g;
}

void HYD_step_send(const struct HYD_proxy *proxy, struct HYD_pmcd_hdr *hdr, const void *payload,
                   size_t bytes)
{
    int fd = proxy->control_fd, sent, closed;

    if (fd == HYD_FD_UNSET || fd == HYD_FD_CLOSED || HYD_channel_open(fd) != HYD_SUCCESS)
        return;
    HYDU_sock_write(fd, hdr, sizeof(*hdr), &sent, &closed, HYDU_SOCK_COMM_MSGWAIT);
    if (bytes)
        HYDU_sock_write(fd, payload, (int) bytes, &sent, &closed, HYDU_SOCK_COMM_MSGWAIT);
}

void HYD_step_send_signal(const struct HYD_proxy *proxy, int signum)
{
    struct HYD_pmcd_hdr hdr;

    HYD_pmcd_init_header(&hdr);
    hdr.cmd = SIGNAL;
    hdr.signum = signum;
    HYD_step_send(proxy, &hdr, NULL, 0);
}

void HYD_step_print_message(const char *text)
{
    fflush(stdout);
    fprintf(stderr, "%s\n", text);
    fflush(stderr);
}

void HYD_step_close_fd(int *fd)
{
    if (*fd < 0)
        return;
    if (HYDT_dmx_query_fd_registration(*fd))
        HYDT_dmx_deregister_fd(*fd);
    close(*fd);
    *fd = -1;
}

/* ---- time -------------------------------------------------------------------------------------- */

int64_t HYD_step_next_wake(void)
{
    int64_t times[] = { HYD_step.wake_ms, HYD_step.abort_ms, HYD_step_next_launch_limit(),
        HYD_step_relay_next(), HYD_step_performance_next(), HYD_names_next()
    }, next = -1;

    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
        if (times[i] >= 0 && (next < 0 || times[i] < next))
            next = times[i];
    return next;
}

void HYD_step_tick(void)
{
    int64_t now = HYD_step_now_ms();

    if (HYD_step.abort_ms >= 0 && HYD_step.abort_ms <= now) {
        HYD_step_end_due(now);
        return;
    }
    HYD_step_end_slow_launches(now);
    HYD_step_relay_time(now);
    HYD_core_due(now);
    HYD_step_performance_time(now);
    HYD_names_time(now);
}

/* ---- start and end ----------------------------------------------------------------------------- */

/* `more`: flags.  -1: it is not wanted. */
static int open_log(const char *name, const char *option, int more)
{
    char error[HYDRA_MAX_PATH];
    int fd = -1;

    if (name)
        fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | more, 0666);
    if (name && fd < 0) {
        MPL_snprintf(error, sizeof(error), "unable to open %s (%s)", name, MPL_strerror(errno));
        HYD_step_option_error(option, error);
    }
    return fd;
}

static void close_log(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* libmpidynres' variable for the log of states. */
static void use_environment(void)
{
    const char *name;

    if (!HYD_step_options.sets_log && MPL_env2str("MPIDYNRES_STATELOG", &name) && *name)
        HYD_step_options.sets_log = MPL_strdup(name);
}

void HYD_step_start(void)
{
    const struct HYD_step_options *o = &HYD_step_options;

    HYD_step.zero_us = HYD_monotonic_us();

    /* what is started does not need the pipe of the signal handler */
    for (int i = 0; i < 2; i++)
        if (HYDU_sock_cloexec(HYD_server_info.cmd_pipe[i]) != HYD_SUCCESS)
            exit(1);
    /* of the node daemon above us, if this job runs in a process of another one */
    unsetenv("HYDI_CONTROL_FD");
    if (HYD_secret_make(HYDT_bsci_info.launcher) != HYD_SUCCESS)
        exit(1);
    /* elasticd decides itself how long its jobs may take to end */
    HYD_step.end_after_ms = HYD_core_env_ms("MPIEXEC_ADAPT_KILL", HYD_step_managed() ? 0 : KILL_DEFAULT_MS);
    HYD_step.launch_limit_ms = HYD_core_env_ms("MPIEXEC_ADAPT_LAUNCH", LAUNCH_DEFAULT_MS);
    HYD_step_use_launcher();
    if (HYD_step_managed() && (o->schedule || o->policy))
        HYD_step_option_error(o->schedule ? "--adapt-schedule" : "--adapt-policy",
                              "the resource manager of this job decides on its size");
    use_environment();
    if (!HYD_step_options_given() && !HYD_step_managed())
        return;
    HYD_share_session();
    HYD_step.log_fd = open_log(o->log, "--adapt-log", 0);
    /* it may be a terminal */
    HYD_step.sets_log_fd = open_log(o->sets_log, "--sets-log", O_NONBLOCK | O_NOCTTY);
    HYD_step_performance_open();
    HYD_core_create();
    if (HYD_step_managed())
        HYD_step_socket_open();
}

void HYD_step_finish(void)
{
    char summary[1024];

    HYD_lines_finish();
    HYD_step_socket_close();
    HYD_step_performance_close();
    HYD_names_end();
    if (HYD_server_info.user_global.debug && HYD_step_unauthenticated() > 0)
        HYDU_dump_noprefix(stdout, "connections to control ports without this job's secret: %u\n",
                           HYD_step_unauthenticated());
    if (!HYD_step.core)
        return;
    if (HYD_server_info.user_global.debug &&
        HYD_core_summary(summary, sizeof(summary)) > 0)
        HYDU_dump_noprefix(stdout, "%s\n", summary);
    HYD_step_finish_output();
    HYD_core_destroy();
    HYD_step_relay_finish();
    while (HYD_step.groups)
        HYD_step_free_group(HYD_step.groups);
    close_log(&HYD_step.log_fd);
    close_log(&HYD_step.sets_log_fd);
    HYD_step_free_exits();
}
