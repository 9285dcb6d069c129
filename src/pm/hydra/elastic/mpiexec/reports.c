/* See reports.h. */

#include "state.h"
#include "core.h"
#include "exits.h"
#include "groups.h"
#include "input.h"
#include "output.h"
#include "relay.h"
#include "socket.h"
#include "spawned.h"
#include "pmiserv.h"
#include "pmiserv_utils.h"
#include "reports.h"
#include "wire/message.h"
#include "wire/keepalive.h"
#include "wire/tree.h"

/* A report from a proxy of this group. */
struct report {
    struct HYD_step_group *group;
    struct HYD_step_proxy *from;
    int proxy;
    const struct HYD_adapt_message *message;
    const char *payload;
};

static void to_core(const struct report *r)
{
    HYD_core_report(r->group->group, r->proxy, (enum step_report) r->message->kind,
                    r->message->epoch, r->payload, (size_t) r->message->bytes);
}

/* The process that a report begins with, or NULL. */
static struct HYD_step_process *process_of(const struct report *r)
{
    uint32_t rank;

    if (r->message->bytes < sizeof(rank))
        return NULL;
    memcpy(&rank, r->payload, sizeof(rank));
    return rank < (uint32_t) r->group->count ? &r->group->processes[rank] : NULL;
}

static void on_init(const struct report *r)
{
    uint32_t adaptive = 0;

    if (r->message->bytes >= 2 * sizeof(uint32_t))
        memcpy(&adaptive, r->payload + sizeof(uint32_t), sizeof(adaptive));
    if (adaptive) {
        HYD_step_socket_open();
        HYD_keepalive_watch(r->from->proxy->control_fd);
        HYD_step_output_counted(r->from);
    }
    to_core(r);
}

/* Clients that list the sets of a rigid job need a socket, too. */
static void on_set_call(const struct report *r)
{
    HYD_step.has_set_calls = 1;
    to_core(r);
    if (HYD_core_has_sets())
        HYD_step_socket_open();
}

static void on_in_sets(const struct report *r)
{
    (void) r;
    HYD_step.has_set_calls = 1;
}

static void on_exited(const struct report *r)
{
    struct HYD_step_process *process = process_of(r);

    HYD_step_note_exit(r->from);
    if (process)
        process->ended = 1;
    to_core(r);
}

static void on_frozen(const struct report *r)
{
    uint64_t ceiling;

    if (r->message->bytes != sizeof(ceiling)) {
        to_core(r);             /* which reports that it is malformed */
        return;
    }
    memcpy(&ceiling, r->payload, sizeof(ceiling));
    HYD_core_frozen(r->group->group, r->proxy, r->message->sequence, r->message->epoch, ceiling);
}

static void on_broke(const struct report *r)
{
    if (HYD_step_rules_apply(r->group))
        HYD_step_end_job_soon();
    else if (r->group->is_tasks)
        HYD_step_kill_group(r->group->group);
}

static void on_counts_output(const struct report *r)
{
    HYD_keepalive_watch(r->from->proxy->control_fd);
    HYD_step_output_counted(r->from);
}

static void on_listens(const struct report *r)
{
    HYD_step_relay_listens(r->from, r->payload, (size_t) r->message->bytes);
}

static void on_relayed(const struct report *r)
{
    HYD_step_relay_answered(r->group->group, r->proxy, r->payload, (size_t) r->message->bytes);
}

static void on_failed(const struct report *r)
{
    HYD_step_relay_failed();
}

/* Reports through the tree may arrive twice, and out of order. */
static int has_come(struct HYD_step_proxy *p, uint32_t number)
{
    const uint32_t known = 8 * sizeof(p->reported_before);

    if (number > p->reported) {
        uint32_t by = number - p->reported;
        p->reported_before = (by < known ? p->reported_before << by : 0) | 1;
        p->reported = number;
        return 0;
    }
    uint32_t back = p->reported - number;
    if (back >= known || p->reported_before >> back & 1)
        return 1;
    p->reported_before |= UINT64_C(1) << back;
    return 0;
}

/* All other reports are passed to the core. */
static const struct {
    uint32_t kind;
    void (*handle) (const struct report *);
} handlers[] = {
    {REPORT_INIT, on_init},
    {REPORT_EXITED, on_exited},
    {REPORT_FROZEN, on_frozen},
    {REPORT_SET_CALL, on_set_call},
    {HYD_ADAPT_BROKE, on_broke},
    {HYD_ADAPT_LISTENS, on_listens},
    {HYD_ADAPT_RELAYED, on_relayed},
    {HYD_ADAPT_LOST, on_failed},
    {HYD_ADAPT_COUNTS_OUTPUT, on_counts_output},
    {HYD_ADAPT_IN_SETS, on_in_sets},
};

static void take_report_of(struct HYD_step_group *g, int proxy,
                           const struct HYD_adapt_message *message, const char *payload)
{
    size_t i, n = sizeof(handlers) / sizeof(*handlers);
    struct report r = { g, &g->proxies[proxy], proxy, message, payload };

    if (HYD_goes_up(message->kind) && has_come(r.from, message->sequence))
        return;
    for (i = 0; i < n && handlers[i].kind != message->kind; i++);
    if (i < n)
        handlers[i].handle(&r);
    else
        to_core(&r);
}

static void take_report(struct HYD_proxy *proxy, const struct HYD_adapt_message *message,
                        const char *payload)
{
    struct HYD_step_group *g = HYD_step_find_group(proxy->pg->pgid);

    if (g)
        take_report_of(g, proxy->proxy_id, message, payload);
}

/* HYD_ADAPT_GATHERED.  0: malformed. */
static int take_gathered(const char *bytes, size_t left)
{
    struct HYD_relay_entry entry;

    while (left >= sizeof(entry)) {
        memcpy(&entry, bytes, sizeof(entry));
        if (!HYD_relay_entry_holds(&entry, left))
            return 0;
        struct HYD_step_group *g = HYD_step_find_group((int) entry.origin.group);
        /* else it has disconnected meanwhile */
        if (g && entry.origin.proxy < (uint32_t) g->proxy_count)
            take_report_of(g, (int) entry.origin.proxy, &entry.message, bytes + sizeof(entry));
        bytes += HYD_relay_entry_bytes(&entry);
        left -= HYD_relay_entry_bytes(&entry);
    }
    return left == 0;
}

/* HYD_ADAPT_REPORTS.  0: malformed. */
static int take_reports(struct HYD_proxy *proxy, const char *bytes, size_t left)
{
    struct HYD_adapt_message message;

    while (left >= sizeof(message)) {
        memcpy(&message, bytes, sizeof(message));
        if (!HYD_adapt_report_holds(&message, left))
            return 0;
        take_report(proxy, &message, bytes + sizeof(message));
        bytes += HYD_adapt_report_bytes(&message);
        left -= HYD_adapt_report_bytes(&message);
    }
    return left == 0;
}

HYD_status HYD_step_message(struct HYD_proxy *proxy, int fd, const struct HYD_pmcd_hdr *hdr)
{
    struct HYD_adapt_message message;
    char *buf = NULL;
    int count, closed, whole = 1;
    HYD_status status = HYD_SUCCESS;

    if (hdr->buflen < (int) sizeof(message) || hdr->buflen > HYD_ADAPT_BODY_MAX) {
        HYD_step_proxy_disconnected(proxy);
        goto fn_exit;
    }
    HYDU_MALLOC_OR_JUMP(buf, char *, hdr->buflen, status);
    status = HYDU_sock_read(fd, buf, hdr->buflen, &count, &closed, HYDU_SOCK_COMM_MSGWAIT);
    HYDU_ERR_POP(status, "unable to read an adaptation message\n");
    if (!closed)
        memcpy(&message, buf, sizeof(message));
    if (closed || message.bytes != (uint64_t) hdr->buflen - sizeof(message)) {
        HYD_step_proxy_disconnected(proxy);
        goto fn_exit;
    }
    if (message.kind == HYD_ADAPT_INPUT_TAKEN) {
        HYD_step_input_taken(proxy, buf + sizeof(message), (size_t) message.bytes);
        goto fn_exit;
    }
    if (message.kind == HYD_ADAPT_CANNOT) {
        HYD_step_cannot_start(proxy, buf + sizeof(message), (size_t) message.bytes);
        goto fn_exit;
    }
    if (message.kind == HYD_ADAPT_SPAWN_BEGAN || message.kind == HYD_ADAPT_SPAWN_ENDED) {
        HYD_spawned_message(proxy, message.kind, buf + sizeof(message), (size_t) message.bytes);
        goto fn_exit;
    }
    if (message.kind == HYD_ADAPT_IS_MISSED) {
        HYD_step_is_missed(proxy, buf + sizeof(message), (size_t) message.bytes);
        goto fn_exit;
    }
    if (!HYD_step.core)
        HYD_core_create();
    HYD_core_enter();
    if (message.kind == HYD_ADAPT_REPORTS)
        whole = take_reports(proxy, buf + sizeof(message), (size_t) message.bytes);
    else if (message.kind == HYD_ADAPT_GATHERED)
        whole = take_gathered(buf + sizeof(message), (size_t) message.bytes);
    else
        take_report(proxy, &message, buf + sizeof(message));
    HYD_core_leave();
    if (!whole)
        HYD_step_proxy_disconnected(proxy);

  fn_exit:
    MPL_free(buf);
    return status;

  fn_fail:
    goto fn_exit;
}
