/* See commands.h. */

#include "state.h"
#include "bcasts.h"
#include "commands.h"
#include "committed.h"
#include "exits.h"
#include "messages/report_writers.h"
#include "performance.h"
#include "pmi_adapt_plan.h"
#include "reports.h"
#include "sets.h"
#include "stdin.h"
#include "tasks.h"
#include "upward.h"
#include "requests.h"

/* The command to carry out. */
struct command {
    const struct HYD_adapt_message *message;
    const char *payload;
    struct HYD_relay_frozen *answer;
};

/* Number of local processes in the plan, or -1: the plan is invalid. */
static int count_participants(const struct pmi_adapt_plan *plan, size_t bytes)
{
    int participants = 0;

    if (!pmi_adapt_plan_holds(plan, bytes))
        return -1;
    const struct pmi_adapt_member *m =
        (const struct pmi_adapt_member *) ((const char *) plan + plan->members_offset);
    for (uint32_t k = 0; k < plan->pre + plan->joining; k++) {
        int rank = (int) (m[k].uid - HYD_proxy_state.join.first_uid);
        if (m[k].uid >= HYD_proxy_state.join.first_uid && HYD_proxy_process_of_rank(rank) >= 0)
            participants++;
    }
    return participants;
}

/* Reports that the processes of the board cannot take part, because of `error`; the adaptation will
 * be withdrawn. */
static HYD_status report_unable(uint32_t epoch, int error)
{
    char payload[REPORT_UNABLE_BYTES + 128];
    int i = 0;

    while (i + 1 < HYD_proxy_process_count() && HYD_proxy_state.processes[i].ended)
        i++;
    size_t fixed = HYD_write_unable(payload, (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i]);
    MPL_snprintf(payload + fixed, sizeof(payload) - fixed,
                 "its proxy cannot store the plan (%s)", MPL_strerror(error));
    return HYD_reports_send(REPORT_UNABLE, epoch, 0, payload, fixed + strlen(payload + fixed));
}

/* The rank in this group of the process that becomes rank 0, or -1: it is in another group. */
static int first_of(const struct pmi_adapt_plan *plan)
{
    const struct pmi_adapt_member *m =
        (const struct pmi_adapt_member *) ((const char *) plan + plan->members_offset);
    uint32_t k = 0, n = plan->pre + plan->joining;

    while (k < n && (m[k].flags & PMI_ADAPT_MEMBER_LEAVING))
        k++;
    return k < n &&
        m[k].uid >=
        HYD_proxy_state.join.first_uid ? (int) (m[k].uid - HYD_proxy_state.join.first_uid) : -1;
}

static HYD_status on_plan(const struct command *c)
{
    const struct pmi_adapt_plan *plan = (const struct pmi_adapt_plan *) c->payload;
    HYD_status status = HYD_SUCCESS;

    HYD_upward_complete();
    int participants = count_participants(plan, c->message->bytes);
    HYDU_ERR_CHKANDJUMP(status, participants < 0, HYD_INTERNAL_ERROR, "malformed plan\n");
    HYD_stdin_planned(first_of(plan));
    int error =
        HYD_board_assign(&HYD_proxy_state.board, plan, c->message->bytes, (uint32_t) participants);
    if (error)
        status = report_unable(c->message->epoch, error);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* The number in the payload. */
static HYD_status number_of(const struct command *c, uint64_t * number)
{
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, c->message->bytes != sizeof(*number), HYD_INTERNAL_ERROR,
                        "adaptation command %u has a wrong length\n", c->message->kind);
    memcpy(number, c->payload, sizeof(*number));

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* The last answer to STEP_FREEZE, for repeated queries. */
static struct {
    uint32_t sequence, epoch;
    uint64_t ceiling;
} frozen;

/* Replies to the sender of the command, or to mpiexec. */
static HYD_status answer_freeze(struct HYD_relay_frozen *answer)
{
    if (!answer)
        return HYD_reports_send(REPORT_FROZEN, frozen.epoch, frozen.sequence, &frozen.ceiling,
                                sizeof(frozen.ceiling));
    answer->sequence = frozen.sequence;
    answer->ceiling = frozen.ceiling;
    return HYD_SUCCESS;
}

HYD_status HYD_commands_repeated(uint32_t sequence, struct HYD_relay_frozen *answer)
{
    return sequence == frozen.sequence ? answer_freeze(answer) : HYD_SUCCESS;
}

static HYD_status on_freeze(const struct command *c)
{
    uint64_t margin;
    HYD_status status = number_of(c, &margin);

    if (status != HYD_SUCCESS)
        return status;
    frozen.ceiling = HYD_board_freeze(&HYD_proxy_state.board, margin);
    frozen.sequence = c->message->sequence;
    frozen.epoch = c->message->epoch;
    return answer_freeze(c->answer);
}

static HYD_status on_target(const struct command *c)
{
    uint64_t target;
    HYD_status status = number_of(c, &target);

    if (status != HYD_SUCCESS)
        return status;
    HYD_board_target(&HYD_proxy_state.board, c->message->epoch, target);
    HYD_committed_await(&HYD_proxy_state.board, c->message->epoch);
    return HYD_SUCCESS;
}

static HYD_status on_thaw(const struct command *c)
{
    HYD_upward_complete();
    HYD_board_thaw(&HYD_proxy_state.board);
    HYD_stdin_withdrawn();
    return HYD_SUCCESS;
}

static HYD_status on_release(const struct command *c)
{
    HYD_upward_complete();
    HYD_board_release(&HYD_proxy_state.board, c->message->epoch);
    HYD_stdin_committed();
    return HYD_SUCCESS;
}

static HYD_status on_counts(const struct command *c)
{
    struct counts {
        uint32_t rank, phase;
        uint64_t count, phase_ms;
    } *counts = NULL;
    HYD_status status = HYD_SUCCESS;
    int n = 0;

    status = HYD_committed_poll();
    HYDU_ERR_POP(status, "unable to notify mpiexec that the processes have committed\n");
    HYDU_MALLOC_OR_JUMP(counts, struct counts *, HYD_proxy_process_count() * sizeof(*counts),
                        status);
    /* Includes ended processes, because the effect of their end depends on their progress. */
    for (int i = 0; i < HYD_proxy_process_count(); i++) {
        counts[n].rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i];
        counts[n].phase = __atomic_load_n(&HYD_proxy_state.board.slots[i].phase, __ATOMIC_ACQUIRE);
        counts[n].count = __atomic_load_n(&HYD_proxy_state.board.slots[i].count, __ATOMIC_ACQUIRE);
        counts[n].phase_ms = HYD_board_phase_ms(&HYD_proxy_state.board, i);
        n++;
    }
    status = HYD_upward_repeat();       /* the counts are interpreted with these reports */
    HYDU_ERR_POP(status, "unable to notify mpiexec that the processes have committed\n");
    status = HYD_reports_send(REPORT_COUNTS, c->message->epoch, 0, counts, n * sizeof(*counts));

  fn_exit:
    MPL_free(counts);
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status on_performance(const struct command *c)
{
    return HYD_performance_report(&HYD_proxy_state.board, c->message->epoch, c->payload,
                                  c->message->bytes);
}

static HYD_status on_size_request_ended(const struct command *c)
{
    return HYD_request_ended(c->payload, c->message->bytes);
}

static HYD_status on_sets(const struct command *c)
{
    return HYD_sets_used();
}

static HYD_status on_set_answer(const struct command *c)
{
    return HYD_sets_answered(c->payload, c->message->bytes);
}

static HYD_status on_set_shared(const struct command *c)
{
    return HYD_sets_shared(c->payload, c->message->bytes);
}

static HYD_status on_bcast(const struct command *c)
{
    return HYD_bcasts_order(c->payload, c->message->bytes);
}

static HYD_status on_let_go(const struct command *c)
{
    return HYD_exits_let_go(c->payload, c->message->bytes);
}

static HYD_status on_break(const struct command *c)
{
    return HYD_exits_break(c->payload, c->message->bytes);
}

/* Offer of a change through process sets, for processes that read their board (pmi_adapt.h). */
static HYD_status on_offer(const struct command *c)
{
    uint32_t offer;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, c->message->bytes != sizeof(offer), HYD_INTERNAL_ERROR,
                        "adaptation command %u has a wrong length\n", c->message->kind);
    memcpy(&offer, c->payload, sizeof(offer));
    HYD_board_set_offer(&HYD_proxy_state.board, offer);
    HYD_exits_may_be_let_go();

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* Changes the board, and confirms it to mpiexec, which waits for that. */
static HYD_status set_and_confirm(const struct command *c, void (*set) (struct HYD_board *))
{
    uint64_t number;
    HYD_status status = number_of(c, &number);

    if (status != HYD_SUCCESS)
        return status;
    set(&HYD_proxy_state.board);
    return HYD_reports_send(REPORT_INVALIDATED, 0, 0, &number, sizeof(number));
}

static HYD_status on_invalidate(const struct command *c)
{
    return set_and_confirm(c, HYD_board_invalidate);
}

static HYD_status on_task(const struct command *c)
{
    return HYD_tasks_order(c->payload, c->message->bytes);
}

static HYD_status on_by_sets(const struct command *c)
{
    return set_and_confirm(c, HYD_board_set_by_sets);
}

static HYD_status on_starts(const struct command *c)
{
    uint64_t number;
    HYD_status status = number_of(c, &number);

    return status == HYD_SUCCESS ? HYD_sets_starts(number) : status;
}

static HYD_status on_sync(const struct command *c)
{
    uint64_t number;
    uint32_t uid;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, c->message->bytes != sizeof(number) + sizeof(uid),
                        HYD_INTERNAL_ERROR, "adaptation command %u has a wrong length\n",
                        c->message->kind);
    memcpy(&number, c->payload, sizeof(number));
    memcpy(&uid, c->payload + sizeof(number), sizeof(uid));
    status = HYD_sets_sync(uid);
    HYDU_ERR_POP(status, "unable to read what a process has sent\n");
    status = HYD_reports_send(REPORT_SYNCED, 0, 0, &number, sizeof(number));

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

static HYD_status on_comes(const struct command *c)
{
    uint64_t number, creation;
    uint32_t uid;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status,
                        c->message->bytes != sizeof(number) + sizeof(creation) + sizeof(uid),
                        HYD_INTERNAL_ERROR, "adaptation command %u has a wrong length\n",
                        c->message->kind);
    memcpy(&number, c->payload, sizeof(number));
    memcpy(&creation, c->payload + sizeof(number), sizeof(creation));
    memcpy(&uid, c->payload + sizeof(number) + sizeof(creation), sizeof(uid));
    status = HYD_sets_comes(number, creation, uid);
    HYDU_ERR_POP(status, "unable to report whether a process takes part\n");

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

static HYD_status(*const handlers[]) (const struct command * c) = {
    [STEP_PLAN] = on_plan,
    [STEP_FREEZE] = on_freeze,
    [STEP_TARGET] = on_target,
    [STEP_THAW] = on_thaw,
    [STEP_RELEASE] = on_release,
    [STEP_COUNTS] = on_counts,
    [STEP_PERFORMANCE] = on_performance,
    [STEP_SIZE_REQUEST_ENDED] = on_size_request_ended,
    [STEP_SETS] = on_sets,
    [STEP_SET_ANSWER] = on_set_answer,
    [STEP_BCAST] = on_bcast,
    [STEP_LET_GO] = on_let_go,
    [STEP_OFFER] = on_offer,
    [STEP_INVALIDATE] = on_invalidate,
    [STEP_TASK] = on_task,
    [STEP_SYNC] = on_sync,
    [STEP_BREAK] = on_break,
    [STEP_BY_SETS] = on_by_sets,
    [STEP_STARTS] = on_starts,
    [STEP_COMES] = on_comes,
    [STEP_SET_SHARED] = on_set_shared
};

/* Whether commands of this kind have an epoch.  Others have the number of a sample, or no
 * number. */
static int has_epoch(uint32_t kind)
{
    return kind < STEP_PERFORMANCE;
}

HYD_status HYD_commands_execute(const struct HYD_adapt_message *message, const char *payload,
                                struct HYD_relay_frozen *answer)
{
    const struct command command = { message, payload, answer };
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, HYD_proxy_state.board.fd < 0, HYD_INTERNAL_ERROR,
                        "this proxy has no board\n");
    HYDU_ERR_CHKANDJUMP(status, message->kind >= sizeof(handlers) / sizeof(*handlers) ||
                        !handlers[message->kind], HYD_INTERNAL_ERROR,
                        "unknown adaptation command %u\n", message->kind);
    if (has_epoch(message->kind))
        HYD_proxy_state.epoch = message->epoch;
    status = handlers[message->kind] (&command);
    HYDU_ERR_POP(status, "unable to carry out adaptation command %u\n", message->kind);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}
