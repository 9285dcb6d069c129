/*
 * Ends of the job that somebody wants: see step_end.h.
 */

#include "step_state.h"
#include <sys/wait.h>
#include "bscu.h"
#include "demux.h"
#include "pmiserv.h"
#include "pmiserv_utils.h"
#include "step_end.h"

#define AT_ONCE_MS 2000         /* for daemons to kill their processes, and for launchers to notice */
#define LOOK_EVERY_US 10000

/* Of the processes that mpiexec has started: a launcher, or on this host the daemon itself. */
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

/* Each is the leader of a session, and so of a process group. */
static void signal_launchers(int signum)
{
    for (int i = 0; i < HYD_bscu_pid_count; i++)
        if (HYD_bscu_pid_list[i] > 0)
            killpg(HYD_bscu_pid_list[i], signum);
}

/* Daemons whose connection closes kill their processes.  Stock waits here for all output to end, and
 * looks for some launchers in places where they are not. */
void HYD_step_end_at_once(void)
{
    int64_t until = HYD_step_now_ms() + AT_ONCE_MS;

    HYD_pmcd_pmiserv_cleanup_all_pgs();
    while (launchers_left() > 0 && HYD_step_now_ms() < until) {
        HYDT_dmx_wait_for_event(0);     /* last words */
        usleep(LOOK_EVERY_US);
    }
    signal_launchers(SIGKILL);
    exit(1);
}
