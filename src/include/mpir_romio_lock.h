/*
 * The lock of ROMIO (src/glue/romio/glue_romio.c) around a call that waits for other processes: it
 * is released meanwhile, if this thread holds it (src/mpi/romio/adio/include/blocking_calls.h).
 */

#ifndef MPIR_ROMIO_LOCK_H_INCLUDED
#define MPIR_ROMIO_LOCK_H_INCLUDED

void MPIR_Ext_cs_suspend(void);
/* Returns `code`. */
int MPIR_Ext_cs_resume(int code);

#endif /* MPIR_ROMIO_LOCK_H_INCLUDED */
