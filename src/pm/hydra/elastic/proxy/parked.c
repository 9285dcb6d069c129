/*
 * Processes that have finished with MPI and keep their connection, because a session may be opened
 * later: the end of such a process is no failure.  doc/developer/pmi.md has the lines.  SX2.
 */

#include "state.h"
#include "pmip_adapt.h"
#include "demux.h"
#include "exits.h"
#include "sets.h"
#include "spawned.h"

/* Any line of a process makes its end a failure before it is handled, so this line is handled
 * last. */
HYD_status HYD_pmcd_pmip_adapt_fn_parked(int fd, char *args[])
{
    int i = HYD_proxy_process_of_fd(fd);

    if (i >= 0)
        HYD_pmcd_pmip.downstream.pmi_fd_active[i] = 0;
    return HYD_SUCCESS;
}

HYD_status HYD_pmcd_pmip_adapt_fn_resumed(int fd, char *args[])
{
    HYD_sets_connect(fd);
    return HYD_SUCCESS;
}

int HYD_pmcd_pmip_adapt_closed(int process_id, int fd)
{
    /* it has connected to the port of -pmi-port, and has not identified itself */
    if (process_id < 0) {
        HYDT_dmx_deregister_fd(fd);
        HYD_spawned_close(fd);
        return 1;
    }
    if (HYD_pmcd_pmip.downstream.pmi_fd_active[process_id] &&
        !HYD_pmcd_pmip_adapt_is_let_go(process_id) && !HYD_exits_query(process_id))
        return 0;
    HYDT_dmx_deregister_fd(fd);
    HYD_spawned_close(fd);
    HYD_pmcd_pmip.downstream.pmi_fd[process_id] = HYD_FD_CLOSED;
    HYD_exits_closed(process_id);
    return 1;
}
