/* See start.h. */

#include "state.h"
#include "bsci.h"
#include "core.h"
#include "effects.h"
#include "end.h"
#include "exits.h"
#include "groups.h"
#include "handshake.h"
#include "launchers.h"
#include "lines.h"
#include "managed_signals.h"
#include "names.h"
#include "options.h"
#include "output.h"
#include "performance.h"
#include "relay.h"
#include "socket.h"
#include "start.h"
#include "wire/clock.h"
#include "wire/job_secret.h"
#include "wire/sessions.h"

#define KILL_DEFAULT_MS 5000
#define LAUNCH_DEFAULT_MS 120000

/* `more`: flags. -1: the option is not given. */
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
    HYD_effects_use();

    /* started processes must not inherit the pipe of the signal handler */
    for (int i = 0; i < 2; i++)
        if (HYDU_sock_cloexec(HYD_server_info.cmd_pipe[i]) != HYD_SUCCESS)
            exit(1);
    /* set by the proxy above us if this job runs in a process of another job */
    unsetenv("HYDI_CONTROL_FD");
    if (HYD_secret_make(HYDT_bsci_info.launcher) != HYD_SUCCESS)
        exit(1);
    /* elasticd decides itself how long its jobs may take to end */
    HYD_step.end_after_ms = HYD_core_env_ms("MPIEXEC_ADAPT_KILL",
                                            HYD_step_managed() ? 0 : KILL_DEFAULT_MS);
    HYD_step.launch_limit_ms = HYD_core_env_ms("MPIEXEC_ADAPT_LAUNCH", LAUNCH_DEFAULT_MS);
    HYD_step_use_launcher();
    if (HYD_step_managed() && (o->schedule || o->policy))
        HYD_step_option_error(o->schedule ? "--adapt-schedule" : "--adapt-policy",
                              "the resource manager of this job decides on its size");
    if (HYD_step_managed() && HYD_step_take_managed_signals() != HYD_SUCCESS)
        exit(1);
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
