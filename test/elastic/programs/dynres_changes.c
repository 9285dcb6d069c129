/*
 * SC1, SC2, SI2, SJ1, SJ2, SR7, SN3: what a process that is added, and one that is removed, finds
 * through libmpidynres' interface.  All call MPI_Init first, as its programs do: the world of those
 * who are added is their start group.  --epochs N changes; the processes --size at the end.
 */

#include "elastic_test.h"
#include "mpidynres_sim.h"

typedef char pset_name[MPI_MAX_PSET_NAME_LEN];

static MPI_Session session;
static int epochs, last;

static int text_of(MPI_Info info, const char *key, char *value)
{
    int flag;

    ET_MPI(MPI_Info_get(info, key, MPI_MAX_PSET_NAME_LEN - 1, value, &flag));
    return flag;
}

/* The world is the start group, and usable before and after the first session. */
static void check_world(void)
{
    int size, sum, one = 1;

    ET_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
    ET_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    ET_CHECK(sum == size, "SJ1: a world of %d, not %d", sum, size);
    et_exercise(MPI_COMM_WORLD, "MPI_COMM_WORLD");
}

static MPI_Comm connect(const char *set)
{
    MPI_Group group;
    MPI_Comm comm;

    ET_MPI(MPI_Group_from_session_pset(session, set, &group));
    ET_MPI(MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    ET_MPI(MPI_Group_free(&group));
    et_exercise(comm, set);
    return comm;
}

/* The epoch in which this process begins, and its set. */
static int begin(pset_name set)
{
    MPI_Info sets, info;
    pset_name value, start, tag;
    int epoch = 0;

    ET_MPI(MPI_Session_get_psets(session, MPI_INFO_NULL, &sets));
    int joins = !text_of(sets, "mpi://WORLD", value);
    ET_MPI(MPI_Session_get_info(session, &info));
    ET_CHECK(text_of(info, "mpidynres_dynamic_start", start) &&
             joins == !strcmp(start, "yes"), "SI2, SI4: %s", start);
    ET_CHECK(text_of(info, "mpidynres_origin_rc_tag", tag), "SI4");
    ET_CHECK(joins == (atoi(tag) != MPIDYNRES_NO_ORIGIN_RC_TAG), "SI4: %s", tag);
    strcpy(set, "mpi://WORLD");
    if (joins) {
        ET_CHECK(text_of(info, "app_set", set) &&
                 text_of(info, "app_epoch", value), "SR7: keys of the accept");
        epoch = atoi(value);
        snprintf(value, sizeof(value), "mpidynres://rc_%s", tag);
        ET_CHECK(text_of(sets, value, start), "SN3: %s is not listed", value);
    }
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPI_Info_free(&sets));
    return epoch;
}

struct news {
    int type;
    pset_name delta, set;
};

static struct news await_change(const char *set, int epoch)
{
    struct news news = { MPIDYNRES_RC_NONE, "", "" };
    MPIDYNRES_RC_type type;
    MPIDYNRES_RC_tag tag;
    MPI_Info info, keys;
    pset_name value;

    do {
        ET_MPI(MPIDYNRES_RC_get(session, &type, news.delta, &tag, &info));
        et_sleep_ms(1);
    } while (type == MPIDYNRES_RC_NONE);
    news.type = type;
    ET_MPI(MPI_Info_free(&info));
    snprintf(value, sizeof(value), "mpidynres://rc_%d", tag);
    ET_CHECK(!strcmp(news.delta, value), "SN3: %s", news.delta);
    ET_MPI(MPI_Session_get_pset_info(session, news.delta, &info));
    ET_CHECK(text_of(info, "mpidynres_rc_type", value), "SI3");
    ET_CHECK(!strcmp(value, type == MPIDYNRES_RC_ADD ? "add" : "sub"), "SI3: %s", value);
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPIDYNRES_pset_create_op(session, MPI_INFO_NULL, set, news.delta,
                                    type == MPIDYNRES_RC_ADD ? MPIDYNRES_PSET_UNION
                                        : MPIDYNRES_PSET_DIFFERENCE, news.set));
    snprintf(value, sizeof(value), "%d", epoch + 1);
    const char *const state[] = { "app_set", news.set, "app_epoch", value };
    ET_MPI(MPIDYNRES_Info_create_strings(4, state, &keys));
    ET_MPI(MPIDYNRES_RC_accept(session, tag, keys));
    ET_MPI(MPI_Info_free(&keys));
    return news;
}

static int program(int argc, char **argv)
{
    struct news news;
    pset_name set;
    MPI_Info sets;
    int rank, size;

    (void) argc, (void) argv;
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    int epoch = begin(set);
    check_world();
    MPI_Comm comm = connect(set);
    for (; epoch < epochs; epoch++) {
        ET_MPI(MPI_Comm_rank(comm, &rank));
        if (rank == 0)
            news = await_change(set, epoch);
        ET_MPI(MPI_Bcast(&news, sizeof(news), MPI_BYTE, 0, comm));
        ET_MPI(MPI_Session_get_psets(session, MPI_INFO_NULL, &sets));
        int stays = text_of(sets, news.set, set);
        ET_MPI(MPI_Info_free(&sets));
        ET_MPI(MPI_Comm_free(&comm));
        if (!stays) {
            ET_MPI(MPI_Session_finalize(&session));
            return 0;
        }
        strcpy(set, news.set);
        comm = connect(set);
    }
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_CHECK(size == last, "%d processes at the end", size);
    if (rank == 0)
        et_log("PASS dynres_changes size=%d", size);
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
    return 0;
}

int main(int argc, char **argv)
{
    MPIDYNRES_SIM_config config;

    epochs = et_number(argc, argv, "epochs", 0);
    last = et_number(argc, argv, "size", 0);
    ET_MPI(MPI_Init(&argc, &argv));
    check_world();
    ET_MPI(MPIDYNRES_SIM_get_default_config(&config));
    ET_MPI(MPIDYNRES_SIM_start(config, argc, argv, program));
    ET_MPI(MPI_Finalize());
    return 0;
}
