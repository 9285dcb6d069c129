/*
 * Early ends of processes: the payload that a proxy sends to mpiexec about a process of
 * MPI_Comm_spawn with HYD_ADAPT_SPAWN_ENDED, and about one of the launch, or one that others may
 * wait for, with HYD_ADAPT_IS_MISSED.  Both sides are one build on one architecture.
 */

#ifndef WIRE_SPAWN_H_INCLUDED
#define WIRE_SPAWN_H_INCLUDED

#include <stdint.h>

struct HYD_spawn_end {
    uint32_t index;             /* on its proxy */
    uint32_t rank;
    uint32_t wait_status;
    /* it had called MPI_Init, and not MPI_Finalize; 0: it had called neither */
    uint32_t begun;
    uint32_t in_init;           /* it ended in MPI_Init; 0: unknown */
};

struct HYD_launch_end {
    uint32_t index;             /* on its proxy */
    uint32_t rank;
    uint32_t wait_status;
    /* a process of the same proxy is in a barrier of PMI that it has not entered; or it is known to
     * have ended in MPI_Init */
    uint32_t others_wait;
    uint32_t begun;             /* it ended in MPI_Init, or later, without MPI_Finalize */
    uint32_t in_init;           /* it ended in MPI_Init; 0: unknown */
    int32_t connection;         /* by PMI-2: that of its commands on the proxy; else -1 */
};

#endif /* WIRE_SPAWN_H_INCLUDED */
