/*
 * mpiexec's part in the tree of proxies (wire/tree.h). mpiexec sends a command directly to up to
 * fan-out proxies; for more proxies it sends a relay to the first of each part.  Proxies that a
 * reply lists as not reached, or whose relay ended before it replied, get the command directly: a
 * second copy has no effect.  So do all proxies of a part that has not replied within the time of a
 * direct send to all proxies plus one second, because hosts that cannot reach each other detect
 * that later, and the program may wait meanwhile.  Proxies on hosts that another proxy could not
 * reach are not put into the tree again.
 *
 * A proxy that has not connected yet gets its commands when it connects.  The core needs its
 * replies, because its processes belong to the job from the launch on.
 */

#include "state.h"
#include "core.h"
#include "relay.h"
#include "wire/tree.h"
#include "wire/channel.h"

/* A command for a proxy that has not connected. */
struct HYD_step_deferred {
    enum step_command command;
    uint32_t epoch, sequence;
    struct HYD_block *payload;
    struct HYD_step_deferred *next;
};

#define PATIENCE_MS 1000
#define BYTES_PER_MS 1000000    /* approximate rate at which mpiexec sends directly */
#define ONE_PACKET 1024
#define REPEAT_AFTER_MS 20      /* several proxies lose the same connection */

struct member {
    int group, proxy;
    uint32_t sequence;
};

/* A part without a reply: members first to first + n - 1; the first one relays. */
struct branch {
    uint32_t first, n;
    int answered;
};

struct relay {
    uint32_t id;
    enum step_command command;
    uint32_t epoch;
    struct member *members;
    struct branch *branches;
    int n_branches, open;
    /* time at which proxies without a reply get the command directly, <0: done */
    int64_t direct_at_ms;
    struct relay *next;
    struct HYD_block *payload;
};

static struct relay *relays = NULL;
static uint32_t next_id = 1;
/* time at which to request all proxies to repeat their reports, <0: never */
static int64_t repeat_at_ms = -1;

static struct HYD_step_proxy *find_proxy(int group, int proxy)
{
    struct HYD_step_group *g = HYD_step_find_group(group);

    return g && proxy >= 0 && proxy < g->proxy_count ? &g->proxies[proxy] : NULL;
}

int HYD_step_relay_can_send(const struct HYD_step_proxy *p)
{
    return p->up && p->proxy->control_fd != HYD_FD_UNSET && p->proxy->control_fd != HYD_FD_CLOSED;
}

/* ---- directly -------------------------------------------------------------------------------- */

/* Sends a message whose last part may be shared; `head` is its own. */
static void send_parts(const struct HYD_step_proxy *p, struct HYD_adapt_message message,
                       const void *head, size_t head_bytes, struct HYD_block *payload)
{
    struct HYD_adapt_heads heads;
    int fd = p->proxy->control_fd, sent, closed;

    if (!HYD_step_relay_can_send(p) || HYD_channel_open(fd) != HYD_SUCCESS)
        return;
    HYD_adapt_fill_heads(&heads, message, head_bytes + (payload ? payload->bytes : 0));
    char *front = MPL_malloc(sizeof(heads) + head_bytes, MPL_MEM_PM);
    if (!front) {
        HYDU_error_printf("no memory for an adaptation message\n");
        return;
    }
    memcpy(front, &heads, sizeof(heads));
    if (head_bytes)
        memcpy(front + sizeof(heads), head, head_bytes);
    HYDU_sock_write(fd, front, (int) (sizeof(heads) + head_bytes), &sent, &closed,
                    HYDU_SOCK_COMM_MSGWAIT);
    MPL_free(front);
    if (payload && payload->bytes) {
        payload->users++;
        HYD_channel_send_block(fd, payload);
    }
}

void HYD_step_send_message(const struct HYD_step_proxy *p, uint32_t kind, const void *payload,
                           size_t bytes)
{
    send_parts(p, (struct HYD_adapt_message) {.kind = kind}, payload, bytes, NULL);
}

static void send_command(const struct HYD_step_proxy *p, uint32_t command, uint32_t epoch,
                         uint32_t sequence, struct HYD_block *payload)
{
    struct HYD_adapt_message message = {.kind = command,.epoch = epoch,.sequence = sequence };

    /* Small messages are one packet. */
    if (payload->bytes <= ONE_PACKET)
        send_parts(p, message, payload->data, payload->bytes, NULL);
    else
        send_parts(p, message, NULL, 0, payload);
}

/* ---- proxies that have not connected --------------------------------------------------------- */

static int is_expected(const struct HYD_step_proxy *p)
{
    return !p->up && !p->ended && p->proxy->control_fd != HYD_FD_CLOSED;
}

static void defer_command(struct HYD_step_proxy *p, enum step_command command, uint32_t epoch,
                          struct HYD_block *payload)
{
    struct HYD_step_deferred **end = &p->deferred, *d = MPL_malloc(sizeof(*d), MPL_MEM_PM);

    if (!d) {
        HYDU_error_printf("no memory for a command to a proxy that has not connected\n");
        return;
    }
    *d = (struct HYD_step_deferred) {.command = command,.epoch = epoch,.sequence = ++p->sequence,
                                     .payload = payload };
    payload->users++;
    while (*end)
        end = &(*end)->next;
    *end = d;
}

static struct HYD_step_deferred *take_deferred(struct HYD_step_proxy *p)
{
    struct HYD_step_deferred *d = p->deferred;

    if (d)
        p->deferred = d->next;
    return d;
}

void HYD_step_relay_connected(struct HYD_step_proxy *p)
{
    struct HYD_step_deferred *d;

    while ((d = take_deferred(p)) != NULL) {
        send_command(p, d->command, d->epoch, d->sequence, d->payload);
        HYD_block_drop(d->payload);
        MPL_free(d);
    }
}

void HYD_step_relay_drop(struct HYD_step_proxy *p)
{
    struct HYD_step_deferred *d;

    while ((d = take_deferred(p)) != NULL) {
        HYD_block_drop(d->payload);
        MPL_free(d);
    }
}

/* ---- to members of a relay ------------------------------------------------------------------- */

static void send_to_members(const struct relay *relay, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++) {
        const struct member *m = &relay->members[i];
        const struct HYD_step_proxy *p = find_proxy(m->group, m->proxy);
        if (p)
            send_command(p, relay->command, relay->epoch, m->sequence, relay->payload);
    }
}

/* ---- through the tree ------------------------------------------------------------------------ */

static void free_step_relay(struct relay *relay)
{
    struct relay **link;

    for (link = &relays; *link && *link != relay; link = &(*link)->next);
    if (*link)
        *link = relay->next;
    HYD_block_drop(relay->payload);
    MPL_free(relay->members);
    MPL_free(relay->branches);
    MPL_free(relay);
}

static struct relay *new_step_relay(int n, enum step_command command, uint32_t epoch,
                                    struct HYD_block *payload)
{
    struct relay *relay = MPL_calloc(1, sizeof(*relay), MPL_MEM_PM);

    if (!relay)
        return NULL;
    relay->id = next_id++;
    relay->command = command;
    relay->epoch = epoch;
    relay->payload = payload;
    payload->users++;
    relay->members = MPL_calloc((size_t) n, sizeof(*relay->members), MPL_MEM_PM);
    relay->branches = MPL_calloc((size_t) HYD_step.fanout, sizeof(*relay->branches), MPL_MEM_PM);
    if (!relay->members || !relay->branches) {
        free_step_relay(relay);
        return NULL;
    }
    return relay;
}

static int send_branch(struct relay *relay, uint32_t first, uint32_t n, uint32_t own)
{
    struct HYD_relay_head head = {.id = relay->id,.kind = relay->command,.epoch = relay->epoch,
        .targets = n,.bytes = relay->payload->bytes,.fanout = (uint32_t) HYD_step.fanout
    };
    const struct member *root = &relay->members[first];
    size_t bytes = sizeof(head) + n * sizeof(struct HYD_relay_target);

    char *buf = MPL_malloc(bytes, MPL_MEM_PM);
    if (!buf)
        return -1;
    memcpy(buf, &head, sizeof(head));
    for (uint32_t i = 0; i < n; i++) {
        const struct member *m = &relay->members[first + i];
        const struct HYD_step_proxy *p = find_proxy(m->group, m->proxy);
        struct HYD_relay_target target = {.number = first + i,.sequence = m->sequence,
            .address = p->address ? p->address : own,.port = p->listen_port
        };
        memcpy(buf + sizeof(head) + i * sizeof(target), &target, sizeof(target));
    }
    relay->branches[relay->n_branches++] = (struct branch) {.first = first,.n = n };
    relay->open++;
    struct HYD_adapt_message message = {.kind = HYD_ADAPT_RELAY,.epoch = relay->epoch };
    send_parts(find_proxy(root->group, root->proxy), message, buf, bytes, relay->payload);
    MPL_free(buf);
    return 0;
}

static int can_relay(const struct HYD_step_proxy *p)
{
    return p->listen_port != 0 && !p->unreached;
}

/* Whether a relay is late: the next one would be late too. */
static int waiting_in_vain(void)
{
    const struct relay *relay;

    for (relay = relays; relay && relay->direct_at_ms >= 0; relay = relay->next);
    return relay != NULL;
}

void HYD_step_send_to_all(const struct HYD_step_proxy_id *to, int n, enum step_command command,
                          uint32_t epoch, const void *payload, size_t bytes)
{
    struct HYD_block *block = HYD_block_new(bytes);
    struct relay *relay = NULL;
    uint32_t in_tree = 0;

    if (!block) {
        HYDU_error_printf("no memory for an adaptation message\n");
        return;
    }
    if (bytes)
        memcpy(block->data, payload, bytes);
    if (HYD_step.fanout > 0 && n > HYD_step.fanout && !waiting_in_vain()) {
        HYD_step_relay_prepare();
        relay = new_step_relay(n, command, epoch, block);
    }
    for (int i = 0; i < n; i++) {
        struct HYD_step_proxy *p = find_proxy(to[i].group, to[i].proxy);
        if (p && is_expected(p))
            defer_command(p, command, epoch, block);
        if (!p || !HYD_step_relay_can_send(p))
            continue;
        uint32_t sequence = ++p->sequence;
        if (relay && can_relay(p))
            relay->members[in_tree++] = (struct member) {to[i].group, to[i].proxy, sequence};
        else
            send_command(p, command, epoch, sequence, block);
    }
    HYD_block_drop(block);
    if (!relay)
        return;
    if (in_tree <= (uint32_t) HYD_step.fanout) {
        send_to_members(relay, 0, in_tree);
        free_step_relay(relay);
        return;
    }
    relay->direct_at_ms = HYD_step_now_ms() + PATIENCE_MS + (int64_t) bytes *in_tree / BYTES_PER_MS;
    relay->next = relays;
    relays = relay;
    uint32_t part = HYD_relay_part(in_tree, (uint32_t) HYD_step.fanout), own =
        HYD_step_relay_own_address();
    for (uint32_t i = 0; i < in_tree; i += part) {
        uint32_t members = in_tree - i < part ? in_tree - i : part;
        if (send_branch(relay, i, members, own) < 0)
            send_to_members(relay, i, members);
    }
    if (relay->open == 0)
        free_step_relay(relay);
}

static void close_branch(struct relay *relay, struct branch *branch)
{
    branch->answered = 1;
    if (--relay->open == 0)
        free_step_relay(relay);
}

static struct branch *branch_of(struct relay *relay, int group, int proxy)
{
    for (int i = 0; i < relay->n_branches; i++) {
        const struct member *root = &relay->members[relay->branches[i].first];
        if (!relay->branches[i].answered && root->group == group && root->proxy == proxy)
            return &relay->branches[i];
    }
    return NULL;
}

static void pass_frozen_on(const struct relay *relay, const struct branch *branch,
                           const char *entries, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct HYD_relay_frozen frozen;
        memcpy(&frozen, entries + i * sizeof(frozen), sizeof(frozen));
        if (frozen.number - branch->first >= branch->n)
            continue;
        const struct member *m = &relay->members[frozen.number];
        HYD_core_frozen(m->group, m->proxy, frozen.sequence, relay->epoch, frozen.ceiling);
    }
}

void HYD_step_relay_failed(void)
{
    if (repeat_at_ms < 0)
        repeat_at_ms = HYD_step_now_ms() + REPEAT_AFTER_MS;
}

static void have_reports_repeated(void)
{
    repeat_at_ms = -1;
    for (const struct HYD_step_group * g = HYD_step.groups; g; g = g->next)
        for (int i = 0; i < g->proxy_count; i++)
            HYD_step_send_message(&g->proxies[i], HYD_ADAPT_REPEAT, NULL, 0);
}

int64_t HYD_step_relay_next(void)
{
    int64_t next = repeat_at_ms;

    for (const struct relay * relay = relays; relay; relay = relay->next)
        if (relay->direct_at_ms >= 0 && (next < 0 || relay->direct_at_ms < next))
            next = relay->direct_at_ms;
    return next;
}

void HYD_step_relay_time(int64_t now_ms)
{
    if (repeat_at_ms >= 0 && repeat_at_ms <= now_ms)
        have_reports_repeated();
    for (struct relay * relay = relays; relay; relay = relay->next) {
        if (relay->direct_at_ms < 0 || relay->direct_at_ms > now_ms)
            continue;
        relay->direct_at_ms = -1;
        for (int i = 0; i < relay->n_branches; i++)
            if (!relay->branches[i].answered)
                send_to_members(relay, relay->branches[i].first, relay->branches[i].n);
    }
}

void HYD_step_relay_answered(int group, int proxy, const char *payload, size_t bytes)
{
    struct HYD_relay_answer answer;
    struct relay *relay;

    if (bytes < sizeof(answer))
        return;
    memcpy(&answer, payload, sizeof(answer));
    for (relay = relays; relay && relay->id != answer.id; relay = relay->next);
    struct branch *branch = relay ? branch_of(relay, group, proxy) : NULL;
    if (!branch || !HYD_relay_answer_holds(&answer, branch->n) ||
        HYD_relay_answer_bytes(&answer) != bytes)
        return;
    const char *failed = payload + sizeof(answer) + answer.frozen * sizeof(struct HYD_relay_frozen);
    for (uint32_t i = 0; i < answer.failed; i++) {
        uint32_t number;
        memcpy(&number, failed + i * sizeof(number), sizeof(number));
        if (number - branch->first >= branch->n)
            continue;
        HYD_step_relay_note_unreached(find_proxy(relay->members[number].group,
                                                 relay->members[number].proxy));
        send_to_members(relay, number, 1);
    }
    pass_frozen_on(relay, branch, payload + sizeof(answer), answer.frozen);
    close_branch(relay, branch);
}

void HYD_step_relay_disconnected(int group, int proxy)
{
    struct relay *next;

    for (struct relay * relay = relays; relay; relay = next) {
        struct branch *branch = branch_of(relay, group, proxy);
        next = relay->next;
        if (!branch)
            continue;
        send_to_members(relay, branch->first + 1, branch->n - 1);
        close_branch(relay, branch);
    }
}

void HYD_step_relay_finish(void)
{
    while (relays)
        free_step_relay(relays);
}
