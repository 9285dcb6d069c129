/*
 * Sessions of session_random: one has the communicators and lasts, `session` reads sets and may be
 * another one at any time, and a thread that knows nothing of the others may have its own; SX2,
 * SX5, SX7, SX11, ST1, SW3.
 */

#ifndef SESSION_RANDOM_SESSIONS_H_INCLUDED
#define SESSION_RANDOM_SESSIONS_H_INCLUDED

#include "session_random_comms.h"
#include <pthread.h>

static MPI_Session lasting;

/* SX5, SW3: whether there is a world of MPI_Init as well, and whether it or a session comes
 * first. */
static enum { NO_WORLD, WORLD_FIRST, WORLD_LATER, WORLDS } world;

static MPI_Session open_another(void)
{
    MPI_Session before = session, opened;

    open_session();
    opened = session;
    session = before;
    return opened;
}

static void open_world(void)
{
    int provided;

    ET_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
    ET_CHECK(provided == MPI_THREAD_MULTIPLE, "level %d", provided);
}

static void open_sessions(void)
{
    if (world == WORLD_FIRST)
        open_world();
    open_session();
    if (world == WORLD_LATER)
        open_world();
    lasting = open_another();
}

static int connect_all(const char *set, const char *tag, MPI_Comm * made)
{
    MPI_Session polls = session;

    session = lasting;
    int error = try_connect(set, tag, made);
    session = polls;
    return error;
}

/* SX2, SX7 */
static void reopen(void)
{
    if (draw_own(2)) {
        ET_MPI(MPI_Session_finalize(&session));
        pause_own();
        open_session();
    } else {
        MPI_Session other = open_another();
        ET_MPI(MPI_Session_finalize(&session));
        session = other;
    }
}

/* All end all that they have, and begin anew.  Not while some leave: they may still be found in
 * sets, and nobody would know them. */
static void step_renew(void)
{
    const struct list everybody = all();
    int frees = draw(2);        /* or the end of the session does */
    pset_name tag;

    for (int uid = 0; uid < UIDS; uid++)
        if (model.life[uid] == LEAVES)
            return;
    make_up("again", tag);
    step_receive_late();
    for (int i = 0; i < SAVED; i++) {
        if (!frees)
            saved[i] = MPI_COMM_NULL;
        discard_saved(i);
    }
    ET_MPI(MPI_Barrier(comm));
    discard_met();
    if (frees)
        end_comm(&comm, &everybody);
    ET_MPI(MPI_Session_finalize(&lasting));
    ET_MPI(MPI_Session_finalize(&session));
    pause_own();
    open_session();
    lasting = open_another();
    ET_MPI(connect_all(model.set, tag, &comm));
    learn_comm(&everybody);
}

/* ---- a thread that knows nothing of the others ----------------------------------------------- */

static struct {
    int runs;                   /* whether there is to be one */
    pthread_t thread;
    volatile int stops;
} outsider;

/* Sets and communicators of this process alone. */
static void be_alone(MPI_Session own)
{
    const char *self = "mpi://SELF";
    MPI_Group group;
    MPI_Comm made;
    MPI_Info info;
    pset_name name;
    int n = 1, flag;

    ET_MPI(MPIX_Session_pset_op(own, MPIX_PSETOP_UNION, &self, 1, MPI_INFO_NULL, &name, &n));
    ET_MPI(MPIX_Session_pset_exists(own, name, &flag, NULL));
    ET_CHECK(flag, "SA1: %s is not there", name);
    ET_MPI(MPI_Group_from_session_pset(own, name, &group));
    ET_MPI(MPI_Comm_create_from_group(group, "outsider", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
    et_exercise(made, name);
    ET_MPI(MPI_Comm_free(&made));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPIX_Session_rc_test(own, name, &flag));
    ET_MPI(MPI_Session_get_pset_info(own, "mpix://ALL", &info));
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPIX_Session_pset_free(own, name));
}

static void *be_strange(void *unused)
{
    MPI_Session own;

    (void) unused;
    while (!outsider.stops) {
        ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &own));
        for (int ms = 0; ms < 10 && !outsider.stops; ms++) {
            be_alone(own);
            et_sleep_ms(ms);
        }
        ET_MPI(MPI_Session_finalize(&own));
    }
    return NULL;
}

static void start_outsider(void)
{
    ET_CHECK(!pthread_create(&outsider.thread, NULL, be_strange, NULL), "no thread");
}

static void end_sessions(void)
{
    outsider.stops = 1;
    if (outsider.runs)
        ET_CHECK(!pthread_join(outsider.thread, NULL), "no thread");
    ET_MPI(MPI_Session_finalize(&session));
    ET_MPI(MPI_Session_finalize(&lasting));
    if (world != NO_WORLD)
        ET_MPI(MPI_Finalize());
}

#endif /* SESSION_RANDOM_SESSIONS_H_INCLUDED */
