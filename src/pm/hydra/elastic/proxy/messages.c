/*
 * Passes each message of mpiexec to its handler (wire/kinds.h).  Messages that are not between
 * mpiexec and the proxy themselves are commands of the step manager.
 */

#include "state.h"
#include "pmip_adapt.h"
#include "connection.h"
#include "output.h"
#include "relay.h"
#include "reports.h"
#include "sequence.h"
#include "stdin.h"
#include "upward.h"

static HYD_status on_listen(const char *payload, size_t bytes)
{
    uint16_t port = 0;
    HYD_status status = HYD_pmcd_pmip_adapt_channel();  /* also if no process here is adaptive */

    HYDU_ERR_POP(status, "unable to open a channel to mpiexec\n");
    status = HYD_connection_listen(payload, bytes, &port);
    HYDU_ERR_POP(status, "unable to listen for other proxies\n");
    status = HYD_reports_send(HYD_ADAPT_LISTENS, HYD_proxy_state.epoch, 0, &port, sizeof(port));

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status on_output_space(const char *payload, size_t bytes)
{
    uint64_t capacity;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, bytes != sizeof(capacity), HYD_INTERNAL_ERROR,
                        "malformed capacity for output\n");
    memcpy(&capacity, payload, sizeof(capacity));
    HYD_pmcd_pmip_adapt_output_space(capacity);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status on_repeat(const char *payload, size_t bytes)
{
    return HYD_upward_repeat_all();
}

HYD_status HYD_relay_report(const void *answer, size_t bytes)
{
    return HYD_reports_send(HYD_ADAPT_RELAYED, HYD_proxy_state.epoch, 0, answer, bytes);
}

HYD_status HYD_relay_deliver(const struct HYD_adapt_message *message, const char *payload,
                             struct HYD_relay_frozen *answer)
{
    return HYD_sequence_deliver(message, payload, answer);
}

struct HYD_relay_origin HYD_upward_origin(void)
{
    return (struct HYD_relay_origin) { (uint32_t) HYD_pmcd_pmip.local.pgid,
            (uint32_t) HYD_pmcd_pmip.local.id };
}

HYD_status HYD_upward_to_mpiexec(uint32_t kind, uint32_t epoch, uint32_t sequence,
                                 const void *payload, size_t bytes)
{
    return HYD_reports_send(kind, epoch, sequence, payload, bytes);
}

static const struct {
    uint32_t kind;
    HYD_status(*handle) (const char *payload, size_t bytes);
} handlers[] = {
    {HYD_ADAPT_OUTPUT_SPACE, on_output_space},
    {HYD_ADAPT_LISTEN, on_listen},
    {HYD_ADAPT_RELAY, HYD_relay_from_mpiexec},
    {HYD_ADAPT_REPEAT, on_repeat},
    {HYD_ADAPT_INPUT_READER, HYD_stdin_reads}
};

static HYD_status handle(const struct HYD_adapt_message *message, const char *payload)
{
    for (size_t i = 0; i < sizeof(handlers) / sizeof(*handlers); i++)
        if (handlers[i].kind == message->kind)
            return handlers[i].handle(payload, (size_t) message->bytes);
    HYD_upward_path(NULL, 1);
    return HYD_sequence_deliver(message, payload, NULL);
}

HYD_status HYD_pmcd_pmip_adapt_command(int fd, const struct HYD_pmcd_hdr *hdr)
{
    struct HYD_adapt_message message;
    char *buf = NULL;
    int count, closed;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, hdr->buflen < (int) sizeof(message) ||
                        hdr->buflen > HYD_ADAPT_BODY_MAX, HYD_INTERNAL_ERROR,
                        "adaptation message of %d bytes\n", hdr->buflen);
    HYDU_MALLOC_OR_JUMP(buf, char *, hdr->buflen, status);
    status = HYDU_sock_read(fd, buf, hdr->buflen, &count, &closed, HYDU_SOCK_COMM_MSGWAIT);
    HYDU_ERR_POP(status, "unable to read an adaptation message\n");
    HYDU_ASSERT(!closed, status);

    memcpy(&message, buf, sizeof(message));
    HYDU_ERR_CHKANDJUMP(status, message.bytes != (uint64_t) hdr->buflen - sizeof(message),
                        HYD_INTERNAL_ERROR, "adaptation message with a wrong length\n");
    status = handle(&message, buf + sizeof(message));

  fn_exit:
    MPL_free(buf);
    return status;

  fn_fail:
    goto fn_exit;
}
