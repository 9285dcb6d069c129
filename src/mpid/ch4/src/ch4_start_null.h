/*
 * Partitioned requests of MPI_PROC_NULL (ch4_start_null.c).
 */

#ifndef CH4_START_NULL_H_INCLUDED
#define CH4_START_NULL_H_INCLUDED

int MPIDI_Part_create_null(int partitions, MPIR_Comm * comm, MPIR_Request_kind_t kind,
                           MPIR_Request ** request);

#endif /* CH4_START_NULL_H_INCLUDED */
