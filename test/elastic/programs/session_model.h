/*
 * The model of sets in a program that draws its steps, apart from MPI: members, their order, and
 * which of them have ended.  All processes have the same model, byte for byte, and hand it on to
 * those that join: what is not used in it is 0.  The results of MPI are compared with it: SA1, SA3,
 * SI3, SI6, SI7, SL2, SO4.
 */

#ifndef SESSION_MODEL_H_INCLUDED
#define SESSION_MODEL_H_INCLUDED

#include "session_changes.h"

enum {
    UIDS = 2048,                /* processes in the life of the job */
    MEMBERS = 24,               /* of a set, those that have ended included */
    SETS = 16, SAVED = 5, LATE = 16      /* how many are known at a time */
};

/* LEAVES: has been requested to, and may have ended */
enum life { NEVER, LIVES, LEAVES, GONE };

struct list {                   /* of uids, in the order of a set */
    int n, uids[MEMBERS];
};

struct known {
    pset_name name;
    struct list members;
};

struct late {                   /* messages of a process that leaves, which are received later */
    int from, to, saved;         /* from uid to uid, on which communicator of those that stay */
    int n, bytes, tag;          /* how many, of so many bytes, with this tag and the next ones */
};

struct model {
    unsigned random;            /* what all draw */
    int changes, declined;      /* taken or declined, and whether the latest one was declined */
    int made_up;                /* names and tags */
    /* of all processes, as the program sees it; one of those that are known */
    pset_name set;
    int n_sets, n_late;
    struct known sets[SETS];
    /* members of communicators that are had over changes; 0: there is none */
    struct list saved[SAVED];
    struct late late[LATE];
    unsigned char life[UIDS];
    short started_by[UIDS];     /* the tag of the change; 0: launched */
};

static struct model model;
static int me;                  /* this process' uid */

/* ---- random numbers -------------------------------------------------------------------------- */

static unsigned own_random;     /* what the others do not know */

static inline int draw(int n)
{
    return (int) (et_random(&model.random) % (unsigned) n);
}

static inline int draw_own(int n)
{
    return (int) (et_random(&own_random) % (unsigned) n);
}

static inline void pause_own(void)
{
    static const double ms[] = { 0, 0, 0, 0.1, 1, 5, 20 };

    et_sleep_ms(ms[draw_own(7)]);
}

/* ---- lists: the algebra of MPI's groups ------------------------------------------------------ */

static inline int index_of(const struct list *list, int uid)
{
    for (int i = 0; i < list->n; i++)
        if (list->uids[i] == uid)
            return i;
    return -1;
}

static inline int holds(const struct list *list, int uid)
{
    return index_of(list, uid) >= 0;
}

static inline void append(struct list *list, int uid)
{
    ET_CHECK(list->n < MEMBERS, "the model has no space for %d members", list->n + 1);
    list->uids[list->n++] = uid;
}

/* In the order of the first one; SO1. */
static inline struct list combine(int op, const struct list *first, const struct list *second)
{
    struct list result = { 0 };

    for (int i = 0; i < first->n; i++) {
        int common = holds(second, first->uids[i]);
        if (op == MPIX_PSETOP_UNION || common == (op == MPIX_PSETOP_INTERSECTION))
            append(&result, first->uids[i]);
    }
    for (int i = 0; i < second->n && op == MPIX_PSETOP_UNION; i++)
        if (!holds(first, second->uids[i]))
            append(&result, second->uids[i]);
    return result;
}

static inline struct list part_of(const struct list *list, int first, int n)
{
    struct list part = { 0 };

    for (int i = first; i < first + n; i++)
        append(&part, list->uids[i]);
    return part;
}

/* Some of them, at least one, in any order. */
static inline struct list draw_list(const struct list *from)
{
    struct list drawn = *from;

    for (int i = drawn.n - 1; i > 0; i--) {
        int other = draw(i + 1), uid = drawn.uids[i];
        drawn.uids[i] = drawn.uids[other];
        drawn.uids[other] = uid;
    }
    return part_of(&drawn, 0, 1 + draw(drawn.n));
}

/* Of its members the one whose end is the surest. */
static inline enum life fate_of(const struct list *list)
{
    enum life fate = LIVES;

    for (int i = 0; i < list->n; i++)
        if (model.life[list->uids[i]] > fate)
            fate = model.life[list->uids[i]];
    return fate;
}

static inline struct list with_life(const struct list *list, enum life life)
{
    struct list result = { 0 };

    for (int i = 0; i < list->n; i++)
        if (model.life[list->uids[i]] == life)
            append(&result, list->uids[i]);
    return result;
}

/* SN2: who was launched, or started by the same change. */
static inline struct list world_of(int uid)
{
    struct list result = { 0 };

    for (int i = 0; i < UIDS; i++)
        if (model.life[i] != NEVER && model.started_by[i] == model.started_by[uid])
            append(&result, i);
    return result;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static inline struct known *find_set(const char *name)
{
    for (int i = 0; i < model.n_sets; i++)
        if (!strcmp(model.sets[i].name, name))
            return &model.sets[i];
    return NULL;
}

/* The set of all, which is known. */
static inline struct list all(void)
{
    const struct known *set = find_set(model.set);

    ET_CHECK(set, "%s is not known", model.set);
    return set->members;
}

static inline void add_set(const char *name, struct list members)
{
    ET_CHECK(model.n_sets < SETS &&
             !find_set(name), "%s is known already, or one of too many", name);
    strcpy(model.sets[model.n_sets].name, name);
    model.sets[model.n_sets++].members = members;
}

static inline void drop_set(const char *name)
{
    struct known *set = find_set(name);

    ET_CHECK(set, "%s is not known", name);
    memmove(set, set + 1, (size_t) (model.sets + SETS - 1 - set) * sizeof(*set));
    memset(&model.sets[SETS - 1], 0, sizeof(*set));
    model.n_sets--;
}

/* SO8: the delta of a removal that may not be complete cannot be freed yet, and the set of all is
 * wanted. */
static inline int can_go(const struct known *set)
{
    return strcmp(set->name, model.set) && (strncmp(set->name, "mpix://rc/", 10) ||
                                            fate_of(&set->members) != LEAVES);
}

/* ---- what MPI returns of it ------------------------------------------------------------------ */

/* Everybody this process has been in a communicator with, and their uids, for comparing groups. */
static struct {
    MPI_Group group;
    int n, uids[UIDS];
} met = {.group = MPI_GROUP_EMPTY };

static inline void discard_met(void)
{
    if (met.group != MPI_GROUP_EMPTY)
        ET_MPI(MPI_Group_free(&met.group));
    met.group = MPI_GROUP_EMPTY;
    met.n = 0;
}

static inline int has_met(int uid)
{
    for (int i = 0; i < met.n; i++)
        if (met.uids[i] == uid)
            return 1;
    return 0;
}

static inline void rendezvous(MPI_Group group, const struct list *members)
{
    MPI_Group before = met.group;
    int n;

    ET_MPI(MPI_Group_union(before, group, &met.group));
    if (before != MPI_GROUP_EMPTY)
        ET_MPI(MPI_Group_free(&before));
    for (int i = 0; i < members->n; i++)
        if (!has_met(members->uids[i]))
            met.uids[met.n++] = members->uids[i];
    ET_MPI(MPI_Group_size(met.group, &n));
    ET_CHECK(n == met.n, "SA3: %d processes with %d uids", n, met.n);
}

/* Uids of those this process has met; -1 for the others. */
static inline struct list list_of(MPI_Group group)
{
    struct list list = { 0 };
    int positions[MEMBERS], found[MEMBERS];

    ET_MPI(MPI_Group_size(group, &list.n));
    ET_CHECK(list.n <= MEMBERS, "a group of %d processes", list.n);
    for (int i = 0; i < list.n; i++)
        positions[i] = i;
    ET_MPI(MPI_Group_translate_ranks(group, list.n, positions, met.group, found));
    for (int i = 0; i < list.n; i++)
        list.uids[i] = found[i] == MPI_UNDEFINED ? -1 : met.uids[found[i]];
    return list;
}

static inline void check_group(const char *name, const struct list *members, MPI_Group group)
{
    struct list notified = list_of(group);

    ET_CHECK(notified.n == members->n, "SA3: %s has %d members, not %d", name, notified.n,
             members->n);
    for (int i = 0; i < notified.n; i++)
        ET_CHECK(notified.uids[i] == members->uids[i], "SA3: uid %d at position %d of %s, not %d",
                 notified.uids[i], i, name, members->uids[i]);
}

/* Whether this process is its first that has not ended: 1, 0 or, if nobody knows, -1. */
static inline int is_primary(const struct list *members)
{
    int position = index_of(members, me), sure = 1;

    if (position < 0)
        return 0;
    for (int i = 0; i < position; i++) {
        if (model.life[members->uids[i]] == LIVES)
            return 0;
        sure = sure && model.life[members->uids[i]] == GONE;
    }
    return sure ? 1 : -1;
}

static inline void check_info(const char *name, const struct list *members, MPI_Info info,
                              int has_ended)
{
    enum life fate = fate_of(members);
    int primary = is_primary(members);
    pset_name value;

    value_of(info, "mpi_size", value);
    ET_CHECK(atoi(value) == members->n, "SI3: %s has mpi_size %s, not %d", name, value, members->n);
    value_of(info, "mpi_included", value);
    ET_CHECK(holds(members, me) == !strcmp(value, "True"), "SI3: mpi_included of %s is %s", name,
             value);
    value_of(info, "mpi_primary", value);
    ET_CHECK(primary < 0 ||
             primary == !strcmp(value, "True"), "SI3: mpi_primary of %s is %s", name, value);
    value_of(info, "mpix_state", value);
    ET_CHECK((!strcmp(value, "running") && fate != GONE && !has_ended) ||
             (!strcmp(value, "ended") && fate != LIVES), "SI3: %s is %s", name, value);
}

/* Every process gets the same of a set, at any time. */
static inline void check_set(const char *name, const struct list *members)
{
    enum life fate = fate_of(members);
    int flag, has_ended = 0, error;
    MPI_Group group;
    MPI_Info info;

    error = MPI_Group_from_session_pset(session, name, &group);
    if (error == MPI_SUCCESS) {
        ET_CHECK(fate != GONE, "SI7: %s has not ended", name);
        check_group(name, members, group);
        ET_MPI(MPI_Group_free(&group));
    } else {
        ET_ERROR(error, MPI_ERR_PROC_ABORTED, NULL);
        ET_CHECK(fate != LIVES && group == MPI_GROUP_EMPTY, "SI7: %s has ended", name);
        has_ended = 1;
    }
    ET_MPI(MPI_Session_get_pset_info(session, name, &info));
    check_info(name, members, info, has_ended);
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPIX_Session_pset_exists(session, name, &flag, NULL));
    ET_CHECK(flag ? fate != GONE &&
             !has_ended : fate != LIVES, "SI6: %s %s", name, flag ? "runs" : "does not run");
    ET_MPI(MPIX_Session_pset_included(session, name, &flag));
    ET_CHECK(flag == holds(members, me), "SI6: %s", name);
}

static inline void check_unknown(const char *name)
{
    MPI_Group group;
    int flag;

    ET_ERROR(MPI_Group_from_session_pset(session, name, &group), MPI_ERR_ARG, NULL);
    ET_MPI(MPIX_Session_pset_exists(session, name, &flag, NULL));
    ET_CHECK(!flag, "SO8: %s is still there", name);
}

#endif /* SESSION_MODEL_H_INCLUDED */
