/*
 * Size requests (MPIX_Adapt_request): a request of a process for a size of the world, sent to the
 * step manager as a line of the PMI connection, and its end on the board (pmi_adapt.h).  Each size
 * request has exactly one end.
 *
 *   cmd=adapt_wish id=N kind=K size=S min=A max=B until=MS why=<hex>
 *                                      a size request of this process: its number, 1, 2, ..., the
 *                                      wanted size and those that it can do with, Unix time after
 *                                      which it is void (0: none), a text for people
 *   cmd=adapt_wish_withdraw id=N       it is withdrawn
 *
 * The proxy writes the end of size request N to entry N % PMI_ADAPT_REQUESTS of the slot's entries,
 * `number` last.  So a process can read the ends of its last PMI_ADAPT_REQUESTS size requests; the
 * other fields are valid once it finds the number.
 *
 * As pmi_adapt.h: plain C11/C++20, compiled into libmpi, Hydra and the tests.
 */

#ifndef PMI_ADAPT_REQUEST_H_INCLUDED
#define PMI_ADAPT_REQUEST_H_INCLUDED

#include <stdint.h>
#include <string.h>

#define PMI_ADAPT_REQUESTS 8
#define PMI_ADAPT_REQUEST_REASON_MAX 255   /* bytes of a text, without the 0 */
#define PMI_ADAPT_REQUEST_NUMBER_MAX 0x7fffffff

enum pmi_adapt_request_kind {
    PMI_ADAPT_REQUEST_PROCESSES = 1,       /* another size of the world */
    /* the same, by MPIX_Comm_modify: all processes wait for it */
    PMI_ADAPT_REQUEST_MODIFY = 2
};

/* The reason why a request of MPIX_Comm_modify is refused, if it has an error code of its own. */
enum pmi_adapt_request_cause {
    PMI_ADAPT_REQUEST_NO_CAUSE = 0,
    /* another adaptation is agreed on: retry when that is committed */
    PMI_ADAPT_REQUEST_AGAIN = 1,
    PMI_ADAPT_REQUEST_SETS = 2     /* the job changes through process sets */
};

enum pmi_adapt_request_state {     /* as MPIX_ADAPT_REQUEST_*: values never change */
    PMI_ADAPT_REQUEST_OPEN = 0,
    PMI_ADAPT_REQUEST_GRANTED = 1,
    PMI_ADAPT_REQUEST_REFUSED = 2,
    PMI_ADAPT_REQUEST_WITHDRAWN = 3
};

struct pmi_adapt_request_end {
    uint32_t number;            /* of the size request; 0: the entry is empty */
    uint32_t state;             /* enum pmi_adapt_request_state, not OPEN */
    uint32_t size;              /* of the world at that time */
    uint32_t cause;             /* enum pmi_adapt_request_cause */
    char reason[PMI_ADAPT_REQUEST_REASON_MAX + 1]; /* ended by 0; empty if it is granted */
};

/* The entries of one slot, in the board's pages. */
struct pmi_adapt_request_ends {
    struct pmi_adapt_request_end ends[PMI_ADAPT_REQUESTS];
};

/* Called only by the proxy. */
static inline void pmi_adapt_write_request_end(struct pmi_adapt_request_ends *ends,
                                               const struct pmi_adapt_request_end *end)
{
    struct pmi_adapt_request_end *entry = &ends->ends[end->number % PMI_ADAPT_REQUESTS];

    __atomic_store_n(&entry->number, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    entry->state = end->state;
    entry->size = end->size;
    entry->cause = end->cause;
    memcpy(entry->reason, end->reason, sizeof(entry->reason));
    __atomic_store_n(&entry->number, end->number, __ATOMIC_RELEASE);
}

/* Called by the process of the slot. 0: the size request is still open. */
static inline int pmi_adapt_read_request_end(const struct pmi_adapt_request_ends *ends,
                                             uint32_t number, struct pmi_adapt_request_end *end)
{
    const struct pmi_adapt_request_end *entry = &ends->ends[number % PMI_ADAPT_REQUESTS];

    if (__atomic_load_n(&entry->number, __ATOMIC_ACQUIRE) != number)
        return 0;
    *end = *entry;
    end->reason[PMI_ADAPT_REQUEST_REASON_MAX] = '\0';
    return end->state != PMI_ADAPT_REQUEST_OPEN;
}

/* Whether a text for people has no control characters; UTF-8 is not checked. */
static inline int pmi_adapt_request_reason_holds(const char *text, size_t bytes)
{
    if (bytes > PMI_ADAPT_REQUEST_REASON_MAX)
        return 0;
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char) text[i] < ' ' || text[i] == 0x7f)
            return 0;
    return 1;
}

#endif /* PMI_ADAPT_REQUEST_H_INCLUDED */
