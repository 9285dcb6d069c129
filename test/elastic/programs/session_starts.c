/*
 * SR1: a process of the launch that has not begun to use MPI counts as starting.  SI6, SI7, SI8,
 * SN4, SA1, SL1.  4 processes of which rank 3 begins late, by a file, and reports it by another
 * one; rank 0 polls all the time.
 *   --ends 1   it never begins, and ends
 */

#include "elastic_test.h"
#include <fcntl.h>

#define GO "session_starts.go"
#define HERE "session_starts.here"
#define TAG "org.example.starts"

static MPI_Session session;

static void touch(const char *name)
{
    int fd = open(name, O_CREAT | O_WRONLY, 0600);

    ET_CHECK(fd >= 0, "no file %s", name);
    close(fd);
}

static void await_file(const char *name)
{
    while (access(name, F_OK) < 0)
        et_sleep_ms(1);
}

static int runs(const char *name)
{
    int running;

    ET_MPI(MPIX_Session_pset_exists(session, name, &running, NULL));
    return running;
}

static const char *value_of(const char *name, const char *key)
{
    static char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int flag;

    ET_MPI(MPI_Session_get_pset_info(session, name, &info));
    ET_MPI(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag));
    ET_MPI(MPI_Info_free(&info));
    ET_CHECK(flag, "no key %s", key);
    return value;
}

static void expect_state(const char *name, const char *state)
{
    const char *is = value_of(name, "mpix_state");

    ET_CHECK(!strcmp(is, state), "SR1: %s is %s, not %s", name, is, state);
    ET_CHECK(runs(name) == !strcmp(state, "running"), "SI6: %s is %s, and exists states otherwise",
             name, state);
}

static int create(const char *name, MPI_Comm * comm)
{
    MPI_Group group;

    *comm = MPI_COMM_NULL;
    int error = MPI_Group_from_session_pset(session, name, &group);
    if (error)
        return error;
    error = MPI_Comm_create_from_group(group, TAG, MPI_INFO_NULL, MPI_ERRORS_RETURN, comm);
    ET_MPI(MPI_Group_free(&group));
    return error;
}

static void talk(const char *name, int size)
{
    MPI_Comm comm;
    int n;

    ET_MPI(create(name, &comm));
    ET_MPI(MPI_Comm_size(comm, &n));
    ET_CHECK(n == size, "%s has %d processes, not %d", name, n, size);
    et_exercise(comm, name);
    ET_MPI(MPI_Comm_free(&comm));
}

static void expect_aborted(int error)
{
    int class;

    ET_MPI(MPI_Error_class(error, &class));
    ET_CHECK(class == MPI_ERR_PROC_ABORTED, "SI7, SI8: class %d, not MPI_ERR_PROC_ABORTED", class);
}

/* Of all, and of those that are there: names by which all know them. */
static void make_sets(void)
{
    static const char *const split[] = { "app://all" };
    char parts[2][MPI_MAX_PSET_NAME_LEN];
    MPI_Info info;
    int n = 2;

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "mpi_part_sizes", "3,1"));
    ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_SPLIT, split, 1, info, parts, &n));
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPIX_Session_pset_move(session, parts[0], "app://three"));
    ET_MPI(MPIX_Session_pset_move(session, parts[1], "app://late"));
}

static void query(int ends)
{
    static const char *const others[] = { "mpi://WORLD", "app://all", "app://late" };
    const int n = sizeof(others) / sizeof(others[0]);

    make_sets();
    while (!runs("app://three"))        /* the other two begin as they like */
        et_sleep_ms(1);
    expect_state("app://three", "running");
    expect_state("mpi://SELF", "running");
    ET_CHECK(!strcmp(value_of("mpix://ALL", "mpi_size"), "3"), "SN4: mpix://ALL has %s processes",
             value_of("mpix://ALL", "mpi_size"));
    for (int again = 0; again < 3; again++) {
        for (int i = 0; i < n; i++)
            expect_state(others[i], "starting");
    }
    talk("app://three", 3);
    touch(GO);
    for (int i = 0; ends && i < n; i++) {
        while (strcmp(value_of(others[i], "mpix_state"), "ended"))
            et_sleep_ms(1);
        ET_CHECK(!runs(others[i]), "SI6: %s runs", others[i]);
    }
    if (ends)
        return;
    await_file(HERE);
    for (int i = n - 1; i >= 0; i--)    /* SA1: it has reported it */
        expect_state(others[i], "running");
    ET_CHECK(!strcmp(value_of("mpix://ALL", "mpi_size"), "4"), "SN4: mpix://ALL has %s processes",
             value_of("mpix://ALL", "mpi_size"));
}

static void join_three(void)
{
    while (!runs("app://three"))
        et_sleep_ms(1);
    talk("app://three", 3);
}

int main(int argc, char **argv)
{
    const char *number = getenv("PMI_RANK");
    int rank = number ? atoi(number) : 0, ends = (int) et_number(argc, argv, "ends", 0);
    MPI_Comm comm;

    et_options(&argc, &argv);
    if (rank == 3)
        await_file(GO);
    if (rank == 3 && ends)
        return 0;
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    if (rank == 0)
        query(ends);
    else if (rank == 3)
        touch(HERE);
    else
        join_three();
    /* SI8: ranks 1 and 2 wait for one that has not begun, or has ended */
    if (!ends)
        talk("mpi://WORLD", 4);
    else
        expect_aborted(create("mpi://WORLD", &comm));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_starts");
    return 0;
}
