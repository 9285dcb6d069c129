/*
 * See sets.h: the table of calls, and messages of processes and of mpiexec.  Malformed or excessive
 * lines of a process are not forwarded: only that process waits then.
 */

#include "state.h"
#include "pmip_adapt.h"
#include "answers.h"
#include "exits.h"
#include "output.h"
#include "pmi_line.h"
#include "reports.h"
#include "set_calls.h"
#include "sets.h"
#include "wire/kinds.h"
#include "wire/keepalive.h"

struct HYD_set_call *HYD_set_calls;

/* The link to the call, or the final link if there is none. */
static struct HYD_set_call **find_call(int process, uint32_t id)
{
    struct HYD_set_call **slot = &HYD_set_calls;

    while (*slot && ((*slot)->process != process || (*slot)->id != id))
        slot = &(*slot)->next;
    return slot;
}

static void drop_call(struct HYD_set_call **slot)
{
    struct HYD_set_call *c = *slot;

    *slot = c->next;
    MPL_free(c->bytes);
    MPL_free(c);
}

static int count_calls_of(int process)
{
    int n = 0;

    for (const struct HYD_set_call * c = HYD_set_calls; c; c = c->next)
        n += c->process == process;
    return n;
}

static HYD_status append_to_set_call(struct HYD_set_call *c, const char *hex)
{
    size_t more = strlen(hex) / 2;
    HYD_status status = HYD_SUCCESS;

    HYDU_REALLOC_OR_JUMP(c->bytes, unsigned char *, c->used + more + 1, status);
    if (c->used + more > sizeof(struct HYD_set_head) + PMI_SET_CALL_MAX ||
        HYD_pmi_line_decode_hex(hex, c->bytes + c->used, more) < 0)
        c->used = 0;            /* permanently */
    else
        c->used += more;

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

static HYD_status new_call(struct HYD_set_call **slot, int process, uint32_t id)
{
    struct HYD_set_head head = { (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[process], id };
    struct HYD_set_call *c = NULL;
    HYD_status status = HYD_SUCCESS;

    HYDU_MALLOC_OR_JUMP(c, struct HYD_set_call *, sizeof(*c), status);
    *c = (struct HYD_set_call) {.process = process,.id = id };
    *slot = c;
    HYDU_MALLOC_OR_JUMP(c->bytes, unsigned char *, sizeof(head), status);
    memcpy(c->bytes, &head, sizeof(head));
    c->used = sizeof(head);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Calls without a reply are sent with number 0. */
HYD_status HYD_set_call_pass_on(struct HYD_set_call **slot, int one_way)
{
    struct HYD_set_head *head = (struct HYD_set_head *) (*slot)->bytes;

    (*slot)->followers = NULL;
    (*slot)->invalidations = HYD_board_invalidations(&HYD_proxy_state.board);
    if (one_way)
        head->id = 0;
    HYD_status status = HYD_reports_send(REPORT_SET_CALL, 0, 0, (*slot)->bytes, (*slot)->used);
    if (one_way)
        drop_call(slot);
    return status;
}

HYD_status HYD_set_call_give(struct HYD_set_call **slot, const char *answer, size_t bytes)
{
    struct HYD_set_call *c = *slot;
    int process = c->process;
    HYD_status status = HYD_SUCCESS;

    if (c->by_board && HYD_board_answer(&HYD_proxy_state.board, process, c->id, answer, bytes)) {
        drop_call(slot);
    } else {
        HYDU_REALLOC_OR_JUMP(c->bytes, unsigned char *, bytes, status);
        memcpy(c->bytes, answer, bytes);
        c->used = bytes;
        c->followers = NULL;
        c->answered = 1;
    }
    HYD_board_answered(&HYD_proxy_state.board, process);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* ---- from the process, and from mpiexec ------------------------------------------------------ */

/* A call arrives in parts, one in each line: id=N more=0|1 [board=1|answer=0] call=HEX. */
HYD_status HYD_pmcd_pmip_adapt_fn_set_call(int fd, char *args[])
{
    const char *hex = HYD_pmi_line_argument(args, "call");
    int64_t id = HYD_pmi_line_number(args, "id", UINT32_MAX), more =
        HYD_pmi_line_number(args, "more", UINT32_MAX);
    int i = HYD_proxy_state.board.fd < 0 ? -1 : HYD_proxy_process_of_fd(fd);
    struct HYD_set_call **slot;
    HYD_status status = HYD_SUCCESS;

    if (i < 0 || id < 1 || !hex)
        goto fn_exit;
    slot = find_call(i, (uint32_t) id);
    if (!*slot && count_calls_of(i) < PMI_SET_CALLS_MAX) {
        status = new_call(slot, i, (uint32_t) id);
        HYDU_ERR_POP(status, "no memory for a call on process sets\n");
    }
    if (!*slot || (*slot)->whole || (*slot)->used == 0)
        goto fn_exit;
    HYD_sets_connect(fd);
    (*slot)->by_board = HYD_pmi_line_number(args, "board", 1) == 1;
    status = append_to_set_call(*slot, hex);
    HYDU_ERR_POP(status, "no memory for a call on process sets\n");
    (*slot)->whole = more < 1 && (*slot)->used > 0;
    if ((*slot)->whole)
        status = HYD_pmi_line_number(args, "answer", 0) == 0 ? HYD_set_call_pass_on(slot, 1)
            : HYD_set_call_query(slot);
    HYDU_ERR_POP(status, "unable to forward a call on process sets\n");

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

HYD_status HYD_pmcd_pmip_adapt_fn_set_fetch(int fd, char *args[])
{
    char line[2 * PMI_SET_PART_MAX + 128];
    int64_t id = HYD_pmi_line_number(args, "id", UINT32_MAX), from =
        HYD_pmi_line_number(args, "at", UINT32_MAX);
    int i = HYD_proxy_state.board.fd < 0 ? -1 : HYD_proxy_process_of_fd(fd);
    struct HYD_set_call **slot = find_call(i, id < 1 ? 0 : (uint32_t) id);
    size_t at = from < 0 ? 0 : (size_t) from;

    if (!*slot || !(*slot)->answered || at > (*slot)->used) {
        static const char nothing[] = "cmd=adapt_set_part bytes=0 data=\n";
        return HYD_answer(fd, nothing, strlen(nothing));
    }
    const struct HYD_set_call *c = *slot;
    size_t n = c->used - at < PMI_SET_PART_MAX ? c->used - at : PMI_SET_PART_MAX;
    int length = MPL_snprintf(line, sizeof(line), "cmd=adapt_set_part bytes=%zu data=", c->used);
    for (size_t k = 0; k < n; k++)
        length += MPL_snprintf(line + length, sizeof(line) - length, "%02x", c->bytes[at + k]);
    MPL_snprintf(line + length, sizeof(line) - length, "\n");
    if (at + n == c->used)
        drop_call(slot);
    return HYD_answer(fd, line, strlen(line));
}

/* Same effect as the first adaptive process: a proxy that reports ends must not wait for
 * mpiexec. */
HYD_status HYD_sets_used(void)
{
    HYD_status status = HYD_pmcd_pmip_adapt_channel();

    HYDU_ERR_POP(status, "unable to open a channel to mpiexec\n");
    HYD_keepalive_watch(HYD_pmcd_pmip.upstream.control);
    status = HYD_reports_send(HYD_ADAPT_COUNTS_OUTPUT, 0, 0, NULL, 0);
    HYDU_ERR_POP(status, "unable to notify mpiexec that output is counted\n");
    HYD_pmcd_pmip_adapt_count_output();
    status = HYD_exits_watch();
    HYDU_ERR_POP(status, "unable to watch the processes\n");
    HYD_exits_report_earlier();
    status = HYD_sets_starts(0);
    HYDU_ERR_POP(status, "unable to notify mpiexec of the processes that have started\n");

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* The call of this reply, and the payload after the head; NULL: the process has ended meanwhile. */
static HYD_status find_answered(const char **payload, size_t * bytes, struct HYD_set_call **c)
{
    struct HYD_set_head head;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, *bytes <= sizeof(head), HYD_INTERNAL_ERROR,
                        "the reply to a call on process sets has a wrong length\n");
    memcpy(&head, *payload, sizeof(head));
    *payload += sizeof(head);
    *bytes -= sizeof(head);
    int i = HYD_sets_process_of(head.who);
    *c = i < 0 ? NULL : *find_call(i, head.id);
    if (*c && (!(*c)->whole || (*c)->followers || (*c)->answered))
        *c = NULL;

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

HYD_status HYD_sets_answered(const char *payload, size_t bytes)
{
    struct HYD_set_call *c;
    HYD_status status = find_answered(&payload, &bytes, &c);

    HYDU_ERR_POP(status, "unable to find the process of a reply\n");
    if (!c)
        goto fn_exit;
    if (HYD_set_call_is_query(c)) {
        HYD_set_call_note_unshared(c);
        status = HYD_set_call_answer_others(c, NULL);
        HYDU_ERR_POP(status, "unable to forward calls on process sets\n");
    }
    status = HYD_set_call_give(find_call(c->process, c->id), payload, bytes);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

HYD_status HYD_sets_shared(const char *payload, size_t bytes)
{
    struct HYD_set_call *c;
    struct HYD_set_shared shared;
    HYD_status status = find_answered(&payload, &bytes, &c);

    HYDU_ERR_POP(status, "unable to find the process of a reply\n");
    HYDU_ERR_CHKANDJUMP(status, !HYD_set_shared_read(payload, bytes, &shared), HYD_INTERNAL_ERROR,
                        "a reply for several processes is malformed\n");
    if (!c)
        goto fn_exit;
    HYD_set_call_keep_latest(c, payload, bytes);
    status = HYD_set_call_answer_others(c, &shared);
    HYDU_ERR_POP(status, "unable to reply to other processes\n");
    status = HYD_set_call_give(find_call(c->process, c->id), shared.answer, shared.bytes);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

void HYD_sets_ended(int process_id)
{
    for (struct HYD_set_call ** slot = &HYD_set_calls; *slot;) {
        if ((*slot)->process == process_id) {
            HYD_set_call_replace(*slot);
            drop_call(slot);
        } else {
            slot = &(*slot)->next;
        }
    }
}
