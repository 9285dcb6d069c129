/*
 * The hook of each MPI function that can communicate (src/binding/c/measured_calls.py) by which the
 * loops of an adaptive program are measured: src/mpi/adapt/adapt_measure.c.  In rigid programs, and
 * in iterations that are not measured, it is one load and one branch that is predicted.
 */

#ifndef MPIR_MEASURE_H_INCLUDED
#define MPIR_MEASURE_H_INCLUDED

/* Of the call: what it does (enum perf_kind), or that it is no step of the program, only takes
 * time. */
enum MPIR_Measure_kind {
    MPIR_MEASURE_P2P,
    MPIR_MEASURE_RMA,
    MPIR_MEASURE_COLLECTIVE,
    MPIR_MEASURE_IO,
    MPIR_MEASURE_MANAGE,
    MPIR_MEASURE_PROBE,
    MPIR_MEASURE_ASIDE
};

/* 1 while the iteration under way is measured, else 0: changes in MPI_Probe_adapt only.  Entry
 * points test one bit: a whole word that is known to be 0 afterwards would be retained in a
 * register, as a 0 for later use, and the entry point had one register less than stock MPICH's.
 * test/install/run examines the machine code. */
extern int MPIR_Measure_on ATTRIBUTE((visibility("hidden")));
#define MPIR_MEASURE_IS_ON unlikely(MPIR_Measure_on & 1)

void MPIR_Measure_enter(enum MPIR_Measure_kind kind, const void *site);
void MPIR_Measure_leave(void);

/* The identity of the next call of the measured thread is `id` instead of its address. */
void MPIR_Measure_set_site(int id);

/* An entry point PMPI_Send begins with the branch, and goes on as in stock MPICH: with
 * internal_Send, which is a part of it.  In measured iterations it jumps to measured_Send, which
 * has the same parameters and so needs no frame of the entry point, and sees the return address of
 * that. */
#define MPIR_MEASURED_PART inline ATTRIBUTE((always_inline))
#define MPIR_MEASURED_TWIN ATTRIBUTE((noinline, cold))

/* The body of measured_Send. */
#define MPIR_MEASURE(kind, call)                                        \
    do {                                                                \
        int measured_errno;                                             \
        MPIR_Measure_enter(MPIR_MEASURE_##kind, __builtin_return_address(0)); \
        measured_errno = call;                                          \
        MPIR_Measure_leave();                                           \
        return measured_errno;                                          \
    } while (0)

#endif /* MPIR_MEASURE_H_INCLUDED */
