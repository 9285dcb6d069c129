/*
 * Reports of a proxy to mpiexec.  Reports that all of its processes make at about the same time
 * (that they have initialised, that they are ready, that they have ended) go up together: such a
 * report waits until the last process has made it, another report is sent, or REPORTS_WAIT_MS have
 * passed.  So mpiexec gets one message for each proxy, not one for each process, and no report is
 * late by more than that.  Reports stay in order.
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

/* `kind`: enum step_report or HYD_adapt_kind.  `sequence`: of the command that it answers, 0:
 * none. */
HYD_status HYD_reports_send(uint32_t kind, uint32_t epoch, uint32_t sequence, const void *payload,
                            size_t bytes);
/* May wait for others.  The event loop of wire/event_loop.h must be in use. */
HYD_status HYD_reports_gather(uint32_t kind, uint32_t epoch, const void *payload, size_t bytes);
/* Sends what waits. */
HYD_status HYD_reports_flush(void);
/* Whether reports that waited have been sent; the first of all is REPORT_INIT. */
int HYD_reports_have_begun(void);

/* For the event loop: milliseconds until HYD_reports_due wants to be called, <0: nothing waits. */
int64_t HYD_reports_wait_ms(void);
void HYD_reports_due(void);

#endif /* PROXY_REPORTS_H_INCLUDED */
