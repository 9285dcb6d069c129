/* What the device asks of dynamic process management (src/mpi/dynproc). */

#ifndef CH4_DYNPROC_H_INCLUDED
#define CH4_DYNPROC_H_INCLUDED

#include <stdbool.h>

/* The network could not send it.  Whether the error is its own, and it is to be completed: in a process that has, or
 * had, connections, whose other sides may end. */
bool MPID_Dynproc_send_ended(MPIR_Request * req);

/* Whether there is no mpiexec, not even one that this process has started itself. */
bool MPID_Dynproc_is_alone(void);

#endif /* CH4_DYNPROC_H_INCLUDED */
