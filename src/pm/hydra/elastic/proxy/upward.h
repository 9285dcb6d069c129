/*
 * Reports up the tree of proxies (wire/tree.h).  Equal reports of all proxies to one command (that
 * their processes have prepared, connected, committed; their measurements) go to the proxy from
 * which the last command came.  It combines its own with those of all proxies below it, and sends
 * them on when all are there, or after UPWARD_WAIT_MS. So mpiexec gets a message from each part of
 * the tree, not from each proxy.  A proxy that got the last command from mpiexec itself, and
 * forwarded it to no other, reports to mpiexec directly.
 *
 * A failed proxy above loses no report: a proxy whose connection fails after reports were sent on
 * it notifies mpiexec (HYD_ADAPT_LOST), and mpiexec requests all proxies to repeat directly all
 * reports since their last plan or release (HYD_ADAPT_REPEAT).  Reports are numbered, so mpiexec
 * uses each once.  Measurements are not repeated: the sample omits them.
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

/* The command that is about to be carried out came over this connection, NULL: from mpiexec, for so
 * many proxies, this one and those below it. */
void HYD_upward_path(struct HYD_connection *parent, uint32_t proxies);
/* A plan, or the end of an adaptation, has come: mpiexec has all reports of before. */
void HYD_upward_complete(void);
/* Reports of this proxy; `kind` is one of HYD_goes_up. */
HYD_status HYD_upward_report(uint32_t kind, uint32_t epoch, const void *payload, size_t bytes);
/* Before a report that goes to mpiexec directly and must not arrive before those: they go directly
 * as well, again. */
HYD_status HYD_upward_repeat(void);
/* HYD_ADAPT_REPEAT has come. */
HYD_status HYD_upward_repeat_all(void);

/* Sends what waits. */
HYD_status HYD_upward_flush(void);

/* For the event loop: milliseconds until HYD_upward_due wants to be called, <0: nothing waits. */
int64_t HYD_upward_wait_ms(void);
void HYD_upward_due(void);

/* ---- for relay.c ----------------------------------------------------------------------------- */

/* Reports have come from below, as their head states.  0: one of them cannot be true, nor was the
 * rest taken. */
int HYD_upward_take(const char *message, HYD_status * status);
/* A connection that was accepted is about to end. */
HYD_status HYD_upward_failed(struct HYD_connection *c);

/* ---- what it needs of messages.c ------------------------------------------------------------- */

struct HYD_relay_origin HYD_upward_origin(void);
HYD_status HYD_upward_to_mpiexec(uint32_t kind, uint32_t epoch, uint32_t sequence,
                                 const void *payload, size_t bytes);

#endif /* PROXY_UPWARD_H_INCLUDED */
