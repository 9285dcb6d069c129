/*
 * The hook in each MPI function that can communicate (src/binding/c/measured_calls.py): with it
 * src/mpi/adapt/adapt_measure.c measures the loops of an adaptive program.  In rigid programs, and
 * in iterations that are not measured, it costs one load and one predicted branch.
 */

#ifndef MPIR_MEASURE_H_INCLUDED
#define MPIR_MEASURE_H_INCLUDED

/* Kind of the call (enum perf_kind); or the call is no step of the program and only takes time. */
enum MPIR_Measure_kind {
    MPIR_MEASURE_P2P,
    MPIR_MEASURE_RMA,
    MPIR_MEASURE_COLLECTIVE,
    MPIR_MEASURE_IO,
    MPIR_MEASURE_MANAGE,
    MPIR_MEASURE_PROBE,
    MPIR_MEASURE_ASIDE
};

/* 1 while the present iteration is measured, else 0; it changes only in MPI_Probe_adapt.  Entry
 * points test one bit: a compiler that knows a whole word to be 0 keeps it in a register for later
 * use, and the entry point has one register less than stock MPICH's. test/install/run examines the
 * machine code. */
extern int MPIR_Measure_on ATTRIBUTE((visibility("hidden")));
#define MPIR_MEASURE_IS_ON unlikely(MPIR_Measure_on & 1)

void MPIR_Measure_enter(enum MPIR_Measure_kind kind, const void *site);
void MPIR_Measure_leave(void);

/* The next call of the measured thread has the identity `id` instead of that of its address. */
void MPIR_Measure_set_site(int id);

/* An entry point, for example PMPI_Send, begins with the branch and continues as in stock MPICH
 * with internal_Send, which is inlined.  In measured iterations it jumps to measured_Send.  This
 * has the same parameters, so it needs no frame of the entry point and sees its return address. */
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
