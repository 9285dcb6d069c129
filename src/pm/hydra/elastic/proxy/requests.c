/* See requests.h.  A malformed line of a process is not passed on. */

#include "state.h"
#include "pmip_adapt.h"
#include "messages/report_writers.h"
#include "pmi_adapt_request.h"
#include "pmi_line.h"
#include "reports.h"
#include "requests.h"
#include "wire/kinds.h"
#include "wire/request_messages.h"

HYD_status HYD_pmcd_pmip_adapt_fn_request(int fd, char *args[])
{
    unsigned char payload[sizeof(struct request_made) + PMI_ADAPT_REQUEST_REASON_MAX];
    const char *why = HYD_pmi_line_argument(args, "why");
    int64_t number = HYD_pmi_line_number(args, "id", PMI_ADAPT_REQUEST_NUMBER_MAX);
    int64_t kind = HYD_pmi_line_number(args, "kind", UINT32_MAX), size =
        HYD_pmi_line_number(args, "size", UINT32_MAX);
    int64_t min = HYD_pmi_line_number(args, "min", UINT32_MAX), max =
        HYD_pmi_line_number(args, "max", UINT32_MAX);
    int64_t until = HYD_pmi_line_number(args, "until", INT64_MAX);
    int rank = HYD_pmi_line_rank(fd);
    int bytes =
        HYD_pmi_line_decode_hex(why ? why : "", payload + sizeof(struct request_made),
                                PMI_ADAPT_REQUEST_REASON_MAX);

    if (rank < 0 || number < 1 || kind < 0 || size < 0 || min < 0 || max < 0 || until < 0 ||
        bytes < 0)
        return HYD_SUCCESS;
    struct request_made made = {
        .rank = (uint32_t) rank,.number = (uint32_t) number,.kind = (uint32_t) kind,
            .size = (uint32_t) size,
        .size_min = (uint32_t) min,.size_max = (uint32_t) max,.until_ms = (uint64_t) until
    };
    memcpy(payload, &made, sizeof(made));
    return HYD_reports_send(REPORT_SIZE_REQUEST, 0, 0, payload, sizeof(made) + (size_t) bytes);
}

HYD_status HYD_pmcd_pmip_adapt_fn_request_withdraw(int fd, char *args[])
{
    int64_t number = HYD_pmi_line_number(args, "id", PMI_ADAPT_REQUEST_NUMBER_MAX);
    int rank = HYD_pmi_line_rank(fd);

    if (rank < 0 || number < 1)
        return HYD_SUCCESS;
    unsigned char payload[REPORT_SIZE_REQUEST_WITHDRAWN_BYTES];
    size_t bytes = HYD_write_size_request_withdrawn(payload, (uint32_t) rank, (uint32_t) number);
    return HYD_reports_send(REPORT_SIZE_REQUEST_WITHDRAWN, 0, 0, payload, bytes);
}

/* Writes the end for all holders in the list that are processes of this proxy. */
static void notify_holders(const char *list, uint32_t holders, struct pmi_adapt_request_end *end)
{
    for (uint32_t k = 0; k < holders; k++) {
        struct request_holder holder;
        memcpy(&holder, list + k * sizeof(holder), sizeof(holder));
        if (holder.uid < HYD_proxy_state.join.first_uid || holder.number == 0)
            continue;
        int i = HYD_proxy_process_of_rank((int) (holder.uid - HYD_proxy_state.join.first_uid));
        if (i < 0)
            continue;
        end->number = holder.number;
        pmi_adapt_write_request_end(HYD_board_request_ends(&HYD_proxy_state.board, i), end);
    }
}

HYD_status HYD_request_ended(const char *payload, size_t bytes)
{
    struct request_ended ended = { 0, 0, 0, 0 };
    struct pmi_adapt_request_end end;
    HYD_status status = HYD_SUCCESS;

    if (bytes >= sizeof(ended))
        memcpy(&ended, payload, sizeof(ended));
    size_t capacity =
        bytes < sizeof(ended) ? 0 : (bytes - sizeof(ended)) / sizeof(struct request_holder);
    HYDU_ERR_CHKANDJUMP(status, bytes < sizeof(ended) ||
                        capacity < ended.holders, HYD_INTERNAL_ERROR,
                        "the end of a request has a wrong length\n");
    size_t text = sizeof(ended) + ended.holders * sizeof(struct request_holder);
    memset(&end, 0, sizeof(end));
    end.state = ended.state;
    end.size = ended.size;
    end.cause = ended.cause;
    memcpy(end.reason, payload + text,
           bytes - text <
           PMI_ADAPT_REQUEST_REASON_MAX ? bytes - text : PMI_ADAPT_REQUEST_REASON_MAX);
    notify_holders(payload + sizeof(ended), ended.holders, &end);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}
