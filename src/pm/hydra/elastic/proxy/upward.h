/*
 * Reports up the tree of daemons (wire/tree.h).  What every daemon has to say to the same command (that its processes
 * have prepared, been greeted, committed; what they measure) goes to the daemon from which the last command came,
 * which puts together its own and those of all daemons below it, and sends them on when all are there, or after
 * UPWARD_WAIT_MS.  So mpiexec gets a message from each part of the tree, not from each daemon.  A daemon to which
 * mpiexec itself sent the last command, and that passed it to nobody, reports to it directly.
 *
 * Nothing is lost with a daemon above: who loses a connection that reports have gone out on tells mpiexec
 * (HYD_ADAPT_LOST), which has all daemons repeat directly what they have said since their last plan or release
 * (HYD_ADAPT_REPEAT).  Reports are numbered, so mpiexec takes each once.  What is measured is not repeated: the
 * sample goes without.
 *
 * State: the way up, the reports that wait, the own ones of this adaptation; owned by upward.c, used from the event
 * loop only.  At most UPWARD_WAIT_BYTES and one report wait.
 */

#ifndef PROXY_UPWARD_H_INCLUDED
#define PROXY_UPWARD_H_INCLUDED

#include "hydra.h"
#include "wire/tree.h"

#define UPWARD_WAIT_MS 10
#define UPWARD_WAIT_BYTES (256 * 1024)

struct HYD_connection;

/* The command that is about to be carried out came over this connection, NULL: from mpiexec, for so many daemons, this
 * one and those below it. */
void HYD_upward_path(struct HYD_connection *parent, uint32_t daemons);
/* A plan, or the end of an adaptation, has come: mpiexec has all reports of before. */
void HYD_upward_settled(void);
/* Reports of this daemon; `kind` is one of HYD_goes_up. */
HYD_status HYD_upward_report(uint32_t kind, uint32_t epoch, const void *payload, size_t bytes);
/* Before a report that goes to mpiexec directly and must not arrive before those: they go directly as well, again. */
HYD_status HYD_upward_repeat(void);
/* HYD_ADAPT_REPEAT has come. */
HYD_status HYD_upward_repeat_all(void);

/* Sends what waits. */
HYD_status HYD_upward_flush(void);

/* For the event loop: milliseconds until HYD_upward_due wants to be called, <0: nothing waits. */
int64_t HYD_upward_wait_ms(void);
void HYD_upward_due(void);

/* ---- for relay.c --------------------------------------------------------------------------------- */

/* Reports have come from below, as long as their head says.  0: one of them cannot be true, nor was the rest taken. */
int HYD_upward_take(const char *message, HYD_status * status);
/* A connection that was accepted is about to end. */
HYD_status HYD_upward_lost(struct HYD_connection *c);

/* ---- what it needs of messages.c ----------------------------------------------------------------- */

struct HYD_relay_origin HYD_upward_origin(void);
HYD_status HYD_upward_to_mpiexec(uint32_t kind, uint32_t epoch, uint32_t sequence, const void *payload,
                                 size_t bytes);

#endif /* PROXY_UPWARD_H_INCLUDED */
