/*
 * Requests that wait for a process which has ended: one function ends them
 * (src/mpid/ch4/src/ch4_failed_requests.c), with class MPIX_ERR_PROC_FAILED, whoever has detected
 * the end.  The detectors are
 *
 *   src/mpi/dynproc/watch.c              the other side of a connection, also of spawned processes:
 *                                        a line has broken
 *   src/mpi/session/session_liveness.c   a member of a session's communicator: mpiexec reports it
 *
 * A detector calls the function again as long as the program may make further requests of that
 * kind.  Channels of shared memory detect the end of their own peer, and end what waits for that
 * themselves (posix_channels.c).
 */

#ifndef MPID_FAILURE_H_INCLUDED
#define MPID_FAILURE_H_INCLUDED

#include <stdbool.h>

struct MPID_Failure {
    /* whose other side has ended; 0: members that have been marked (MPID_Session_mark_exited,
     * mark_silent) */
    unsigned connection;
    /* of a connection: receives under way end, too */
    bool also_matched;
    /* of a connection: and what processes of this side have been waiting for from each other since
     * the last such call, as not all take part */
    bool also_local;
};

/* The value: how many requests have been waiting. */
int MPID_Failure_end_requests(const struct MPID_Failure *failure);

#endif /* MPID_FAILURE_H_INCLUDED */
