/*
 * The hook of each MPI function that can communicate (src/binding/c/measured_calls.py) by which the loops of an
 * adaptive program are measured: src/mpi/adapt/adapt_measure.c.  In rigid programs, and in iterations that are not
 * measured, it is one load and one branch that is predicted.
 */

#ifndef MPIR_MEASURE_H_INCLUDED
#define MPIR_MEASURE_H_INCLUDED

/* Of the call: what it does (enum perf_kind), or that it is no step of the program, only takes time. */
enum MPIR_Measure_kind {
    MPIR_MEASURE_P2P,
    MPIR_MEASURE_RMA,
    MPIR_MEASURE_COLLECTIVE,
    MPIR_MEASURE_IO,
    MPIR_MEASURE_MANAGE,
    MPIR_MEASURE_PROBE,
    MPIR_MEASURE_ASIDE
};

/* Whether the iteration under way is measured: changes in MPI_Probe_adapt only. */
extern int MPIR_Measure_on ATTRIBUTE((visibility("hidden")));

void MPIR_Measure_enter(enum MPIR_Measure_kind kind, const void *site);
void MPIR_Measure_leave(void);

/* In the body of the outermost entry point, whose caller is the site. */
#define MPIR_MEASURED(kind, call)                                       \
    do {                                                                \
        if (unlikely(MPIR_Measure_on)) {                                \
            int measured_errno;                                         \
            MPIR_Measure_enter(MPIR_MEASURE_##kind, __builtin_return_address(0)); \
            measured_errno = call;                                      \
            MPIR_Measure_leave();                                       \
            return measured_errno;                                      \
        }                                                               \
        return call;                                                    \
    } while (0)

#endif /* MPIR_MEASURE_H_INCLUDED */
