/*
 * The data representation external32, which does not depend on a machine: for MPI_Pack_external,
 * and for ROMIO.
 */

#ifndef MPIR_EXTERNAL32_H_INCLUDED
#define MPIR_EXTERNAL32_H_INCLUDED

#include "mpi.h"

/* The size of one copy of the type in the representation. */
MPI_Aint MPIR_External32_bytes(MPI_Datatype type);
/* `to` has space for the bytes of `count` copies. */
int MPIR_External32_pack(const void *from, MPI_Aint count, MPI_Datatype type, void *to);
/* Unpacks as many basic elements as `bytes` holds, up to `count` copies. *native (may be NULL) is
 * set to their bytes in memory. */
int MPIR_External32_unpack(const void *from, MPI_Aint bytes, void *to, MPI_Aint count,
                           MPI_Datatype type, MPI_Aint * native);

#endif /* MPIR_EXTERNAL32_H_INCLUDED */
