/*
 * Every call that completes requests, with every kind of request: whether it completes, its index,
 * what becomes of the handle, and the status.
 *
 * A kind (table `kinds`) is a function that makes a request which completes without anything else
 * that this process does.  Both processes take the same steps, so that each finds its partner's
 * messages.  `alone` completes one request by each call; `pairs` completes each pair of kinds by
 * the calls on arrays; `many` does so with more requests than the library handles at a time.
 */

#include "completions_kinds.h"

/* ---- what is checked ---------------------------------------------------------------- */

static void make(struct made *m, const struct kind *kind)
{
    *m = (struct made) {MPI_REQUEST_NULL, MPI_REQUEST_NULL, {0, 0, 0}, {1, 2, 3}};
    kind->make(m);
}

/* Frees what is left: of a persistent request, and of the other side of the message. */
static void unmake(struct made *m)
{
    if (m->other != MPI_REQUEST_NULL) {
        ET_MPI(MPI_Wait(&m->other, MPI_STATUS_IGNORE));
        if (m->other != MPI_REQUEST_NULL)
            ET_MPI(MPI_Request_free(&m->other));
    }
    if (m->request != MPI_REQUEST_NULL)
        ET_MPI(MPI_Request_free(&m->request));
}

static void spoil(MPI_Status * status)
{
    memset(status, 0x55, sizeof(*status));
    status->MPI_SOURCE = 1234;
    status->MPI_TAG = 1235;
    status->MPI_ERROR = MARK;
}

static void check_status(const struct kind *kind, MPI_Status * status, const char *call)
{
    static const struct {
        int source, tag, count, cancelled;
    } empty = {MPI_ANY_SOURCE, MPI_ANY_TAG, 0, 0}, null = {MPI_PROC_NULL, MPI_ANY_TAG, 0, 0};
    int received = kind->status == RECEIVED || kind->status == BYTES;
    int source = kind->status == EMPTY ? empty.source : received ? partner : null.source;
    int tag = received ? 5 : MPI_ANY_TAG, count = received ? COUNT : 0, actual, cancelled;
    MPI_Count large;

    if (kind->status == ANY)
        return;
    ET_MPI(MPI_Test_cancelled(status, &cancelled));
    ET_CHECK(cancelled == (kind->status == CANCELLED), "%s of %s: cancelled is %d", call,
             kind->name, cancelled);
    if (kind->status == SENT || kind->status == CANCELLED)
        return;
    ET_MPI(MPI_Get_count(status, MPI_INT, &actual));
    ET_CHECK(actual == count, "%s of %s: count is %d, not %d", call, kind->name, actual, count);
    ET_MPI(MPI_Get_elements_x(status, MPI_INT, &large));
    ET_CHECK(large == count, "%s of %s: elements are %d, not %d", call, kind->name, (int) large,
             count);
    if (kind->status == BYTES)
        return;
    ET_CHECK(status->MPI_SOURCE == source, "%s of %s: source is %d, not %d", call, kind->name,
             status->MPI_SOURCE, source);
    ET_CHECK(status->MPI_TAG == tag, "%s of %s: tag is %d, not %d", call, kind->name,
             status->MPI_TAG, tag);
}

static void check_handle(const struct kind *kind, MPI_Request request, const char *call)
{
    ET_CHECK((request != MPI_REQUEST_NULL) == kind->stays, "%s of %s: the handle is %s", call,
             kind->name, kind->stays ? "null" : "left");
}

/* ---- one request ---------------------------------------------------------------- */

enum call { WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, GET_STATUS, CALLS };
static const char *const call_names[] = {
    "Wait", "Test", "Waitall", "Testall", "Waitany", "Testany", "Waitsome", "Testsome", "Get_status"
};

/* One call on `count` requests; 1 if it has completed what it completes.  `index` is of Waitany and
 * Testany, and the first one of Waitsome and Testsome, whose outcount is in `outcount`. */
static int complete(enum call call, int count, MPI_Request * requests, int *outcount, int *indices,
                    MPI_Status * statuses)
{
    int flag = 1;

    *outcount = 1;
    switch (call) {
        case WAIT:
            ET_MPI(MPI_Wait(requests, statuses));
            break;
        case TEST:
            ET_MPI(MPI_Test(requests, &flag, statuses));
            break;
        case WAITALL:
            ET_MPI(MPI_Waitall(count, requests, statuses));
            break;
        case TESTALL:
            ET_MPI(MPI_Testall(count, requests, &flag, statuses));
            break;
        case WAITANY:
            ET_MPI(MPI_Waitany(count, requests, indices, statuses));
            break;
        case TESTANY:
            ET_MPI(MPI_Testany(count, requests, indices, &flag, statuses));
            ET_CHECK(flag ||
                     *indices == MPI_UNDEFINED, "Testany: index %d without a flag", *indices);
            break;
        case WAITSOME:
            ET_MPI(MPI_Waitsome(count, requests, outcount, indices, statuses));
            break;
        case TESTSOME:
            ET_MPI(MPI_Testsome(count, requests, outcount, indices, statuses));
            flag = *outcount != 0;
            break;
        case GET_STATUS:
            ET_MPI(MPI_Request_get_status(*requests, &flag, statuses));
            break;
        default:
            ET_CHECK(0, "no call %d", call);
    }
    return flag;
}

static void complete_one(const struct kind *kind, enum call call, int ignored)
{
    const char *name = call_names[call];
    struct made m;
    MPI_Status status;
    int index = 1234, outcount, some = call == WAITSOME || call == TESTSOME;
    double until = et_seconds() + 60 * et.patience_s / 30;

    make(&m, kind);
    spoil(&status);
    while (!complete(call, 1, &m.request, &outcount, &index, ignored ? MPI_STATUS_IGNORE : &status))
        ET_CHECK(et_seconds() < until, "%s of %s: it does not complete", name, kind->name);
    if (call == WAITANY || call == TESTANY)
        ET_CHECK(index == (kind->active ? 0 : MPI_UNDEFINED), "%s of %s: index %d", name,
                 kind->name, index);
    if (some)
        ET_CHECK(outcount == (kind->active ? 1 : MPI_UNDEFINED), "%s of %s: outcount %d", name,
                 kind->name, outcount);
    if (some && kind->active)
        ET_CHECK(index == 0, "%s of %s: index %d", name, kind->name, index);
    if (!ignored && !(some && !kind->active))
        check_status(kind, &status, name);
    if (!ignored &&
        (call == WAIT || call == TEST || call == WAITANY || call == TESTANY || call == GET_STATUS))
        ET_CHECK(status.MPI_ERROR == MARK, "%s of %s: MPI_ERROR is written", name, kind->name);
    if (call == GET_STATUS && m.request != MPI_REQUEST_NULL)
        ET_MPI(MPI_Wait(&m.request, MPI_STATUS_IGNORE));
    check_handle(kind, m.request, name);
    unmake(&m);
}

static void alone(void)
{
    for (int k = 0; k < KINDS; k++)
        for (int call = 0; call < CALLS; call++)
            for (int ignored = 0; ignored < 2; ignored++)
                complete_one(&kinds[k], (enum call) call, ignored);
}

/* ---- several requests ---------------------------------------------------------------- */

/* All are completed by `call`, repeated; each active one once, with its status. */
static void complete_all(int count, const struct kind **which, enum call call, int ignored)
{
    const char *name = call_names[call];
    int all = call == WAITALL || call == TESTALL, some = call == WAITSOME || call == TESTSOME;
    struct made *m = malloc(count * sizeof(*m));
    MPI_Request *requests = malloc(count * sizeof(*requests));
    MPI_Status *statuses = malloc(count * sizeof(*statuses));
    int *indices = malloc(count * sizeof(*indices)), *seen = calloc(count, sizeof(*seen));
    int left = 0, outcount;
    double until = et_seconds() + 60 * et.patience_s / 30;

    for (int i = 0; i < count; i++) {
        make(&m[i], which[i]);
        requests[i] = m[i].request;
        left += which[i]->active;
    }
    for (;;) {
        for (int i = 0; i < count; i++)
            spoil(&statuses[i]);
        while (!complete(call, count, requests, &outcount, indices,
                         ignored ? MPI_STATUSES_IGNORE : statuses))
            ET_CHECK(et_seconds() < until, "%s of %d: they do not complete", name, count);
        if (all)
            break;
        if (left == 0) {
            ET_CHECK((some ? outcount : indices[0]) == MPI_UNDEFINED, "%s of %d: %d", name, count,
                     some ? outcount : indices[0]);
            if (!some && !ignored)
                check_status(&kinds[0], statuses, name);
            break;
        }
        ET_CHECK(outcount > 0 && outcount <= left, "%s of %s and others: outcount %d", name,
                 which[0]->name, outcount);
        for (int i = 0; i < outcount; i++) {
            int index = indices[i];
            ET_CHECK(index >= 0 && index < count, "%s of %s and %s: index %d", name, which[0]->name,
                     which[1]->name, index);
            ET_CHECK(which[index]->active && !seen[index], "%s of %s is completed again", name,
                     which[index]->name);
            seen[index] = 1;
            left--;
            if (!ignored)
                check_status(which[index], &statuses[i], name);
        }
    }
    for (int i = 0; i < count; i++) {
        if (all && !ignored)
            check_status(which[i], &statuses[i], name);
        m[i].request = requests[i];
        check_handle(which[i], requests[i], name);
        unmake(&m[i]);
    }
    free(seen);
    free(indices);
    free(statuses);
    free(requests);
    free(m);
}

static void pairs(void)
{
    for (int first = 0; first < KINDS; first++)
        for (int second = 0; second < KINDS; second++)
            for (int call = WAITALL; call < GET_STATUS; call++)
                complete_all(2, (const struct kind *[]) {&kinds[first], &kinds[second]},
                             (enum call) call, (first + second) % 2);
}

/* Each kind among many of one kind, in the first and the last position. */
static void many(void)
{
    enum { TOTAL = 150 };
    static const char *const names[] = {"null", "recv", "send"};
    const struct kind *which[TOTAL];

    for (int common = 0; common < 3; common++)
        for (int k = 0; k < KINDS; k++) {
            int c = 0;
            while (strcmp(kinds[c].name, names[common]) != 0)
                c++;
            for (int i = 0; i < TOTAL; i++)
                which[i] = &kinds[i == 0 || i == TOTAL / 2 ? k : c];
            for (int call = WAITALL; call < GET_STATUS; call++)
                for (int ignored = 0; ignored < 2; ignored++)
                    complete_all(TOTAL, which, (enum call) call, ignored);
            which[TOTAL - 1] = &kinds[k];
            complete_all(TOTAL, which, WAITALL, 0);
            complete_all(TOTAL, which, TESTALL, 1);
        }
}

static void open_objects(void)
{
    int data[COUNT] = {1, 2, 3}, *memory;
    const char *name = "completions.data";

    if (et.rank == 0) {
        ET_MPI(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                             &file));
        ET_MPI(MPI_File_write(file, data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        ET_MPI(MPI_File_close(&file));
    }
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    ET_MPI(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file));
    ET_MPI(MPI_Win_allocate(sizeof(data), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                            &win));
    ET_MPI(MPI_Win_lock_all(0, win));
    bsend_buffer = malloc(1 << 20);
    ET_MPI(MPI_Buffer_attach(bsend_buffer, 1 << 20));
}

static void close_objects(void)
{
    void *buffer;
    int size;

    ET_MPI(MPI_Buffer_detach(&buffer, &size));
    ET_CHECK(buffer == bsend_buffer, "another buffer");
    free(bsend_buffer);
    ET_MPI(MPI_Win_unlock_all(win));
    ET_MPI(MPI_Win_free(&win));
    ET_MPI(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    const char *which;

    et_options(&argc, &argv);
    which = et_argument(argc, argv, "case", "alone");
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    partner = et.size - 1 - et.rank;
    open_objects();
    if (strcmp(which, "alone") == 0)
        alone();
    else if (strcmp(which, "pairs") == 0)
        pairs();
    else
        many();
    close_objects();
    if (et.rank == 0)
        et_log("PASS completions %s", which);
    MPI_Finalize();
    return 0;
}
