/* See bcasts.h.  Stores and loads are ordered as in a probe (board.c): the gate is shut before
 * counts are read. */

#include "state.h"
#include "pmip_adapt.h"
#include "bcasts.h"
#include "pmi_adapt_set.h"
#include "reports.h"
#include "messages/report_writers.h"
#include "wire/bcast.h"
#include "wire/kinds.h"

struct slot {
    int process, slot;
    uint32_t bcast;
    struct slot *next;
};

static struct slot *slots;

static struct pmi_adapt_bcast *on_board(const struct slot *p)
{
    return HYD_board_bcasts(&HYD_proxy_state.board, p->process) + p->slot;
}

/* Sets the gates of all slots of a set. */
static void set_gates(uint32_t bcast, uint64_t gate)
{
    for (const struct slot * p = slots; p; p = p->next)
        if (p->bcast == bcast)
            __atomic_store_n(&on_board(p)->gate, gate, __ATOMIC_SEQ_CST);
}

static HYD_status take_slot(const struct bcast_order *order)
{
    int i = order->uid < HYD_proxy_state.join.first_uid ? -1 :
        HYD_proxy_process_of_rank((int) (order->uid - HYD_proxy_state.join.first_uid));
    struct slot *p = slots;
    HYD_status status = HYD_SUCCESS;

    if (i < 0)
        goto fn_exit;           /* the process has ended meanwhile */
    while (p && (p->process != i || p->slot != (int) order->slot))
        p = p->next;
    if (!p) {
        HYDU_MALLOC_OR_JUMP(p, struct slot *, sizeof(*p), status);
        *p = (struct slot) {.process = i,.slot = (int) order->slot,.next = slots };
        slots = p;
    }
    p->bcast = order->bcast;
    __atomic_store_n(&on_board(p)->gate, order->value, __ATOMIC_SEQ_CST);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

static HYD_status freeze(const struct bcast_order *order)
{
    unsigned char payload[REPORT_BCAST_BYTES];
    uint64_t ceiling = 0;

    set_gates(order->bcast, PMI_ADAPT_GATE_SHUT);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (const struct slot * p = slots; p; p = p->next) {
        uint64_t count = __atomic_load_n(&on_board(p)->count, __ATOMIC_ACQUIRE);
        if (p->bcast == order->bcast && count > ceiling)
            ceiling = count;
    }
    ceiling++;
    set_gates(order->bcast, ceiling);
    size_t bytes = HYD_write_bcast(payload, order->bcast, (uint32_t) order->value, ceiling);
    return HYD_reports_send(REPORT_BCAST, 0, 0, payload, bytes);
}

static void remove_all(int process, uint32_t bcast)
{
    for (struct slot ** slot = &slots; *slot;) {
        struct slot *p = *slot;
        if (p->process == process || p->bcast == bcast) {
            *slot = p->next;
            MPL_free(p);
        } else {
            slot = &p->next;
        }
    }
}

HYD_status HYD_bcasts_order(const char *payload, size_t bytes)
{
    struct bcast_order order = { 0 };
    HYD_status status = HYD_SUCCESS;

    if (bytes == sizeof(order))
        memcpy(&order, payload, sizeof(order));
    HYDU_ERR_CHKANDJUMP(status, order.what < BCAST_SLOT || order.what > BCAST_CLOSE ||
                        order.bcast == 0 || order.slot >= PMI_SET_BCASTS_MAX, HYD_INTERNAL_ERROR,
                        "malformed command for the texts of process sets\n");
    if (order.what == BCAST_SLOT)
        status = take_slot(&order);
    else if (order.what == BCAST_FREEZE)
        status = freeze(&order);
    else
        set_gates(order.bcast, order.what == BCAST_GATE ? order.value : PMI_ADAPT_GATE_SHUT);
    HYDU_ERR_POP(status, "unable to carry out a command for the texts of process sets\n");
    if (order.what == BCAST_CLOSE)
        remove_all(-1, order.bcast);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

void HYD_bcasts_ended(int process_id)
{
    remove_all(process_id, 0);
}
