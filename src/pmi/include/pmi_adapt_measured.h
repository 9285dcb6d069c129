/*
 * What a process has measured of the loop that probes, in its slot of the board (pmi_adapt.h): how the process
 * writes it and the node daemon reads it, without ever waiting for each other.  perf_seq is odd while the process
 * writes; what was read between two equal even values of it is whole.
 *
 * As pmi_adapt.h: plain C11/C++20, compiled into libmpi, Hydra and the tests.
 */

#ifndef PMI_ADAPT_MEASURED_H_INCLUDED
#define PMI_ADAPT_MEASURED_H_INCLUDED

#include "pmi_adapt.h"

#define PMI_ADAPT_READ_ATTEMPTS 4

struct pmi_adapt_measured {
    uint64_t iterations, loop_ns, mpi_ns;       /* since the last commit; of these iterations */
    uint32_t every;             /* one iteration is measured in so many; 0: none is, nothing is known */
};

/* By the process of the slot alone. */
static inline void pmi_adapt_write_measured(struct pmi_adapt_slot *slot,
                                            const struct pmi_adapt_measured *measured)
{
    uint32_t seq = slot->perf_seq;

    __atomic_store_n(&slot->perf_seq, seq + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&slot->perf_iterations, measured->iterations, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->perf_loop_ns, measured->loop_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->perf_mpi_ns, measured->mpi_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->perf_every, measured->every, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->perf_seq, seq + 2, __ATOMIC_RELEASE);
}

/* 0 if the process was writing each time; then nothing is known. */
static inline int pmi_adapt_read_measured(const struct pmi_adapt_slot *slot,
                                          struct pmi_adapt_measured *measured)
{
    for (int i = 0; i < PMI_ADAPT_READ_ATTEMPTS; i++) {
        uint32_t seq = __atomic_load_n(&slot->perf_seq, __ATOMIC_ACQUIRE);
        measured->iterations = __atomic_load_n(&slot->perf_iterations, __ATOMIC_RELAXED);
        measured->loop_ns = __atomic_load_n(&slot->perf_loop_ns, __ATOMIC_RELAXED);
        measured->mpi_ns = __atomic_load_n(&slot->perf_mpi_ns, __ATOMIC_RELAXED);
        measured->every = __atomic_load_n(&slot->perf_every, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (seq % 2 == 0 && __atomic_load_n(&slot->perf_seq, __ATOMIC_RELAXED) == seq)
            return 1;
    }
    return 0;
}

#endif /* PMI_ADAPT_MEASURED_H_INCLUDED */
