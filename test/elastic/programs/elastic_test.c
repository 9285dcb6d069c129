/*
 * See elastic_test.h.  The general checks made here on every adaptation of every program:
 * P1 and P2 (shape of the answers), W2, W3, W4 (orders and counts), C2 (rank, size and order of the
 * new world), C3 (a leaving process does not return from commit and runs its exit handlers), C8.
 */

#include "elastic_test.h"
#include <ctype.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>


struct et_state et = {.patience_s = 90,.report = 1 };

/* ---- checks ---------------------------------------------------------------- */

static void stop(void) __attribute__ ((noreturn));
static void stop(void)
{
    int up = 0, down = 0;

    fflush(NULL);
    MPI_Initialized(&up);
    MPI_Finalized(&down);
    if (up && !down)
        MPI_Abort(MPI_COMM_WORLD, ET_FAILED);
    _exit(ET_FAILED);
}

void et_fail(const char *file, int line, const char *what, const char *format, ...)
{
    char text[2048];
    va_list list;
    int n;

    n = snprintf(text, sizeof(text), "FAIL %s:%d rank %d of %d, epoch %d%s: %s: ", file, line,
                 et.rank, et.size, et.epoch, et.in_window ? " (window)" : "", what);
    va_start(list, format);
    vsnprintf(text + n, sizeof(text) - n, format, list);
    va_end(list);
    fprintf(stderr, "%s\n", text);
    stop();
}

void et_fail_mpi(const char *file, int line, const char *call, int error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    MPI_Error_string(error, text, &length);
    et_fail(file, line, call, "%s", text);
}

static int holds_word(const char *text, const char *word)
{
    size_t n = strlen(word);

    for (; *text; text++)
        if (strncasecmp(text, word, n) == 0)
            return 1;
    return 0;
}

void et_expect_error(const char *file, int line, const char *call, int error, int class,
                     const char *word)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0, got = MPI_SUCCESS;

    if (error == MPI_SUCCESS)
        et_fail(file, line, call, "succeeded, must fail");
    MPI_Error_string(error, text, &length);
    MPI_Error_class(error, &got);
    if (class != MPI_ERR_LASTCODE && got != class)
        et_fail(file, line, call, "error class %d, expected %d: %s", got, class, text);
    if (word && !holds_word(text, word))
        et_fail(file, line, call, "the message does not contain '%s': %s", word, text);
}

/* ---- helpers ---------------------------------------------------------------- */

et_identity et_who(void)
{
    char name[256] = "";
    uint64_t hash = 1469598103934665603ull;

    gethostname(name, sizeof(name) - 1);
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char) *c) * 1099511628211ull;
    return (hash << 32) ^ (uint64_t) getpid();
}

double et_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

void et_sleep_ms(double ms)
{
    struct timespec wait;

    wait.tv_sec = (time_t) (ms / 1000);
    wait.tv_nsec = (long) ((ms - 1000.0 * (double) wait.tv_sec) * 1e6);
    nanosleep(&wait, NULL);
}

void et_idle(void)
{
    int flag;

    et_sleep_ms(1);
    ET_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
}

void et_spin_ms(double ms)
{
    double end = et_seconds() + ms / 1000;
    volatile double x = 1;

    while (et_seconds() < end)
        for (int i = 0; i < 100; i++)
            x = x * 1.0000001 + 1e-9;
}

void et_await_file(const char *path)
{
    double end = et_seconds() + et.patience_s;

    while (access(path, F_OK) != 0) {
        ET_CHECK(et_seconds() < end, "%s did not appear", path);
        et_sleep_ms(2);
    }
}

void et_make_file(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);

    ET_CHECK(fd >= 0, "cannot create %s", path);
    close(fd);
}

const char *et_argument(int argc, char **argv, const char *name, const char *def)
{
    size_t n = strlen(name);

    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || strncmp(argv[i] + 2, name, n) != 0)
            continue;
        if (argv[i][2 + n] == '=')
            return argv[i] + 2 + n + 1;
        if (argv[i][2 + n] == '\0')
            return i + 1 < argc ? argv[i + 1] : "";
    }
    return def;
}

long et_number(int argc, char **argv, const char *name, long def)
{
    const char *text = et_argument(argc, argv, name, NULL);

    return text ? strtol(text, NULL, 0) : def;
}

void et_fill(void *buffer, size_t bytes, int from, int tag)
{
    unsigned char *b = buffer;

    for (size_t i = 0; i < bytes; i++)
        b[i] = (unsigned char) (from * 31 + tag * 17 + i + (i >> 8) * 7);
}

void et_verify(const void *buffer, size_t bytes, int from, int tag, const char *what)
{
    const unsigned char *b = buffer;

    for (size_t i = 0; i < bytes; i++) {
        unsigned char want = (unsigned char) (from * 31 + tag * 17 + i + (i >> 8) * 7);
        ET_CHECK(b[i] == want, "%s: byte %zu of %zu from %d is %d, not %d", what, i, bytes, from,
                 b[i], want);
    }
}

unsigned et_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

void et_log(const char *format, ...)
{
    char text[1024];
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(text, sizeof(text) - 1, format, list);
    va_end(list);
    if (n > (int) sizeof(text) - 2)
        n = (int) sizeof(text) - 2;
    text[n] = '\n';
    fflush(stdout);
    ET_CHECK(write(STDOUT_FILENO, text, (size_t) n + 1) == n + 1, "standard output is closed");
}

void et_exercise(MPI_Comm comm, const char *name)
{
    int rank, size, sum, token;

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_MPI(MPI_Barrier(comm));
    ET_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    ET_CHECK(sum == size * (size - 1) / 2, "%s: allreduce gives %d with %d processes", name, sum,
             size);
    token = rank == size - 1 ? 77 + size : -1;
    ET_MPI(MPI_Bcast(&token, 1, MPI_INT, size - 1, comm));
    ET_CHECK(token == 77 + size, "%s: broadcast gives %d", name, token);
    ET_MPI(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 5, &token, 1, MPI_INT,
                        (rank + size - 1) % size, 5, comm, MPI_STATUS_IGNORE));
    ET_CHECK(token == (rank + size - 1) % size, "%s: the ring gives %d", name, token);
    token = -1;
    ET_MPI(MPI_Sendrecv(&size, 1, MPI_INT, rank, 7, &token, 1, MPI_INT, rank, 7, comm,
                        MPI_STATUS_IGNORE));
    ET_CHECK(token == size, "%s: a message to oneself gives %d", name, token);
}

void et_exercise_inter(MPI_Comm inter, int in_first_group, const char *name)
{
    int rank, size, remote, value, sum, want;

    ET_MPI(MPI_Comm_rank(inter, &rank));
    ET_MPI(MPI_Comm_size(inter, &size));
    ET_MPI(MPI_Comm_remote_size(inter, &remote));

    value = 1000 + size;
    if (in_first_group) {
        ET_MPI(MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
    } else {
        value = -1;
        ET_MPI(MPI_Bcast(&value, 1, MPI_INT, 0, inter));
        ET_CHECK(value == 1000 + remote, "%s: broadcast gives %d", name, value);
    }
    value = rank + 1;
    ET_MPI(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter));
    want = remote * (remote + 1) / 2;
    ET_CHECK(sum == want, "%s: allreduce gives %d, not %d", name, sum, want);

    /* each process of the first group has a word with each of the second */
    if (in_first_group) {
        for (int peer = 0; peer < remote; peer++) {
            value = rank * 1000 + peer;
            ET_MPI(MPI_Send(&value, 1, MPI_INT, peer, 6, inter));
        }
        for (int peer = 0; peer < remote; peer++) {
            ET_MPI(MPI_Recv(&value, 1, MPI_INT, peer, 7, inter, MPI_STATUS_IGNORE));
            ET_CHECK(value == rank * 1000 + peer, "%s: answer of %d is %d", name, peer, value);
        }
    } else {
        for (int peer = 0; peer < remote; peer++) {
            ET_MPI(MPI_Recv(&value, 1, MPI_INT, peer, 6, inter, MPI_STATUS_IGNORE));
            ET_CHECK(value == peer * 1000 + rank, "%s: word of %d is %d", name, peer, value);
            ET_MPI(MPI_Send(&value, 1, MPI_INT, peer, 7, inter));
        }
    }
}

/* ---- start ---------------------------------------------------------------- */

void et_options(int *argc, char ***argv)
{
    et.epochs = (int) et_number(*argc, *argv, "epochs", 1);
    et.seed = (unsigned) et_number(*argc, *argv, "seed", 1);
    et.light = et_argument(*argc, *argv, "light", NULL) != NULL;
    et.patience_s = (double) et_number(*argc, *argv, "patience", (long) et.patience_s);
}

/* C3: a leaving process ends by exit(), which runs this and flushes stdio. */
static void logged_on_leaving(void)
{
    if (et.report && et.status == MPI_ADAPT_STATUS_LEAVING)
        printf("LEFT epoch=%d rank=%d\n", et.epoch + 1, et.rank);
}

void et_world_changed(void)
{
    ET_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &et.rank));
    ET_MPI(MPI_Comm_size(MPI_COMM_WORLD, &et.size));
}

static void started(void)
{
    et.inter = et.next = MPI_COMM_NULL;
    ET_CHECK(et.status == MPI_ADAPT_STATUS_NEW || et.status == MPI_ADAPT_STATUS_JOINING,
             "status after initialisation is %d", et.status);
    et_world_changed();
    atexit(logged_on_leaving);
}

void et_init(int *argc, char ***argv)
{
    et_options(argc, argv);
    ET_MPI(MPI_Init_adapt(argc, argv, &et.status));
    started();
}

void et_init_thread(int *argc, char ***argv, int required)
{
    int provided = -1;

    et_options(argc, argv);
    ET_MPI(MPI_Init_thread_adapt(argc, argv, required, &provided, &et.status));
    ET_CHECK(provided >= required, "thread level %d, requested %d", provided, required);
    started();
}

/* ---- probe ---------------------------------------------------------------- */

int et_probe(void)
{
    int pending = -1, status = -1;
    MPI_Info info = MPI_INFO_NULL;

    ET_MPI(MPI_Probe_adapt(&pending, &status, &info));
    et.probes++;
    if (pending == MPI_ADAPT_FALSE) {
        ET_CHECK(status == MPI_ADAPT_STATUS_STAYING, "nothing pending, status %d", status);
        ET_CHECK(info == MPI_INFO_NULL, "nothing pending, but an info object");
        return 0;
    }
    ET_CHECK(pending == MPI_ADAPT_TRUE, "probe returned %d", pending);
    ET_CHECK(status == MPI_ADAPT_STATUS_STAYING || status == MPI_ADAPT_STATUS_LEAVING,
             "pending, status %d", status);
    ET_CHECK(info != MPI_INFO_NULL, "pending, but no info object");
    ET_MPI(MPI_Info_free(&info));
    et.status = status;
    return 1;
}

/* ---- window ---------------------------------------------------------------- */

struct member {
    et_identity who;
    int64_t leaves;
};

static void check_counts(int joining_rank)
{
    int size, remote, rank, flag;

    ET_CHECK(et.staying >= 0 && et.leaving >= 0 && et.joining >= 0, "counts %d %d %d", et.staying,
             et.leaving, et.joining);
    ET_CHECK(et.size == (joining_rank ? et.joining : et.staying + et.leaving),
             "counts %d %d %d in a world of %d", et.staying, et.leaving, et.joining, et.size);
    if (et.joining == 0) {
        ET_CHECK(et.inter == MPI_COMM_NULL, "nobody joins, but there is an intercommunicator");
    } else {
        ET_MPI(MPI_Comm_test_inter(et.inter, &flag));
        ET_MPI(MPI_Comm_rank(et.inter, &rank));
        ET_MPI(MPI_Comm_size(et.inter, &size));
        ET_MPI(MPI_Comm_remote_size(et.inter, &remote));
        ET_CHECK(flag, "intercomm is no intercommunicator");
        ET_CHECK(rank == et.rank && size == et.size, "intercomm: %d of %d", rank, size);
        ET_CHECK(remote == (joining_rank ? et.staying + et.leaving : et.joining),
                 "intercomm: remote size %d", remote);
    }
    if (et.status == MPI_ADAPT_STATUS_LEAVING) {
        ET_CHECK(et.next == MPI_COMM_NULL, "new_comm_world on a leaving process");
    } else {
        ET_CHECK(et.next != MPI_COMM_NULL, "no new_comm_world");
        ET_MPI(MPI_Comm_test_inter(et.next, &flag));
        ET_MPI(MPI_Comm_size(et.next, &size));
        ET_CHECK(!flag, "new_comm_world is an intercommunicator");
        ET_CHECK(size == et.staying + et.joining, "new_comm_world has %d", size);
    }
}

/* Everybody learns who is in the two groups and who leaves, by the communicators of the window. */
static void learn_members(int joining_rank)
{
    int pre = et.staying + et.leaving, all = pre + et.joining;
    struct member me, *members = calloc((size_t) all, sizeof(*members));
    struct member *own = members + (joining_rank ? pre : 0), *other =
        members + (joining_rank ? 0 : pre);

    me.who = et_who();
    me.leaves = et.status == MPI_ADAPT_STATUS_LEAVING;
    ET_MPI(MPI_Allgather(&me, sizeof(me), MPI_BYTE, own, sizeof(me), MPI_BYTE, MPI_COMM_WORLD));
    if (et.joining > 0)
        ET_MPI(MPI_Allgather(&me, sizeof(me), MPI_BYTE, other, sizeof(me), MPI_BYTE, et.inter));

    et.old_order = calloc((size_t) all, sizeof(*et.old_order));
    et.old_leaves = calloc((size_t) all, sizeof(*et.old_leaves));
    et.order = calloc((size_t) (et.staying + et.joining) + 1, sizeof(*et.order));
    int next = 0, leaving = 0;
    for (int i = 0; i < all; i++) {
        et.old_order[i] = members[i].who;
        et.old_leaves[i] = (int) members[i].leaves;
        leaving += et.old_leaves[i];
        if (!members[i].leaves) {
            ET_CHECK(next < et.staying + et.joining, "more processes stay than announced");
            et.order[next++] = members[i].who;
        }
    }
    ET_CHECK(leaving == et.leaving, "%d processes leave, announced %d", leaving, et.leaving);
    free(members);
}

static void check_order(MPI_Comm comm, const char *name)
{
    int size, rank;
    et_identity me = et_who(), *got;

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    got = calloc((size_t) size, sizeof(*got));
    ET_MPI(MPI_Allgather(&me, 1, MPI_UINT64_T, got, 1, MPI_UINT64_T, comm));
    ET_CHECK(got[rank] == me, "%s: my own position holds somebody else", name);
    for (int i = 0; i < size; i++)
        ET_CHECK(got[i] == et.order[i], "%s: rank %d is another process than expected", name, i);
    free(got);
}

/* W4, and what an application must bring to joining processes: where it is in its computation. */
static void share_state(int joining_rank)
{
    long state[6] = { et.epoch, et.step, et.staying, et.leaving, et.joining, et.rank };

    if (et.joining == 0)
        return;
    if (!joining_rank) {
        ET_MPI(MPI_Bcast(state, 6, MPI_LONG, et.rank == 0 ? MPI_ROOT : MPI_PROC_NULL, et.inter));
        return;
    }
    ET_MPI(MPI_Bcast(state, 6, MPI_LONG, 0, et.inter));
    ET_CHECK(state[2] == et.staying && state[3] == et.leaving && state[4] == et.joining,
             "rank 0 has counts %ld %ld %ld, I have %d %d %d", state[2], state[3], state[4],
             et.staying, et.leaving, et.joining);
    et.epoch = (int) state[0];
    et.step = state[1];
}

void et_begin(void)
{
    int joining_rank = et.status == MPI_ADAPT_STATUS_JOINING;

    et.inter = et.next = MPI_COMM_WORLD;
    et.staying = et.leaving = et.joining = -1;
    ET_MPI(MPI_Comm_adapt_begin(&et.inter, &et.next, &et.staying, &et.leaving, &et.joining));
    et.in_window = 1;
    check_counts(joining_rank);
    if (!et.light) {
        learn_members(joining_rank);
        if (et.next != MPI_COMM_NULL)
            check_order(et.next, "new_comm_world");
    }
    share_state(joining_rank);
}

static void release_window(void)
{
    free(et.order);
    free(et.old_order);
    free(et.old_leaves);
    et.order = et.old_order = NULL;
    et.old_leaves = NULL;
    et.inter = et.next = MPI_COMM_NULL;
    et.in_window = 0;
}

void et_commit(void)
{
    int joining_rank = et.status == MPI_ADAPT_STATUS_JOINING;
    int rank = -1, size = et.staying + et.joining;

    if (et.next != MPI_COMM_NULL)
        ET_MPI(MPI_Comm_rank(et.next, &rank));
    ET_MPI(MPI_Comm_adapt_commit());
    ET_CHECK(et.status != MPI_ADAPT_STATUS_LEAVING, "a leaving process came back from commit");
    et_world_changed();
    et.epoch++;
    et.probes = 0;
    et.status = MPI_ADAPT_STATUS_STAYING;
    ET_CHECK(et.rank == rank && et.size == size, "the new world has %d of %d, expected %d of %d",
             et.rank, et.size, rank, size);
    if (!et.light)
        check_order(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    release_window();
    if (joining_rank && et.report && !et.light)
        et_log("JOINED epoch=%d rank=%d", et.epoch, et.rank);
}

void et_adapt(void)
{
    if (et.before && et.status != MPI_ADAPT_STATUS_JOINING)
        et.before();
    et_begin();
    if (et.window)
        et.window();
    et_commit();
    if (et.after)
        et.after();
}

/* ---- loop and end ---------------------------------------------------------------- */

void et_loop(void)
{
    double last = et_seconds();

    if (et.status == MPI_ADAPT_STATUS_JOINING)
        et_adapt();
    while (et.epoch < et.epochs) {
        if (et.compute)
            et.compute();
        else
            et_idle();
        et.step++;
        if (et_probe()) {
            et_adapt();
            last = et_seconds();
        }
        ET_CHECK(et_seconds() < last + et.patience_s, "no adaptation %d of %d after %g s",
                 et.epoch + 1, et.epochs, et.patience_s);
    }
}

int et_finish(void)
{
    et_exercise(MPI_COMM_WORLD, "the last world");
    if (et.rank == 0)
        et_log("PASS epoch=%d size=%d", et.epoch, et.size);
    ET_MPI(MPI_Finalize());
    return 0;
}

void et_skip(const char *why)
{
    if (et.rank == 0)
        et_log("SKIP %s", why);
    ET_MPI(MPI_Finalize());
    exit(0);
}

int et_run(void)
{
    et_loop();
    return et_finish();
}

MPI_T_pvar_handle et_open_variable(MPI_T_pvar_session session, const char *name)
{
    MPI_T_pvar_handle handle;
    int index, count;

    ET_CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_SUCCESS,
             "no variable %s", name);
    ET_CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS &&
             count == 1, "no handle for %s", name);
    return handle;
}
