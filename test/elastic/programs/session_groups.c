/*
 * SX5 (SI8), SX6: communicators from any group, in any order, in any state of the world model:
 * --state `none` (never a world), `later` (the world comes when there are communicators already,
 * which live on), `open` (within MPI_Init … MPI_Finalize) and `ended`.  Intercommunicators from any
 * two disjoint groups; what is wrong is refused.  Needs 4 processes or more.
 */

#include "elastic_test.h"

static MPI_Session session;
static MPI_Group everybody;
static int rank, size;

static MPI_Group group_of(int n, const int *ranks)
{
    MPI_Group group;

    ET_MPI(MPI_Group_incl(everybody, n, ranks, &group));
    return group;
}

/* Makes a communicator of these ranks if this process is one of them. */
static MPI_Comm make(int n, const int *ranks, const char *tag)
{
    MPI_Group group = group_of(n, ranks);
    MPI_Comm comm = MPI_COMM_NULL;
    int me, got, members;

    ET_MPI(MPI_Group_rank(group, &me));
    if (me != MPI_UNDEFINED) {
        ET_MPI(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
        ET_MPI(MPI_Comm_rank(comm, &got));
        ET_MPI(MPI_Comm_size(comm, &members));
        ET_CHECK(got == me &&
                 members == n, "%s: rank %d of %d, expected %d of %d", tag, got, members, me, n);
    }
    ET_MPI(MPI_Group_free(&group));
    return comm;
}

static void use(MPI_Comm comm, const char *what)
{
    static char large[1 << 17], back[1 << 17];
    int me, n;
    MPI_Win win;
    int *value, one = 1;

    if (comm == MPI_COMM_NULL)
        return;
    et_exercise(comm, what);
    ET_MPI(MPI_Comm_rank(comm, &me));
    ET_MPI(MPI_Comm_size(comm, &n));
    et_fill(large, sizeof(large), me, 7);
    ET_MPI(MPI_Sendrecv(large, sizeof(large), MPI_BYTE, (me + 1) % n, 7, back, sizeof(back),
                        MPI_BYTE, (me + n - 1) % n, 7, comm, MPI_STATUS_IGNORE));
    et_verify(back, sizeof(back), (me + n - 1) % n, 7, what);
    ET_MPI(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &value, &win));
    *value = 0;
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_CHECK(me > 0 || *value == n, "%s: %d of %d added", what, *value, n);
    ET_MPI(MPI_Win_free(&win));
}

static void drop(MPI_Comm * comm)
{
    if (*comm != MPI_COMM_NULL)
        ET_MPI(MPI_Comm_free(comm));
}

static void intercomms(void)
{
    const int first[] = { 0, 2 }, second[] = { 3, 1 };
    MPI_Group left = group_of(2, first), right = group_of(2, second);
    MPI_Comm inter;

    if (rank < 4) {
        int in_left = rank % 2 == 0;
        ET_MPI(MPI_Intercomm_create_from_groups(in_left ? left : right, 1, in_left ? right : left,
                                                1, "inter",
                                                MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter));
        et_exercise_inter(inter, in_left, "from groups");
        ET_MPI(MPI_Comm_free(&inter));
    }
    if (rank == 0)
        ET_ERROR(MPI_Intercomm_create_from_groups(left, 0, everybody, 1, "wrong", MPI_INFO_NULL,
                                                  MPI_ERRORS_RETURN, &inter), MPI_ERR_GROUP, NULL);
    ET_MPI(MPI_Group_free(&left));
    ET_MPI(MPI_Group_free(&right));
}

static void refused(void)
{
    const int others[] = { (rank + 1) % size };
    MPI_Group group = group_of(1, others);
    MPI_Comm comm = MPI_COMM_NULL;

    ET_ERROR(MPI_Comm_create_from_group(group, "outsider", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
             MPI_ERR_GROUP, NULL);
    ET_CHECK(comm == MPI_COMM_NULL, "a communicator was made all the same");
    ET_ERROR(MPI_Comm_create_from_group(everybody, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
             MPI_ERR_ARG, NULL);
    ET_MPI(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "nobody", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                      &comm));
    ET_CHECK(comm == MPI_COMM_NULL, "a communicator of nobody");
    ET_MPI(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
    const char *state = et_argument(argc, argv, "state", "none");
    const int pair[] = { 2, 0 }, three[] = { 3, 1, 2 }, two[] = { 0, 1 };
    int backward[64];
    MPI_Comm early = MPI_COMM_NULL, comm;

    if (!strcmp(state, "open"))
        ET_MPI(MPI_Init(NULL, NULL));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &everybody));
    ET_MPI(MPI_Group_rank(everybody, &rank));
    ET_MPI(MPI_Group_size(everybody, &size));
    ET_CHECK(size >= 4 && size <= 64, "%d processes", size);
    if (!strcmp(state, "ended")) {
        ET_MPI(MPI_Init(NULL, NULL));
        ET_MPI(MPI_Finalize());
    }
    if (!strcmp(state, "later")) {
        early = make(2, pair, "early");
        use(early, "early");
        ET_MPI(MPI_Init(NULL, NULL));
        et_exercise(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    }

    for (int round = 0; round < 3; round++) {
        comm = make(2, pair, "pair");
        use(comm, "pair");
        drop(&comm);
        comm = make(3, three, "three");
        use(comm, "three");
        drop(&comm);
        comm = make(2, two, "two");
        use(comm, "two");
        use(early, "early");
        drop(&comm);
    }
    intercomms();
    for (int i = 0; i < size; i++)
        backward[i] = size - 1 - i;
    /* all processes: from here on there is a world, in which the others live on */
    comm = make(size, backward, "backward");
    use(comm, "backward");
    use(early, "early");
    intercomms();
    drop(&comm);
    refused();
    drop(&early);

    ET_MPI(MPI_Group_free(&everybody));
    if (!strcmp(state, "open") || !strcmp(state, "later"))
        ET_MPI(MPI_Finalize());
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_groups");
    return 0;
}
