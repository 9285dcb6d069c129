/* See exchange.h. */

#include "exchange.h"

#include <stdlib.h>
#include <string.h>
#include "failure.h"

#define CHUNK_BYTES ((int64_t) 64 * 1024 * 1024)

/* Exchanges that have begun and are not complete. */
static struct adapt_exchange *under_way;

int adapt_exchange_distance(int sender, int receiver, int processes)
{
    return receiver >= sender ? receiver - sender : receiver - sender + processes;
}

int64_t adapt_exchange_chunk(void)
{
    static int64_t chunk;       /* read from the environment at the first use */

    if (chunk == 0) {
        const char *text = getenv("MPIX_ADAPT_DATA_CHUNK");
        char *end;
        long long bytes = text ? strtoll(text, &end, 10) : CHUNK_BYTES;
        chunk = text && (*end || bytes < 1 || bytes > CHUNK_BYTES) ? CHUNK_BYTES : bytes;
    }
    return chunk;
}

/* ---- one list -------------------------------------------------------------------------------- */

/* If messages are reported in order, message k uses slot k mod EXCHANGE_MESSAGES and completes
 * after the earlier ones; otherwise it uses any free slot. */
static bool is_ordered(const struct adapt_exchange *exchange, bool sends)
{
    return !sends && exchange->arrived;
}

/* The slot for the next message; -1: none. */
static int find_slot(const struct adapt_exchange *exchange, const struct adapt_exchange_side *side,
                     bool sends)
{
    int slot = 0;

    if (side->next - side->through >= EXCHANGE_MESSAGES)
        return -1;
    if (is_ordered(exchange, sends))
        return (int) (side->next % EXCHANGE_MESSAGES);
    while (side->requests[slot] != MPI_REQUEST_NULL)
        slot++;
    return slot;
}

/* An error of memory must be raised, because the other processes have agreed and wait for the
 * message.  MPI has raised its own errors. */
static int raise_missing_memory(int code)
{
    if (code != MPI_ERR_NO_MEM)
        return code;
    return adapt_fail(MPI_ERR_NO_MEM,
                      "%s: there is no memory for a message; elements are missing now",
                      adapt_called("libadapt_data"));
}

static int post_more(struct adapt_exchange *exchange, bool sends)
{
    struct adapt_exchange_side *side = sends ? &exchange->send : &exchange->receive;
    const int64_t count = sends ? exchange->sends : exchange->receives;
    int code = MPI_SUCCESS, slot = 0;

    while (!code && side->next < count && (slot = find_slot(exchange, side, sends)) >= 0) {
        code =
            raise_missing_memory(exchange->
                                 post(exchange->state, sends, side->next, &side->requests[slot]));
        side->next++;
    }
    return code;
}

/* Removes complete messages from the front. */
static int take_in_order(struct adapt_exchange *exchange)
{
    struct adapt_exchange_side *side = &exchange->receive;
    int code = MPI_SUCCESS;

    while (!code && side->through < side->next &&
           side->requests[side->through % EXCHANGE_MESSAGES] == MPI_REQUEST_NULL) {
        code = exchange->arrived(exchange->state, side->through);
        side->through++;
    }
    return code;
}

/* ---- progress -------------------------------------------------------------------------------- */

static bool is_through(const struct adapt_exchange *exchange)
{
    return exchange->code || (exchange->send.through == exchange->sends &&
                              exchange->receive.through == exchange->receives);
}

/* Afterwards no message of it is pending, and the caller owns its buffers.  A message to a process
 * that does not receive it cannot be cancelled; MPI ends the request when it is sent. */
static void abandon(struct adapt_exchange *exchange)
{
    int is_complete;

    for (int k = 0; k < EXCHANGE_MESSAGES; k++) {
        MPI_Request *receive = &exchange->receive.requests[k], *send = &exchange->send.requests[k];
        if (*receive != MPI_REQUEST_NULL && MPI_Cancel(receive) == MPI_SUCCESS)
            (void) MPI_Wait(receive, MPI_STATUS_IGNORE);
        if (*send != MPI_REQUEST_NULL &&
            MPI_Test(send, &is_complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && !is_complete)
            (void) MPI_Request_free(send);
        *receive = *send = MPI_REQUEST_NULL;
    }
}

static int set_code(struct adapt_exchange *exchange, int code)
{
    exchange->code = code;
    if (code)
        abandon(exchange);
    return code;
}

/* Returns the number of messages of both directions that have become complete. */
static int complete_some(struct adapt_exchange *exchange, bool wait, int *completed)
{
    struct adapt_exchange_side *send = &exchange->send, *receive = &exchange->receive;
    MPI_Request all[2 * EXCHANGE_MESSAGES];
    MPI_Status statuses[2 * EXCHANGE_MESSAGES];
    int indices[2 * EXCHANGE_MESSAGES], *begin = indices;

    memcpy(all, send->requests, sizeof(send->requests));
    memcpy(all + EXCHANGE_MESSAGES, receive->requests, sizeof(receive->requests));
    int code = wait ? MPI_Waitsome(2 * EXCHANGE_MESSAGES, all, completed, begin, statuses) :
        MPI_Testsome(2 * EXCHANGE_MESSAGES, all, completed, begin, statuses);
    memcpy(send->requests, all, sizeof(send->requests));
    memcpy(receive->requests, all + EXCHANGE_MESSAGES, sizeof(receive->requests));
    *completed = code || *completed == MPI_UNDEFINED ? 0 : *completed;
    for (int k = 0; k < *completed; k++) {
        if (indices[k] < EXCHANGE_MESSAGES)
            send->through++;
        else if (!is_ordered(exchange, false))
            receive->through++;
    }
    return code;
}

/* Repeats until no further message is complete. */
static void progress(struct adapt_exchange *exchange, bool wait)
{
    int completed = 1;

    while (!is_through(exchange) && completed > 0) {
        int code = complete_some(exchange, wait, &completed);
        if (!code && exchange->arrived)
            code = take_in_order(exchange);
        if (!code)
            code = post_more(exchange, false);
        if (!code)
            code = post_more(exchange, true);
        (void) set_code(exchange, code);
    }
}

/* Called when no message remains to be posted.  On oversubscribed nodes MPI_Waitsome yields after
 * each poll, MPI_Waitall only after a poll without result. */
static void complete_all(struct adapt_exchange *exchange)
{
    struct adapt_exchange_side *send = &exchange->send, *receive = &exchange->receive;
    MPI_Request all[2 * EXCHANGE_MESSAGES];
    MPI_Status statuses[2 * EXCHANGE_MESSAGES];
    MPI_Request *slots[2 * EXCHANGE_MESSAGES];
    int count = 0;

    for (int k = 0; k < 2 * EXCHANGE_MESSAGES; k++) {
        MPI_Request *slot = &(k % 2 ? send : receive)->requests[k / 2];
        if (*slot == MPI_REQUEST_NULL)
            continue;
        slots[count] = slot;
        all[count++] = *slot;
    }
    int code = MPI_Waitall(count, all, statuses);
    for (int k = 0; k < count; k++)     /* after an error some may still be pending */
        *slots[k] = all[k];
    send->through = send->next;
    if (!is_ordered(exchange, false))
        receive->through = receive->next;
    else if (!code)
        code = take_in_order(exchange);
    (void) set_code(exchange, code);
}

static bool is_all_posted(const struct adapt_exchange *exchange)
{
    return exchange->send.next == exchange->sends && exchange->receive.next == exchange->receives;
}

static void take_out(const struct adapt_exchange *exchange)
{
    struct adapt_exchange **link = &under_way;

    while (*link && *link != exchange)
        link = &(*link)->next;
    if (*link)
        *link = exchange->next;
}

int adapt_exchange_begin(struct adapt_exchange *exchange)
{
    exchange->send = exchange->receive = (struct adapt_exchange_side) {.next = 0 };
    for (int k = 0; k < EXCHANGE_MESSAGES; k++)
        exchange->send.requests[k] = exchange->receive.requests[k] = MPI_REQUEST_NULL;
    exchange->next = NULL;
    int code = post_more(exchange, false);
    if (!code)
        code = post_more(exchange, true);
    (void) set_code(exchange, code);
    if (!is_through(exchange)) {
        exchange->next = under_way;
        under_way = exchange;
    }
    return exchange->code;
}

int adapt_exchange_test(struct adapt_exchange *exchange, bool *done)
{
    if (!is_through(exchange)) {
        progress(exchange, false);
        if (is_through(exchange))
            take_out(exchange);
    }
    *done = !exchange->code && is_through(exchange);
    return exchange->code;
}

void adapt_exchange_abandon(struct adapt_exchange *exchange, int code)
{
    take_out(exchange);
    if (!exchange->code)
        (void) set_code(exchange, code);
}

int adapt_exchange_wait(struct adapt_exchange *exchange)
{
    bool done;

    while (!is_through(exchange)) {
        const bool is_alone = under_way == exchange && !exchange->next;
        if (is_alone && is_all_posted(exchange)) {
            complete_all(exchange);
            continue;
        }
        for (struct adapt_exchange * each = under_way, *next; each; each = next) {
            next = each->next;
            if (is_alone)
                progress(each, true);
            (void) adapt_exchange_test(each, &done);    /* its own wait returns the errors */
        }
    }
    take_out(exchange);
    return exchange->code;
}
