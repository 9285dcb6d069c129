/*
 * The operations of adaptations for an MPI that has none: the world never changes, a probe is
 * always false, and a program needs no #ifdef.  adapt_window.h includes it where MPI's own header
 * has no MPI_ADAPT_TRUE.
 *
 * libadapt_data is compiled for that MPI from the same sources (doc/user/data.md, "With another
 * MPI").
 */

#ifndef ADAPT_STUB_H_INCLUDED
#define ADAPT_STUB_H_INCLUDED

#include <mpi.h>
#include <limits.h>
#include <stdint.h>

#ifndef MPI_ADAPT_TRUE

#define MPI_ADAPT_FALSE 0
#define MPI_ADAPT_TRUE 1
#define MPI_ADAPT_STATUS_NEW 2
#define MPI_ADAPT_STATUS_JOINING 3
#define MPI_ADAPT_STATUS_STAYING 4
#define MPI_ADAPT_STATUS_LEAVING 5
#define MPI_ADAPT_FAULT 6
#define ADAPT_IS_STUB 1

static inline int MPI_Init_adapt(int *argc, char ***argv, int *local_status)
{
    *local_status = MPI_ADAPT_STATUS_NEW;
    return MPI_Init(argc, argv);
}

static inline int MPI_Init_thread_adapt(int *argc, char ***argv, int required, int *provided,
                                        int *local_status)
{
    *local_status = MPI_ADAPT_STATUS_NEW;
    return MPI_Init_thread(argc, argv, required, provided);
}

static inline int MPI_Probe_adapt(int *pending_adaptation, int *local_status, MPI_Info * info)
{
    *pending_adaptation = MPI_ADAPT_FALSE;
    *local_status = MPI_ADAPT_STATUS_STAYING;
    if (info)
        *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

/* No probe has announced a window. */
static inline int MPI_Comm_adapt_begin(MPI_Comm * intercomm, MPI_Comm * new_comm_world,
                                       int *staying_count, int *leaving_count, int *joining_count)
{
    *intercomm = *new_comm_world = MPI_COMM_NULL;
    *staying_count = *leaving_count = *joining_count = 0;
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

static inline int MPI_Comm_adapt_commit(void)
{
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

/* The number of processes stays that of the launch. */
static inline int MPIX_Adapt_sizes(const char *rule)
{
    (void) rule;
    return MPI_SUCCESS;
}

/* ---- of MPI 4, for older ones ---------------------------------------------------------------- */

#if MPI_VERSION < 4
/* Of types that are stored without gaps, in several messages where one has not enough numbers. */
static inline int adapt_stub_bcast(void *buffer, int64_t count, MPI_Datatype type, int root,
                                   MPI_Comm comm)
{
    MPI_Aint lb, extent;
    int code = MPI_Type_get_extent(type, &lb, &extent);

    do {
        const int some = count < INT_MAX ? (int) count : INT_MAX;
        if (!code)
            code = MPI_Bcast(buffer, some, type, root, comm);
        buffer = (char *) buffer + (MPI_Aint) some * extent;
        count -= some;
    } while (!code && count > 0);
    return code;
}

static inline int adapt_stub_contiguous(int64_t count, MPI_Datatype type, MPI_Datatype * made)
{
    return count > INT_MAX ? MPI_ERR_COUNT : MPI_Type_contiguous((int) count, type, made);
}

#define MPI_Bcast_c adapt_stub_bcast
#define MPI_Type_contiguous_c adapt_stub_contiguous
#endif

#endif /* MPI_ADAPT_TRUE */

#endif /* ADAPT_STUB_H_INCLUDED */
