/*
 * Connections between proxies, for the tree of wire/tree.h: the proxy that made one sends relays on
 * it and receives replies; the proxy that accepted it does the reverse, after it has received the
 * key.  Whole messages go to relay.h.  Single-threaded, nothing blocks: data that a connection does
 * not accept at once wait in its queue.
 */

#ifndef PROXY_CONNECTION_H_INCLUDED
#define PROXY_CONNECTION_H_INCLUDED

#include "hydra.h"
#include "wire/send_queue.h"
#include "wire/tree.h"

struct HYD_connection;

/* HYD_ADAPT_LISTEN has come; sets the port, in host order. */
HYD_status HYD_connection_listen(const char *payload, size_t bytes, uint16_t * port);
/* A connection to that proxy, perhaps one that is not complete yet; NULL: impossible. */
struct HYD_connection *HYD_connection_to(uint32_t address, uint16_t port);
/* Takes over one use of the block, which goes with the next HYD_connection_send. */
void HYD_connection_queue(struct HYD_connection *c, struct HYD_block *block);
HYD_status HYD_connection_send(struct HYD_connection *c);
/* It ends with the next event of its descriptor; nothing is freed here. */
void HYD_connection_break(struct HYD_connection *c);
int HYD_connection_is_broken(const struct HYD_connection *c);

#endif /* PROXY_CONNECTION_H_INCLUDED */
