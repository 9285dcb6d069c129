/*
 * Payloads of STEP_TASK and REPORT_TASK: processes that programs start one by one.  Each is
 * identified by the uid of the process that started it, and its number there, which is never used
 * twice.
 */

#ifndef WIRE_TASK_H_INCLUDED
#define WIRE_TASK_H_INCLUDED

#include <stdint.h>

/* Output of a process with pipes of its own (proxy/tasks.h) has its name in the header: `pid` is
 * the uid, and `pmi_version` the number.  In the header of other output both are -1. */

enum task_order {
    /* text executable, u32 n, n * text argument; a text is u32 bytes, then these */
    TASK_RUN = 1,
    TASK_SIGNAL,                /* name of the signal, without SIG */
    TASK_END                    /* SIGTERM, and later SIGKILL */
};

/* of an order; of a report, followed by why it could not be executed */
struct task_head {
    uint32_t uid, number;
    /* enum task_order; in a report PMI_TASK_STARTED or PMI_TASK_EXITED */
    uint32_t kind;
    uint32_t code;              /* in a report that it has ended, as of a shell */
};

#endif /* WIRE_TASK_H_INCLUDED */
