/* See keepalive.h. */

/* Not hydra.h: it brings <netinet/tcp.h>, whose struct tcp_info lacks the counters. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "keepalive.h"

#define CHECK_MS 3000
#define UNANSWERED_MIN 3        /* segments: one or two may have been lost */

struct watched {
    int fd;
    uint32_t came;              /* received segments at the last check */
    uint32_t sent;              /* sent segments when the last one was received */
    int64_t came_ms;            /* time at which that was detected, <0: not yet */
};

static struct watched *list = NULL;
static int n_watched = 0, capacity = 0;
static int64_t next_ms = -1;

int64_t HYD_keepalive_next(void)
{
    return n_watched ? next_ms : -1;
}

static int query_when_idle(int fd)
{
    const int on = 1, idle_s = HYD_KEEPALIVE_S / 3, every_s = HYD_KEEPALIVE_S / 6, count = 4;

    return setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s)) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s)) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) < 0 ? -1 : 0;
}

void HYD_keepalive_watch(int fd)
{
    for (int i = 0; i < n_watched; i++)
        if (list[i].fd == fd)
            return;
    if (query_when_idle(fd) < 0)
        return;
    if (n_watched == capacity) {
        struct watched *grown = realloc(list, (size_t) (2 * capacity + 8) * sizeof(*list));
        if (!grown)
            return;             /* keep-alive remains */
        list = grown;
        capacity = 2 * capacity + 8;
    }
    list[n_watched++] = (struct watched) {.fd = fd,.came_ms = -1 };
    next_ms = n_watched == 1 ? 0 : next_ms;
}

void HYD_keepalive_remove(int fd)
{
    for (int i = 0; i < n_watched; i++)
        if (list[i].fd == fd) {
            list[i] = list[--n_watched];
            return;
        }
}

static int is_silent(struct watched *w, int64_t now_ms)
{
    struct tcp_info info;
    socklen_t bytes = sizeof(info);

    if (getsockopt(w->fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) < 0 ||
        bytes < offsetof(struct tcp_info, tcpi_segs_in) + sizeof(info.tcpi_segs_in))
        return 0;               /* a kernel before 4.2 */
    if (w->came_ms < 0 || info.tcpi_segs_in != w->came) {
        w->came = info.tcpi_segs_in;
        w->sent = info.tcpi_segs_out;
        w->came_ms = now_ms;
    }
    return info.tcpi_segs_out - w->sent >= UNANSWERED_MIN &&
        now_ms - w->came_ms >= (HYD_KEEPALIVE_S * 1000 - 2 * CHECK_MS) &&
        info.tcpi_last_ack_recv >= HYD_KEEPALIVE_S * 1000 - CHECK_MS;
}

void HYD_keepalive_check(int64_t now_ms)
{
    if (now_ms < next_ms)
        return;
    next_ms = now_ms + CHECK_MS;
    for (int i = 0; i < n_watched; i++)
        if (is_silent(&list[i], now_ms))
            shutdown(list[i].fd, SHUT_RDWR);
}
