/*
 * Replaces the part of MPICH that the library's side of the adapt board (src/mpi/adapt) and of
 * connections between clients and servers (src/mpi/dynproc/link.c) use, for board_litmus_test.cpp
 * and link_fuzz.cpp.
 */

#ifndef MPIIMPL_H_INCLUDED
#define MPIIMPL_H_INCLUDED

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int MPI_Info;
#define MPI_INFO_NULL 0
enum { MPI_SUCCESS, MPI_ERR_OTHER };
enum { MPI_ADAPT_FALSE, MPI_ADAPT_TRUE };
enum { MPI_ADAPT_STATUS_JOINING, MPI_ADAPT_STATUS_STAYING, MPI_ADAPT_STATUS_LEAVING };

typedef struct {
    int handle;
} MPIR_Info;
extern struct litmus_rank {
    int rank, size;
} MPIR_Process;

#define likely(condition) __builtin_expect(!!(condition), 1)
#define ATTRIBUTE(list) __attribute__(list)
#define MPL_MAX(a, b) ((a) > (b) ? (a) : (b))
#define MPL_MEM_OTHER 0
#define MPL_malloc(bytes, class) malloc(bytes)
#define MPL_calloc(n, bytes, class) calloc(n, bytes)
#define MPL_realloc(old, bytes, class) realloc(old, bytes)
#define MPL_free free
typedef struct timespec MPL_time_t;
#define MPL_wtime(time) clock_gettime(CLOCK_MONOTONIC, time)
#define MPL_wtime_todouble(time, seconds) (*(seconds) = \
                                           (double) (time)->tv_sec + (double) (time)->tv_nsec * \
                                               1e-9)

#define MPIR_Assertp(condition) do { if (!(condition)) abort(); } while (0)
#define MPIR_ERR_CHECK(error) do { if (error) goto fn_fail; } while (0)
#define MPIR_ERR_CHKANDJUMP(wrong, error, class, name) \
    do { if (wrong) { error = class; goto fn_fail; } } while (0)
#define MPIR_ERR_CHKANDJUMP1(wrong, error, class, name, ...) MPIR_ERR_CHKANDJUMP(wrong, error, \
    class, name)
#define MPIR_ERR_CHKANDJUMP2(wrong, error, class, name, ...) MPIR_ERR_CHKANDJUMP(wrong, error, \
    class, name)
#define MPID_THREAD_CS_ENTER(kind, mutex)
#define MPID_THREAD_CS_EXIT(kind, mutex)
/* no host is split into nodes */
#define MPIR_CVAR_NUM_CLIQUES 1
#define MPIR_CVAR_ODD_EVEN_CLIQUES 0

int MPIR_Info_alloc(MPIR_Info ** info);
int MPIR_Info_set_impl(MPIR_Info * info, const char *key, const char *value);
int MPIR_Info_free_impl(MPIR_Info * info);
int MPID_Progress_test(void *state);

#endif
