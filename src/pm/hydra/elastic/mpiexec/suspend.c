/* See suspend.h. */

#include "suspend.h"
#include "hydra_server.h"
#include "ui.h"

/* The event loop takes it from the pipe, and sends it to all proxies.  No program ignores SIGSTOP, and SIGTSTP has no
 * effect on processes that have a session of their own. */
static void suspension_cb(int signum)
{
    const struct HYD_cmd cmd = {.type = HYD_SIGNAL,.signum = signum == SIGTSTP ? SIGSTOP : SIGCONT };
    int before = errno;

    while (write(HYD_server_info.cmd_pipe[1], &cmd, sizeof(cmd)) < 0 && errno == EINTR);
    errno = before;
}

HYD_status HYD_step_take_suspensions(void)
{
    HYD_status status = HYDU_set_signal(SIGTSTP, suspension_cb);

    return status == HYD_SUCCESS ? HYDU_set_signal(SIGCONT, suspension_cb) : status;
}
