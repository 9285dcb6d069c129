/*
 * MPIX_Comm_modify (DM1-DM6): --case NAME, one of those in the table at the end; --init adapt or
 * thread: how the program starts, else with MPI_Init.  A created process comes out of that in the
 * middle of a case, and queries where.
 */

#include "elastic_test.h"
#include <limits.h>
#include <signal.h>
#include <unistd.h>

static int created;
static const char *init;

/* All of the world, created processes too: rank 0's step. */
static int rendezvous(int step)
{
    ET_MPI(MPI_Bcast(&step, 1, MPI_INT, 0, MPI_COMM_WORLD));
    et_world_changed();
    et_exercise(MPI_COMM_WORLD, "the world");
    return step;
}

static int is_adaptive(void)
{
    return strcmp(init, "adapt") == 0;
}

static void expect_world(int rank, int size)
{
    et_world_changed();
    ET_CHECK(et.size == size && (rank < 0 ||
              et.rank == rank), "rank %d of %d, not %d of %d", et.rank, et.size, rank, size);
}

/* newcomm is the world again, another communicator */
static void expect_duplicate(MPI_Comm newcomm)
{
    int result;

    ET_MPI(MPI_Comm_compare(newcomm, MPI_COMM_WORLD, &result));
    ET_CHECK(result == MPI_CONGRUENT, "result %d", result);
    ET_MPI(MPI_Comm_free(&newcomm));
}

/* DM3 */
static void expect_parent(int others, int mine)
{
    MPI_Comm parent;
    int is_inter, local, remote, rank;

    ET_MPI(MPI_Comm_get_parent(&parent));
    ET_CHECK(parent != MPI_COMM_NULL && parent == MPIX_COMM_PARENT, "no parent");
    ET_MPI(MPI_Comm_test_inter(parent, &is_inter));
    ET_MPI(MPI_Comm_remote_size(parent, &remote));
    ET_MPI(MPI_Comm_size(parent, &local));
    ET_MPI(MPI_Comm_rank(parent, &rank));
    ET_CHECK(is_inter && remote == others && local == mine &&
             rank == et.rank - others, "%d|%d, rank %d", local, remote, rank);
}

/* ---- what goes well -------------------------------------------------------------------------- */

static void shrink_by(int n)
{
    MPI_Comm newcomm;
    int size = et.size, rank = et.rank;
    char go_on[32];

    snprintf(go_on, sizeof(go_on), "go-on-%d", size);
    ET_MPI(MPIX_Comm_modify(MPI_COMM_WORLD, -n, &newcomm));
    if (rank < size - n) {
        expect_world(rank, size - n);
        expect_duplicate(newcomm);
        et_exercise(MPI_COMM_WORLD, "the smaller world");
        if (rank == 0)
            et_make_file(go_on);
        return;
    }
    /* DM4: they finalise when they like, and nobody waits for that */
    expect_world(0, 1);
    ET_CHECK(newcomm == MPI_COMM_NULL, "newcomm is there");
    et_exercise(MPI_COMM_WORLD, "a world of its own");
    et_await_file(go_on);
    ET_MPI(MPI_Finalize());
    exit(0);
}

static void expect_rigid(void)
{
    int pending, status;
    MPI_Info info;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (!is_adaptive())
        ET_ERROR(MPI_Probe_adapt(&pending, &status, &info), MPI_ERR_LASTCODE, NULL);
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* Two more, one fewer, all of it thrice, with something that survives (C5) and something that does
 * not (C4). */
static void grows(void)
{
    MPI_Comm newcomm, old, self;
    MPI_Request idle;
    int step = 0, n, all, sum = 0, is_fresh = created;

    if (created) {
        et_world_changed();
        expect_parent(et.size - 2, 2);
        expect_rigid();
        step = rendezvous(0);
    }
    ET_MPI(MPI_Comm_dup(MPI_COMM_SELF, &self));
    for (; step < 3; step++) {
        if (!is_fresh) {
            n = et.size;
            all = et.rank;
            ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &old));
            /* inactive requests are not pending, also if they were never started */
            ET_MPI(MPI_Barrier_init(old, MPI_INFO_NULL, &idle));
            ET_MPI(MPIX_Comm_modify(step == 1 ? old : MPI_COMM_WORLD, 2,
                                    step == 2 ? NULL : &newcomm));
            expect_world(all, n + 2);
            if (step != 2)
                expect_duplicate(newcomm);
            ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
            ET_ERROR(MPI_Comm_size(old, &all), MPI_ERR_COMM, "adaptation");
            ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
            ET_MPI(MPI_Request_free(&idle));
            if (!created)
                ET_CHECK(MPIX_COMM_PARENT == MPI_COMM_NULL, "a parent");
            else
                ET_CHECK(MPIX_COMM_PARENT != MPI_COMM_NULL, "no parent any more");
            rendezvous(step);
        }
        et_exercise(self, "what comes from MPI_COMM_SELF");
        expect_rigid();
        shrink_by(1);
        is_fresh = 0;
    }
    ET_MPI(MPI_Comm_free(&self));
    ET_MPI(MPI_Allreduce(&et.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    ET_CHECK(sum == et.size * (et.size - 1) / 2, "sum %d", sum);
}

/* DM2: nothing changes */
static void nothing(void)
{
    MPI_Comm newcomm;

    ET_MPI(MPIX_Comm_modify(MPI_COMM_WORLD, 0, &newcomm));
    expect_duplicate(newcomm);
    ET_MPI(MPIX_Comm_modify(MPI_COMM_WORLD, 0, NULL));
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void expect_refused(int count, int class)
{
    MPI_Comm newcomm = MPI_COMM_WORLD;
    int size = et.size;

    ET_ERROR(MPIX_Comm_modify(MPI_COMM_WORLD, count, &newcomm), class, NULL);
    ET_CHECK(newcomm == MPI_COMM_NULL, "newcomm is there");
    rendezvous(0);
    ET_CHECK(et.size == size, "%d processes", et.size);
}

static void wrong_calls(void)
{
    MPI_Comm half, reversed, newcomm;
    MPI_Request request;
    int value = 0;

    ET_ERROR(MPIX_Comm_modify(MPI_COMM_NULL, 1, &newcomm), MPI_ERR_COMM, NULL);
    ET_MPI(MPI_Comm_split(MPI_COMM_WORLD, et.rank % 2, 0, &half));
    ET_ERROR(MPIX_Comm_modify(half, 1, &newcomm), MPI_ERR_COMM, NULL);
    ET_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -et.rank, &reversed));
    ET_ERROR(MPIX_Comm_modify(reversed, 1, &newcomm), MPI_ERR_COMM, "order");
    ET_MPI(MPI_Comm_free(&half));
    ET_MPI(MPI_Comm_free(&reversed));
    expect_refused(et.rank == 0 ? 1 : 2, MPI_ERR_ARG);
    expect_refused(-et.size, MPI_ERR_ARG);
    expect_refused(INT_MIN + 1, MPI_ERR_ARG);
    expect_refused(INT_MAX, MPI_ERR_SPAWN);
    if (et.rank == 1)
        ET_MPI(MPI_Irecv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request));
    expect_refused(1, MPI_ERR_PENDING);
    if (et.rank == 0)
        ET_MPI(MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD));
    if (et.rank == 1)
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* DM5, and then it goes well: what came to nothing has left nothing */
static void refused(void)
{
    MPI_Comm newcomm;

    if (!created) {
        expect_refused(9, MPI_ERR_SPAWN);
        expect_refused(-1, MPI_ERR_SPAWN);      /* of --adapt-range 2:3 */
        ET_MPI(MPIX_Comm_modify(MPI_COMM_WORLD, 1, &newcomm));
        expect_duplicate(newcomm);
    }
    rendezvous(0);
    expect_world(-1, 3);
}

/* DM5: created processes end in the state that --dies states, but for the third attempt */
static void dying(void)
{
    MPI_Comm newcomm;

    if (!created) {
        expect_refused(2, MPI_ERR_SPAWN);
        expect_refused(1, MPI_ERR_SPAWN);
        et_make_file("enough");
        ET_MPI(MPIX_Comm_modify(MPI_COMM_WORLD, 2, &newcomm));
        expect_duplicate(newcomm);
    }
    rendezvous(0);
    expect_world(-1, 4);
}

static void die_if_created(const char *how)
{
    const char *notified = getenv("PMI_ADAPT");

    if (!notified || !strstr(notified, "modify=1") || access("enough", F_OK) == 0)
        return;
    if (strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
}

/* Nobody is there who could give processes, or the job changes otherwise */
static void nobody(void)
{
    int size = et.size;

    expect_refused(1, MPI_ERR_SPAWN);
    if (size > 1)
        expect_refused(-1, MPI_ERR_SPAWN);
    nothing();
}

static void sets(void)
{
    MPI_Session session;
    int flag;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPIX_Session_rc_test(session, "mpi://WORLD", &flag));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    expect_refused(1, MPI_ERR_UNSUPPORTED_OPERATION);
    ET_MPI(MPI_Session_finalize(&session));
}

/* ---- beside other adaptations (DM6) ---------------------------------------------------------- */

static void in_window(void)
{
    MPI_Comm newcomm;

    if (et.status == MPI_ADAPT_STATUS_JOINING)
        return;
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_ERROR(MPIX_Comm_modify(MPI_COMM_WORLD, 1, &newcomm), MPI_ERR_OTHER, "window");
}

static void notified_already(void)
{
    MPI_Comm newcomm;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_ERROR(MPIX_Comm_modify(MPI_COMM_WORLD, 1, &newcomm), MPIX_ERR_EAGAIN, "agreed");
}

/* The schedule grows the world; then one more; then the schedule goes on */
static void windows(void)
{
    MPI_Comm newcomm;

    et.before = notified_already;
    et.window = in_window;
    if (!created) {
        et_loop();
        ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
        ET_MPI(MPIX_Comm_modify(MPI_COMM_WORLD, 1, &newcomm));
        expect_duplicate(newcomm);
    }
    rendezvous(0);
    et.epoch = 2;
    expect_world(-1, 4);
}

static const struct {
    const char *name;
    void (*run) (void);
    int errors;                 /* are returned */
} cases[] = {
    {"grows", grows, 0},
    {"nothing", nothing, 0},
    {"wrong", wrong_calls, 1},
    {"refused", refused, 1},
    {"dying", dying, 1},
    {"nobody", nobody, 1},
    {"sets", sets, 1},
    {"windows", windows, 0},
};

static void start(int *argc, char ***argv)
{
    int provided, status = MPI_ADAPT_STATUS_NEW;

    if (is_adaptive())
        ET_MPI(MPI_Init_adapt(argc, argv, &status));
    else if (strcmp(init, "thread") == 0)
        ET_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided));
    else
        ET_MPI(MPI_Init(argc, argv));
    created = MPIX_COMM_PARENT != MPI_COMM_NULL;
    if (created)
        ET_CHECK(status == MPI_ADAPT_STATUS_NEW, "status %d", status);
}

int main(int argc, char **argv)
{
    const char *name = et_argument(argc, argv, "case", "grows");

    init = et_argument(argc, argv, "init", "init");
    die_if_created(et_argument(argc, argv, "dies", ""));
    if (strcmp(name, "windows") == 0 &&
        !(getenv("PMI_ADAPT") && strstr(getenv("PMI_ADAPT"), "modify=1"))) {
        et_init(&argc, &argv);
    } else {
        et_options(&argc, &argv);
        start(&argc, &argv);
    }
    et_world_changed();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(cases[i].name, name) != 0)
            continue;
        if (cases[i].errors) {
            ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
            ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        }
        cases[i].run();
    }
    et_world_changed();
    if (et.rank == 0)
        et_log("PASS modify %s size=%d", name, et.size);
    ET_MPI(MPI_Finalize());
    return 0;
}
