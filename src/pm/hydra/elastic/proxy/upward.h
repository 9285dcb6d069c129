/*
 * Reports up the tree of proxies (wire/tree.h).  Reports that all proxies make to one command
 * (processes have prepared, connected or committed; measurements) are sent to the proxy from which
 * the last command came.  That proxy combines its own with those of all proxies below it, and
 * forwards them when all have arrived, or after UPWARD_WAIT_MS.  So mpiexec gets one message from
 * each part of the tree, not from each proxy.  A proxy that received the last command from mpiexec,
 * and forwarded it to no other proxy, reports to mpiexec directly.
 *
 * If a proxy above fails, no report is lost: a proxy whose connection fails after it sent reports
 * on it notifies mpiexec (HYD_ADAPT_LOST). mpiexec then requests all proxies to send all reports
 * since their last plan or release again, directly (HYD_ADAPT_REPEAT).  Reports are numbered, so
 * mpiexec uses each once.  Measurements are not repeated: the sample omits them.
 *
 * State: the connection up, waiting reports, own reports of this adaptation; owned by upward.c,
 * used from the event loop only.  At most UPWARD_WAIT_BYTES and one report wait.
 */

#ifndef PROXY_UPWARD_H_INCLUDED
#define PROXY_UPWARD_H_INCLUDED

#include "hydra.h"
#include "wire/tree.h"

#define UPWARD_WAIT_MS 10
#define UPWARD_WAIT_BYTES (256 * 1024)

struct HYD_connection;

/* The next command arrived on this connection, NULL: from mpiexec.  `proxies`: this proxy and those
 * below it. */
void HYD_upward_path(struct HYD_connection *parent, uint32_t proxies);
/* A plan or the end of an adaptation has arrived: mpiexec has all earlier reports. */
void HYD_upward_complete(void);
/* Sends a report of this proxy; HYD_goes_up(kind) holds. */
HYD_status HYD_upward_report(uint32_t kind, uint32_t epoch, const void *payload, size_t bytes);
/* Sends the reports again, directly.  Called before a direct report to mpiexec that must not arrive
 * before them. */
HYD_status HYD_upward_repeat(void);
/* HYD_ADAPT_REPEAT has arrived. */
HYD_status HYD_upward_repeat_all(void);

/* Sends the waiting reports. */
HYD_status HYD_upward_flush(void);

/* For the event loop: milliseconds until the call of HYD_upward_due, <0: no report waits. */
int64_t HYD_upward_wait_ms(void);
void HYD_upward_due(void);

/* ---- for relay.c ----------------------------------------------------------------------------- */

/* Complete reports have arrived from below. 0: one of them is invalid; it and later ones were not
 * taken. */
int HYD_upward_take(const char *message, HYD_status * status);
/* An accepted connection will be closed next. */
HYD_status HYD_upward_failed(struct HYD_connection *c);

/* ---- what it needs of messages.c ------------------------------------------------------------- */

struct HYD_relay_origin HYD_upward_origin(void);
HYD_status HYD_upward_to_mpiexec(uint32_t kind, uint32_t epoch, uint32_t sequence,
                                 const void *payload, size_t bytes);

#endif /* PROXY_UPWARD_H_INCLUDED */
