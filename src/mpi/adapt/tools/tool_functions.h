/*
 * The functions with a communicator that tools and programs use: included by both libraries
 * (tool_view.h), which define
 *   ASK(name, comm, parameters, arguments)    about a communicator, or makes another one
 *   CALL(name, comm, parameters, arguments)   communicates
 * and VIEW(comm), which stands around each communicator that is passed on.
 */

#define DATA const void *buffer, int count, MPI_Datatype type
#define PLACE void *buffer, int count, MPI_Datatype type
#define BLOCKS const void *from, int count, MPI_Datatype type, void *to, int to_count, \
    MPI_Datatype to_type
#define COUNTS const int *counts, const int *displs
#define REDUCTION const void *from, void *to, int count, MPI_Datatype type, MPI_Op op
#define REQUEST MPI_Request * request

/* ---- communicators ---- */

ASK(Comm_rank, comm, (MPI_Comm comm, int *rank), (VIEW(comm), rank))
ASK(Comm_size, comm, (MPI_Comm comm, int *size), (VIEW(comm), size))
ASK(Comm_group, comm, (MPI_Comm comm, MPI_Group * group), (VIEW(comm), group))
ASK(Comm_compare, comm, (MPI_Comm comm, MPI_Comm other, int *result),
    (VIEW(comm), VIEW(other), result))
ASK(Comm_dup, comm, (MPI_Comm comm, MPI_Comm * copy), (VIEW(comm), copy))
ASK(Comm_dup_with_info, comm, (MPI_Comm comm, MPI_Info info, MPI_Comm * copy),
    (VIEW(comm), info, copy))
ASK(Comm_split, comm, (MPI_Comm comm, int color, int key, MPI_Comm * part),
    (VIEW(comm), color, key, part))
ASK(Comm_split_type, comm, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm * part),
    (VIEW(comm), type, key, info, part))
ASK(Comm_create, comm, (MPI_Comm comm, MPI_Group group, MPI_Comm * part),
    (VIEW(comm), group, part))
ASK(Comm_create_group, comm, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm * part),
    (VIEW(comm), group, tag, part))
ASK(Comm_get_attr, comm, (MPI_Comm comm, int key, void *value, int *flag),
    (VIEW(comm), key, value, flag))
ASK(Comm_set_attr, comm, (MPI_Comm comm, int key, void *value), (VIEW(comm), key, value))
ASK(Comm_get_errhandler, comm, (MPI_Comm comm, MPI_Errhandler * handler), (VIEW(comm), handler))
ASK(Comm_set_errhandler, comm, (MPI_Comm comm, MPI_Errhandler handler), (VIEW(comm), handler))

/* ---- messages ---- */

#define SENDS(name, persistent)                                                         \
    CALL(name, comm, (DATA, int to, int tag, MPI_Comm comm),                            \
         (buffer, count, type, to, tag, VIEW(comm)))                                    \
    CALL(I##persistent, comm, (DATA, int to, int tag, MPI_Comm comm, REQUEST),          \
         (buffer, count, type, to, tag, VIEW(comm), request))                           \
    CALL(name##_init, comm, (DATA, int to, int tag, MPI_Comm comm, REQUEST),            \
         (buffer, count, type, to, tag, VIEW(comm), request))
SENDS(Send, send)
SENDS(Bsend, bsend)
SENDS(Ssend, ssend)
SENDS(Rsend, rsend)

CALL(Recv, comm, (PLACE, int from, int tag, MPI_Comm comm, MPI_Status * status),
     (buffer, count, type, from, tag, VIEW(comm), status))
CALL(Irecv, comm, (PLACE, int from, int tag, MPI_Comm comm, REQUEST),
     (buffer, count, type, from, tag, VIEW(comm), request))
CALL(Recv_init, comm, (PLACE, int from, int tag, MPI_Comm comm, REQUEST),
     (buffer, count, type, from, tag, VIEW(comm), request))
CALL(Probe, comm, (int from, int tag, MPI_Comm comm, MPI_Status * status),
     (from, tag, VIEW(comm), status))
CALL(Iprobe, comm, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status * status),
     (from, tag, VIEW(comm), flag, status))
CALL(Sendrecv, comm, (DATA, int to, int tag, void *recv_buffer, int recv_count,
                      MPI_Datatype recv_type,
                      int from, int from_tag, MPI_Comm comm, MPI_Status * status),
     (buffer, count, type, to, tag, recv_buffer, recv_count, recv_type, from, from_tag, VIEW(comm),
      status))
CALL(Sendrecv_replace, comm, (PLACE, int to, int tag, int from, int from_tag, MPI_Comm comm,
                              MPI_Status * status),
     (buffer, count, type, to, tag, from, from_tag, VIEW(comm), status))

/* ---- collective operations, each of them blocking and not ---- */

#define COLLECTIVE(name, nonblocking, parameters, arguments)                            \
    CALL(name, comm, (REMOVE parameters, MPI_Comm comm), (REMOVE arguments, VIEW(comm))) \
    CALL(nonblocking, comm, (REMOVE parameters, MPI_Comm comm, REQUEST),                \
         (REMOVE arguments, VIEW(comm), request))
#define REMOVE(...) __VA_ARGS__

CALL(Barrier, comm, (MPI_Comm comm), (VIEW(comm)))
CALL(Ibarrier, comm, (MPI_Comm comm, REQUEST), (VIEW(comm), request))
COLLECTIVE(Bcast, Ibcast, (PLACE, int root), (buffer, count, type, root))
COLLECTIVE(Reduce, Ireduce, (REDUCTION, int root), (from, to, count, type, op, root))
COLLECTIVE(Allreduce, Iallreduce, (REDUCTION), (from, to, count, type, op))
COLLECTIVE(Scan, Iscan, (REDUCTION), (from, to, count, type, op))
COLLECTIVE(Exscan, Iexscan, (REDUCTION), (from, to, count, type, op))
COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           (const void *from, void *to, const int *counts, MPI_Datatype type, MPI_Op op),
           (from, to, counts, type, op))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, (REDUCTION), (from, to, count, type, op))
COLLECTIVE(Gather, Igather, (BLOCKS, int root), (from, count, type, to, to_count, to_type, root))
COLLECTIVE(Scatter, Iscatter, (BLOCKS, int root), (from, count, type, to, to_count, to_type, root))
COLLECTIVE(Allgather, Iallgather, (BLOCKS), (from, count, type, to, to_count, to_type))
COLLECTIVE(Alltoall, Ialltoall, (BLOCKS), (from, count, type, to, to_count, to_type))
COLLECTIVE(Gatherv, Igatherv,
           (const void *from, int count, MPI_Datatype type, void *to, COUNTS, MPI_Datatype to_type,
            int root), (from, count, type, to, counts, displs, to_type, root))
COLLECTIVE(Scatterv, Iscatterv,
           (const void *from, COUNTS, MPI_Datatype type, void *to, int to_count,
            MPI_Datatype to_type, int root),
           (from, counts, displs, type, to, to_count, to_type, root))
COLLECTIVE(Allgatherv, Iallgatherv,
           (const void *from, int count, MPI_Datatype type, void *to, COUNTS, MPI_Datatype to_type),
           (from, count, type, to, counts, displs, to_type))
COLLECTIVE(Alltoallv, Ialltoallv,
           (const void *from, COUNTS, MPI_Datatype type, void *to, const int *to_counts,
            const int *to_displs, MPI_Datatype to_type),
           (from, counts, displs, type, to, to_counts, to_displs, to_type))
COLLECTIVE(Alltoallw, Ialltoallw,
           (const void *from, COUNTS, const MPI_Datatype * types, void *to, const int *to_counts,
            const int *to_displs, const MPI_Datatype * to_types),
           (from, counts, displs, types, to, to_counts, to_displs, to_types))

/* ---- windows and files ---- */

ASK(Win_create, comm, (void *base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm,
                       MPI_Win * win), (base, bytes, unit, info, VIEW(comm), win))
ASK(Win_allocate, comm, (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base,
                         MPI_Win * win), (bytes, unit, info, VIEW(comm), base, win))
ASK(Win_allocate_shared, comm, (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base,
                                MPI_Win * win), (bytes, unit, info, VIEW(comm), base, win))
ASK(File_open, comm, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File * file),
    (VIEW(comm), name, mode, info, file))
