/*
 * Connections between proxies, for the tree of wire/tree.h.  The proxy that made a connection sends
 * relays on it and receives replies.  The proxy that accepted it does the reverse, after it has
 * received the key. relay.h handles complete messages.  Single-threaded; nothing blocks: data that
 * a connection does not accept at once waits in its queue.
 */

#ifndef PROXY_CONNECTION_H_INCLUDED
#define PROXY_CONNECTION_H_INCLUDED

#include "hydra.h"
#include "wire/send_queue.h"
#include "wire/tree.h"

struct HYD_connection;

/* HYD_ADAPT_LISTEN has arrived; sets the port, in host order. */
HYD_status HYD_connection_listen(const char *payload, size_t bytes, uint16_t * port);
/* A connection to this proxy, possibly not established yet; NULL: impossible. */
struct HYD_connection *HYD_connection_to(uint32_t address, uint16_t port);
/* Takes over one reference to the block, which the next HYD_connection_send sends. */
void HYD_connection_queue(struct HYD_connection *c, struct HYD_block *block);
HYD_status HYD_connection_send(struct HYD_connection *c);
/* Makes the connection end at the next event of its descriptor; frees nothing. */
void HYD_connection_break(struct HYD_connection *c);
int HYD_connection_is_broken(const struct HYD_connection *c);

#endif /* PROXY_CONNECTION_H_INCLUDED */
