/*
 * Constants and types of functions that mpi.h has beyond MPICH's; mpi.h includes this file.
 *
 * Fortran has all constants that are an integer: src/binding/fortran/adapt_fortran.pl reads them
 * here.
 */

#ifndef MPI_ADAPT_H_INCLUDED
#define MPI_ADAPT_H_INCLUDED

/* Answers and statuses of the adaptation operations (a binary contract: values never change) */
#define MPI_ADAPT_FALSE 0
#define MPI_ADAPT_TRUE 1
#define MPI_ADAPT_STATUS_NEW 2
#define MPI_ADAPT_STATUS_JOINING 3
#define MPI_ADAPT_STATUS_STAYING 4
#define MPI_ADAPT_STATUS_LEAVING 5
#define MPI_ADAPT_FAULT 6
/* States of a size request (MPIX_Adapt_request_state) */
#define MPIX_ADAPT_REQUEST_OPEN 0
#define MPIX_ADAPT_REQUEST_GRANTED 1
#define MPIX_ADAPT_REQUEST_REFUSED 2
#define MPIX_ADAPT_REQUEST_WITHDRAWN 3
/* MPIX_Adapt_sizes_callback: whether the program can use a size */
typedef int (MPIX_Adapt_sizes_function)(int size, void *extra_state);
/* Operations on process sets (MPIX_Session_pset_op) */
#define MPIX_PSETOP_NULL 0
#define MPIX_PSETOP_ADD 1
#define MPIX_PSETOP_SUB 2
#define MPIX_PSETOP_REPLACE 3
#define MPIX_PSETOP_MALLEABLE 4
#define MPIX_PSETOP_GROW 5
#define MPIX_PSETOP_SHRINK 6
#define MPIX_PSETOP_UNION 7
#define MPIX_PSETOP_DIFFERENCE 8
#define MPIX_PSETOP_INTERSECTION 9
#define MPIX_PSETOP_SPLIT 10
/* Types of changes of process sets (MPIX_Session_rc_get) */
#define MPIX_RC_NONE 0
#define MPIX_RC_ADD 1
#define MPIX_RC_SUB 2
/* Processes that a program starts, clients and servers */
#define MPIX_ANYWHERE "*"
#define MPIX_SPAWN_SOFT 1
#define MPIX_SOFT 0
#define MPIX_HARD 1
#define MPIX_STAGE_ALLOCATED 1
#define MPIX_STAGE_STARTED 2
#define MPIX_STAGE_EXITED 3
#define MPIX_PROC_RUNNING (-1)  /* a return code before the end */
#define MPIX_COMM_PARENT MPIX_Comm_parent()
/* MPIX_Iaccept_keyed: whether a client with this key is welcome */
typedef int (MPIX_Key_function)(const void *key, int key_bytes, void *extra_state);

/* Error classes, after those of mpi.h */
#define MPIX_ERR_INVALID_SIGNAL (MPICH_ERR_FIRST_MPIX + 6)      /* There is no such signal */
#define MPIX_ERR_ALLOCATE (MPICH_ERR_FIRST_MPIX + 7)    /* There is no such slot for a process */
#define MPIX_ERR_KEY (MPICH_ERR_FIRST_MPIX + 8) /* The server does not welcome this key */

#endif /* MPI_ADAPT_H_INCLUDED */
