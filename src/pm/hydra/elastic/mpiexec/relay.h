/*
 * Sends commands of the core to proxies, directly or through a tree of proxies (wire/tree.h).
 */

#ifndef MPIEXEC_RELAY_H_INCLUDED
#define MPIEXEC_RELAY_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include "wire/kinds.h"

struct HYD_step_proxy;

struct HYD_step_proxy_id {        /* a proxy, by group and number in it */
    int group, proxy;
};
void HYD_step_send_to_all(const struct HYD_step_proxy_id *to, int n, enum step_command command,
                          uint32_t epoch, const void *payload, size_t bytes);
/* The proxy has connected: sends the deferred commands to it. */
void HYD_step_relay_connected(struct HYD_step_proxy *proxy);
/* Drops the deferred commands of the proxy. */
void HYD_step_relay_drop(struct HYD_step_proxy *proxy);
/* Sends a message of mpiexec itself. */
void HYD_step_send_message(const struct HYD_step_proxy *proxy, uint32_t kind, const void *payload,
                           size_t bytes);
/* HYD_ADAPT_RELAYED has arrived from this proxy, or the proxy has disconnected. */
void HYD_step_relay_answered(int group, int proxy, const char *payload, size_t bytes);
void HYD_step_relay_disconnected(int group, int proxy);
/* HYD_ADAPT_LOST has arrived: after a short delay requests all proxies to repeat their reports,
 * once for several such messages. */
void HYD_step_relay_failed(void);
/* Time at which to call HYD_step_relay_time, <0: never. */
int64_t HYD_step_relay_next(void);
void HYD_step_relay_time(int64_t now_ms);
void HYD_step_relay_finish(void);
/* Whether the proxy has a connection for messages. */
int HYD_step_relay_can_send(const struct HYD_step_proxy *proxy);

/* ---- relay_ports.c ---- */

/* Requests proxies to listen, if there are enough of them for a tree. */
void HYD_step_relay_prepare(void);
/* HYD_ADAPT_LISTENS has arrived from this proxy. */
void HYD_step_relay_listens(struct HYD_step_proxy *proxy, const char *payload, size_t bytes);
/* The address of this host for other hosts, in network order; the loopback if there are no
 * others. */
uint32_t HYD_step_relay_own_address(void);
/* Another proxy could not reach the host of `proxy`, which may be NULL. */
void HYD_step_relay_note_unreached(const struct HYD_step_proxy *proxy);

#endif /* MPIEXEC_RELAY_H_INCLUDED */
