/*
 * Common to programs that change through process sets: they open a session that states so, poll
 * whether there is a change, take it, and make communicators of sets.  One session for each
 * process, `session`.
 */

#ifndef SESSION_CHANGES_H_INCLUDED
#define SESSION_CHANGES_H_INCLUDED

#include "elastic_test.h"

typedef char pset_name[MPI_MAX_PSET_NAME_LEN];

struct change {
    int type, tag;
    pset_name delta;
    MPI_Info info;
};

static MPI_Session session;

static inline int class_of(int error)
{
    int class;

    ET_MPI(MPI_Error_class(error, &class));
    return class;
}

/* SR1 */
static inline void open_session(void)
{
    MPI_Info info;

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "mpix_dynamic", "true"));
    ET_MPI(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Info_free(&info));
}

/* "" if there is no such key. */
static inline int value_of(MPI_Info info, const char *key, pset_name value)
{
    int flag;

    value[0] = '\0';
    ET_MPI(MPI_Info_get(info, key, MPI_MAX_PSET_NAME_LEN - 1, value, &flag));
    return flag;
}

/* A key of what the session was opened with, or of the accept that has started this process. */
static inline int session_value(const char *key, pset_name value)
{
    MPI_Info info;

    ET_MPI(MPI_Session_get_info(session, &info));
    int flag = value_of(info, key, value);
    ET_MPI(MPI_Info_free(&info));
    return flag;
}

static inline int is_joining_process(pset_name delta)
{
    int dynamic;

    ET_MPI(MPIX_Session_get_default_pset(session, delta, &dynamic));
    return dynamic;
}

static inline struct change get_change(const char *set)
{
    struct change change;

    ET_MPI(MPIX_Session_rc_get(session, set, &change.type, change.delta, &change.tag,
                               &change.info));
    int none = change.type == MPIX_RC_NONE;
    ET_CHECK(none == !change.delta[0] && none == (change.tag == -1) &&
             none == (change.info == MPI_INFO_NULL), "SR2, SR4: type %d, delta %s, tag %d",
             change.type, change.delta, change.tag);
    return change;
}

/* Until there is one; this process is notified of it. */
static inline struct change await_change(const char *set)
{
    int flag = 0;

    for (; !flag; et_sleep_ms(1))
        ET_MPI(MPIX_Session_rc_test(session, set, &flag));
    struct change change = get_change(set);
    ET_CHECK(change.type != MPIX_RC_NONE, "SR4: a process that polled is not notified");
    return change;
}

/* Joining processes find `key` in their session. */
static inline void accept_change(struct change *change, const char *key, const char *value)
{
    MPI_Info keys = MPI_INFO_NULL;

    if (key) {
        ET_MPI(MPI_Info_create(&keys));
        ET_MPI(MPI_Info_set(keys, key, value));
    }
    ET_MPI(MPIX_Session_rc_accept(session, change->tag, keys));
    if (key)
        ET_MPI(MPI_Info_free(&keys));
    ET_MPI(MPI_Info_free(&change->info));
}

static inline void decline_change(struct change *change)
{
    ET_MPI(MPIX_Session_rc_decline(session, change->tag));
    ET_MPI(MPI_Info_free(&change->info));
}

static inline void make_set(int op, const char *first, const char *second, pset_name made)
{
    const char *operands[] = { first, second };
    pset_name output;
    int n = 1;

    ET_MPI(MPIX_Session_pset_op(session, op, operands, 2, MPI_INFO_NULL, &output, &n));
    memcpy(made, output, sizeof(output));
}

/* The members after the change. */
static inline void set_after(const char *set, const struct change *change, pset_name made)
{
    make_set(change->type == MPIX_RC_ADD ? MPIX_PSETOP_UNION : MPIX_PSETOP_DIFFERENCE, set,
             change->delta, made);
}

static inline int try_connect(const char *set, const char *tag, MPI_Comm * comm)
{
    MPI_Group group;
    int error;

    *comm = MPI_COMM_NULL;
    error = MPI_Group_from_session_pset(session, set, &group);
    if (error == MPI_SUCCESS) {
        error = MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, comm);
        ET_MPI(MPI_Group_free(&group));
    }
    return error;
}

/* Of all members of the set, each of which has its rank by its position there. */
static inline MPI_Comm connect_set(const char *set, const char *tag)
{
    MPI_Comm comm;
    int rank, size, sum;

    ET_MPI(try_connect(set, tag, &comm));
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    ET_CHECK(sum == size * (size - 1) / 2, "the sum of %d ranks is %d", size, sum);
    return comm;
}

static inline void check_state(const char *set, const char *expected)
{
    MPI_Info info;
    pset_name state;

    ET_MPI(MPI_Session_get_pset_info(session, set, &info));
    value_of(info, "mpix_state", state);
    ET_CHECK(!strcmp(state, expected), "%s is %s, not %s", set, state, expected);
    ET_MPI(MPI_Info_free(&info));
}

/* Until the set has this state for every process. */
static inline void await_state(const char *set, const char *expected)
{
    pset_name state;

    do {
        MPI_Info info;
        ET_MPI(MPI_Session_get_pset_info(session, set, &info));
        value_of(info, "mpix_state", state);
        ET_MPI(MPI_Info_free(&info));
    } while (strcmp(state, expected) && (et_sleep_ms(1), 1));
}

#endif /* SESSION_CHANGES_H_INCLUDED */
