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

/* HYD_ADAPT_RELAY has come over the control connection. */
HYD_status HYD_relay_from_mpiexec(const char *relay, size_t bytes);

/* ---- for connection.c ------------------------------------------------------------------------ */

/* A whole relay, with a true head, has come from a parent, NULL: from mpiexec. */
HYD_status HYD_relay_take(struct HYD_connection *parent, const char *relay);
/* An answer has come, or reports, as long as the head states. */
HYD_status HYD_relay_take_answer(struct HYD_connection *child, const char *answer);
/* Whether an answer is to come on the connection. */
int HYD_relay_waits_for(const struct HYD_connection *child);
/* The connection is about to end. */
HYD_status HYD_relay_failed(struct HYD_connection *c);

/* ---- what it needs of messages.c ------------------------------------------------------------- */

/* Reports to mpiexec (HYD_ADAPT_RELAYED). */
HYD_status HYD_relay_report(const void *answer, size_t bytes);
/* HYD_sequence_deliver (sequence.h). */
HYD_status HYD_relay_deliver(const struct HYD_adapt_message *message, const char *payload,
                             struct HYD_relay_frozen *answer);

#endif /* PROXY_RELAY_H_INCLUDED */
