/* See handshake.h. */

#include "hydra_server.h"
#include "connections.h"
#include "core.h"
#include "exits.h"
#include "input.h"
#include "newcomers.h"
#include "wire/channel.h"
#include "demux.h"
#include "wire/job_secret.h"
#include "pmiserv.h"
#include "handshake.h"
#include "state.h"
#include "../ui/include/ui.h"

static unsigned unauthenticated = 0;

unsigned HYD_step_unauthenticated(void)
{
    return unauthenticated;
}

HYD_status HYD_step_proxy_args(struct HYD_string_stash *stash)
{
    char end_after_ms[32];
    HYD_status status = HYD_SUCCESS;

    MPL_snprintf(end_after_ms, sizeof(end_after_ms), "%lld", (long long) HYD_step.end_after_ms);
    HYD_STRING_STASH(*stash, MPL_strdup("--end-after"), status);
    HYD_STRING_STASH(*stash, MPL_strdup(end_after_ms), status);
    if (HYD_step_input_is_for_all()) {
        HYD_STRING_STASH(*stash, MPL_strdup("--input-all"), status);
        HYD_STRING_STASH(*stash, MPL_strdup("1"), status);
    }
    if (HYD_ui_info.prepend_pattern) {
        HYD_STRING_STASH(*stash, MPL_strdup("--label-tasks"), status);
        HYD_STRING_STASH(*stash, MPL_strdup("1"), status);
    }
    HYD_STRING_STASH(*stash, MPL_strdup("--secret"), status);
    HYD_STRING_STASH(*stash, MPL_strdup(HYD_secret_source()), status);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* ---- messages -------------------------------------------------------------------------------- */

static int is_inherited(int fd)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC };
    socklen_t bytes = sizeof(address);

    return getsockname(fd, (struct sockaddr *) &address, &bytes) == 0 &&
        address.ss_family == AF_UNIX;
}

static void report_unauthenticated(int fd)
{
    char name[NI_MAXHOST] = "?";
    struct sockaddr_storage address;
    socklen_t bytes = sizeof(address);

    unauthenticated++;
    HYD_core_unauthenticated(unauthenticated);
    if (unauthenticated > 1)
        return;
    if (getpeername(fd, (struct sockaddr *) &address, &bytes) == 0)
        getnameinfo((struct sockaddr *) &address, bytes, name, sizeof(name), NULL, 0,
                    NI_NUMERICHOST);
    fflush(stdout);
    fprintf(stderr,
            "mpiexec: a connection from %s to the control port did not have this job's secret, and "
            "was closed; the job continues (later ones are only counted)\n", name);
    fflush(stderr);
}

static HYD_status turn_away(struct HYD_newcomer *n)
{
    HYD_status status = HYDT_dmx_deregister_fd(n->fd);

    close(n->fd);
    HYD_newcomers_remove(n);
    return status;
}

/* A proxy of the launch has ended before it identified itself. */
static void give_up_inherited(int fd)
{
    struct HYD_step_group *g = HYD_step.core ? HYD_step_find_group(0) : NULL;
    struct HYD_proxy *p;

    for (p = HYD_server_info.pg_list.proxy_list; p && p->control_fd != fd; p = p->next);
    if (!p)
        return;
    p->control_fd = HYD_FD_CLOSED;
    if (g)
        HYD_step_proxy_failed(g, p->proxy_id);
    HYD_step_launch_failed(p);
}

/* The proxy of this group that has not connected yet and may use this connection. */
static const struct HYD_proxy *awaited(int pgid, int id)
{
    const struct HYD_pg *pg;
    const struct HYD_proxy *p;

    for (pg = &HYD_server_info.pg_list; pg && pg->pgid != pgid; pg = pg->next);
    for (p = pg ? pg->proxy_list : NULL; p && p->proxy_id != id; p = p->next);
    return p && HYD_step_is_awaited(p) ? p : NULL;
}

/* Number of bytes that have arrived, at most `all`; 0: the other end is closed; <0: none yet. */
static ssize_t receive(struct HYD_newcomer *n, size_t all)
{
    ssize_t got;

    do
        got = recv(n->fd, n->bytes + n->used, all - n->used, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? -1 : 0;
    n->used += (size_t) got;
    return got;
}

static int knows_secret(const struct HYD_newcomer *n, int proven)
{
    return !proven || HYD_secret_matches(HYD_SECRET_OF_PROXY, n->bytes + sizeof(int));
}

/* The buffer of a new connection accepts it at once. */
static int send_half(int fd)
{
    return send(fd, HYD_secret_half(HYD_SECRET_OF_MPIEXEC), HYD_SECRET_HALF_BYTES,
                MSG_NOSIGNAL | MSG_DONTWAIT) == HYD_SECRET_HALF_BYTES;
}

HYD_status HYD_step_handshake(int fd, int pgid, int *proxy_id)
{
    struct HYD_newcomer *n = HYD_newcomers_of(fd);
    int inherited = is_inherited(fd), proven = HYD_secret_is_set() && !inherited, id = -1;
    size_t all = sizeof(id) + (proven ? HYD_SECRET_HALF_BYTES : 0);
    HYD_status status = HYD_SUCCESS;

    *proxy_id = -1;
    HYDU_ERR_CHKANDJUMP(status, !n, HYD_NO_MEM, "no memory for a connection\n");
    ssize_t got = receive(n, all);
    if (got != 0 && n->used < all)
        goto fn_exit;           /* more data will arrive */
    if (n->used >= sizeof(id))
        memcpy(&id, n->bytes, sizeof(id));

    int known = n->used == all && knows_secret(n, proven);
    if (known && awaited(pgid, id) && (!proven || send_half(fd))) {
        *proxy_id = id;
        HYD_newcomers_remove(n);
        status = HYD_step.core ? HYD_channel_open(fd) : HYD_SUCCESS;
        goto fn_exit;
    }
    if (!known && proven)
        report_unauthenticated(fd);
    status = turn_away(n);
    HYDU_ERR_POP(status, "unable to deregister fd\n");
    if (inherited && pgid == 0)
        give_up_inherited(fd);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}
