/*
 * The node daemon's part in the tree of daemons (wire/tree.h): it takes relays in, passes their parts on, and answers
 * when all of its parts have answered.  State and connections are owned by relay.c, used from the event loop only.
 * Comes after hydra.h.
 */

#ifndef PROXY_RELAY_H_INCLUDED
#define PROXY_RELAY_H_INCLUDED

#include "wire/tree.h"

/* HYD_ADAPT_LISTEN has come; sets the port, in host order. */
HYD_status HYD_relay_listen(const char *payload, size_t bytes, uint16_t * port);
/* HYD_ADAPT_RELAY has come over the control connection. */
HYD_status HYD_relay_from_mpiexec(const char *relay, size_t bytes);

/* What it needs of agent.c: carries out a command in its turn; if that is now, and it is answered at
 * once, the answer goes to *frozen (else its sequence stays 0), */
HYD_status HYD_relay_deliver(const struct HYD_adapt_message *message, const char *payload,
                             struct HYD_relay_frozen *frozen);
/* and reports to mpiexec (HYD_ADAPT_RELAYED). */
HYD_status HYD_relay_report(const void *answer, size_t bytes);

#endif /* PROXY_RELAY_H_INCLUDED */
