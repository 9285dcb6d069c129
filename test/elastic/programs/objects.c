/*
 * Small promises of MPI objects, one case each: --case handlers, aborts, cartesian, info,
 * partitioned, freed_comm, freed_early, all_comms, accumulate, pcontrol, attributes, replaced,
 * callback_errors, exchange, cancelled, rma_requests.
 */

#include "objects_attributes.h"
#include "objects_gaps.h"

/* ---- error handlers ---------------------------------------------------------------- */

static void ignore_error(MPI_Comm * comm, int *error, ...)
{
    (void) comm;
    (void) error;
}

static void expect_handler(MPI_Errhandler got, MPI_Errhandler set, const char *of)
{
    ET_CHECK(got == set, "%s: handler %x was set, and it is %x", of, (unsigned) set,
             (unsigned) got);
    ET_MPI(MPI_Errhandler_free(&got));
}

/* Each predefined handler on each kind of object, beside a handler of the program. */
static void handlers(void)
{
    const MPI_Errhandler predefined[] = {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN, MPI_ERRORS_ABORT};
    MPI_Errhandler own, got;
    MPI_Comm comm;
    MPI_Win win;
    MPI_File file;
    MPI_Session session;
    int *memory;

    ET_MPI(MPI_Comm_create_errhandler(ignore_error, &own));
    ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    ET_MPI(MPI_Win_allocate(4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    ET_MPI(MPI_File_open(MPI_COMM_WORLD, "objects.data",
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file));
    for (int i = 0; i < 9; i++) {
        MPI_Errhandler set = predefined[i % 3];
        ET_MPI(MPI_Comm_set_errhandler(comm, set));
        ET_MPI(MPI_Comm_get_errhandler(comm, &got));
        expect_handler(got, set, "communicator");
        ET_MPI(MPI_Comm_set_errhandler(comm, own));
        ET_MPI(MPI_Comm_get_errhandler(comm, &got));
        expect_handler(got, own, "communicator");
        ET_MPI(MPI_Win_set_errhandler(win, set));
        ET_MPI(MPI_Win_get_errhandler(win, &got));
        expect_handler(got, set, "window");
        ET_MPI(MPI_File_set_errhandler(file, set));
        ET_MPI(MPI_File_get_errhandler(file, &got));
        expect_handler(got, set, "file");
        ET_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, set));
        ET_MPI(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
        expect_handler(got, set, "MPI_FILE_NULL");
        ET_MPI(MPI_Session_init(MPI_INFO_NULL, set, &session));
        ET_MPI(MPI_Session_get_errhandler(session, &got));
        expect_handler(got, set, "session");
        ET_MPI(MPI_Session_finalize(&session));
    }
    ET_MPI(MPI_Errhandler_free(&own));
    ET_MPI(MPI_File_close(&file));
    ET_MPI(MPI_Win_free(&win));
    ET_MPI(MPI_Comm_free(&comm));
}

/* An error is fatal to the processes of the communicator. */
static void aborts(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
    et_log("ABORTING");
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (et.rank == 0)
        MPI_Send(NULL, 0, MPI_INT, 77, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- Cartesian topologies ---------------------------------------------------------------- */

static void expect_scalar(MPI_Comm comm)
{
    int size, dims = -1, kind;

    ET_CHECK(comm != MPI_COMM_NULL, "no communicator on rank %d", et.rank);
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_MPI(MPI_Topo_test(comm, &kind));
    ET_MPI(MPI_Cartdim_get(comm, &dims));
    ET_CHECK(size == 1 && kind == MPI_CART &&
             dims == 0, "size %d, topology %d, %d dimensions", size, kind, dims);
    ET_MPI(MPI_Cart_get(comm, 0, NULL, NULL, NULL));
    ET_MPI(MPI_Comm_free(&comm));
}

static void cartesian(void)
{
    int dims[] = {et.size / 2, 2}, periods[] = {0, 1}, keep[] = {0, 0}, coords[2], size, rank, n;
    MPI_Comm grid, sub, point;

    ET_MPI(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
    ET_MPI(MPI_Cart_sub(grid, keep, &sub));
    expect_scalar(sub);
    keep[1] = 1;
    ET_MPI(MPI_Cart_sub(grid, keep, &sub));
    ET_MPI(MPI_Comm_size(sub, &size));
    ET_MPI(MPI_Comm_rank(sub, &rank));
    ET_MPI(MPI_Cart_coords(grid, et.rank, 2, coords));
    ET_CHECK(size == 2 &&
             rank == coords[1], "rank %d of %d, coordinates %d", rank, size, coords[1]);
    keep[0] = 0;
    ET_MPI(MPI_Cart_sub(sub, keep, &point));
    expect_scalar(point);
    ET_MPI(MPI_Comm_free(&sub));
    /* of no dimension itself */
    ET_MPI(MPI_Cart_create(MPI_COMM_SELF, 0, NULL, NULL, 0, &point));
    ET_MPI(MPI_Cart_sub(point, NULL, &sub));
    expect_scalar(sub);
    ET_MPI(MPI_Cart_rank(point, NULL, &n));
    ET_CHECK(n == 0, "rank %d of no coordinates", n);
    ET_MPI(MPI_Comm_free(&point));
    ET_MPI(MPI_Comm_free(&grid));
}

/* ---- info ---------------------------------------------------------------- */

static void info(void)
{
    MPI_Info info, copy;
    char value[20];
    int length, flag, keys, before;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "color", "blue"));
    length = 0;
    ET_MPI(MPI_Info_get_string(info, "color", &length, NULL, &flag));
    ET_CHECK(flag && length == 5, "length %d, flag %d", length, flag);
    length = 0;
    flag = 1;
    ET_MPI(MPI_Info_get_string(info, "size", &length, NULL, &flag));
    ET_CHECK(!flag && length == 0, "length %d, flag %d", length, flag);
    length = 3;
    ET_MPI(MPI_Info_get_string(info, "color", &length, value, &flag));
    ET_CHECK(flag && length == 5 && strcmp(value, "bl") == 0, "length %d, value %s", length, value);
    length = 20;
    ET_MPI(MPI_Info_get_string(info, "color", &length, value, &flag));
    ET_CHECK(flag && length == 5 &&
             strcmp(value, "blue") == 0, "length %d, value %s", length, value);
    length = 5;
    ET_ERROR(MPI_Info_get_string(info, "color", &length, NULL, &flag), MPI_ERR_ARG, NULL);
    ET_MPI(MPI_Info_free(&info));

    /* of the program's start: it is read only */
    ET_MPI(MPI_Info_get_nkeys(MPI_INFO_ENV, &before));
    info = MPI_INFO_ENV;
    ET_ERROR(MPI_Info_set(info, "color", "blue"), MPI_ERR_INFO, NULL);
    ET_ERROR(MPI_Info_delete(info, "color"), MPI_ERR_INFO, NULL);
    ET_ERROR(MPI_Info_free(&info), MPI_ERR_INFO, NULL);
    ET_CHECK(info == MPI_INFO_ENV, "the handle has changed");
    ET_MPI(MPI_Info_get_nkeys(MPI_INFO_ENV, &keys));
    ET_CHECK(keys == before, "%d keys, and %d before", keys, before);
    ET_MPI(MPI_Info_dup(MPI_INFO_ENV, &copy));
    ET_MPI(MPI_Info_set(copy, "color", "blue"));
    ET_MPI(MPI_Info_free(&copy));
}

/* ---- partitioned communication --------------------------------------------------------------- */

static void expect_arrived(MPI_Request request, int partition, int expected, const char *when)
{
    int flag = -1;

    ET_MPI(MPI_Parrived(request, partition, &flag));
    ET_CHECK(flag == expected, "%s: arrived is %d", when, flag);
}

static void partitioned(void)
{
    enum { PARTS = 4 };
    int sent[PARTS], data[PARTS], partner = et.size - 1 - et.rank, flag;
    MPI_Request requests[2], copy;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    expect_arrived(MPI_REQUEST_NULL, 0, 1, "no request");
    ET_MPI(MPI_Precv_init(data, PARTS, 1, MPI_INT, partner, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[0]));
    ET_MPI(MPI_Psend_init(sent, PARTS, 1, MPI_INT, partner, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[1]));
    expect_arrived(requests[0], 1, 1, "never started");
    ET_ERROR(MPI_Parrived(requests[1], 1, &flag), MPI_ERR_REQUEST, NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < PARTS; i++) {
            sent[i] = 100 * round + 10 * et.rank + i;
            data[i] = -1;
        }
        ET_MPI(MPI_Startall(2, requests));
        MPI_Barrier(MPI_COMM_WORLD);
        expect_arrived(requests[0], 2, 0, "nothing is ready");
        copy = requests[round % 2];
        ET_ERROR(MPI_Request_free(&copy), MPI_ERR_REQUEST, NULL);
        ET_CHECK(copy == requests[round % 2], "the handle has changed");
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = PARTS - 1; i >= 0; i--)
            ET_MPI(MPI_Pready(i, requests[1]));
        for (flag = 0; !flag;)
            ET_MPI(MPI_Parrived(requests[0], 3, &flag));
        ET_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < PARTS; i++)
            ET_CHECK(data[i] == 100 * round + 10 * partner + i, "partition %d is %d", i, data[i]);
        expect_arrived(requests[0], 0, 1, "completed");
    }
    ET_MPI(MPI_Request_free(&requests[0]));
    ET_MPI(MPI_Request_free(&requests[1]));

    /* to and from no process */
    ET_MPI(MPI_Precv_init(data, PARTS, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[0]));
    ET_MPI(MPI_Psend_init(sent, PARTS, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[1]));
    for (int round = 0; round < 2; round++) {
        MPI_Status statuses[2];
        ET_MPI(MPI_Startall(2, requests));
        ET_MPI(MPI_Pready_range(0, PARTS - 1, requests[1]));
        ET_MPI(MPI_Waitall(2, requests, statuses));
        ET_CHECK(statuses[0].MPI_SOURCE == MPI_PROC_NULL && statuses[0].MPI_TAG == MPI_ANY_TAG,
                 "source %d, tag %d", statuses[0].MPI_SOURCE, statuses[0].MPI_TAG);
    }
    ET_MPI(MPI_Request_free(&requests[0]));
    ET_MPI(MPI_Request_free(&requests[1]));
}

/* ---- a message that nobody received before its communicator was freed ------------------------ */

static void freed_comm(void)
{
    int data, flag;
    MPI_Comm comm;
    MPI_Status status;

    for (int round = 0; round < 20; round++) {
        ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        ET_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status));
        ET_CHECK(!flag, "round %d: a message with tag %d of an earlier communicator", round,
                 status.MPI_TAG);
        if (et.rank == 0) {
            MPI_Request request;
            data = 1000 + round;
            ET_MPI(MPI_Isend(&data, 1, MPI_INT, 1, round, comm, &request));
            ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else if (et.rank == 1 && round % 2) {
            /* it has arrived */
            ET_MPI(MPI_Probe(0, round, comm, &status));
        }
        ET_MPI(MPI_Barrier(comm));
        ET_MPI(MPI_Comm_free(&comm));
    }
}

/* A message that is sent when the receiver has freed the communicator already: it arrives before
 * the next one is made, and before later ones that have the same context id. */
static void freed_early(void)
{
    int data, flag;
    MPI_Comm comm;
    MPI_Status status;

    for (int round = 0; round < 50; round++) {
        ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        ET_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status));
        ET_CHECK(!flag, "round %d: a message with tag %d of an earlier communicator", round,
                 status.MPI_TAG);
        if (et.rank == 0) {
            ET_MPI(MPI_Recv(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            ET_MPI(MPI_Send(&data, 1, MPI_INT, 1, round, comm));
        }
        ET_MPI(MPI_Comm_free(&comm));
        if (et.rank == 1)
            ET_MPI(MPI_Send(&round, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
    }
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* As many communicators as there can be: each that is freed makes one possible. */
static void all_comms(void)
{
    static MPI_Comm comms[10000];
    int n = 0;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    while (n < 10000 && MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]) == MPI_SUCCESS)
        n++;
    ET_CHECK(n > 1000 && n < 10000, "%d communicators", n);
    for (int i = 0; i < 3; i++) {
        ET_MPI(MPI_Comm_free(&comms[i]));
        ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    }
    while (n > 0)
        ET_MPI(MPI_Comm_free(&comms[--n]));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* ---- accumulate ---------------------------------------------------------------- */

/* The operators that a type does not have. */
static void accumulate_undefined(int target, MPI_Win win)
{
    static const struct {
        MPI_Datatype type;
        MPI_Op op;
    } undefined[] = {
        {MPI_FLOAT, MPI_BOR}, {MPI_DOUBLE, MPI_BXOR}, {MPI_BYTE, MPI_SUM}, {MPI_INT, MPI_MAXLOC},
            {MPI_2INT, MPI_MAX}, {MPI_DOUBLE_INT, MPI_SUM}, {MPI_C_DOUBLE_COMPLEX, MPI_MIN}
    };
    double data[4] = {1, 2, 3, 4}, result[4];
    MPI_Request request;
    MPI_Datatype two;

    for (int i = 0; i < (int) (sizeof(undefined) / sizeof(undefined[0])); i++) {
        MPI_Datatype type = undefined[i].type;
        MPI_Op op = undefined[i].op;
        ET_MPI(MPI_Type_vector(2, 1, 2, type, &two));
        ET_MPI(MPI_Type_commit(&two));
        ET_ERROR(MPI_Accumulate(data, 1, type, target, 0, 1, type, op, win), MPI_ERR_OP, NULL);
        ET_ERROR(MPI_Accumulate(data, 2, type, target, 0, 1, two, op, win), MPI_ERR_OP, NULL);
        ET_ERROR(MPI_Accumulate_c(data, 1, type, target, 0, 1, type, op, win), MPI_ERR_OP, NULL);
        ET_ERROR(MPI_Raccumulate(data, 1, type, target, 0, 1, type, op, win, &request), MPI_ERR_OP,
                 NULL);
        ET_ERROR(MPI_Get_accumulate(data, 1, type, result, 1, type, target, 0, 1, type, op, win),
                 MPI_ERR_OP, NULL);
        ET_ERROR(MPI_Rget_accumulate(data, 1, type, result, 1, type, target, 0, 1, type, op, win,
                                     &request),
                 MPI_ERR_OP, NULL);
        ET_ERROR(MPI_Fetch_and_op(data, result, type, target, 0, op, win), MPI_ERR_OP, NULL);
        /* every type has these, and no element needs one */
        ET_MPI(MPI_Accumulate(data, 0, type, target, 0, 0, type, op, win));
        ET_MPI(MPI_Accumulate(data, 1, type, target, 0, 1, type, MPI_REPLACE, win));
        ET_MPI(MPI_Get_accumulate(NULL, 0, type, result, 1, type, target, 0, 1, type, MPI_NO_OP,
                                  win));
        ET_MPI(MPI_Win_flush(target, win));
        ET_MPI(MPI_Type_free(&two));
    }
}

/* Types without an element have no predefined datatype, and fit to each other. */
static void accumulate_nothing(int target, MPI_Win win)
{
    int number = 1, result = 0;
    MPI_Request requests[2];
    MPI_Datatype none[2];

    ET_MPI(MPI_Type_contiguous(0, MPI_INT, &none[0]));
    ET_MPI(MPI_Type_vector(0, 1, 1, MPI_DOUBLE, &none[1]));
    for (int i = 0; i < 2; i++)
        ET_MPI(MPI_Type_commit(&none[i]));
    for (int i = 0; i < 4; i++) {
        MPI_Datatype one = none[i / 2], other = none[i % 2];
        ET_MPI(MPI_Accumulate(&number, 1, one, target, 0, 1, other, MPI_SUM, win));
        ET_MPI(MPI_Accumulate(&number, 0, MPI_INT, target, 0, 1, other, MPI_SUM, win));
        ET_MPI(MPI_Get_accumulate(&number, 1, one, &result, 1, other, target, 0, 1, other, MPI_SUM,
                                  win));
        ET_MPI(MPI_Raccumulate(&number, 1, one, target, 0, 1, other, MPI_SUM, win, &requests[0]));
        ET_MPI(MPI_Rget_accumulate(&number, 1, one, &result, 1, other, target, 0, 1, other,
                                   MPI_SUM, win, &requests[1]));
        ET_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    for (int i = 0; i < 2; i++)
        ET_MPI(MPI_Type_free(&none[i]));
}

static void accumulate(void)
{
    int *memory, ints[2] = {1, 2};
    double reals[2] = {1, 2};
    MPI_Win win;
    MPI_Datatype mixed, two;
    MPI_Request request;

    ET_MPI(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    ET_MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Type_create_struct(2, (int[]) {1, 1}, (MPI_Aint[]) {0, 8},
                                  (MPI_Datatype[]) {MPI_INT, MPI_DOUBLE}, &mixed));
    ET_MPI(MPI_Type_commit(&mixed));
    ET_MPI(MPI_Type_contiguous(2, MPI_INT, &two));
    ET_MPI(MPI_Type_commit(&two));
    ET_MPI(MPI_Win_lock_all(0, win));
    for (int target = 0; target < et.size; target++) {
        ET_MPI(MPI_Accumulate(ints, 2, MPI_INT, target, 0, 1, two, MPI_SUM, win));
        ET_ERROR(MPI_Accumulate(ints, 2, MPI_INT, target, 0, 1, MPI_DOUBLE, MPI_SUM, win),
                 MPI_ERR_TYPE, NULL);
        ET_ERROR(MPI_Accumulate(ints, 1, two, target, 0, 2, MPI_FLOAT, MPI_SUM, win), MPI_ERR_TYPE,
                 NULL);
        ET_ERROR(MPI_Accumulate(reals, 1, MPI_DOUBLE, target, 0, 1, two, MPI_SUM, win),
                 MPI_ERR_TYPE, NULL);
        ET_ERROR(MPI_Raccumulate(ints, 2, MPI_INT, target, 0, 1, MPI_DOUBLE, MPI_SUM, win,
                                 &request), MPI_ERR_TYPE,
                 NULL);
        ET_ERROR(MPI_Get_accumulate(ints, 2, MPI_INT, reals, 1, MPI_DOUBLE, target, 0, 1,
                                    MPI_DOUBLE, MPI_SUM, win),
                 MPI_ERR_TYPE, NULL);
        ET_ERROR(MPI_Get_accumulate(ints, 2, MPI_INT, reals, 1, MPI_DOUBLE, target, 0, 2, MPI_INT,
                                    MPI_SUM, win),
                 MPI_ERR_TYPE, NULL);
        ET_ERROR(MPI_Rget_accumulate(reals, 1, MPI_DOUBLE, ints, 2, MPI_INT, target, 0, 2, MPI_INT,
                                     MPI_SUM, win, &request), MPI_ERR_TYPE, NULL);
        accumulate_undefined(target, win);
        accumulate_nothing(target, win);
    }
    ET_MPI(MPI_Win_unlock_all(win));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    ET_MPI(MPI_Type_free(&mixed));
    ET_MPI(MPI_Type_free(&two));
    ET_MPI(MPI_Win_free(&win));
}

/* Handles of nothing, and of a communicator that was freed: the error is returned, and nothing goes
 * on (defect 59). */
static void invalid(void)
{
    MPI_Comm freed, inter;
    MPI_Offset offset;
    MPI_Datatype etype, filetype;
    char representation[MPI_MAX_DATAREP_STRING];
    int flag;

    ET_ERROR(MPI_File_get_atomicity(MPI_FILE_NULL, &flag), MPI_ERR_FILE, NULL);
    ET_ERROR(MPI_File_get_byte_offset(MPI_FILE_NULL, 0, &offset), MPI_ERR_FILE, NULL);
    ET_ERROR(MPI_File_get_position(MPI_FILE_NULL, &offset), MPI_ERR_FILE, NULL);
    ET_ERROR(MPI_File_get_view(MPI_FILE_NULL, &offset, &etype, &filetype, representation),
             MPI_ERR_FILE, NULL);
    ET_ERROR(MPI_File_write_ordered_end(MPI_FILE_NULL, &flag, MPI_STATUS_IGNORE), MPI_ERR_FILE,
             NULL);

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_dup(MPI_COMM_SELF, &inter));
    freed = inter;
    ET_MPI(MPI_Comm_free(&inter));
    ET_ERROR(MPI_Intercomm_create(freed, 0, MPI_COMM_WORLD, 1 - et.rank, 1, &inter), MPI_ERR_COMM,
             NULL);
    ET_ERROR(MPI_Intercomm_create(MPI_COMM_SELF, 0, freed, 1 - et.rank, 1, &inter), MPI_ERR_COMM,
             NULL);
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

static const struct {
    const char *name;
    void (*run) (void);
} cases[] = {
    {"handlers", handlers},
    {"aborts", aborts},
    {"cartesian", cartesian},
    {"info", info},
    {"partitioned", partitioned},
    {"freed_comm", freed_comm},
    {"freed_early", freed_early},
    {"all_comms", all_comms},
    {"accumulate", accumulate},
    {"attributes", attributes},
    {"replaced", replaced},
    {"callback_errors", callback_errors},
    {"cancelled", cancelled},
    {"rma_requests", rma_requests},
    {"exchange", exchange},
    {"invalid", invalid},
};

int main(int argc, char **argv)
{
    const char *name;
    int found = 0;

    et_options(&argc, &argv);
    name = et_argument(argc, argv, "case", "");
    if (strcmp(name, "pcontrol") == 0)
        MPI_Pcontrol(1);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    for (int i = 0; i < (int) (sizeof(cases) / sizeof(cases[0])); i++)
        if (strcmp(cases[i].name, name) == 0) {
            cases[i].run();
            found = 1;
        }
    ET_CHECK(found || strcmp(name, "pcontrol") == 0, "no case %s", name);
    if (et.rank == 0 && found)
        et_log("PASS objects %s", name);
    MPI_Finalize();
    if (!found) {
        MPI_Pcontrol(0);
        MPI_Pcontrol(2, "an argument");
        if (et.rank == 0)
            et_log("PASS objects %s", name);
    }
    return 0;
}
