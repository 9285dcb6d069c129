/*
 * Texts that the primary process of a set gives to all its members.  SB1: the members call at
 * speeds of their own and all get the same texts in the calls of the same numbers.  SB2: what is
 * pending, and members that end: --ends 1: one that has given nothing, before a text is given;
 * --ends 2: the primary, after it has given one.  ST1: several threads.  Run by 4 processes.
 */

#include "elastic_test.h"
#include <pthread.h>

#define TEXTS 20
#define AHEAD 100
#define SETS 40
#define THREADS 4

static MPI_Session session;
static MPI_Comm all;            /* from mpi://WORLD */
static int rank, size;

typedef char pset_name[MPI_MAX_PSET_NAME_LEN];

static __thread char text[256];

/* One call; "" or what is delivered is in `text`. */
static int bcast(const char *set, const char *given)
{
    snprintf(text, sizeof(text), "%s", given ? given : "");
    return MPIX_Session_bcast_pset_info(session, set, text, sizeof(text), given != NULL);
}

static void make_set(const char *proposed, int n, const int *ranks)
{
    MPI_Group world, group;
    MPI_Info info;
    pset_name made;

    ET_MPI(MPI_Comm_group(all, &world));
    ET_MPI(MPI_Group_incl(world, n, ranks, &group));
    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "mpix_name", proposed));
    ET_MPI(MPIX_Session_pset_from_group(session, group, info, made));
    ET_CHECK(!strcmp(made, proposed), "%s is called %s", proposed, made);
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Group_free(&world));
}

/* Member 0 of these ranks gives texts, in some of its calls; all stop with the last one. */
static void pass_texts(const char *set, int n, const int *ranks)
{
    int calls[TEXTS], delivered = 0, given = 0, under_way = 0, me = -1;
    char expected[64];
    MPI_Group group;
    MPI_Comm members;

    for (int i = 0; i < n; i++)
        me = ranks[i] == rank ? i : me;
    if (me < 0)
        return;
    ET_MPI(MPI_Group_from_session_pset(session, set, &group));
    ET_MPI(MPI_Comm_create_from_group(group, set, MPI_INFO_NULL, MPI_ERRORS_RETURN, &members));
    for (int call = 0; delivered < TEXTS; call++) {
        const char *give = NULL;
        if (me == 0 && !under_way && given < TEXTS && rand() % 3 == 0) {
            snprintf(expected, sizeof(expected), "text %d of %s", given, set);
            give = expected;
            under_way = 1;
            given++;
        }
        ET_MPI(bcast(set, give));
        ET_CHECK(!give ||
                 !text[0], "call %d has delivered its own text: nobody else can have it", call);
        if (text[0]) {
            snprintf(expected, sizeof(expected), "text %d of %s", delivered, set);
            ET_CHECK(!strcmp(text, expected), "SB1: '%s' instead of '%s'", text, expected);
            calls[delivered++] = call;
            under_way = 0;
        }
        if (rand() % 8 == 0)
            et_sleep_ms(rand() % (me + 2));
        if (call % 64 == 63)    /* or the fast ones run away from the slow ones */
            ET_MPI(MPI_Barrier(members));
    }
    if (me == 0) {
        for (int i = 1; i < n; i++) {
            int theirs[TEXTS];
            ET_MPI(MPI_Recv(theirs, TEXTS, MPI_INT, i, 0, members, MPI_STATUS_IGNORE));
            for (int k = 0; k < TEXTS; k++)
                ET_CHECK(theirs[k] == calls[k], "SB1: text %d came in call %d on rank %d, %d here",
                         k, theirs[k], ranks[i], calls[k]);
        }
    } else {
        ET_MPI(MPI_Send(calls, TEXTS, MPI_INT, 0, 0, members));
    }
    ET_MPI(MPI_Comm_free(&members));
    ET_MPI(MPI_Group_free(&group));
}

/* ST1: each thread has a set of its own. */
static const int everybody[] = { 0, 1, 2, 3 };

static void *pass_in_thread(void *set)
{
    pass_texts(set, 4, everybody);
    return NULL;
}

static void pass_in_threads(void)
{
    static char sets[THREADS][32];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        snprintf(sets[i], sizeof(sets[i]), "app://thread/%d", i);
        if (rank == 0)
            make_set(sets[i], 4, everybody);
    }
    ET_MPI(MPI_Barrier(all));
    for (int i = 0; i < THREADS; i++)
        ET_CHECK(!pthread_create(&threads[i], NULL, pass_in_thread, sets[i]), "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void until_delivered(const char *set, const char *expected)
{
    do {
        ET_MPI(bcast(set, NULL));
    } while (!text[0]);
    ET_CHECK(!strcmp(text, expected), "'%s' instead of '%s'", text, expected);
}

/* A query after a text has its reply after the own proxy has counted. */
static void let_proxies_count(void)
{
    int running;

    ET_MPI(MPI_Barrier(all));
    ET_MPI(MPIX_Session_pset_exists(session, "mpix://WORLD/0", &running, NULL));
    ET_MPI(MPI_Barrier(all));
}

/* The others are ahead, so that the primary knows when its text comes. */
static void check_pending(void)
{
    const char *set = "mpi://world";

    for (int i = 0; rank > 0 && i < AHEAD; i++)
        ET_MPI(bcast(set, NULL));
    ET_MPI(MPI_Barrier(all));
    if (rank == 0) {
        ET_MPI(bcast(set, "first"));
        let_proxies_count();
        ET_ERROR(bcast(set, "second"), MPI_ERR_PENDING, "not been delivered");
        for (int i = 2; i < AHEAD; i++) {
            ET_MPI(bcast(set, NULL));
            ET_CHECK(!text[0], "delivered in call %d, others have made %d", i, AHEAD);
        }
        ET_MPI(MPI_Barrier(all));
        ET_MPI(bcast(set, "third"));    /* in the call that delivers */
        ET_CHECK(!strcmp(text, "first"), "'%s' in the call of the others", text);
        until_delivered(set, "third");
    } else {
        char few[4] = "";
        let_proxies_count();
        ET_MPI(MPI_Barrier(all));
        if (rank == 1) {
            ET_ERROR(MPIX_Session_bcast_pset_info(session, set, few, sizeof(few), 0),
                     MPI_ERR_TRUNCATE, "5 bytes");
            ET_CHECK(!strcmp(few, "fir"), "'%s' has been cut off", few);
        } else {
            ET_MPI(bcast(set, NULL));
            ET_CHECK(!strcmp(text, "first"), "'%s' instead of the first text", text);
        }
        until_delivered(set, "third");
    }
    ET_MPI(MPI_Barrier(all));
}

static void check_refused(void)
{
    char whole[4] = { 'w', 'h', 'o', 'l' };

    if (rank == 1)
        ET_ERROR(bcast("mpi://WORLD", "text"), MPI_ERR_ARG, "primary process");
    else
        ET_MPI(bcast("mpi://WORLD", NULL));
    ET_ERROR(bcast("app://nobody", NULL), MPI_ERR_ARG, "app://nobody");
    ET_ERROR(bcast("", NULL), MPI_ERR_ARG, NULL);
    ET_ERROR(bcast("mpix://ALL", NULL), MPI_ERR_ARG, "mpix://ALL");
    if (rank % 2 == 0)
        ET_ERROR(bcast("app://odd", NULL), MPI_ERR_ARG, "app://odd");
    ET_ERROR(MPIX_Session_bcast_pset_info(session, "mpi://SELF", whole, sizeof(whole), 1),
             MPI_ERR_ARG, "length");
    ET_ERROR(MPIX_Session_bcast_pset_info(session, "mpi://SELF", whole, 0, 0), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_bcast_pset_info(session, "mpi://SELF", NULL, 4, 0), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_bcast_pset_info(session, NULL, whole, 4, 0), MPI_ERR_ARG, NULL);
}

/* A name that is freed, and then another set's; calls are counted anew. */
static void check_renamed(void)
{
    const int ranks[] = { 2, 0 };

    ET_MPI(MPI_Barrier(all));
    if (rank == 0)
        make_set("app://even", 2, ranks);
    ET_MPI(MPI_Barrier(all));
    for (int i = 0; rank == 0 && i < AHEAD; i++)
        ET_MPI(bcast("app://even", NULL));
    if (rank == 2)
        ET_MPI(bcast("app://even", "dropped"));
    ET_MPI(MPI_Barrier(all));
    if (rank == 1)
        ET_MPI(MPIX_Session_pset_free(session, "app://even"));
    ET_MPI(MPI_Barrier(all));
    if (rank % 2 == 0)
        ET_ERROR(bcast("app://even", NULL), MPI_ERR_ARG, "app://even");
    ET_MPI(MPI_Barrier(all));
    if (rank == 0)
        make_set("app://other", 1, ranks + 1);
    ET_MPI(MPI_Barrier(all));
    if (rank == 0)
        ET_MPI(bcast("app://other", NULL));
    if (rank == 0)
        make_set("app://more", 2, ranks);
    if (rank == 0)
        ET_MPI(MPIX_Session_pset_move(session, "app://more", "app://even"));
    ET_MPI(MPI_Barrier(all));
    pass_texts("app://even", 2, ranks);
}

/* More sets than a process can take part in at a time. */
static void check_many(void)
{
    char name[32];
    int error = MPI_SUCCESS, n;

    if (rank == 3) {
        for (n = 0; n < SETS && error == MPI_SUCCESS; n++) {
            snprintf(name, sizeof(name), "app://many/%d", n);
            make_set(name, 1, &rank);
            error = bcast(name, NULL);
        }
        ET_ERROR(error, MPI_ERR_NO_MEM, "too many");
        for (int i = 0; i < n; i += 2) {
            snprintf(name, sizeof(name), "app://many/%d", i);
            ET_MPI(MPIX_Session_pset_free(session, name));
        }
        make_set("app://one/more", 1, &rank);
        ET_MPI(bcast("app://one/more", "alone"));
        until_delivered("app://one/more", "alone");
    }
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void await_end(const char *set)
{
    int running;

    do {
        ET_MPI(MPIX_Session_pset_exists(session, set, &running, NULL));
    } while (running);
}

static void check_ends(int which)
{
    const int dying = which == 1 ? 3 : 0, first = which == 1 ? 0 : 1;
    int calls = 0, error, numbers[2];

    if (rank == 0)
        make_set("app://all", 4, everybody);
    ET_MPI(MPI_Barrier(all));
    for (int i = 0; i < 10; i++)
        ET_MPI(bcast("app://all", NULL));
    ET_MPI(MPI_Barrier(all));
    if (rank == 0 && which == 2)
        ET_MPI(bcast("app://all", "last words"));
    if (rank == dying) {
        ET_MPI(MPI_Session_finalize(&session));
        exit(0);
    }
    await_end("app://all");
    do {
        error = bcast("app://all", rank == 0 && calls == 5 ? "too late" : NULL);
        calls++;
    } while (error == MPI_SUCCESS && !text[0]);
    ET_ERROR(error, MPI_ERR_PROC_ABORTED, "ended");
    if (rank == first) {
        for (int i = 0; i < 2; i++) {
            ET_MPI(MPI_Recv(&numbers[i], 1, MPI_INT, first + i + 1, 0, all, MPI_STATUS_IGNORE));
            ET_CHECK(numbers[i] == calls, "SB2: received in call %d and in call %d", numbers[i],
                     calls);
        }
        /* the next call goes on */
        ET_MPI(bcast("app://all", NULL));
        et_log("PASS session_bcast");
    } else {
        ET_MPI(MPI_Send(&calls, 1, MPI_INT, first, 0, all));
    }
}

int main(int argc, char **argv)
{
    int ends = (int) et_number(argc, argv, "ends", 0);
    const int odd[] = { 3, 1 };
    MPI_Group group;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    ET_MPI(MPI_Comm_create_from_group(group, "session_bcast", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                      &all));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Comm_rank(all, &rank));
    ET_MPI(MPI_Comm_size(all, &size));
    ET_CHECK(size == 4, "%d processes", size);
    srand(rank + 1);
    if (ends) {
        check_ends(ends);
        ET_MPI(MPI_Session_finalize(&session));
        return 0;
    }
    check_pending();
    pass_texts("mpi://WORLD", 4, everybody);
    pass_in_threads();
    ET_MPI(MPI_Barrier(all));
    if (rank == 0)
        make_set("app://odd", 2, odd);
    ET_MPI(MPI_Barrier(all));
    pass_texts("app://odd", 2, odd);
    ET_MPI(MPI_Barrier(all));
    check_refused();
    check_renamed();
    check_many();
    ET_MPI(MPI_Barrier(all));
    ET_MPI(MPI_Comm_free(&all));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_bcast");
    return 0;
}
