/* See state.h. */

#include "state.h"
#include "demux.h"
#include "wire/channel.h"
#include "wire/clock.h"

struct HYD_step HYD_step = {.wake_ms = -1,.abort_ms = -1,.log_fd = -1,.sets_log_fd = -1 };

int64_t HYD_step_now_ms(void)
{
    return (HYD_monotonic_us() - HYD_step.zero_us) / 1000;
}

struct HYD_step_group *HYD_step_find_group(int group)
{
    struct HYD_step_group *g;

    for (g = HYD_step.groups; g && g->group != group; g = g->next);
    return g;
}

void HYD_step_send(const struct HYD_proxy *proxy, struct HYD_pmcd_hdr *hdr, const void *payload,
                   size_t bytes)
{
    int fd = proxy->control_fd, sent, closed;

    if (fd == HYD_FD_UNSET || fd == HYD_FD_CLOSED || HYD_channel_open(fd) != HYD_SUCCESS)
        return;
    HYDU_sock_write(fd, hdr, sizeof(*hdr), &sent, &closed, HYDU_SOCK_COMM_MSGWAIT);
    if (bytes)
        HYDU_sock_write(fd, payload, (int) bytes, &sent, &closed, HYDU_SOCK_COMM_MSGWAIT);
}

void HYD_step_send_signal(const struct HYD_proxy *proxy, int signum)
{
    struct HYD_pmcd_hdr hdr;

    HYD_pmcd_init_header(&hdr);
    hdr.cmd = SIGNAL;
    hdr.signum = signum;
    HYD_step_send(proxy, &hdr, NULL, 0);
}

void HYD_step_print_message(const char *text)
{
    fflush(stdout);
    fprintf(stderr, "%s\n", text);
    fflush(stderr);
}

void HYD_step_close_fd(int *fd)
{
    if (*fd < 0)
        return;
    if (HYDT_dmx_query_fd_registration(*fd))
        HYDT_dmx_deregister_fd(*fd);
    close(*fd);
    *fd = -1;
}

static int is_up(const struct HYD_proxy *proxy)
{
    const struct HYD_proxy *known = NULL;

    HASH_FIND_INT(HYD_server_info.proxy_hash, &proxy->control_fd, known);
    return known == proxy;
}

int HYD_step_is_awaited(const struct HYD_proxy *proxy)
{
    return proxy->control_fd != HYD_FD_CLOSED && !is_up(proxy);
}
