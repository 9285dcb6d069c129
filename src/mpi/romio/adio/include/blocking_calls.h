/*
 * Calls of MPI in which a thread waits for other processes: it releases ROMIO's lock meanwhile, if
 * it holds it, so that other threads of its process can use other files.  Otherwise two threads
 * with a file each block for ever, if their order differs in another process.
 *
 * Included last by adio.h, because mpipr.h defines the same names.  The lock is in
 * src/glue/romio/glue_romio.c.  Calls that wait are listed here; no call of this list may leave
 * ROMIO's data incomplete for other threads.
 */

#ifndef BLOCKING_CALLS_H_INCLUDED
#define BLOCKING_CALLS_H_INCLUDED

#ifdef ROMIO_INSIDE_MPICH

#include "mpir_romio_lock.h"

#define ROMIO_WITHOUT_LOCK(call) (MPIR_Ext_cs_suspend(), MPIR_Ext_cs_resume(call))

#undef MPI_Allgather
#define MPI_Allgather(...) ROMIO_WITHOUT_LOCK(PMPI_Allgather(__VA_ARGS__))
#undef MPI_Allreduce
#define MPI_Allreduce(...) ROMIO_WITHOUT_LOCK(PMPI_Allreduce(__VA_ARGS__))
#undef MPI_Alltoall
#define MPI_Alltoall(...) ROMIO_WITHOUT_LOCK(PMPI_Alltoall(__VA_ARGS__))
#undef MPI_Alltoallv
#define MPI_Alltoallv(...) ROMIO_WITHOUT_LOCK(PMPI_Alltoallv(__VA_ARGS__))
#undef MPI_Alltoallw
#define MPI_Alltoallw(...) ROMIO_WITHOUT_LOCK(PMPI_Alltoallw(__VA_ARGS__))
#undef MPI_Barrier
#define MPI_Barrier(...) ROMIO_WITHOUT_LOCK(PMPI_Barrier(__VA_ARGS__))
#undef MPI_Bcast
#define MPI_Bcast(...) ROMIO_WITHOUT_LOCK(PMPI_Bcast(__VA_ARGS__))
#undef MPI_Comm_create
#define MPI_Comm_create(...) ROMIO_WITHOUT_LOCK(PMPI_Comm_create(__VA_ARGS__))
#undef MPI_Comm_dup
#define MPI_Comm_dup(...) ROMIO_WITHOUT_LOCK(PMPI_Comm_dup(__VA_ARGS__))
#undef MPI_Comm_split
#define MPI_Comm_split(...) ROMIO_WITHOUT_LOCK(PMPI_Comm_split(__VA_ARGS__))
#undef MPI_Gather
#define MPI_Gather(...) ROMIO_WITHOUT_LOCK(PMPI_Gather(__VA_ARGS__))
#undef MPI_Gatherv
#define MPI_Gatherv(...) ROMIO_WITHOUT_LOCK(PMPI_Gatherv(__VA_ARGS__))
#undef MPI_Recv
#define MPI_Recv(...) ROMIO_WITHOUT_LOCK(PMPI_Recv(__VA_ARGS__))
#undef MPI_Reduce
#define MPI_Reduce(...) ROMIO_WITHOUT_LOCK(PMPI_Reduce(__VA_ARGS__))
#undef MPI_Send
#define MPI_Send(...) ROMIO_WITHOUT_LOCK(PMPI_Send(__VA_ARGS__))
#undef MPI_Wait
#define MPI_Wait(...) ROMIO_WITHOUT_LOCK(PMPI_Wait(__VA_ARGS__))
#undef MPI_Waitall
#define MPI_Waitall(...) ROMIO_WITHOUT_LOCK(PMPI_Waitall(__VA_ARGS__))
#undef MPI_Waitany
#define MPI_Waitany(...) ROMIO_WITHOUT_LOCK(PMPI_Waitany(__VA_ARGS__))
#undef MPI_Win_create
#define MPI_Win_create(...) ROMIO_WITHOUT_LOCK(PMPI_Win_create(__VA_ARGS__))
#undef MPI_Win_free
#define MPI_Win_free(...) ROMIO_WITHOUT_LOCK(PMPI_Win_free(__VA_ARGS__))
#undef MPI_Win_lock
#define MPI_Win_lock(...) ROMIO_WITHOUT_LOCK(PMPI_Win_lock(__VA_ARGS__))
#undef MPI_Win_unlock
#define MPI_Win_unlock(...) ROMIO_WITHOUT_LOCK(PMPI_Win_unlock(__VA_ARGS__))

#endif /* ROMIO_INSIDE_MPICH */

#endif /* BLOCKING_CALLS_H_INCLUDED */
