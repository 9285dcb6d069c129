/* See newcomers.h. */

#include "state.h"
#include "newcomers.h"

#define STRANGERS_MAX 64

static struct HYD_newcomer *newcomers = NULL;

static struct HYD_newcomer *find(int fd)
{
    struct HYD_newcomer *n;

    for (n = newcomers; n && n->fd != fd; n = n->next);
    return n;
}

void HYD_newcomers_remove(struct HYD_newcomer *newcomer)
{
    struct HYD_newcomer **link;

    for (link = &newcomers; *link && *link != newcomer; link = &(*link)->next);
    if (*link)
        *link = newcomer->next;
    MPL_free(newcomer);
}

static struct HYD_newcomer *note(int fd)
{
    struct HYD_newcomer *n = MPL_calloc(1, sizeof(*n), MPL_MEM_PM), **end;

    if (!n)
        return NULL;
    n->fd = fd;
    for (end = &newcomers; *end; end = &(*end)->next);
    *end = n;
    return n;
}

struct HYD_newcomer *HYD_newcomers_of(int fd)
{
    struct HYD_newcomer *n = find(fd);

    return n ? n : note(fd);
}

static int proxies_to_come(void)
{
    int n = 0;

    for (const struct HYD_pg * pg = &HYD_server_info.pg_list; pg; pg = pg->next)
        for (const struct HYD_proxy * p = pg->proxy_list; p; p = p->next)
            n += HYD_step_is_awaited(p);
    return n;
}

/* The event loop closes the descriptor when it detects that the other end is closed.  A registered
 * descriptor must not be closed here. */
static void cut_off_oldest(void)
{
    for (struct HYD_newcomer * n = newcomers; n; n = n->next) {
        if (n->leaving)
            continue;
        n->leaving = 1;
        shutdown(n->fd, SHUT_RDWR);
        return;
    }
}

void HYD_newcomers_accepted(int fd)
{
    int n = 0;

    HYDU_sock_cloexec(fd);
    for (const struct HYD_newcomer * c = newcomers; c; c = c->next)
        n += !c->leaving;
    if (n >= STRANGERS_MAX && n >= STRANGERS_MAX + proxies_to_come())
        cut_off_oldest();
    note(fd);
}

void HYD_newcomers_await_nobody(void)
{
    for (struct HYD_pg * pg = &HYD_server_info.pg_list; pg; pg = pg->next)
        for (struct HYD_proxy * p = pg->proxy_list; p; p = p->next) {
            if (!HYD_step_is_awaited(p))
                continue;
            HYD_newcomers_remove(find(p->control_fd));
            HYD_step_close_fd(&p->control_fd);
            p->control_fd = HYD_FD_CLOSED;
        }
}
