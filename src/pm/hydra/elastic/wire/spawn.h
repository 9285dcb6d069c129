/*
 * Payloads about early ends of processes, from a proxy to mpiexec: HYD_ADAPT_SPAWN_ENDED about a
 * process of MPI_Comm_spawn, HYD_ADAPT_IS_MISSED about a process of the launch or one for which
 * others may wait.  Both sides are one build on one architecture.
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
    /* another process of the proxy is in a PMI barrier that this one has not entered, or this one
     * ended in MPI_Init */
    uint32_t others_wait;
    uint32_t begun;             /* it ended in MPI_Init, or later, without MPI_Finalize */
    uint32_t in_init;           /* it ended in MPI_Init; 0: unknown */
    /* with PMI-2: the connection of its commands on the proxy; else -1 */
    int32_t connection;
};

#endif /* WIRE_SPAWN_H_INCLUDED */
