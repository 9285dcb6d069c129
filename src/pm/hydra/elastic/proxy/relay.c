/* See relay.h. */

#include "hydra.h"
#include "connection.h"
#include "relay.h"
#include "upward.h"
#include "wire/send_queue.h"

/* A relay with parts that have not replied. */
struct relay {
    struct HYD_connection *parent;  /* gets the reply; NULL: mpiexec, or no receiver any more */
    int to_mpiexec;
    int waiting;                /* parts */
    struct HYD_relay_answer answer;
    struct HYD_relay_frozen *frozen;    /* with space for all targets */
    uint32_t *failed;           /* likewise */
    struct relay *next;
};

/* A part of a relay that was sent to a child. */
struct part {
    struct relay *relay;
    struct HYD_connection *child;
    struct part *next;
    uint32_t n, numbers[];      /* of its targets */
};

static struct relay *relays = NULL;
static struct part *parts = NULL;

static void note_failed(struct relay *relay, const uint32_t *numbers, uint32_t n)
{
    memcpy(relay->failed + relay->answer.failed, numbers, n * sizeof(*numbers));
    relay->answer.failed += n;
}

static void note_frozen(struct relay *relay, const struct HYD_relay_frozen *frozen, uint32_t n)
{
    memcpy(relay->frozen + relay->answer.frozen, frozen, n * sizeof(*frozen));
    relay->answer.frozen += n;
}

static void note_unreached(struct relay *relay, const struct HYD_relay_target *targets, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        note_failed(relay, &targets[i].number, 1);
}

static void free_relay(struct relay *relay)
{
    MPL_free(relay->frozen);
    MPL_free(relay->failed);
    MPL_free(relay);
}

static HYD_status answer_if_complete(struct relay *relay)
{
    struct relay **link;
    struct HYD_block *answer = NULL;
    HYD_status status = HYD_SUCCESS;

    if (relay->waiting > 0)
        goto fn_exit;
    answer = HYD_block_new(HYD_relay_answer_bytes(&relay->answer));
    HYDU_ERR_CHKANDJUMP(status, !answer, HYD_NO_MEM, "no memory for a reply\n");
    size_t frozen = relay->answer.frozen * sizeof(*relay->frozen);
    memcpy(answer->data, &relay->answer, sizeof(relay->answer));
    memcpy(answer->data + sizeof(relay->answer), relay->frozen, frozen);
    memcpy(answer->data + sizeof(relay->answer) + frozen, relay->failed,
           relay->answer.failed * sizeof(*relay->failed));
    if (relay->to_mpiexec) {
        status = HYD_relay_report(answer->data, answer->bytes);
    } else if (relay->parent) {
        answer->users++;
        HYD_connection_queue(relay->parent, answer);
        status = HYD_connection_send(relay->parent);
    }
    for (link = &relays; *link != relay; link = &(*link)->next);
    *link = relay->next;
    free_relay(relay);

  fn_exit:
    if (answer)
        HYD_block_drop(answer);
    return status;

  fn_fail:
    goto fn_exit;
}

/* The part has replied or has failed; n of its targets were not reached. */
static HYD_status end_part(struct part *part, const uint32_t *failed, uint32_t n)
{
    struct part **link;

    for (link = &parts; *link != part; link = &(*link)->next);
    *link = part->next;
    note_failed(part->relay, failed, n);
    part->relay->waiting--;
    HYD_status status = answer_if_complete(part->relay);
    MPL_free(part);
    return status;
}

static HYD_status new_relay(struct HYD_connection *parent, const struct HYD_relay_head *head,
                            struct relay **made)
{
    struct relay *relay = MPL_calloc(1, sizeof(*relay), MPL_MEM_PM);
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, !relay, HYD_NO_MEM, "no memory for a relay\n");
    relay->frozen = MPL_malloc(head->targets * sizeof(*relay->frozen), MPL_MEM_PM);
    relay->failed = MPL_malloc(head->targets * sizeof(*relay->failed), MPL_MEM_PM);
    HYDU_ERR_CHKANDJUMP(status, !relay->frozen ||
                        !relay->failed, HYD_NO_MEM, "no memory for a relay\n");
    relay->answer.id = head->id;
    relay->parent = parent;
    relay->to_mpiexec = !parent;
    relay->next = relays;
    relays = relay;
    *made = relay;

  fn_exit:
    return status;

  fn_fail:
    if (relay)
        free_relay(relay);
    goto fn_exit;
}

/* Sends the relay to the first of n targets, which serves all of them. */
static HYD_status pass_on(struct relay *relay, const struct HYD_relay_head *head,
                          const struct HYD_relay_target *targets, uint32_t n,
                          struct HYD_block *payload)
{
    struct part *part = NULL;
    struct HYD_block *list = HYD_block_new(sizeof(*head) + n * sizeof(*targets));
    struct HYD_connection *child = HYD_connection_to(targets->address, targets->port);
    HYD_status status = HYD_SUCCESS;

    part = MPL_malloc(sizeof(*part) + n * sizeof(uint32_t), MPL_MEM_PM);
    if (!list || !child || !part)
        goto unreached;
    struct HYD_relay_head part_head = *head;
    part_head.targets = n;
    memcpy(list->data, &part_head, sizeof(part_head));
    memcpy(list->data + sizeof(part_head), targets, n * sizeof(*targets));
    HYD_connection_queue(child, list);
    list = NULL;
    if (payload->bytes) {
        payload->users++;
        HYD_connection_queue(child, payload);
    }
    status = HYD_connection_send(child);
    HYDU_ERR_POP(status, "unable to send a relay\n");
    if (HYD_connection_is_broken(child))
        goto unreached;
    part->relay = relay;
    part->child = child;
    part->n = n;
    for (uint32_t i = 0; i < n; i++)
        part->numbers[i] = targets[i].number;
    part->next = parts;
    parts = part;
    relay->waiting++;

  fn_exit:
    return status;

  unreached:
    note_unreached(relay, targets, n);
    if (list)
        HYD_block_drop(list);
  fn_fail:
    MPL_free(part);
    goto fn_exit;
}

HYD_status HYD_relay_take(struct HYD_connection *parent, const char *bytes)
{
    struct HYD_relay_head head;
    const struct HYD_relay_target *targets = NULL;
    struct HYD_relay_target *list = NULL;
    struct relay *relay;
    struct HYD_block *payload = NULL;
    HYD_status status = HYD_SUCCESS;

    memcpy(&head, bytes, sizeof(head));
    HYDU_MALLOC_OR_JUMP(list, struct HYD_relay_target *, head.targets * sizeof(*list), status);
    memcpy(list, bytes + sizeof(head), head.targets * sizeof(*list));
    targets = list;
    payload = HYD_block_new(head.bytes);
    HYDU_ERR_CHKANDJUMP(status, !payload, HYD_NO_MEM, "no memory for a relay\n");
    memcpy(payload->data, bytes + sizeof(head) + head.targets * sizeof(*list), head.bytes);
    status = new_relay(parent, &head, &relay);
    HYDU_ERR_POP(status, "unable to record a relay\n");

    uint32_t rest = head.targets - 1, step = HYD_relay_part(rest, head.fanout);
    for (uint32_t i = 0; i < rest; i += step) {
        status = pass_on(relay, &head, targets + 1 + i, rest - i < step ? rest - i : step, payload);
        HYDU_ERR_POP(status, "unable to forward a relay\n");
    }
    HYD_upward_path(parent, head.targets);
    struct HYD_adapt_message message = {.kind = head.kind,.epoch = head.epoch,.bytes = head.bytes,
        .sequence = targets->sequence
    };
    struct HYD_relay_frozen frozen = {.number = targets->number };
    status = HYD_relay_deliver(&message, payload->data, &frozen);
    HYDU_ERR_POP(status, "unable to carry out a relayed command\n");
    if (frozen.sequence)
        note_frozen(relay, &frozen, 1);
    status = answer_if_complete(relay);
    HYDU_ERR_POP(status, "unable to reply to a relay\n");

  fn_exit:
    if (payload)
        HYD_block_drop(payload);
    MPL_free(list);
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_relay_from_mpiexec(const char *bytes, size_t n)
{
    struct HYD_relay_head head;
    HYD_status status = HYD_SUCCESS;

    if (n >= sizeof(head))
        memcpy(&head, bytes, sizeof(head));
    HYDU_ERR_CHKANDJUMP(status, n < sizeof(head) || !HYD_relay_head_holds(&head) ||
                        HYD_relay_bytes(&head) != n, HYD_INTERNAL_ERROR, "malformed relay\n");
    status = HYD_relay_take(NULL, bytes);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_relay_take_answer(struct HYD_connection *child, const char *bytes)
{
    struct HYD_relay_answer head;
    struct part *part;

    memcpy(&head, bytes, sizeof(head));
    if (head.id == 0) {
        HYD_status status = HYD_SUCCESS;
        if (!HYD_upward_take(bytes, &status))
            HYD_connection_break(child);
        return status;
    }
    for (part = parts; part; part = part->next)
        if (part->child == child && part->relay->answer.id == head.id)
            break;
    if (!part || !HYD_relay_answer_holds(&head, part->n)) {
        HYD_connection_break(child);        /* not a valid reply */
        return HYD_SUCCESS;
    }
    const struct HYD_relay_frozen *frozen =
        (const struct HYD_relay_frozen *) (bytes + sizeof(head));
    note_frozen(part->relay, frozen, head.frozen);
    return end_part(part, (const uint32_t *) (frozen + head.frozen), head.failed);
}

static struct part *part_with(const struct HYD_connection *child)
{
    struct part *part;

    for (part = parts; part && part->child != child; part = part->next);
    return part;
}

int HYD_relay_waits_for(const struct HYD_connection *c)
{
    return part_with(c) != NULL;
}

HYD_status HYD_relay_failed(struct HYD_connection *c)
{
    struct part *part;
    HYD_status status = HYD_SUCCESS;

    for (struct relay *relay = relays; relay; relay = relay->next)
        if (relay->parent == c)
            relay->parent = NULL;       /* the reply has no receiver any more */
    while (status == HYD_SUCCESS && (part = part_with(c)))
        status = end_part(part, part->numbers, part->n);
    return status;
}
