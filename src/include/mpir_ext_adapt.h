/*
 * Functions of the MPI layer and of ROMIO for files that stay open over an adaptation:
 * adapt_handles.h, and adapt_file.c in romio/mpi-io/glue/mpich.  mpir_ext.h includes this file.
 */

#ifndef MPIR_EXT_ADAPT_H_INCLUDED
#define MPIR_EXT_ADAPT_H_INCLUDED

int MPIR_Adapt_comm_survives(MPI_Comm comm);
void MPIR_Adapt_request_on(MPI_Request request, MPI_Comm comm);
int MPIR_ROMIO_Adapt_pending(char *why, int size);
void MPIR_ROMIO_Adapt_close_all(unsigned epoch);
int MPIR_ROMIO_Adapt_invalidate(MPI_File * file, const char *function, int *error_code);
int MPIR_ROMIO_Adapt_is_stale(MPI_File file);
int MPIR_ROMIO_Adapt_file_error(MPI_File file, const char *function, int line);
void MPIR_ROMIO_Adapt_opened(MPI_File file);
void MPIR_ROMIO_Adapt_closed(MPI_File file);

#endif /* MPIR_EXT_ADAPT_H_INCLUDED */
