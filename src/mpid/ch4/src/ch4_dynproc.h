/* What the network asks of connections (src/mpi/dynproc). */

#ifndef CH4_DYNPROC_H_INCLUDED
#define CH4_DYNPROC_H_INCLUDED

#include <stdbool.h>

/* The network could not send it.  Whether the error is its own, and it is to be completed: in a process that has, or
 * had, connections, whose other sides may end. */
bool MPID_Dynproc_send_ended(MPIR_Request * req);

#endif /* CH4_DYNPROC_H_INCLUDED */
