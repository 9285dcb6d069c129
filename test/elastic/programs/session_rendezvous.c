/*
 * SI8, SX6: processes of different start groups that have met once make communicators without a
 * question to mpiexec: of all, of some in another order, between two groups, and by two threads at
 * a time whose tags have the same hash; also after more of them have joined, and others have left.
 * Run by 2 processes; --epochs N changes.  --introduced 1, on one host: who joins those that have
 * met, and who was notified of it, do not meet at all.
 */

#include "session_changes.h"
#include <pthread.h>

#define ROUNDS 10

static const char *const tags[] = { "org.example.64075", "org.example.74076" };

static MPI_T_pvar_session tool;
static MPI_T_pvar_handle meetings;

static void open_variable(void)
{
    int provided, index, count;

    ET_CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS, "no MPI_T");
    ET_CHECK(MPI_T_pvar_session_create(&tool) == MPI_SUCCESS, "no session of MPI_T");
    ET_CHECK(MPI_T_pvar_get_index("session_meetings", MPI_T_PVAR_CLASS_COUNTER, &index) ==
             MPI_SUCCESS, "no variable");
    ET_CHECK(MPI_T_pvar_handle_alloc(tool, index, NULL, &meetings, &count) == MPI_SUCCESS,
             "no handle");
}

static unsigned long long count_meetings(void)
{
    unsigned long long value;

    ET_CHECK(MPI_T_pvar_read(tool, meetings, &value) == MPI_SUCCESS, "MPI_T_pvar_read");
    return value;
}

/* The participants, by rank in all, in the order of the group. */
static void check_members(MPI_Comm comm, MPI_Group all, MPI_Group group)
{
    int n, ranks[16], expected[16], mine, got[16];

    ET_MPI(MPI_Group_size(group, &n));
    for (int i = 0; i < n; i++)
        ranks[i] = i;
    ET_MPI(MPI_Group_translate_ranks(group, n, ranks, all, expected));
    ET_MPI(MPI_Group_rank(all, &mine));
    ET_MPI(MPI_Allgather(&mine, 1, MPI_INT, got, 1, MPI_INT, comm));
    for (int i = 0; i < n; i++)
        ET_CHECK(got[i] == expected[i], "rank %d is process %d, not %d", i, got[i], expected[i]);
}

static void make(MPI_Group all, MPI_Group group, const char *tag)
{
    MPI_Comm comm;
    int rank;

    ET_MPI(MPI_Group_rank(group, &rank));
    if (rank == MPI_UNDEFINED)
        return;
    ET_MPI(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    check_members(comm, all, group);
    ET_MPI(MPI_Comm_free(&comm));
}

/* All but the first process, from the last one to it. */
static void make_some(MPI_Group all, int size)
{
    int range[1][3] = { {size - 1, 1, -1} };
    MPI_Group some;

    ET_MPI(MPI_Group_range_incl(all, 1, range, &some));
    make(all, some, "some");
    ET_MPI(MPI_Group_free(&some));
}

static void make_between(MPI_Group all, int rank, int size)
{
    int first[1][3] = { {0, 0, 1} }, mine, theirs, side = rank > 0, leaders[] = { 0, size - 2 };
    MPI_Group sides[2];
    MPI_Comm comm;

    ET_MPI(MPI_Group_range_incl(all, 1, first, &sides[0]));
    ET_MPI(MPI_Group_range_excl(all, 1, first, &sides[1]));
    ET_MPI(MPI_Intercomm_create_from_groups(sides[side], leaders[side], sides[!side],
                                            leaders[!side], "between",
                                            MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    ET_MPI(MPI_Allreduce(&rank, &theirs, 1, MPI_INT, MPI_SUM, comm));
    mine = side ? 0 : size * (size - 1) / 2;
    ET_CHECK(theirs == mine, "the sum of the others is %d, not %d", theirs, mine);
    ET_MPI(MPI_Comm_free(&comm));
    for (int i = 0; i < 2; i++)
        ET_MPI(MPI_Group_free(&sides[i]));
}

struct work {
    MPI_Group all;
    int number;
};

static void *work(void *argument)
{
    const struct work *mine = argument;
    int low, high, number = mine->number;
    MPI_Comm comm;

    ET_MPI(MPI_Comm_create_from_group(mine->all, tags[number], MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                      &comm));
    ET_MPI(MPI_Allreduce(&number, &low, 1, MPI_INT, MPI_MIN, comm));
    ET_MPI(MPI_Allreduce(&number, &high, 1, MPI_INT, MPI_MAX, comm));
    ET_CHECK(low == number && high == number, "thread %d is with %d to %d", number, low, high);
    ET_MPI(MPI_Comm_free(&comm));
    return NULL;
}

static void make_by_threads(MPI_Group all)
{
    pthread_t threads[2];
    struct work works[2];

    for (int i = 0; i < 2; i++) {
        works[i] = (struct work) {all, i};
        ET_CHECK(pthread_create(&threads[i], NULL, work, &works[i]) == 0, "no thread");
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void take_turns(MPI_Comm comm)
{
    int rank, size;
    MPI_Group all;

    ET_MPI(MPI_Comm_group(comm, &all));
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    unsigned long long before = count_meetings();
    for (int i = 0; i < ROUNDS; i++) {
        make(all, all, "all");
        make_some(all, size);
        make_between(all, rank, size);
        make_by_threads(all);
    }
    unsigned long long met = count_meetings() - before;
    ET_CHECK(met == 0, "%llu meetings in %d rounds", met, ROUNDS);
    ET_MPI(MPI_Group_free(&all));
}

/* `introduced`: this process to those that join, or to all others. */
static MPI_Comm connect_epoch(const char *set, int epoch, int introduced)
{
    char tag[32];
    unsigned long long before = count_meetings();

    snprintf(tag, sizeof(tag), "epoch %d", epoch);
    MPI_Comm comm = connect_set(set, tag);
    unsigned long long met = count_meetings() - before;
    ET_CHECK(!introduced || met == 0, "%llu meetings of processes that were introduced", met);
    return comm;
}

int main(int argc, char **argv)
{
    int epochs = (int) et_number(argc, argv, "epochs", 0), epoch = 0, rank, leaves = 0;
    int introduced = (int) et_number(argc, argv, "introduced", 0);
    pset_name set = "mpi://WORLD", value;
    struct {
        pset_name delta, set;
        int removes;
    } news;

    et_options(&argc, &argv);
    open_session();
    open_variable();
    if (session_value("app_set", set) && session_value("mpidynres_origin_rc_tag", value))
        epoch = atoi(value);
    else
        strcpy(set, "mpi://WORLD");
    MPI_Comm comm = connect_epoch(set, epoch, introduced && epoch > 1);
    for (;;) {
        ET_MPI(MPI_Comm_rank(comm, &rank));
        if (epoch > 0)
            take_turns(comm);
        if (epoch == epochs)
            break;
        if (rank == 0) {
            struct change change = await_change(set);
            strcpy(news.delta, change.delta);
            news.removes = change.type == MPIX_RC_SUB;
            set_after(set, &change, news.set);
            accept_change(&change, "app_set", news.set);
        }
        ET_MPI(MPI_Bcast(&news, sizeof(news), MPI_BYTE, 0, comm));
        ET_MPI(MPI_Comm_free(&comm));
        if (news.removes)
            ET_MPI(MPIX_Session_pset_included(session, news.delta, &leaves));
        if (leaves)
            break;
        strcpy(set, news.set);
        epoch++;
        comm = connect_epoch(set, epoch, introduced && epoch > 1 && rank == 0);
    }
    if (!leaves)
        ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
    if (!leaves && rank == 0)
        et_log("PASS session_rendezvous");
    return 0;
}
