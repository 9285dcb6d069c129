/*
 * Ghosts (adapt_mesh.h): the owners of the rows in a process' lists, and messages with their
 * values.
 *
 * A directory finds the owners: process k of p stores the owners of all rows whose number is k
 * modulo p.  Each process sends its rows to the directory, then the numbers that it queries.
 */

#include "adapt_mesh.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "distribution.h"
#include "failure.h"
#include "mesh.h"

#define TAG 1

static const char FUNCTION[] = "MPIX_Ghosts_create";

/* A row and its data. */
struct known {
    int64_t global, local;
    int64_t owner;
};

static int compare_global(const void *a, const void *b)
{
    const struct known *one = a, *other = b;

    return one->global < other->global ? -1 : one->global > other->global;
}

static int compare_owner(const void *a, const void *b)
{
    const struct known *one = a, *other = b;

    return one->owner != other->owner ? (one->owner < other->owner ? -1 : 1) : compare_global(a, b);
}

static const struct known *find(const struct known list[], int64_t count, int64_t global)
{
    const struct known key = {.global = global };

    return count > 0 ? bsearch(&key, list, (size_t) count, sizeof(key), compare_global) : NULL;
}

/* ---- messages between all -------------------------------------------------------------------- */

#define NUMBERS 3               /* of a struct known, int64_t each */

_Static_assert(sizeof(struct known) == NUMBERS * sizeof(int64_t), "no gaps");

/* Lists for each process, and received lists. */
struct mail {
    int size;
    /* [size] counts of numbers; *_at: their beginnings */
    int *sent, *sent_at, *received, *received_at;
    struct known *out, *in;
    int64_t outs, ins;          /* how many */
};

static void clear_mail(struct mail *mail)
{
    free(mail->sent);
    free(mail->out);
    free(mail->in);
    *mail = (struct mail) {.size = 0 };
}

static int add_up(const int counts[], int starts[], int size, int64_t *sum)
{
    *sum = 0;
    for (int k = 0; k < size; k++) {
        starts[k] = (int) *sum;
        *sum += counts[k];
        if (*sum > INT32_MAX)
            return MPI_ERR_COUNT;
    }
    return MPI_SUCCESS;
}

static int64_t process_of(int64_t global, int size)
{
    return (global % size + size) % size;
}

/* Sends the list to the processes of the directory, by process. */
static int post_mail(MPI_Comm comm, const struct known list[], int64_t count, struct mail *mail)
{
    int64_t numbers;
    int size;

    MPI_Comm_size(comm, &size);
    *mail = (struct mail) {.size = size,.outs = count };
    mail->sent = adapt_reserve(4 * (int64_t) size, sizeof(int));
    mail->out = adapt_reserve(count, sizeof(*mail->out));
    if (!mail->sent || !mail->out)
        return MPI_ERR_NO_MEM;
    mail->sent_at = mail->sent + size;
    mail->received = mail->sent_at + size;
    mail->received_at = mail->received + size;
    for (int64_t k = 0; k < count; k++)
        mail->sent[process_of(list[k].global, size)] += NUMBERS;
    int code = add_up(mail->sent, mail->sent_at, size, &numbers);
    for (int64_t k = 0; !code && k < count; k++) {
        const int64_t to = process_of(list[k].global, size);
        mail->out[mail->sent_at[to] / NUMBERS] = list[k];
        mail->sent_at[to] += NUMBERS;
    }
    for (int k = 0; !code && k < size; k++)
        mail->sent_at[k] -= mail->sent[k];
    if (!code)
        code = MPI_Alltoall(mail->sent, 1, MPI_INT, mail->received, 1, MPI_INT, comm);
    if (!code)
        code = add_up(mail->received, mail->received_at, size, &numbers);
    if (code)
        return code;
    mail->ins = numbers / NUMBERS;
    mail->in = adapt_reserve(mail->ins, sizeof(*mail->in));
    if (!mail->in)
        return MPI_ERR_NO_MEM;
    return MPI_Alltoallv(mail->out, mail->sent, mail->sent_at, MPI_INT64_T, mail->in,
                         mail->received, mail->received_at, MPI_INT64_T, comm);
}

/* Sends the received records, which may have changed, back to their senders, which replace their
 * own by them. */
static int return_mail(MPI_Comm comm, struct mail *mail)
{
    return MPI_Alltoallv(mail->in, mail->received, mail->received_at, MPI_INT64_T, mail->out,
                         mail->sent, mail->sent_at, MPI_INT64_T, comm);
}

/* ---- one call -------------------------------------------------------------------------------- */

struct call {
    MPI_Comm comm;
    int bytes, rank;
    int64_t rows, entries, ghosts;
    const void *global;
    void *entry;
    struct known *own, *named;  /* by global number */
};

static int64_t global_of(const struct call *call, int64_t k)
{
    return adapt_get_index(call->global, call->bytes, k);
}

static int list_own(struct call *call)
{
    call->own = adapt_reserve(call->rows, sizeof(*call->own));
    if (!call->own)
        return MPI_ERR_NO_MEM;
    for (int64_t i = 0; i < call->rows; i++)
        call->own[i] = (struct known) {global_of(call, i), i, call->rank};
    qsort(call->own, (size_t) call->rows, sizeof(*call->own), compare_global);
    return MPI_SUCCESS;
}

/* Lists each ghost once. */
static int list_named(struct call *call)
{
    int64_t count = 0;

    for (int64_t k = 0; k < call->entries; k++)
        count += !find(call->own, call->rows, adapt_get_index(call->entry, call->bytes, k));
    call->named = adapt_reserve(count, sizeof(*call->named));
    if (!call->named)
        return MPI_ERR_NO_MEM;
    count = 0;
    for (int64_t k = 0; k < call->entries; k++) {
        const int64_t global = adapt_get_index(call->entry, call->bytes, k);
        if (!find(call->own, call->rows, global))
            call->named[count++] = (struct known) {global, -1, -1};
    }
    qsort(call->named, (size_t) count, sizeof(*call->named), compare_global);
    for (int64_t k = 0; k < count; k++)
        if (call->ghosts == 0 || call->named[k].global != call->named[call->ghosts - 1].global)
            call->named[call->ghosts++] = call->named[k];
    return MPI_SUCCESS;
}

/* The first row without owner, and the first with two owners; INT64_MAX: none. */
struct faults {
    int64_t missing, twice;
};

/* Sets owner and local number of all rows in the lists. */
static int find_owners(struct call *call, struct faults *faults)
{
    struct mail rows = {.size = 0 }, queries = {.size = 0 };

    int code = post_mail(call->comm, call->own, call->rows, &rows);
    if (!code)
        code = post_mail(call->comm, call->named, call->ghosts, &queries);
    if (!code)
        qsort(rows.in, (size_t) rows.ins, sizeof(*rows.in), compare_global);
    for (int64_t k = 1; !code && k < rows.ins; k++)
        if (rows.in[k].global == rows.in[k - 1].global && rows.in[k].global < faults->twice)
            faults->twice = rows.in[k].global;
    for (int64_t k = 0; !code && k < queries.ins; k++) {
        const struct known *row = find(rows.in, rows.ins, queries.in[k].global);
        if (row)
            queries.in[k] = *row;
        else if (queries.in[k].global < faults->missing)
            faults->missing = queries.in[k].global;
    }
    if (!code)
        code = return_mail(call->comm, &queries);
    if (!code && call->ghosts > 0)
        memcpy(call->named, queries.out, (size_t) call->ghosts * sizeof(*call->named));
    clear_mail(&rows);
    clear_mail(&queries);
    return code;
}

static int refuse(const struct call *call, const struct faults *mine)
{
    struct faults all;

    int code = MPI_Allreduce(mine, &all, 2, MPI_INT64_T, MPI_MIN, call->comm);
    if (!code && all.twice != INT64_MAX)
        code =
            adapt_fail(MPI_ERR_ARG,
                       "%s: row %" PRId64 " exists twice: each row must belong to one process",
                       FUNCTION, all.twice);
    else if (!code && all.missing != INT64_MAX)
        code = adapt_fail(MPI_ERR_ARG,
                          "%s: an entry refers to row %" PRId64 ", which no process has; entries "
                          "are global numbers", FUNCTION, all.missing);
    return code;
}

/* ---- neighbours ------------------------------------------------------------------------------ */

/* Makes the lists of neighbours from the counts of received and sent rows of each process. */
static int list_neighbours(MPIX_Ghosts ghosts, int size, const int coming[], const int going[])
{
    int count = 0;

    for (int rank = 0; rank < size; rank++)
        count += coming[rank] > 0 || going[rank] > 0;
    ghosts->neighbour = adapt_reserve(count, sizeof(int));
    ghosts->receive_first = adapt_reserve((int64_t) count + 1, sizeof(int64_t));
    ghosts->send_first = adapt_reserve((int64_t) count + 1, sizeof(int64_t));
    if (!ghosts->neighbour || !ghosts->receive_first || !ghosts->send_first)
        return MPI_ERR_NO_MEM;
    for (int rank = 0; rank < size; rank++) {
        if (coming[rank] == 0 && going[rank] == 0)
            continue;
        const int k = ghosts->neighbours++;
        ghosts->neighbour[k] = rank;
        ghosts->receive_first[k + 1] = ghosts->receive_first[k] + coming[rank];
        ghosts->send_first[k + 1] = ghosts->send_first[k] + going[rank];
    }
    return MPI_SUCCESS;
}

/* Sends the owners which of their rows others need. call->named is sorted by owner. */
static int exchange_needs(const struct call *call, MPIX_Ghosts ghosts)
{
    int64_t comes, goes, *wanted = adapt_reserve(call->ghosts, sizeof(int64_t));
    int size;

    MPI_Comm_size(call->comm, &size);
    int *coming = adapt_reserve(4 * (int64_t) size, sizeof(int)), *going =
        coming ? coming + size : NULL;
    int code = coming && wanted ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (int64_t k = 0; !code && k < call->ghosts; k++) {
        coming[call->named[k].owner]++;
        wanted[k] = call->named[k].local;
    }
    if (!code)
        code = MPI_Alltoall(coming, 1, MPI_INT, going, 1, MPI_INT, call->comm);
    if (!code)
        code = add_up(coming, coming + 2 * size, size, &comes);
    if (!code)
        code = add_up(going, coming + 3 * size, size, &goes);
    if (!code) {
        ghosts->send_row = adapt_reserve(goes, sizeof(int64_t));
        code = ghosts->send_row ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    if (!code)
        code =
            MPI_Alltoallv(wanted, coming, coming + 2 * size, MPI_INT64_T, ghosts->send_row, going,
                          coming + 3 * size, MPI_INT64_T, call->comm);
    if (!code)
        code = list_neighbours(ghosts, size, coming, going);
    free(coming);
    free(wanted);
    return code;
}

/* Sets global numbers and owners of ghosts; stores the local number of each in named, which is then
 * sorted by global number. */
static int number(struct call *call, MPIX_Ghosts ghosts)
{
    ghosts->rows = call->rows;
    ghosts->count = call->ghosts;
    ghosts->row_global = adapt_reserve(call->rows, sizeof(int64_t));
    ghosts->global = adapt_reserve(call->ghosts, sizeof(int64_t));
    ghosts->owner = adapt_reserve(call->ghosts, sizeof(int));
    if (!ghosts->row_global || !ghosts->global || !ghosts->owner)
        return MPI_ERR_NO_MEM;
    for (int64_t i = 0; i < call->rows; i++)
        ghosts->row_global[i] = global_of(call, i);
    for (int64_t k = 0; k < call->ghosts; k++) {
        ghosts->global[k] = call->named[k].global;
        ghosts->owner[k] = (int) call->named[k].owner;
        call->named[k].local = call->rows + k;
    }
    qsort(call->named, (size_t) call->ghosts, sizeof(*call->named), compare_global);
    return MPI_SUCCESS;
}

static void renumber(struct call *call)
{
    for (int64_t k = 0; k < call->entries; k++) {
        const int64_t global = adapt_get_index(call->entry, call->bytes, k);
        const struct known *row = find(call->own, call->rows, global);
        row = row ? row : find(call->named, call->ghosts, global);
        adapt_set_index(call->entry, call->bytes, k, row->local);
    }
}

static int make(struct call *call, MPIX_Ghosts ghosts)
{
    struct faults faults = { INT64_MAX, INT64_MAX };

    int code = list_own(call);
    if (!code)
        code = list_named(call);
    if (!code)
        code = find_owners(call, &faults);
    if (!code)
        code = refuse(call, &faults);
    if (!code) {
        qsort(call->named, (size_t) call->ghosts, sizeof(*call->named), compare_owner);
        code = exchange_needs(call, ghosts);
    }
    if (!code)
        code = number(call, ghosts);
    if (!code)
        renumber(call);
    free(call->own);
    free(call->named);
    return code;
}

int MPIX_Ghosts_create(MPI_Comm comm, MPI_Datatype index, int64_t rows, const void *global,
                       int64_t entries, void *entry, MPIX_Ghosts *ghosts)
{
    struct call call = {.comm = comm,.rows = rows,.entries = entries,.global = global,
                        .entry = entry };

    if (!adapt_index_bytes(index, &call.bytes) || !ghosts || rows < 0 || entries < 0 ||
        (rows > 0 && !global) ||(entries > 0 && !entry))
        return adapt_fail(MPI_ERR_ARG,
                          "%s: index is not MPI_INT or MPI_INT64_T, a number is negative, or an "
                          "array or"
                          " ghosts is NULL", FUNCTION);
    *ghosts = calloc(1, sizeof(**ghosts));
    if (!*ghosts)
        return adapt_fail(MPI_ERR_NO_MEM, "%s: there is no memory", FUNCTION);
    (*ghosts)->comm = MPI_COMM_NULL;
    MPI_Comm_rank(comm, &call.rank);
    int code = MPI_Comm_dup(comm, &(*ghosts)->comm);
    call.comm = (*ghosts)->comm;
    if (!code)
        code = make(&call, *ghosts);
    if (code == MPI_ERR_NO_MEM || code == MPI_ERR_COUNT)
        code =
            adapt_fail(code, "%s: there is no memory, or a process has more than %d rows to query",
                       FUNCTION, INT32_MAX / NUMBERS);
    if (code)
        MPIX_Ghosts_free(ghosts);
    return code;
}

int MPIX_Ghosts_free(MPIX_Ghosts *ghosts)
{
    int code = MPI_SUCCESS;

    if (!ghosts)
        return adapt_fail(MPI_ERR_ARG, "MPIX_Ghosts_free: ghosts is NULL");
    if (!*ghosts)
        return code;
    if ((*ghosts)->comm != MPI_COMM_NULL)
        code = MPI_Comm_free(&(*ghosts)->comm);
    free((*ghosts)->row_global);
    free((*ghosts)->global);
    free((*ghosts)->owner);
    free((*ghosts)->neighbour);
    free((*ghosts)->receive_first);
    free((*ghosts)->send_first);
    free((*ghosts)->send_row);
    free(*ghosts);
    *ghosts = NULL;
    return code;
}

int MPIX_Ghosts_restore(MPIX_Ghosts ghosts, MPI_Datatype index, int64_t entries, void *entry)
{
    static const char function[] = "MPIX_Ghosts_restore";
    int bytes;

    if (!ghosts || !adapt_index_bytes(index, &bytes) || entries < 0 || (entries > 0 && !entry))
        return adapt_fail(MPI_ERR_ARG,
                          "%s: ghosts or entry is NULL, or index is not MPI_INT or MPI_INT64_T",
                          function);
    for (int64_t k = 0; k < entries; k++) {
        const int64_t local = adapt_get_index(entry, bytes, k);
        if (local < 0 || local >= ghosts->rows + ghosts->count)
            return adapt_fail(MPI_ERR_ARG,
                              "%s: entry %" PRId64 " is %" PRId64 ", no local number of %" PRId64
                              " rows and %" PRId64 " ghosts", function, k, local, ghosts->rows,
                              ghosts->count);
    }
    for (int64_t k = 0; k < entries; k++) {
        const int64_t local = adapt_get_index(entry, bytes, k);
        adapt_set_index(entry, bytes, k, local < ghosts->rows ? ghosts->row_global[local] :
                        ghosts->global[local - ghosts->rows]);
    }
    return MPI_SUCCESS;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int exchange(MPIX_Ghosts ghosts, char *values, MPI_Datatype element, MPI_Aint extent,
                    char *packed, MPI_Request requests[])
{
    int code = MPI_SUCCESS, count = 0;

    for (int k = 0; !code && k < ghosts->neighbours; k++) {
        const int64_t first = ghosts->receive_first[k], many = ghosts->receive_first[k + 1] - first;
        if (many > 0)
            code =
                MPI_Irecv(values + (ghosts->rows + first) * extent, (int) many, element,
                          ghosts->neighbour[k], TAG, ghosts->comm, &requests[count++]);
    }
    for (int k = 0; !code && k < ghosts->neighbours; k++) {
        const int64_t first = ghosts->send_first[k], many = ghosts->send_first[k + 1] - first;
        for (int64_t i = first; i < first + many; i++)
            memcpy(packed + i * extent, values + ghosts->send_row[i] * extent, (size_t) extent);
        if (many > 0)
            code =
                MPI_Isend(packed + first * extent, (int) many, element, ghosts->neighbour[k], TAG,
                          ghosts->comm, &requests[count++]);
    }
    for (int k = 0; k < count; k++) {
        const int wait_code = MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
        code = code ? code : wait_code;
    }
    return code;
}

int MPIX_Ghosts_update(MPIX_Ghosts ghosts, void *values, MPI_Datatype element)
{
    static const char function[] = "MPIX_Ghosts_update";
    MPI_Aint lb, extent;

    if (!ghosts || element == MPI_DATATYPE_NULL || (!values && ghosts->rows + ghosts->count > 0))
        return adapt_fail(MPI_ERR_ARG, "%s: ghosts, values or element is NULL", function);
    MPI_Type_get_extent(element, &lb, &extent);
    char *packed = adapt_reserve(ghosts->send_first[ghosts->neighbours], (size_t) extent);
    MPI_Request *requests = adapt_reserve(2 * (int64_t) ghosts->neighbours, sizeof(MPI_Request));
    int code = packed && requests ? exchange(ghosts, values, element, extent, packed, requests) :
        adapt_fail(MPI_ERR_NO_MEM, "%s: there is no memory", function);
    free(packed);
    free(requests);
    return code;
}
