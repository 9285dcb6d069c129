/*
 * SR9, SR4, SC1: as libmpidynres' programs do it, whoever is first in the set requests changes, and
 * if it is to leave itself it does so without accepting; the next one is the first then.  As many
 * changes as the argument states; who is the first at the end states how many processes there are.
 */

#define MPIDYNRES_MAIN
#include "elastic_test.h"
#include <mpidynres_sim.h>

typedef char pset_name[MPI_MAX_PSET_NAME_LEN];

struct news {
    int type, tag;
    pset_name set;
};

static MPI_Session session;
static MPI_Comm comm;
static pset_name set = "mpi://WORLD";
static int rank, size, changes;

static void connect(void)
{
    MPI_Group group;

    ET_MPI(MPI_Group_from_session_pset(session, set, &group));
    ET_MPI(MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
}

static void begin(void)
{
    char number[16];
    MPI_Info info;
    int flag;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    ET_MPI(MPI_Session_get_info(session, &info));
    ET_MPI(MPI_Info_get(info, "app_set", sizeof(set) - 1, set, &flag));
    if (flag) {
        ET_MPI(MPI_Info_get(info, "app_changes", sizeof(number) - 1, number, &flag));
        changes = atoi(number);
    }
    ET_MPI(MPI_Info_free(&info));
    connect();
}

static struct news query(void)
{
    struct news news = { MPIDYNRES_RC_NONE, MPIDYNRES_NO_ORIGIN_RC_TAG, "" };
    MPIDYNRES_RC_type type;
    pset_name delta;
    MPI_Info info;

    ET_MPI(MPIDYNRES_RC_get(session, &type, delta, &news.tag, &info));
    if (type == MPIDYNRES_RC_NONE)
        return news;
    news.type = type;
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPIDYNRES_pset_create_op(session, MPI_INFO_NULL, set, delta, type == MPIDYNRES_RC_ADD
                                    ? MPIDYNRES_PSET_UNION : MPIDYNRES_PSET_DIFFERENCE, news.set));
    return news;
}

static void accept_change(const struct news *news)
{
    char number[16];
    const char *const pairs[] = { "app_set", news->set, "app_changes", number };
    MPI_Info info;

    snprintf(number, sizeof(number), "%d", changes);
    ET_MPI(MPIDYNRES_Info_create_strings(4, pairs, &info));
    ET_MPI(MPIDYNRES_RC_accept(session, news->tag, info));
    ET_MPI(MPI_Info_free(&info));
}

/* Whether this process goes on. */
static int follow(const struct news *news)
{
    MPI_Info sets;
    int length, stays;

    changes++;
    ET_MPI(MPI_Session_get_psets(session, MPI_INFO_NULL, &sets));
    ET_MPI(MPI_Info_get_valuelen(sets, news->set, &length, &stays));
    ET_MPI(MPI_Info_free(&sets));
    if (stays && rank == 0)
        accept_change(news);
    ET_MPI(MPI_Comm_free(&comm));
    if (!stays && rank == 0)
        et_log("FIRST LEAVES");
    if (!stays)
        return 0;
    strcpy(set, news->set);
    connect();
    return 1;
}

int MPIDYNRES_main(int argc, char **argv)
{
    int last = argc > 1 ? atoi(argv[1]) : 0, goes_on = 1;
    struct news news;

    begin();
    while (goes_on && changes < last) {
        if (rank == 0)
            news = query();
        ET_MPI(MPI_Bcast(&news, sizeof(news), MPI_BYTE, 0, comm));
        if (news.type == MPIDYNRES_RC_NONE)
            et_sleep_ms(1);
        else
            goes_on = follow(&news);
    }
    if (goes_on && rank == 0)
        et_log("PASS dynres_first size=%d", size);
    if (goes_on)
        ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
    return 0;
}
