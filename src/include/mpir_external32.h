/*
 * The data representation external32, which does not depend on a machine: for MPI_Pack_external,
 * and for ROMIO.
 */

#ifndef MPIR_EXTERNAL32_H_INCLUDED
#define MPIR_EXTERNAL32_H_INCLUDED

#include "mpi.h"

/* The size of one copy of the type in the representation. */
MPI_Aint MPIR_External32_bytes(MPI_Datatype type);
/* To `to` belong as many bytes as `count` copies have. */
int MPIR_External32_pack(const void *from, MPI_Aint count, MPI_Datatype type, void *to);
/* As many basic elements as `bytes` holds, up to `count` copies: they have `*native` bytes here, if
 * it is not NULL. */
int MPIR_External32_unpack(const void *from, MPI_Aint bytes, void *to, MPI_Aint count,
                           MPI_Datatype type, MPI_Aint * native);

#endif /* MPIR_EXTERNAL32_H_INCLUDED */
