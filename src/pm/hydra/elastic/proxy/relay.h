/*
 * The proxy's part in the tree of proxies (wire/tree.h): it receives relays, forwards their parts,
 * and replies when all of its parts have replied.  State is owned by relay.c, used from the event
 * loop only.
 */

#ifndef PROXY_RELAY_H_INCLUDED
#define PROXY_RELAY_H_INCLUDED

#include "hydra.h"
#include "wire/message.h"
#include "wire/tree.h"

struct HYD_connection;

/* HYD_ADAPT_RELAY has arrived on the control connection. */
HYD_status HYD_relay_from_mpiexec(const char *relay, size_t bytes);

/* ---- for connection.c ------------------------------------------------------------------------ */

/* A complete relay with a valid head has arrived from `parent`, NULL: from mpiexec. */
HYD_status HYD_relay_take(struct HYD_connection *parent, const char *relay);
/* A complete reply or complete reports have arrived. */
HYD_status HYD_relay_take_answer(struct HYD_connection *child, const char *answer);
/* Whether a reply is pending on the connection. */
int HYD_relay_waits_for(const struct HYD_connection *child);
/* The connection will be closed next. */
HYD_status HYD_relay_failed(struct HYD_connection *c);

/* ---- what it needs of messages.c ------------------------------------------------------------- */

/* Reports to mpiexec (HYD_ADAPT_RELAYED). */
HYD_status HYD_relay_report(const void *answer, size_t bytes);
/* HYD_sequence_deliver (sequence.h). */
HYD_status HYD_relay_deliver(const struct HYD_adapt_message *message, const char *payload,
                             struct HYD_relay_frozen *answer);

#endif /* PROXY_RELAY_H_INCLUDED */
