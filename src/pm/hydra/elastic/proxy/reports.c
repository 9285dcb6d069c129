/* See reports.h. */

#include "pmip.h"
#include "reports.h"
#include "wire/clock.h"
#include "wire/message.h"

static struct {
    char *bytes;                /* as in HYD_ADAPT_REPORTS, or NULL */
    size_t used, capacity;
    int n;
    int64_t since_us;           /* of the first waiting report */
} waiting;
static int flushed = 0;

static HYD_status send_message(struct HYD_adapt_message message, const void *payload, size_t bytes)
{
    struct HYD_adapt_heads heads;
    char *buf = NULL;
    int sent, closed;
    HYD_status status = HYD_SUCCESS;

    HYD_adapt_fill_heads(&heads, message, bytes);
    HYDU_MALLOC_OR_JUMP(buf, char *, sizeof(heads) + bytes, status);
    memcpy(buf, &heads, sizeof(heads));
    if (bytes)
        memcpy(buf + sizeof(heads), payload, bytes);
    status =
        HYDU_sock_write(HYD_pmcd_pmip.upstream.control, buf, (int) (sizeof(heads) + bytes), &sent,
                        &closed, HYDU_SOCK_COMM_MSGWAIT);
    HYDU_ERR_POP(status, "unable to send an adaptation report upstream\n");
    HYDU_ASSERT(!closed, status);

  fn_exit:
    MPL_free(buf);
    return status;

  fn_fail:
    goto fn_exit;
}

int HYD_reports_have_begun(void)
{
    return flushed;
}

/* A single waiting report is sent without the list. */
HYD_status HYD_reports_flush(void)
{
    struct HYD_adapt_message first;
    HYD_status status;

    if (waiting.n == 0)
        return HYD_SUCCESS;
    memcpy(&first, waiting.bytes, sizeof(first));
    if (waiting.n == 1)
        status = send_message(first, waiting.bytes + sizeof(first), (size_t) first.bytes);
    else
        status = send_message((struct HYD_adapt_message) {.kind = HYD_ADAPT_REPORTS,
                                                          .epoch = first.epoch},
                              waiting.bytes, waiting.used);
    waiting.n = 0;
    waiting.used = 0;
    flushed = 1;
    return status;
}

HYD_status HYD_reports_send(uint32_t kind, uint32_t epoch, uint32_t sequence, const void *payload,
                            size_t bytes)
{
    HYD_status status = HYD_reports_flush();

    if (status != HYD_SUCCESS)
        return status;
    return send_message((struct HYD_adapt_message) {.kind = kind,.epoch = epoch,
                                                    .sequence = sequence},
                        payload, bytes);
}

HYD_status HYD_reports_gather(uint32_t kind, uint32_t epoch, const void *payload, size_t bytes)
{
    struct HYD_adapt_message message = {.kind = kind,.epoch = epoch,.bytes = bytes };
    size_t whole = HYD_adapt_report_bytes(&message);
    HYD_status status = HYD_SUCCESS;

    if (waiting.used + whole > waiting.capacity) {
        size_t capacity = waiting.capacity ? 2 * waiting.capacity : 4096;
        capacity = capacity < waiting.used + whole ? waiting.used + whole : capacity;
        HYDU_REALLOC_OR_JUMP(waiting.bytes, char *, capacity, status);
        waiting.capacity = capacity;
    }
    memset(waiting.bytes + waiting.used, 0, whole);
    memcpy(waiting.bytes + waiting.used, &message, sizeof(message));
    if (bytes)
        memcpy(waiting.bytes + waiting.used + sizeof(message), payload, bytes);
    waiting.used += whole;
    if (waiting.n++ == 0)
        waiting.since_us = HYD_monotonic_us();
    if (waiting.used >= REPORTS_WAIT_BYTES)
        status = HYD_reports_flush();

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

int64_t HYD_reports_wait_ms(void)
{
    int64_t left = REPORTS_WAIT_MS - (HYD_monotonic_us() - waiting.since_us) / 1000;

    return waiting.n == 0 ? -1 : left < 0 ? 0 : left;
}

void HYD_reports_due(void)
{
    HYD_reports_flush();        /* if mpiexec has failed, the main loop detects that */
}
