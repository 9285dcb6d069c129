/*
 * The ports on which proxies listen for each other, for the tree of relay.c.  Proxies of hosts
 * that another one could not reach are not put into the tree again.  State: the key of the tree.
 */

#include "state.h"
#include "relay.h"
#include <arpa/inet.h>
#include <sys/random.h>
#include "wire/tree.h"

static char key[HYD_RELAY_KEY_BYTES];
static int has_key = 0;

/* IPv4 address of one end of a connection, in network order; 0: not a network. */
static uint32_t address_of(int fd, int (*end) (int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_in a = {.sin_family = AF_UNSPEC };
    socklen_t bytes = sizeof(a);

    if (end(fd, (struct sockaddr *) &a, &bytes) < 0 || a.sin_family != AF_INET)
        return 0;
    return a.sin_addr.s_addr;
}

/* The address of this host for other hosts; the loopback if there are no others. */
uint32_t HYD_step_relay_own_address(void)
{
    for (const struct HYD_step_group * g = HYD_step.groups; g; g = g->next)
        for (int i = 0; i < g->proxy_count; i++) {
            if (!HYD_step_relay_can_send(&g->proxies[i]))
                continue;
            uint32_t ours = address_of(g->proxies[i].proxy->control_fd, getsockname);
            if (ours && ours != address_of(g->proxies[i].proxy->control_fd, getpeername))
                return ours;
        }
    return htonl(INADDR_LOOPBACK);
}

/* Applies to all proxies on the host, also to later ones. */
void HYD_step_relay_note_unreached(const struct HYD_step_proxy *p)
{
    for (struct HYD_step_group * g = p ? HYD_step.groups : NULL; g; g = g->next)
        for (int i = 0; i < g->proxy_count; i++)
            if (g->proxies[i].node == p->node)
                g->proxies[i].unreached = 1;
}

static int host_unreached(const struct HYD_step_proxy *p)
{
    for (const struct HYD_step_group * g = HYD_step.groups; g; g = g->next)
        for (int i = 0; i < g->proxy_count; i++)
            if (g->proxies[i].node == p->node && g->proxies[i].unreached)
                return 1;
    return 0;
}

/* A proxy on this host is connected from this host's address, or not by a network. */
void HYD_step_relay_listens(struct HYD_step_proxy *p, const char *payload, size_t bytes)
{
    uint32_t theirs = address_of(p->proxy->control_fd, getpeername);
    uint16_t port = 0;

    memcpy(&port, payload, bytes < sizeof(port) ? 0 : sizeof(port));
    p->listen_port = htons(port);
    p->unreached = host_unreached(p);
    p->address = theirs != address_of(p->proxy->control_fd, getsockname) ? theirs : 0;
}

static void request_to_listen(struct HYD_step_proxy *p)
{
    const char *range = HYD_server_info.port_range ? HYD_server_info.port_range : "";
    char payload[sizeof(key) + 64];

    if (p->requested_to_listen || !HYD_step_relay_can_send(p))
        return;
    if (!has_key && getrandom(key, sizeof(key), 0) != sizeof(key))
        return;                 /* then without a tree */
    has_key = 1;
    p->requested_to_listen = 1;
    memcpy(payload, key, sizeof(key));
    int n = MPL_snprintf(payload + sizeof(key), sizeof(payload) - sizeof(key), "%s", range);
    HYD_step_send_message(p, HYD_ADAPT_LISTEN, payload, sizeof(key) + (size_t) n + 1);
}

void HYD_step_relay_prepare(void)
{
    int n = 0;

    for (const struct HYD_step_group * g = HYD_step.groups; g; g = g->next)
        for (int i = 0; i < g->proxy_count; i++)
            n += !g->proxies[i].ended;
    if (HYD_step.fanout == 0 || n <= HYD_step.fanout)
        return;
    for (struct HYD_step_group * g = HYD_step.groups; g; g = g->next)
        for (int i = 0; i < g->proxy_count; i++)
            request_to_listen(&g->proxies[i]);
}
