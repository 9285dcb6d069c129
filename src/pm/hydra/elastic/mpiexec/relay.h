/*
 * Commands of the core to proxies, to each of them or through a tree of them (wire/tree.h).
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
/* The proxy has connected: it gets the commands that were sent before; or they are not needed any
 * more. */
void HYD_step_relay_connected(struct HYD_step_proxy *proxy);
void HYD_step_relay_drop(struct HYD_step_proxy *proxy);
/* A message of mpiexec itself. */
void HYD_step_send_message(const struct HYD_step_proxy *proxy, uint32_t kind, const void *payload,
                           size_t bytes);
/* HYD_ADAPT_RELAYED has come from this proxy, or it has disconnected. */
void HYD_step_relay_answered(int group, int proxy, const char *payload, size_t bytes);
void HYD_step_relay_disconnected(int group, int proxy);
/* HYD_ADAPT_LOST has come: requests all proxies to repeat their reports, soon, and once for all
 * that need it. */
void HYD_step_relay_failed(void);
/* When HYD_step_relay_time has to be called, <0: at no time. */
int64_t HYD_step_relay_next(void);
void HYD_step_relay_time(int64_t now_ms);
void HYD_step_relay_finish(void);
/* Whether it has a connection for messages. */
int HYD_step_relay_can_send(const struct HYD_step_proxy *proxy);

/* ---- relay_ports.c ---- */

/* Requests ports from proxies, if there are enough of them for a tree. */
void HYD_step_relay_prepare(void);
/* HYD_ADAPT_LISTENS has come from this proxy. */
void HYD_step_relay_listens(struct HYD_step_proxy *proxy, const char *payload, size_t bytes);
/* Where other hosts find this one, in network order; if there are none, the loopback. */
uint32_t HYD_step_relay_own_address(void);
/* Another proxy could not reach this one's host.  NULL is none. */
void HYD_step_relay_note_unreached(const struct HYD_step_proxy *proxy);

#endif /* MPIEXEC_RELAY_H_INCLUDED */
