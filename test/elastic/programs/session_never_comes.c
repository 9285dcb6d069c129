/*
 * SI8: nobody waits for a process that has ended without having come: MPI_ERR_PROC_ABORTED on all
 * that live, in bounded time; and the others can make a communicator with the same tag.  4
 * processes, of which rank 2 ends; --case
 *   never    it has never used MPI, and there has been no world
 *   part     the same, and the group is not that of all processes
 *   later    it has made a communicator with them before
 *   world    MPI_Init has made the world, which it finalises alone
 *   inter    never, and a communicator between two groups
 *   waits    it ends while they wait for it already
 */

#include "elastic_test.h"

#define TAG "org.example.comes"

static const char *what;
static MPI_Session session;
static MPI_Group all;
static int rank;

static MPI_Group group_of(int n, const int *ranks)
{
    MPI_Group group;

    ET_MPI(MPI_Group_incl(all, n, ranks, &group));
    return group;
}

static int create(MPI_Group group, MPI_Comm * comm)
{
    *comm = MPI_COMM_NULL;
    return MPI_Comm_create_from_group(group, TAG, MPI_INFO_NULL, MPI_ERRORS_RETURN, comm);
}

static int create_between(void)
{
    MPI_Group sides[2] = { group_of(2, (const int[]) {0, 1}), group_of(2, (const int[]) {2, 3}) };
    MPI_Comm comm = MPI_COMM_NULL;
    int side = rank >= 2;
    int error =
        MPI_Intercomm_create_from_groups(sides[side], 0, sides[!side], 0, TAG, MPI_INFO_NULL,
                                         MPI_ERRORS_RETURN, &comm);

    for (int i = 0; i < 2; i++)
        ET_MPI(MPI_Group_free(&sides[i]));
    return error;
}

static void expect_aborted(int error)
{
    int class;

    ET_MPI(MPI_Error_class(error, &class));
    ET_CHECK(class == MPI_ERR_PROC_ABORTED, "SI8: rank %d: class %d, not MPI_ERR_PROC_ABORTED",
             rank, class);
}

/* Ranks are those of the group. */
static void talk(MPI_Group group)
{
    MPI_Comm comm;

    ET_MPI(create(group, &comm));
    et_exercise(comm, "the others");
    ET_MPI(MPI_Comm_free(&comm));
}

static void live(void)
{
    MPI_Group part = group_of(3, (const int[]) {3, 2, 0});
    MPI_Group others = group_of(3, (const int[]) {3, 1, 0});
    MPI_Comm comm;

    for (int again = 0; again < 2; again++) {
        if (!strcmp(what, "inter"))
            expect_aborted(create_between());
        else if (strcmp(what, "part"))
            expect_aborted(create(all, &comm));
        else if (rank != 1)
            expect_aborted(create(part, &comm));
        talk(others);
    }
    ET_MPI(MPI_Group_free(&part));
    ET_MPI(MPI_Group_free(&others));
}

int main(int argc, char **argv)
{
    const char *number = getenv("PMI_RANK");
    int world = 0;

    what = et_argument(argc, argv, "case", "never");
    et_options(&argc, &argv);
    world = !strcmp(what, "world");
    int uses = !strcmp(what, "later") || !strcmp(what, "waits") || world;
    if (!uses && number && !strcmp(number, "2"))
        return 0;
    if (world)
        ET_MPI(MPI_Init(&argc, &argv));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
    ET_MPI(MPI_Group_rank(all, &rank));
    if (uses)
        talk(all);
    if (rank == 2 && !strcmp(what, "waits"))
        et_sleep_ms(300);
    if (rank == 2) {
        ET_MPI(MPI_Group_free(&all));
        ET_MPI(MPI_Session_finalize(&session));
        if (world)
            ET_MPI(MPI_Finalize());
        return 0;
    }
    live();
    ET_MPI(MPI_Group_free(&all));
    ET_MPI(MPI_Session_finalize(&session));
    if (world)
        ET_MPI(MPI_Finalize());
    if (rank == 0)
        et_log("PASS session_never_comes");
    return 0;
}
