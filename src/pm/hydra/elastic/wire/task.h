/*
 * Payloads of STEP_TASK and REPORT_TASK: processes that programs start one by one.  Each is
 * identified by the uid of the process that started it, and a number that this process uses only
 * once.
 */

#ifndef WIRE_TASK_H_INCLUDED
#define WIRE_TASK_H_INCLUDED

#include <stdint.h>

/* The header of output of a process with its own pipes (proxy/tasks.h) names the process: `pid` is
 * the uid, and `pmi_version` the number.  In the header of other output both are -1. */

enum task_order {
    /* text executable, u32 n, n * text argument; a text is u32 bytes, then these */
    TASK_RUN = 1,
    TASK_SIGNAL,                /* name of the signal, without SIG */
    TASK_END                    /* SIGTERM, and later SIGKILL */
};

/* head of an order, or of a report; in a report the reason follows why it could not be executed */
struct task_head {
    uint32_t uid, number;
    /* enum task_order; in a report PMI_TASK_STARTED or PMI_TASK_EXITED */
    uint32_t kind;
    uint32_t code;              /* in a report about its end: exit code as in a shell */
};

#endif /* WIRE_TASK_H_INCLUDED */
