/* See managed_signals.h. */

#include "managed_signals.h"
#include "hydra_server.h"
#include "ui.h"

static const int passed_on[] = { SIGHUP, SIGUSR2, SIGURG, SIGWINCH, SIGXCPU };

/* The event loop takes it from the pipe, and sends it to all proxies. */
static void send_to_all(int signum)
{
    const struct HYD_cmd cmd = {.type = HYD_SIGNAL,.signum = signum };
    int before = errno;

    while (write(HYD_server_info.cmd_pipe[1], &cmd, sizeof(cmd)) < 0 && errno == EINTR);
    errno = before;
}

/* Sends SIGSTOP for SIGTSTP, because no program can ignore SIGSTOP, and SIGTSTP has no effect on
 * processes with their own session. */
static void suspension_cb(int signum)
{
    send_to_all(signum == SIGTSTP ? SIGSTOP : SIGCONT);
}

HYD_status HYD_step_take_managed_signals(void)
{
    struct sigaction present;
    HYD_status status = HYDU_set_signal(SIGTSTP, suspension_cb);

    if (status == HYD_SUCCESS)
        status = HYDU_set_signal(SIGCONT, suspension_cb);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on) && status == HYD_SUCCESS; i++)
        if (sigaction(passed_on[i], NULL, &present) == 0 && present.sa_handler != SIG_IGN)
            status = HYDU_set_signal(passed_on[i], send_to_all);
    return status;
}
