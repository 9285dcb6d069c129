/*
 * Items with destinations (adapt_items.h): leaving items are packed by destination, staying items
 * close the gaps, then messages are sent directly from sender to receiver.
 */

#include "adapt_items.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agreement.h"
#include "allocated.h"
#include "data.h"
#include "device_memory.h"
#include "failure.h"
#include "items.h"
#include "motion.h"

/* Consecutive items for or from one process. */
struct message {
    int process;
    int64_t first, count;       /* first: index in the leaving items */
};

struct message_list {
    struct message *messages;
    int64_t count;
};

/* State of a move, from start to wait. */
struct call {
    struct MPIX_Adapt_motion_s motion;
    const char *function;       /* the called function */
    const epop_window_t *window;
    int columns;
    const MPIX_Column *column;
    MPIX_Column *copies;        /* memory of `columns`, after its allocation */
    MPIX_Append *append;        /* NULL until its memory is allocated: the library's own */
    void *state;
    int64_t *count;             /* the program's */
    void ***arrays;             /* [columns] append NULL: the program's pointers */

    int processes, process;     /* ranks in motion.all */
    struct adapt_roles roles;
    int *process_of_new;
    int64_t *sent, *received;   /* [processes] items; of this process: 0 */
    int64_t item_bytes, chunk;  /* chunk: max items of a message */

    MPI_Aint *extent;           /* [columns] */
    MPI_Aint *true_lb, *true_extent;    /* [columns] of an element: the copied bytes */
    char **leaving;             /* [columns] leaving items, by process */
    struct message_list send, receive;
    char error[340];
    char **arriving;            /* [receive.count * columns] */
};

static const char *check(struct call *call, int64_t count, const int destination[])
{
    MPI_Aint lb, extent, true_lb, true_extent;

    if (call->window->status == MPI_ADAPT_STATUS_JOINING && count > 0)
        return "a joining process has items";
    if (count > 0 && !destination)
        return adapt_misfit("destination is NULL");
    for (int c = 0; c < call->columns; c++) {
        const void *base = call->column[c].base;
        if (!call->append && base)
            base = count > 0 ? *(void *const *) base : base;
        else if (!call->append)
            return "base of a column is NULL: without append it is the address of the array's "
                   "pointer";
        if (call->column[c].element == MPI_DATATYPE_NULL || (count > 0 && !base))
            return "base or element of a column is NULL";
        if (count > 0 && adapt_device_memory(base))
            return adapt_device_memory(base);
        const char *error =
            call->append ? NULL : adapt_allocated(base, count, call->column[c].element);
        if (error) {
            snprintf(call->error, sizeof(call->error), "column %d: %s", c, error);
            return call->error;
        }
        MPI_Type_get_extent(call->column[c].element, &lb, &extent);
        MPI_Type_get_true_extent(call->column[c].element, &true_lb, &true_extent);
        if (lb < 0 || true_lb < 0 || true_lb + true_extent > extent)
            return "an element reaches beyond its extent";
    }
    for (int64_t i = 0; i < count; i++)
        if (destination[i] < 0 || destination[i] >= call->window->new_size) {
            snprintf(call->error, sizeof(call->error),
                     "the destination of item %lld is %d, no rank of the" " new world of %d",
                     (long long) i, destination[i], call->window->new_size);
            return call->error;
        }
    return NULL;
}

/* Succeeds on all processes or on none. */
static int agree(struct call *call, const char *error)
{
    const struct adapt_proposal mine = {.kind = ADAPT_CALL_ITEMS,.function = call->function,
                                        .error = error,
        .error_class = error == ADAPT_NO_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_ARG,
        .terms = adapt_mix(call->item_bytes, call->columns),.chunk = adapt_exchange_chunk()
    };
    struct adapt_agreed agreed;
    char text[AGREEMENT_TEXT];

    int code = adapt_agree_on_call(call->motion.channel, &mine, &agreed);
    if (!code && agreed.terms_differ) {
        snprintf(text, sizeof(text), "%d columns, %lld bytes for an item", call->columns,
                 (long long) call->item_bytes);
        code = adapt_refuse_difference(call->motion.channel, call->function, "their columns", text);
    }
    if (code)
        return code;
    call->chunk = call->item_bytes > 0 ? agreed.chunk / call->item_bytes : INT32_MAX;
    call->chunk = call->chunk < 1 ? 1 : call->chunk > INT32_MAX ? INT32_MAX : call->chunk;
    return MPI_SUCCESS;
}

/* ---- without append -------------------------------------------------------------------------- */

/* Appends to the contents of the program's arrays. */
static int append_to_arrays(int64_t count, const MPIX_Column columns[], void *state)
{
    struct call *call = state;

    for (int c = 0; c < call->columns; c++) {
        const size_t extent = (size_t) call->extent[c];
        void *longer = realloc(*call->arrays[c], (size_t) (*call->count + count) * extent + 1);
        if (!longer)
            return 1;
        *call->arrays[c] = longer;
        memcpy((char *) longer + (size_t) *call->count * extent, columns[c].base,
               (size_t) count * extent);
    }
    *call->count += count;
    return 0;
}

/* Makes the arrays the base of the columns' copies, as with append. */
static void take_arrays(struct call *call)
{
    for (int c = 0; c < call->columns; c++) {
        call->arrays[c] = call->copies[c].base;
        call->copies[c].base = *call->arrays[c];
    }
    call->append = append_to_arrays;
    call->state = call;
}

/* ---- packing --------------------------------------------------------------------------------- */

static const char *make_space(struct call *call, int64_t count, const int destination[])
{
    int64_t leaving = 0;

    call->sent = adapt_reserve(call->processes, sizeof(int64_t));
    call->received = adapt_reserve(call->processes, sizeof(int64_t));
    call->extent = adapt_reserve(call->columns, sizeof(MPI_Aint));
    call->true_lb = adapt_reserve(call->columns, sizeof(MPI_Aint));
    call->true_extent = adapt_reserve(call->columns, sizeof(MPI_Aint));
    call->leaving = adapt_reserve(call->columns, sizeof(char *));
    call->copies = adapt_reserve(call->columns, sizeof(*call->copies));
    call->arrays = adapt_reserve(call->columns, sizeof(*call->arrays));
    if (!call->sent || !call->received || !call->extent || !call->true_lb || !call->true_extent ||
        !call->leaving || !call->copies)
        return ADAPT_NO_MEMORY;
    memcpy(call->copies, call->column, (size_t) call->columns * sizeof(*call->copies));
    call->column = call->copies;     /* the program's own columns may be out of scope at the wait */
    if (!call->append)
        take_arrays(call);
    for (int64_t i = 0; i < count; i++) {
        const int to = call->process_of_new[destination[i]];
        call->sent[to] += to != call->process;
        leaving += to != call->process;
    }
    for (int c = 0; c < call->columns; c++) {
        MPI_Aint lb;
        MPI_Type_get_extent(call->column[c].element, &lb, &call->extent[c]);
        MPI_Type_get_true_extent(call->column[c].element, &call->true_lb[c], &call->true_extent[c]);
        if (call->extent[c] > 0 && leaving > INT64_MAX / call->extent[c])
            return ADAPT_NO_MEMORY;
        call->leaving[c] = adapt_reserve(leaving * call->extent[c], 1);
        if (!call->leaving[c])
            return ADAPT_NO_MEMORY;
    }
    return NULL;
}

/* The first indices of leaving items, by process; [processes]. */
static int64_t *begin_of(const struct call *call)
{
    int64_t *begin = adapt_reserve(call->processes, sizeof(int64_t)), sum = 0;

    for (int process = 0; begin && process < call->processes; process++) {
        begin[process] = sum;
        sum += call->sent[process];
    }
    return begin;
}

/* Copies only the bytes of elements: bytes between two elements may belong to another column. */
static int64_t pack(const struct call *call, int64_t count, const int destination[],
                    int64_t *next)
{
    int64_t stay = 0;

    for (int64_t i = 0; i < count; i++) {
        const int to = call->process_of_new[destination[i]];
        for (int c = 0; c < call->columns; c++) {
            const int64_t extent = call->extent[c];
            const size_t bytes = (size_t) call->true_extent[c];
            char *base = (char *) call->column[c].base + call->true_lb[c];
            if (to != call->process)
                memcpy(call->leaving[c] + next[to] * extent + call->true_lb[c], base + i * extent,
                       bytes);
            else if (stay != i)
                memcpy(base + stay * extent, base + i * extent, bytes);
        }
        if (to != call->process)
            next[to]++;
        else
            stay++;
    }
    return stay;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Lists messages of at most `chunk` items for counts[processes], in the order of distances. */
static const char *list(const struct call *call, bool sends, const int64_t *begin,
                        struct message_list *made)
{
    const int64_t *counts = sends ? call->sent : call->received;
    int64_t messages = 0;

    for (int process = 0; process < call->processes; process++)
        messages += (counts[process] + call->chunk - 1) / call->chunk;
    made->messages = adapt_reserve(messages, sizeof(*made->messages));
    if (!made->messages)
        return ADAPT_NO_MEMORY;
    for (int distance = 1; distance < call->processes; distance++) {
        const int process = (call->process + (sends ? distance : call->processes - distance)) %
            call->processes;
        for (int64_t done = 0; done < counts[process]; done += call->chunk) {
            int64_t rest = counts[process] - done;
            made->messages[made->count++] = (struct message) {
                process, sends ? begin[process] + done : 0, rest < call->chunk ? rest : call->chunk
            };
        }
    }
    return NULL;
}

/* A type for `count` items of all columns, for MPI_BOTTOM. */
static int make_type(const struct call *call, char *const parts[], int64_t first, int64_t count,
                     MPI_Datatype *type)
{
    int *lengths = malloc((size_t) call->columns * sizeof(int));
    MPI_Aint *displacements = malloc((size_t) call->columns * sizeof(MPI_Aint));
    MPI_Datatype *types = malloc((size_t) call->columns * sizeof(MPI_Datatype));
    int code = lengths && displacements && types ? MPI_SUCCESS : MPI_ERR_NO_MEM;

    for (int c = 0; !code && c < call->columns; c++) {
        lengths[c] = (int) count;
        types[c] = call->column[c].element;
        code = MPI_Get_address(parts[c] + first * call->extent[c], &displacements[c]);
    }
    if (!code)
        code = MPI_Type_create_struct(call->columns, lengths, displacements, types, type);
    if (!code)
        code = MPI_Type_commit(type);
    free(lengths);
    free(displacements);
    free(types);
    return code;
}

static int post(void *state, bool sends, int64_t k, MPI_Request * request)
{
    const struct call *call = state;
    const struct adapt_exchange *exchange = &call->motion.exchange;
    const struct message *message = &(sends ? &call->send : &call->receive)->messages[k];
    char **parts = sends ? call->leaving : &call->arriving[k * call->columns];
    MPI_Datatype type;

    for (int c = 0; !sends && c < call->columns; c++) {
        parts[c] = adapt_reserve(message->count * call->extent[c], 1);
        if (!parts[c])
            return MPI_ERR_NO_MEM;
    }
    int code = make_type(call, parts, message->first, message->count, &type);
    if (code)
        return code;
    if (sends)
        code = MPI_Isend(MPI_BOTTOM, 1, type, message->process, exchange->tag, exchange->all,
                         request);
    else
        code = MPI_Irecv(MPI_BOTTOM, 1, type, message->process, exchange->tag, exchange->all,
                         request);
    int free_code = MPI_Type_free(&type);
    return code ? code : free_code;
}

static int arrived(void *state, int64_t k)
{
    struct call *call = state;
    char **parts = &call->arriving[k * call->columns];
    MPIX_Column *columns = malloc((size_t) call->columns * sizeof(*columns));

    for (int c = 0; columns && c < call->columns; c++)
        columns[c] = (MPIX_Column) {
        parts[c], call->column[c].element};
    const int failed = !columns ||
        call->append(call->receive.messages[k].count, columns, call->state);
    free(columns);
    for (int c = 0; c < call->columns; c++) {
        free(parts[c]);
        parts[c] = NULL;
    }
    return failed ? adapt_fail(MPI_ERR_OTHER, "%s: append has failed; items are missing now",
                               call->function) : MPI_SUCCESS;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int prepare(struct call *call, const char *error, int64_t count, const int destination[])
{
    for (int c = 0; !error && c < call->columns; c++) {
        int size;
        MPI_Type_size(call->column[c].element, &size);
        call->item_bytes += size;
    }
    if (!error)
        error = adapt_roles_of(call->window, &call->roles, &call->process_of_new);
    if (!error)
        error = make_space(call, count, destination);
    return agree(call, error);
}

static int begin(struct call *call, int64_t *count, const int destination[])
{
    struct adapt_exchange *exchange = &call->motion.exchange;
    int64_t *begin = begin_of(call), *next = begin_of(call);
    const char *error = begin && next ? NULL : ADAPT_NO_MEMORY;

    int code =
        MPI_Alltoall(call->sent, 1, MPI_INT64_T, call->received, 1, MPI_INT64_T,
                     call->motion.channel->all);
    if (!code && !error)
        error = list(call, true, begin, &call->send);
    if (!code && !error)
        error = list(call, false, NULL, &call->receive);
    if (!code && !error) {
        call->arriving = adapt_reserve(call->receive.count * call->columns, sizeof(char *));
        error = call->arriving ? NULL : ADAPT_NO_MEMORY;
    }
    if (!code)
        code = agree(call, error);
    if (!code) {
        *exchange = (struct adapt_exchange) {.all = call->motion.channel->all,.tag =
                adapt_channel_tag(call->motion.channel),.state = call,.post = post,
                    .arrived = arrived, .sends = call->send.count,.receives = call->receive.count
        };
        *count = pack(call, *count, destination, next);
        code = adapt_exchange_begin(exchange);
    }
    free(begin);
    free(next);
    return code;
}

static void clear(struct call *call)
{
    for (int c = 0; call->leaving && c < call->columns; c++)
        free(call->leaving[c]);
    for (int64_t k = 0; call->arriving && k < call->receive.count * call->columns; k++)
        free(call->arriving[k]);
    free(call->arriving);
    free(call->leaving);
    free(call->extent);
    free(call->true_lb);
    free(call->true_extent);
    free(call->sent);
    free(call->received);
    free(call->send.messages);
    free(call->receive.messages);
    free(call->process_of_new);
    free(call->copies);
    free(call->arrays);
}

static int finish(struct MPIX_Adapt_motion_s *motion, int code)
{
    clear((struct call *) motion);
    return code;
}

static const char *check_call(const struct call *call, const int64_t *count)
{
    if (!call->window || !call->window->new_rank_of)
        return "the window is NULL or not open (MPIX_Adapt_window_open)";
    if (!count || !call->column)
        return "count or column is NULL";
    if (*count < 0 || call->columns < 1)
        return "the number of items is negative, or that of columns not positive";
    return NULL;
}

/* Succeeds on all processes or on none.  `call` is NULL if there was no memory for it. */
static int start(struct call *call, const struct call *described, int64_t *count,
                 const int destination[], const char *error)
{
    struct call alone, *here = call ? call : &alone;

    *here = *described;
    here->motion.finish = finish;
    here->count = count;
    int code = adapt_channel_open(here->window, &here->motion.channel);
    if (code)
        return adapt_channel_failed(code, here->function, error);
    MPI_Comm_rank(here->motion.channel->all, &here->process);
    MPI_Comm_size(here->motion.channel->all, &here->processes);
    error = error ? error : check_call(here, count);
    if (!error)
        error = call ? check(here, *count, destination) : ADAPT_NO_MEMORY;
    code = prepare(here, error, error ? 0 : *count, destination);
    if (!code)
        code = begin(here, count, destination);
    if (code)
        clear(here);
    return code;
}

/* error: an earlier error, or NULL. */
static int start_or_refuse(const struct call *described, int64_t *count, const int destination[],
                           MPIX_Adapt_motion *motion, const char *error)
{
    struct call *call = malloc(sizeof(*call));

    int code = start(call, described, count, destination, motion ? error : "motion is NULL");
    if (motion)
        *motion = code ? NULL : &call->motion;
    if (code)
        free(call);
    return code;
}

int MPIX_Adapt_items_start(const epop_window_t *window, int64_t *count, const int destination[],
                           int columns, const MPIX_Column column[], MPIX_Append *append,
                           void *state, MPIX_Adapt_motion *motion)
{
    const struct call described = {.function = "MPIX_Adapt_items_start",.window = window,
        .columns = columns,.column = column,.append = append,.state = state
    };

    int code = start_or_refuse(&described, count, destination, motion, NULL);
    return code ? code : adapt_channel_owe((*motion)->channel, &(*motion)->debt, "items", "");
}

static int move(const struct call *described, int64_t *count, const int destination[],
                const char *error)
{
    MPIX_Adapt_motion motion;

    int code = start_or_refuse(described, count, destination, &motion, error);
    return code ? code : MPIX_Adapt_motion_wait(&motion);
}

int adapt_items_move(const epop_window_t *window, const char *function, const char *error,
                     int64_t *count, const int destination[], int columns,
                     const MPIX_Column column[])
{
    const struct call described = {.function = function,.window = window,.columns = columns,
                                   .column = column };

    return move(&described, count, destination, error);
}

int MPIX_Adapt_items_move(const epop_window_t *window, int64_t *count, const int destination[],
                          int columns, const MPIX_Column column[], MPIX_Append *append, void *state)
{
    const struct call described = {.function = "MPIX_Adapt_items_move",.window = window,
        .columns = columns,.column = column,.append = append,.state = state
    };

    return move(&described, count, destination, NULL);
}
