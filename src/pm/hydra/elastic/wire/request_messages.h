/*
 * Payloads of REPORT_SIZE_REQUEST and STEP_SIZE_REQUEST_ENDED (kinds.h): a size request of a
 * process to mpiexec, and its end to all proxies whose processes have made it.  Native byte order.
 * pmi_adapt_request.h has the valid values.
 */

#ifndef WIRE_REQUEST_MESSAGES_H_INCLUDED
#define WIRE_REQUEST_MESSAGES_H_INCLUDED

#include <stdint.h>

struct request_made {              /* followed by the reason, without 0 at its end */
    uint32_t rank;              /* in the group of the process */
    uint32_t number;            /* of the request in that process */
    uint32_t kind;
    uint32_t size, size_min, size_max;
    uint64_t until_ms;          /* Unix time, 0: none */
};

struct request_ended {             /* followed by holders and the reason */
    uint32_t state;             /* enum pmi_adapt_request_state */
    uint32_t size;              /* of the world */
    uint32_t holders;
    uint32_t cause;             /* enum pmi_adapt_request_cause */
};

struct request_holder {
    uint32_t uid, number;
};

#endif /* WIRE_REQUEST_MESSAGES_H_INCLUDED */
