/*
 * SL1-SL4, SF1, SF3: processes that end while others go on, in a job that changes through process
 * sets.  Started by 4 processes, of which rank 0 prints PASS; --case
 *   ends     rank 3 sends, finalises and exits with code 5; all that it has sent is received later
 *   notified rank 0 is notified of a change and ends; rank 1 is notified of the same, accepts it,
 *       and prints PASS
 *   killed   rank 3 is to leave, which has been accepted, and dies of a signal
 *   exits    the same, and it exits without finalising
 *   unheard  as killed; rank 0 prints LEAVER PID and NOTIFIED, and accepts when there is a file
 *            "accept"
 *   mute     the same, as exits
 *   late     the same, and it ends when it has been reported that it does not
 *   dies     rank 3 dies of a signal although nobody has accepted anything: the job ends
 */

#include "session_changes.h"
#include <signal.h>
#include <unistd.h>

#define MESSAGES 64
#define SMALL 1000
#define LARGE (3 << 20)

static MPI_Comm comm;
static int rank;

static void finish(void)
{
    ET_MPI(MPI_Session_finalize(&session));
    exit(0);
}

/* SL2, SL4: everybody can see who has ended, the sets stay listed, and a communicator can be
 * freed. */
static void check_without(const char *ended, const char *rest)
{
    MPI_Info psets;
    MPI_Comm others;
    pset_name value;
    MPI_Group group;

    await_state(ended, "ended");
    ET_MPI(MPIX_Session_get_psets(session, MPI_INFO_NULL, &psets));
    ET_CHECK(value_of(psets, "mpi://WORLD", value) &&
             atoi(value) == 4, "SL2: the world is not listed");
    ET_MPI(MPI_Info_free(&psets));
    ET_ERROR(MPI_Group_from_session_pset(session, ended, &group), MPI_ERR_PROC_ABORTED, ended);
    ET_MPI(MPI_Comm_free(&comm));
    others = connect_set(rest, "the rest");
    ET_MPI(MPI_Comm_free(&others));
}

static void receive_late(void)
{
    static char buffer[LARGE];
    pset_name world;

    make_set(MPIX_PSETOP_UNION, "mpi://WORLD", "mpi://SELF", world);
    await_state(world, "ended");
    for (int i = 0; i < MESSAGES; i++) {
        ET_MPI(MPI_Recv(buffer, SMALL, MPI_BYTE, 3, i, comm, MPI_STATUS_IGNORE));
        et_verify(buffer, SMALL, 3, i, "a message of a process that has ended");
    }
}

static void case_ends(void)
{
    static char small[MESSAGES][SMALL], large[LARGE];
    pset_name rest, last;

    if (rank == 3) {
        for (int i = 0; i < MESSAGES; i++) {
            et_fill(small[i], SMALL, 3, i);
            ET_MPI(MPI_Send(small[i], SMALL, MPI_BYTE, 0, i, comm));
        }
        et_fill(large, LARGE, 3, MESSAGES);
        ET_MPI(MPI_Send(large, LARGE, MPI_BYTE, 1, MESSAGES, comm));
        ET_MPI(MPI_Session_finalize(&session));
        exit(5);
    }
    if (rank == 1) {
        ET_MPI(MPI_Recv(large, LARGE, MPI_BYTE, 3, MESSAGES, comm, MPI_STATUS_IGNORE));
        et_verify(large, LARGE, 3, MESSAGES, "a large message");
    }
    if (rank == 0)
        receive_late();
    if (rank == 0) {
        MPI_Info name;
        pset_name made;
        MPI_Group world, first;
        ET_MPI(MPI_Comm_group(comm, &world));
        ET_MPI(MPI_Group_incl(world, 3, (const int[]) {0, 1, 2}, &first));
        ET_MPI(MPI_Info_create(&name));
        ET_MPI(MPI_Info_set(name, "mpix_name", "app://rest"));
        ET_MPI(MPIX_Session_pset_from_group(session, first, name, made));
        ET_MPI(MPI_Info_free(&name));
        ET_MPI(MPI_Group_free(&first));
        ET_MPI(MPI_Group_free(&world));
    }
    strcpy(rest, "app://rest");
    for (int running = 0; !running; et_sleep_ms(1))
        ET_MPI(MPIX_Session_pset_exists(session, rest, &running, NULL));
    make_set(MPIX_PSETOP_UNION, "mpi://WORLD", "mpi://SELF", last);
    check_without(last, rest);
}

/* SF1: both are notified of the same delta with the same tag. */
static void case_notified(void)
{
    struct notified {
        int type, tag;
        pset_name delta;
    } first;
    struct change change;
    pset_name whole;

    if (rank == 0) {
        change = await_change(NULL);
        first = (struct notified) {.type = change.type,.tag = change.tag };
        strcpy(first.delta, change.delta);
        ET_MPI(MPI_Send(&first, sizeof(first), MPI_BYTE, 1, 0, comm));
        finish();
    }
    if (rank != 1) {
        ET_MPI(MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, comm, MPI_STATUS_IGNORE));
        finish();
    }
    ET_MPI(MPI_Recv(&first, sizeof(first), MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
    change = await_change(NULL);
    ET_CHECK(change.type == first.type && change.tag == first.tag &&
             !strcmp(change.delta, first.delta), "SF1: type %d, delta %s, tag %d", change.type,
             change.delta, change.tag);
    ET_ERROR(MPIX_Session_rc_accept(session, change.tag + 1, MPI_INFO_NULL), MPI_ERR_ARG, "tag");
    set_after("mpi://SELF", &change, whole);
    accept_change(&change, "app_set", whole);
    for (int other = 2; other < 4; other++)
        ET_MPI(MPI_Send(NULL, 0, MPI_BYTE, other, 0, comm));
    ET_MPI(MPI_Comm_free(&comm));
    comm = connect_set(whole, "staying");
    ET_MPI(MPI_Comm_free(&comm));
    et_log("PASS session_faults");
    finish();
}

static void leave(const char *how)
{
    if (!strcmp(how, "exits") || !strcmp(how, "mute"))
        _exit(0);
    if (!strcmp(how, "late")) {
        et_await_file("reported");
        finish();
    }
    raise(SIGKILL);
}

/* SL3: rank 0 accepts that rank 3 leaves. */
static void case_leaves(const char *how)
{
    struct change change;
    pset_name news[2];
    int waits = !strcmp(how, "unheard") || !strcmp(how, "mute"), pid = (int) getpid();

    if (waits)
        ET_MPI(MPI_Bcast(&pid, 1, MPI_INT, 3, comm));
    if (rank == 0) {
        if (waits)
            et_log("LEAVER %d", pid);
        change = await_change("mpi://WORLD");
        ET_CHECK(change.type == MPIX_RC_SUB, "type %d", change.type);
        strcpy(news[0], change.delta);
        set_after("mpi://WORLD", &change, news[1]);
        if (waits) {
            et_log("NOTIFIED");
            et_await_file("accept");
        }
        accept_change(&change, NULL, NULL);
    }
    ET_MPI(MPI_Bcast(news, sizeof(news), MPI_BYTE, 0, comm));
    if (rank == 3)
        leave(how);
    check_without(news[0], news[1]);
}

static void join(void)
{
    pset_name set;

    ET_CHECK(session_value("app_set", set), "SR7: the keys of the accept");
    comm = connect_set(set, "staying");
    ET_MPI(MPI_Comm_free(&comm));
    finish();
}

int main(int argc, char **argv)
{
    const char *what = et_argument(argc, argv, "case", "ends");
    pset_name delta;

    et_options(&argc, &argv);
    open_session();
    if (is_joining_process(delta))
        join();
    comm = connect_set("mpi://WORLD", "launch");
    ET_MPI(MPI_Comm_rank(comm, &rank));
    if (!strcmp(what, "ends"))
        case_ends();
    else if (!strcmp(what, "notified"))
        case_notified();
    else if (strcmp(what, "dies"))
        case_leaves(what);
    else if (rank == 3)
        raise(SIGKILL);
    else
        for (;;)
            et_sleep_ms(10);
    if (rank == 0)
        et_log("PASS session_faults");
    ET_MPI(MPI_Session_finalize(&session));
    return 0;
}
