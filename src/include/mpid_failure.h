/*
 * Requests that wait for a process that has ended: one function ends them
 * (src/mpid/ch4/src/ch4_failed_requests.c), with class MPIX_ERR_PROC_FAILED, for every detector of
 * the end.  The detectors are
 *
 *   src/mpi/dynproc/watch.c              the other side of a connection, also of spawned processes:
 *                                        a line has broken
 *   src/mpi/session/session_liveness.c   a member of a session's communicator: mpiexec reports it
 *
 * A detector calls the function again as long as the program may make further requests of that
 * kind.  Channels of shared memory detect the end of their peer themselves, and end the requests
 * that wait for it (posix_channels.c).
 */

#ifndef MPID_FAILURE_H_INCLUDED
#define MPID_FAILURE_H_INCLUDED

#include <stdbool.h>

struct MPID_Failure {
    /* number of the connection whose other side has ended; 0: the marked members have ended
     * (MPID_Session_mark_exited, mark_silent) */
    unsigned connection;
    /* of a connection: receives in progress end, too */
    bool also_matched;
    /* of a connection: also requests between processes of this side that have been waiting since
     * the last such call, because some of these processes may not take part any more */
    bool also_local;
};

/* Returns the number of requests that have been waiting. */
int MPID_Failure_end_requests(const struct MPID_Failure *failure);

#endif /* MPID_FAILURE_H_INCLUDED */
