/*
 * Reports of a proxy to mpiexec.  Reports that all of its processes make at about the same time
 * (initialised, ready, ended) are sent together.  Such a report waits until the last process has
 * made it, another report is sent, or REPORTS_WAIT_MS have passed.  So mpiexec gets one message
 * from each proxy, not one for each process, and no report is delayed by more than REPORTS_WAIT_MS.
 * Reports stay in order.
 *
 * State: the waiting reports, owned by reports.c; used from the event loop only.  At most
 * REPORTS_WAIT_BYTES wait.
 */

#ifndef PROXY_REPORTS_H_INCLUDED
#define PROXY_REPORTS_H_INCLUDED

#include <stdint.h>
#include "hydra.h"

#define REPORTS_WAIT_MS 10
#define REPORTS_WAIT_BYTES (256 * 1024)

/* `kind`: enum step_report or HYD_adapt_kind.  `sequence`: of the command to which it replies, 0:
 * none. */
HYD_status HYD_reports_send(uint32_t kind, uint32_t epoch, uint32_t sequence, const void *payload,
                            size_t bytes);
/* As HYD_reports_send, but the report may wait for others.  Needs the event loop of
 * wire/event_loop.h. */
HYD_status HYD_reports_gather(uint32_t kind, uint32_t epoch, const void *payload, size_t bytes);
/* Sends the waiting reports. */
HYD_status HYD_reports_flush(void);
/* Whether gathered reports have been sent; the first one is REPORT_INIT. */
int HYD_reports_have_begun(void);

/* For the event loop: milliseconds until the call of HYD_reports_due, <0: no report waits. */
int64_t HYD_reports_wait_ms(void);
void HYD_reports_due(void);

#endif /* PROXY_REPORTS_H_INCLUDED */
