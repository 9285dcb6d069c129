/*
 * The end of a process of MPI_Comm_spawn that nobody expected: what its proxy sends to mpiexec with
 * HYD_ADAPT_SPAWN_ENDED.  Both sides are one build on one architecture.
 */

#ifndef WIRE_SPAWN_H_INCLUDED
#define WIRE_SPAWN_H_INCLUDED

#include <stdint.h>

struct HYD_spawn_end {
    uint32_t index;             /* on its proxy */
    uint32_t rank;
    uint32_t wait_status;
    uint32_t begun;             /* it had called MPI_Init, and not MPI_Finalize; 0: it had called neither */
};

#endif /* WIRE_SPAWN_H_INCLUDED */
