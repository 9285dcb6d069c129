/*
 * How a program of phases reports to the library in which of its loops it is: for drivers like the
 * command epop (doc/user/epop.md) and for programs that want their phases measured and shown by
 * name.  C11 and C++; the functions are in libmpi.
 *
 * Between MPI_T_enable_EPOP_mode and the end of the process loops are not detected by the call
 * sites of MPI; the phases reported here are measured (doc/user/measuring.md).  One thread, the one
 * that probes.  SPEC-epop M1 to M4, L1.
 */

#ifndef MPI_EPOP_H_INCLUDED
#define MPI_EPOP_H_INCLUDED

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPIX_T_EPOP_LOOPS_MAX 64
#define MPIX_T_EPOP_NO_LOOP (-1)

/* Whether an adaptation can take place in the phase.  MPIX_T_EPOP_ONCE: no, and it has one
 * iteration each time that it is entered; it is reported, but not measured. */
enum { MPIX_T_EPOP_ELASTIC = 1, MPIX_T_EPOP_RIGID = 2, MPIX_T_EPOP_ONCE = 3 };

typedef struct MPIX_T_EPOP_loop {
    uint64_t id;                        /* not 0, of this loop alone, the same in all processes */
    uint32_t kind;                      /* MPIX_T_EPOP_ELASTIC, _RIGID or _ONCE */
    uint32_t element;                   /* number of the phase in the program, for people */
    const char *name;                   /* for people: printable, at most 39 bytes are passed on */
} MPIX_T_EPOP_loop;

#if defined(__GNUC__)
#define MPIX_T_EPOP_PUBLIC __attribute__ ((visibility("default")))
#else
#define MPIX_T_EPOP_PUBLIC
#endif

/* Before MPI is initialised: MPI_SUCCESS.  Later: MPI_T_ERR_INVALID, and no effect. */
MPIX_T_EPOP_PUBLIC int MPI_T_enable_EPOP_mode(void);

/* After MPI_T_enable_EPOP_mode, once, before the first iteration: all loops of the program, at most
 * MPIX_T_EPOP_LOOPS_MAX; they are copied.  MPI_T_ERR_INVALID, and no effect: out of order, or a
 * loop is none; MPI_T_ERR_MEMORY. */
MPIX_T_EPOP_PUBLIC int MPIX_T_EPOP_loops(int count, const MPIX_T_EPOP_loop *loops);

/* An iteration of this loop (its index in `loops`) begins, and the previous one, of whatever loop,
 * is over; MPIX_T_EPOP_NO_LOOP: no loop is running.  `iteration` counts from 0 each time that the
 * loop is entered; `total`: how many there will be, -1: not known.  MPI_T_ERR_INVALID, and no
 * effect: there is no such loop.  Costs some nanoseconds; nothing is sent. */
MPIX_T_EPOP_PUBLIC int MPIX_T_EPOP_iteration(int loop, int64_t iteration, int64_t total);

#ifdef __cplusplus
}
#endif
#endif /* MPI_EPOP_H_INCLUDED */
