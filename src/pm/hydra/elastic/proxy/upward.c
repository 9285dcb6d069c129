/* See upward.h. */

#include "hydra.h"
#include "connection.h"
#include "gathered_loops.h"
#include "upward.h"
#include "wire/clock.h"
#include "wire/loop_set.h"
#include "wire/sample.h"
#include "wire/send_queue.h"

#define KINDS 5                 /* of HYD_goes_up */

static struct {
    struct HYD_connection *parent;      /* NULL: mpiexec */
    uint32_t proxies;           /* this proxy and those below it */
} way = { NULL, 1 };

static uint32_t reports = 0;    /* number of reports of this proxy so far */

/* Since the last plan or release: the last own report of each kind that has no payload. */
static struct stored {
    uint32_t kind, epoch, number;
} stored[KINDS];
static int n_stored = 0;
static int has_used_tree = 0;   /* likewise */

static struct {
    char *bytes;                /* entries */
    size_t used, capacity;
    int64_t since_us;           /* of the first waiting entry */
} waiting;

/* Since the last command: number of proxies for each kind of report. */
static struct received {
    uint32_t kind, epoch, proxies;
} received[KINDS];
static int n_received = 0;

void HYD_upward_path(struct HYD_connection *parent, uint32_t proxies)
{
    way.parent = parent;
    way.proxies = proxies;
    n_received = 0;
}

void HYD_upward_complete(void)
{
    n_stored = 0;
    has_used_tree = 0;
}

/* ---- gathering ------------------------------------------------------------------------------- */

static int anything_waits(void)
{
    return waiting.used > 0 || HYD_gathered_loops_bytes() > 0;
}

HYD_status HYD_upward_flush(void)
{
    struct HYD_relay_reports head = {.bytes = HYD_gathered_loops_bytes() + waiting.used };
    size_t loops = (size_t) head.bytes - waiting.used;
    struct HYD_block *block = NULL;
    HYD_status status = HYD_SUCCESS;

    if (head.bytes == 0)
        goto fn_exit;
    block = HYD_block_new(sizeof(head) + (size_t) head.bytes);
    HYDU_ERR_CHKANDJUMP(status, !block, HYD_NO_MEM, "no memory for reports\n");
    memcpy(block->data, &head, sizeof(head));
    /* before the rows, because the last row completes a sample */
    HYD_gathered_loops_write(block->data + sizeof(head), HYD_upward_origin(), &reports);
    if (waiting.used)
        memcpy(block->data + sizeof(head) + loops, waiting.bytes, waiting.used);
    waiting.used = 0;
    if (way.parent) {
        has_used_tree = 1;
        block->users++;
        HYD_connection_queue(way.parent, block);
        status = HYD_connection_send(way.parent);
    } else {
        status =
            HYD_upward_to_mpiexec(HYD_ADAPT_GATHERED, 0, 0, block->data + sizeof(head),
                                  (size_t) head.bytes);
    }

  fn_exit:
    if (block)
        HYD_block_drop(block);
    return status;

  fn_fail:
    goto fn_exit;
}

/* An entry whose payload is in two parts. */
static HYD_status append(struct HYD_relay_entry entry, const void *payload, size_t bytes,
                         const void *rest, size_t rest_bytes)
{
    entry.message.bytes = bytes + rest_bytes;
    size_t whole = HYD_relay_entry_bytes(&entry);
    HYD_status status = HYD_SUCCESS;

    if (waiting.used + whole > waiting.capacity) {
        size_t capacity = 2 * waiting.capacity + whole;
        HYDU_REALLOC_OR_JUMP(waiting.bytes, char *, capacity, status);
        waiting.capacity = capacity;
    }
    char *at = waiting.bytes + waiting.used;
    memset(at, 0, whole);
    memcpy(at, &entry, sizeof(entry));
    if (bytes)
        memcpy(at + sizeof(entry), payload, bytes);
    if (rest_bytes)
        memcpy(at + sizeof(entry) + bytes, rest, rest_bytes);
    waiting.used += whole;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* Rows are forwarded unchanged, without loops, which are merged with those of other proxies. */
static HYD_status gather_sample(const struct HYD_relay_entry *entry, const char *payload)
{
    char no_loops[64];
    struct loop_set none;
    size_t bytes = (size_t) entry->message.bytes, at = HYD_sample_loops_at(payload, bytes);

    loop_set_init(&none);
    if (!at || !HYD_gathered_loops_add(entry->origin.group, entry->message.epoch, payload + at,
                                bytes - at))
        /* mpiexec reports the error in it */
        return append(*entry, payload, bytes, NULL, 0);
    loop_set_write(&none, no_loops);
    return append(*entry, payload, at, no_loops, loop_set_bytes(&none));
}

static HYD_status gather_loops(const struct HYD_relay_entry *entry, const char *payload)
{
    size_t bytes = (size_t) entry->message.bytes;
    uint32_t group;

    if (bytes >= sizeof(group)) {
        memcpy(&group, payload, sizeof(group));
        if (HYD_gathered_loops_add(group, entry->message.epoch, payload + sizeof(group),
                                   bytes - sizeof(group)))
            return HYD_SUCCESS;
    }
    return append(*entry, payload, bytes, NULL, 0);
}

/* Whether all proxies have sent this report. */
static int is_complete(uint32_t kind, uint32_t epoch)
{
    int i;

    for (i = 0; i < n_received && received[i].kind != kind; i++);
    if (i == n_received || received[i].epoch != epoch)
        received[i] = (struct received) {kind, epoch, 0};
    if (i == n_received)
        n_received++;
    return ++received[i].proxies >= way.proxies;
}

static HYD_status gather(const struct HYD_relay_entry *entry, const char *payload)
{
    uint32_t kind = entry->message.kind;
    HYD_status status = HYD_SUCCESS;

    if (!anything_waits())
        waiting.since_us = HYD_monotonic_us();
    if (kind == REPORT_LOOPS)
        status = gather_loops(entry, payload);
    else if (kind == REPORT_PERFORMANCE && way.proxies > 1)
        status = gather_sample(entry, payload);
    else
        status = append(*entry, payload, (size_t) entry->message.bytes, NULL, 0);
    HYDU_ERR_POP(status, "unable to gather a report\n");
    if ((kind != REPORT_LOOPS && is_complete(kind, entry->message.epoch)) ||
        waiting.used >= UPWARD_WAIT_BYTES)
        status = HYD_upward_flush();

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

int HYD_upward_take(const char *message, HYD_status * status)
{
    struct HYD_relay_reports head;
    struct HYD_relay_entry entry;

    memcpy(&head, message, sizeof(head));
    const char *bytes = message + sizeof(head);
    size_t left = (size_t) head.bytes;
    while (left >= sizeof(entry) && *status == HYD_SUCCESS) {
        memcpy(&entry, bytes, sizeof(entry));
        if (!HYD_relay_entry_holds(&entry, left))
            return 0;
        *status = gather(&entry, bytes + sizeof(entry));
        bytes += HYD_relay_entry_bytes(&entry);
        left -= HYD_relay_entry_bytes(&entry);
    }
    return left == 0;
}

int64_t HYD_upward_wait_ms(void)
{
    int64_t left = UPWARD_WAIT_MS - (HYD_monotonic_us() - waiting.since_us) / 1000;

    return !anything_waits()? -1 : left < 0 ? 0 : left;
}

void HYD_upward_due(void)
{
    HYD_upward_flush();         /* if mpiexec has failed, the main loop detects that */
}

/* ---- own reports ----------------------------------------------------------------------------- */

static void keep(uint32_t kind, uint32_t epoch)
{
    int i;

    for (i = 0; i < n_stored && stored[i].kind != kind; i++);
    if (i == n_stored)
        n_stored++;
    stored[i] = (struct stored) {kind, epoch, reports};
}

HYD_status HYD_upward_report(uint32_t kind, uint32_t epoch, const void *payload, size_t bytes)
{
    struct HYD_relay_entry entry = {.origin = HYD_upward_origin(),
        .message = {.kind = kind,.epoch = epoch,.bytes = bytes,.sequence = ++reports}
    };

    if (bytes == 0)
        keep(kind, epoch);
    if (!way.parent && way.proxies == 1)
        return HYD_upward_to_mpiexec(kind, epoch, reports, payload, bytes);
    return gather(&entry, payload);
}

HYD_status HYD_upward_repeat(void)
{
    HYD_status status = HYD_SUCCESS;
    int is_there = !has_used_tree && !anything_waits(); /* because they were sent directly */

    for (int i = 0; !is_there && i < n_stored && status == HYD_SUCCESS; i++)
        status = HYD_upward_to_mpiexec(stored[i].kind, stored[i].epoch, stored[i].number, NULL, 0);
    n_stored = 0;                 /* mpiexec has received them */
    return status;
}

HYD_status HYD_upward_repeat_all(void)
{
    HYD_status status;

    status = HYD_upward_repeat();
    HYDU_ERR_POP(status, "unable to repeat reports\n");
    HYD_upward_path(NULL, 1);
    status = HYD_upward_flush();

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_upward_failed(struct HYD_connection *c)
{
    if (way.parent == c)
        HYD_upward_path(NULL, 1);
    return has_used_tree ? HYD_upward_to_mpiexec(HYD_ADAPT_LOST, 0, 0, NULL, 0) : HYD_SUCCESS;
}
