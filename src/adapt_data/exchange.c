/* See exchange.h. */

#include "exchange.h"

#include <stdlib.h>

#define CHUNK_BYTES ((int64_t) 64 * 1024 * 1024)

/* One list: messages [done, next) are under way or complete, number k in slot k mod EXCHANGE_MESSAGES. */
struct side {
    int64_t count, next, done;
    MPI_Request requests[EXCHANGE_MESSAGES];
};

int adapt_exchange_distance(int sender, int receiver, int processes)
{
    return receiver >= sender ? receiver - sender : receiver - sender + processes;
}

int64_t adapt_exchange_chunk(void)
{
    const char *text = getenv("MPIX_ADAPT_DATA_CHUNK");
    char *end;
    long long bytes = text ? strtoll(text, &end, 10) : CHUNK_BYTES;

    return text && (*end || bytes < 1 || bytes > CHUNK_BYTES) ? CHUNK_BYTES : bytes;
}

static int post_more(const struct adapt_exchange *exchange, struct side *side, bool sends)
{
    int code = MPI_SUCCESS;

    while (!code && side->next < side->count && side->next < side->done + EXCHANGE_MESSAGES) {
        code = exchange->post(exchange->state, sends, side->next,
                              &side->requests[side->next % EXCHANGE_MESSAGES]);
        side->next++;
    }
    return code;
}

/* Takes what is complete from the front. */
static int take(const struct adapt_exchange *exchange, struct side *side, bool sends)
{
    int code = MPI_SUCCESS;

    while (!code && side->done < side->next &&
           side->requests[side->done % EXCHANGE_MESSAGES] == MPI_REQUEST_NULL) {
        if (!sends && exchange->arrived)
            code = exchange->arrived(exchange->state, side->done);
        side->done++;
    }
    return code;
}

static int wait_for_some(struct side *send, struct side *receive)
{
    MPI_Request all[2 * EXCHANGE_MESSAGES];
    MPI_Status statuses[2 * EXCHANGE_MESSAGES];
    int completed, indices[2 * EXCHANGE_MESSAGES];

    for (int k = 0; k < EXCHANGE_MESSAGES; k++) {
        all[k] = send->requests[k];
        all[EXCHANGE_MESSAGES + k] = receive->requests[k];
    }
    int code = MPI_Waitsome(2 * EXCHANGE_MESSAGES, all, &completed, indices, statuses);
    for (int k = 0; k < EXCHANGE_MESSAGES; k++) {
        send->requests[k] = all[k];
        receive->requests[k] = all[EXCHANGE_MESSAGES + k];
    }
    return code;
}

int adapt_exchange(const struct adapt_exchange *exchange)
{
    struct side send = {.count = exchange->sends }, receive = {.count = exchange->receives };
    int code = MPI_SUCCESS;

    for (int k = 0; k < EXCHANGE_MESSAGES; k++)
        send.requests[k] = receive.requests[k] = MPI_REQUEST_NULL;
    while (!code && (send.done < send.count || receive.done < receive.count)) {
        code = post_more(exchange, &receive, false);
        if (!code)
            code = post_more(exchange, &send, true);
        if (!code)
            code = wait_for_some(&send, &receive);
        if (!code)
            code = take(exchange, &receive, false);
        if (!code)
            code = take(exchange, &send, true);
    }
    return code;
}
