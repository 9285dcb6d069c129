/*
 * The payload of REPORT_PERFORMANCE: this head, its rows, and the loops of these processes
 * (loop_set.h).
 */

#ifndef WIRE_SAMPLE_H_INCLUDED
#define WIRE_SAMPLE_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct HYD_sample_head {
    uint32_t rows;              /* one for each process */
    /* number of processes whose graph is unreadable, invalid or of another epoch */
    uint32_t stale;
};

struct HYD_sample_row {         /* of the loop that probes, as in struct pmi_adapt_slot */
    uint32_t rank, every;
    uint64_t count, iterations, loop_ns, mpi_ns;
    /* position, as in struct pmi_adapt_position; phase 0: not known */
    uint64_t phase, iteration;
    int64_t total;
    uint64_t element;
};

/* Offset of the loops; 0: the payload is invalid. */
static inline size_t HYD_sample_loops_at(const void *payload, size_t bytes)
{
    struct HYD_sample_head head;

    if (bytes < sizeof(head))
        return 0;
    memcpy(&head, payload, sizeof(head));
    if (head.rows > (bytes - sizeof(head)) / sizeof(struct HYD_sample_row))
        return 0;
    return sizeof(head) + head.rows * sizeof(struct HYD_sample_row);
}

#endif /* WIRE_SAMPLE_H_INCLUDED */
