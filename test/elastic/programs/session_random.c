/*
 * A program that does with changing process sets what any program may, at random: SA1, SA2, SA3,
 * SR4, SR7, SR8, SR9, SJ1, SJ2, SL1, SL2, SL4, SF1, SI8, SI9, SO1 to SO8, SD1, SD2, SB1, SX2, SX5,
 * SX6, SX9, SW3, ST1.
 *
 * All processes draw the same steps, and each does things of its own in between.  The results of
 * MPI are compared with a model (session_model.h) that is the same in all of them.  Their
 * operations: session_random_comms.h (communicators and messages), session_random_sessions.h,
 * session_random_sets.h (with data and texts), session_random_groups.h (what is made of groups),
 * session_random_changes.h; here is the order in which they do it.
 *
 * --seed S, --changes N: how many are taken or declined; --verbose 1: each step, on standard error;
 * --only NAME: steps of one kind; --deaths 1: processes that join or leave may die; --outsider 1:
 * each has a thread with a session of its own.  mpiexec's policy states what changes are offered:
 *
 *     mpiexec -n 2 --adapt-range 1:6 --adapt-policy random:7 --adapt-interval 20ms session_random
 *         --seed 7 --changes 40
 */

#include "session_random_changes.h"
#include "session_random_groups.h"

/* ---- of its own ------------------------------------------------------------------------------ */

/* SI1, SI2: the list only grows. */
static void query_list(void)
{
    static int notified;
    static pset_name last;      /* of those that were notified */
    pset_name name;
    MPI_Info psets;
    int n, length = sizeof(name);

    ET_MPI(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    ET_CHECK(n >= notified && n >= 2, "SI1: %d sets after %d", n, notified);
    if (notified) {
        ET_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, notified - 1, &length, name));
        ET_CHECK(!strcmp(name, last), "SI1: %s was %s", name, last);
    }
    notified = n;
    length = sizeof(last);
    ET_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, notified - 1, &length, last));
    ET_MPI(MPIX_Session_get_psets(session, MPI_INFO_NULL, &psets));
    for (int i = 0; i < model.n_sets; i++)
        ET_CHECK(value_of(psets, model.sets[i].name, name) == holds(&model.sets[i].members, me),
                 "SI2: %s", model.sets[i].name);
    ET_MPI(MPI_Info_free(&psets));
}

static void make_own(void)
{
    const struct known *first = &model.sets[draw_own(model.n_sets)], *second =
        &model.sets[draw_own(model.n_sets)];
    struct list expected = combine(MPIX_PSETOP_DIFFERENCE, &first->members, &second->members);
    pset_name made;

    make_set(MPIX_PSETOP_DIFFERENCE, first->name, second->name, made);
    ET_CHECK(!made[0] == !expected.n, "SO5: %s", made);
    if (!made[0])
        return;
    check_set(made, &expected);
    ET_MPI(MPIX_Session_pset_free(session, made));
    check_unknown(made);
}

/* SN4: those that live, at least. */
static void query_all_sets(void)
{
    pset_name value;
    MPI_Info info;

    ET_MPI(MPI_Session_get_pset_info(session, "mpix://ALL", &info));
    ET_CHECK(value_of(info, "mpi_size", value) &&
             atoi(value) >= size, "SN4: %s processes of %d", value, size);
    ET_MPI(MPI_Info_free(&info));
}

static void query_world(void)
{
    struct list own_world = world_of(me);

    check_set("mpi://WORLD", &own_world);
}

static void connect_self(void)
{
    MPI_Comm alone = connect_set("mpi://SELF", "alone");

    et_exercise(alone, "mpi://SELF");
    ET_MPI(MPI_Comm_free(&alone));
}

static void by_the_way(void)
{
    const struct known *set = &model.sets[draw_own(model.n_sets)];
    int flag;

    switch (draw_own(12)) {
        case 0:
        case 1:
            check_set(set->name, &set->members);
            break;
        case 2:
            make_own();
            break;
        case 3:
            query_list();
            break;
        case 4:
            query_all_sets();
            break;
        case 5:
            reopen();
            break;
        case 6:
            ET_MPI(MPIX_Session_rc_test(session, draw_own(2) ? NULL : model.set, &flag));
            break;
        case 7:
            connect_self();
            break;
        case 8:
            query_world();
            break;
        default:
            pause_own();
    }
}

/* ---- begin ----------------------------------------------------------------------------------- */

static volatile int belongs;    /* to the job, whose end its death is from then on */

/* --deaths: one of twenty that join dies, at any moment until it belongs to the job. */
static void *die(void *unused)
{
    (void) unused;
    et_sleep_ms(draw_own(200));
    if (!belongs)
        raise(SIGKILL);
    return NULL;
}

static void may_die(void)
{
    const char *adapt = getenv("PMI_ADAPT");    /* what mpiexec states before MPI can */
    pthread_t thread;

    if (adapt && !strstr(adapt, " epoch=0 ") && draw_own(20) == 0)
        ET_CHECK(!pthread_create(&thread, NULL, die, NULL), "no thread");
}

static void begin_launched(void)
{
    const char *operand = "mpi://WORLD";
    int n = 1;

    model.random = et.seed * 2654435761u + 1;
    ET_MPI(connect_all("mpi://WORLD", "launch", &comm));
    struct list everybody = learn_all(comm);
    for (int i = 0; i < everybody.n; i++)
        model.life[everybody.uids[i]] = LIVES;
    learn_comm(&everybody);
    if (rank == 0)
        ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, &operand, 1, MPI_INFO_NULL,
                                    &model.set, &n));
    share(model.set, sizeof(model.set), 0);
    add_set(model.set, everybody);
}

/* SJ2 */
static void begin_joining(const char *delta)
{
    pset_name set, tag;

    ET_CHECK(session_value("app_set", set) &&
             session_value("app_tag", tag), "SR7: the keys of the accept");
    pause_own();
    ET_MPI(connect_all(set, tag, &comm));
    struct list everybody = learn_all(comm);
    belongs = 1;
    learn_comm(&everybody);
    share_model(1);
    ET_CHECK(!strcmp(model.set, set), "SA1: %s", model.set);
    struct list own_world = world_of(me);
    check_set(delta, &own_world);
}

static void begin(void)
{
    pset_name delta, uid;

    for (int i = 0; i < SAVED; i++)
        saved[i] = MPI_COMM_NULL;
    own_random = et.seed * 40503u + (unsigned) getpid();
    if (deaths)
        may_die();
    pause_own();
    open_sessions();
    ET_CHECK(session_value("mpidynres_process_id", uid), "SI4: no mpidynres_process_id");
    me = atoi(uid);
    own_random = et.seed * 40503u + (unsigned) me * 2654435761u;
    if (outsider.runs)
        start_outsider();
    if (is_joining_process(delta))
        begin_joining(delta);
    else
        begin_launched();
}

/* ---- steps ----------------------------------------------------------------------------------- */

static const struct step {
    const char *name;
    void (*run) (void);
} steps[] = {
    {"traffic", step_traffic}, {"traffic", step_traffic}, {"combine", step_combine},
    {"combine", step_combine},
    {"split", step_split}, {"from_group", step_from_group}, {"take_away", step_take_away},
    {"rename", step_rename},
    {"data", step_data}, {"text", step_text}, {"communicator", step_communicator},
    {"two", step_two},
    {"intercomm", step_intercomm}, {"window", step_window}, {"renew", step_renew},
    {"confirm", step_confirm}, {"receive_late", step_receive_late}, {"gone", step_ended}
};

static void run_step(const char *only)
{
    const struct step *step = &steps[draw(sizeof(steps) / sizeof(steps[0]))];

    by_the_way();
    if (only && strcmp(only, step->name))
        return;
    log_line("%s", step->name);
    step->run();
}

/* Memory that stays over the second half of the changes: pools that have grown once, and
 * libfabric's records of processes. */
static void check_growth(const struct usage *first, int changes)
{
    struct usage last = measure();

    ET_CHECK(last.descriptors <= first->descriptors + 16, "%ld descriptors, then %ld",
             first->descriptors, last.descriptors);
    ET_CHECK(last.mappings <= first->mappings + 32, "%ld mappings, then %ld", first->mappings,
             last.mappings);
    ET_CHECK(last.threads <= first->threads, "%ld threads, then %ld", first->threads, last.threads);
    ET_CHECK(last.heap <= first->heap + (4L << 20) + 4096L * changes, "%ld bytes, then %ld",
             first->heap, last.heap);
}

static void take_steps(int changes, const char *only)
{
    struct usage middle = { 0 };        /* it has none if it joins later */

    while (model.changes < changes) {
        if (model.changes == changes / 2)
            middle = measure();
        for (int n = draw(12); n > 0; n--)
            run_step(only);
        change_all();
    }
    step_receive_late();
    if (middle.heap)
        check_growth(&middle, changes);
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    logs = (int) et_number(argc, argv, "verbose", 0);
    deaths = (int) et_number(argc, argv, "deaths", 0);
    outsider.runs = (int) et_number(argc, argv, "outsider", 0);
    world = et.seed % WORLDS;
    begin();
    take_steps((int) et_number(argc, argv, "changes", 10), et_argument(argc, argv, "only", NULL));
    ET_MPI(MPI_Barrier(comm));
    end_sessions();
    if (rank == 0)
        et_log("PASS session_random");
    return 0;
}
