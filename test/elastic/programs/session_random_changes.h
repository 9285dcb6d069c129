/*
 * Changes of session_random: one process requests one, or all do; it is accepted, before or after
 * the others know, or declined; who is removed leaves in one of several ways, and the others
 * connect; SR4, SR5, SR7, SR8, SR9, SR11, SL1, SL2, SL3, SF1, SF2.
 */

#ifndef SESSION_RANDOM_CHANGES_H_INCLUDED
#define SESSION_RANDOM_CHANGES_H_INCLUDED

#include "session_random_sessions.h"
#include "session_random_sets.h"
#include "resources.h"
#include <signal.h>

static int deaths;              /* processes that join or leave may die */

enum how { ORDERLY, WITHOUT_FREEING, WITHOUT_FINALIZING, BY_A_SIGNAL, HOWS };

/* The participants of a change, as all have drawn it. */
struct plan {
    int queries, all_query;          /* the rank that queries; or all do */
    int notifies_before;           /* the others are notified before it is accepted */
    int may_decline;
    /* the communicator of those who were there before a removal; or it is freed */
    int keeps;
    enum how how;               /* they leave */
    pset_name bound;            /* set that is requested; "" for all */
    pset_name tag;              /* of the next communicator */
};

/* Data of a change that all get. */
struct news {
    int type;                   /* MPIX_RC_NONE: it was declined, or came to nothing */
    struct list members;        /* of the delta; of an addition only how many */
    pset_name delta;
    pset_name set;              /* of all after it */
};

static struct plan draw_plan(void)
{
    struct plan plan = { 0 };

    plan.queries = draw(size);
    plan.all_query = draw(3) == 0;
    plan.notifies_before = draw(2);
    plan.may_decline = draw(2);
    plan.how = (enum how) draw(HOWS);
    plan.keeps = draw(2);
    const struct known *set = &model.sets[draw(model.n_sets)];
    make_up("change", plan.tag);
    if (draw(3) == 0 && fate_of(&set->members) == LIVES)
        strcpy(plan.bound, set->name);
    if (plan.all_query)
        plan.notifies_before = 1;
    if (plan.all_query || model.declined) /* mpiexec's policy stops if nobody wants its offers */
        plan.may_decline = 0;
    /* SL3: these are only for who is let go */
    if (plan.notifies_before || (plan.how == BY_A_SIGNAL && !deaths))
        plan.how %= WITHOUT_FINALIZING;
    return plan;
}

static int leaves(const struct news *news)
{
    return news->type == MPIX_RC_SUB && holds(&news->members, me);
}

/* ---- the process that is notified of it ------------------------------------------------------ */

/* None if another one is notified of it; `queried` is the set of the query.  SR4: there may be none
 * for the one that is bound, so at last it is requested all. */
static struct change query_change(const struct plan *plan, const char **queried)
{
    double end = et_seconds() + et.patience_s;
    int others = 0;

    for (int i = 0; !others; i++) {
        *queried = i < 50 && plan->bound[0] ? plan->bound : i % 2 ? model.set : NULL;
        struct change change = get_change(*queried);
        if (change.type == MPIX_RC_SUB && find_set(change.delta))
            /* SF1: who had been notified has left, others of it not yet */
            accept_change(&change, NULL, NULL);
        else if (change.type != MPIX_RC_NONE)
            return change;
        if (plan->all_query)
            ET_MPI(MPI_Iprobe(MPI_ANY_SOURCE, NEWS_TAG, comm, &others, MPI_STATUS_IGNORE));
        ET_CHECK(et_seconds() < end, "there is no change");
        et_sleep_ms(1);
    }
    return (struct change) {.type = MPIX_RC_NONE };
}

/* SR4: who is removed is last in the set that was requested.  SF2: one that is added may have
 * died. */
static void learn_delta(struct news *news, const char *queried)
{
    const struct known *bound = queried ? find_set(queried) : NULL;
    MPI_Group delta;

    int error = MPI_Group_from_session_pset(session, news->delta, &delta);
    if (error != MPI_SUCCESS && deaths && news->type == MPIX_RC_ADD) {
        ET_ERROR(error, MPI_ERR_PROC_ABORTED, NULL);
        return;
    }
    ET_MPI(error);
    news->members = list_of(delta);
    ET_MPI(MPI_Group_free(&delta));
    for (int i = 0; i < news->members.n && bound && news->type == MPIX_RC_SUB; i++) {
        int uid = news->members.uids[i], position = index_of(&bound->members, uid);
        ET_CHECK(position >= 0 && position == bound->members.n - news->members.n + i,
                 "SR4: uid %d at position %d of %s is removed", uid, position, queried);
    }
}

/* SI8: who is notified of it cannot connect with those who join before he has accepted. */
static void check_proposed(const struct plan *plan, const struct news *news)
{
    MPI_Comm never;

    check_state(news->set, "proposed");
    ET_ERROR(connect_all(news->set, plan->tag, &never), MPI_ERR_GROUP, NULL);
}

static void decline(const struct change *change, struct news *news)
{
    ET_MPI(MPIX_Session_rc_decline(session, change->tag));
    ET_ERROR(MPIX_Session_rc_accept(session, change->tag, MPI_INFO_NULL), MPI_ERR_ARG, "tag");
    if (news->set[0])
        ET_MPI(MPIX_Session_pset_free(session, news->set));
    news->type = MPIX_RC_NONE;
    log_line("%s is declined", news->delta);
}

/* SF2: those who join may have died, which is an error, or is found out later. */
static void accept(const struct change *change, const struct plan *plan, struct news *news)
{
    MPI_Info keys;

    ET_MPI(MPI_Info_create(&keys));
    ET_MPI(MPI_Info_set(keys, "app_set", news->set));
    ET_MPI(MPI_Info_set(keys, "app_tag", plan->tag));
    int error = MPIX_Session_rc_accept(session, change->tag, keys);
    ET_MPI(MPI_Info_free(&keys));
    if (error == MPI_SUCCESS)
        return;
    ET_CHECK(deaths && class_of(error) == MPI_ERR_SPAWN &&
             news->type == MPIX_RC_ADD, "SR7: class %d", class_of(error));
    ET_ERROR(MPIX_Session_rc_accept(session, change->tag, MPI_INFO_NULL), MPI_ERR_ARG, "tag");
    if (!plan->notifies_before)
        news->type = MPIX_RC_NONE;
}

/* It is declined, or accepted now unless the others are notified before. */
static struct news take(struct change *change, const struct plan *plan, const char *queried)
{
    struct news news = {.type = change->type };
    pset_name old_size;

    strcpy(news.delta, change->delta);
    ET_CHECK(value_of(change->info, "mpix_old_size", old_size) &&
             atoi(old_size) == size, "SR11: %s of %d", old_size, size);
    ET_MPI(MPI_Info_free(&change->info));
    learn_delta(&news, queried);
    pause_own();
    int declines = plan->may_decline && draw_own(3) == 0;
    if (!declines || draw_own(2))
        set_after(model.set, change, news.set);
    if (news.type == MPIX_RC_ADD && news.set[0] && !deaths && draw_own(3) == 0)
        check_proposed(plan, &news);
    pause_own();
    if (declines) {
        decline(change, &news);
        return news;
    }
    log_line("%s, %d %s, is accepted %s the others know", news.delta, news.members.n,
        news.type == MPIX_RC_ADD ? "added" : "removed", plan->notifies_before ? "after" : "before");
    if (!plan->notifies_before)
        accept(change, plan, &news);
    return news;
}

/* SF1, SR9: who has been notified of it may leave without accepting; if all do it is complete. */
static void accept_later(const struct change *change, const struct plan *plan, struct news *news)
{
    pause_own();
    if (!leaves(news) || !draw_own(2))
        accept(change, plan, news);
}

/* Where all query nobody may be notified of the next change before he knows of this one. */
static void notify_news(const struct plan *plan, struct news *news, int notifies)
{
    if (!plan->all_query) {
        share(news, sizeof(*news), plan->queries);
        return;
    }
    for (int i = 0; i < size && notifies; i++)
        if (i != rank)
            ET_MPI(MPI_Send(news, sizeof(*news), MPI_BYTE, i, NEWS_TAG, comm));
    if (!notifies)
        ET_MPI(MPI_Recv(news, sizeof(*news), MPI_BYTE, MPI_ANY_SOURCE, NEWS_TAG, comm,
                        MPI_STATUS_IGNORE));
    ET_MPI(MPI_Barrier(comm));
}

/* ---- those who are removed, and those who are added ------------------------------------------ */

static void leave(const struct plan *plan)
{
    pause_own();
    send_late();
    pause_own();
    log_line("leaves");
    if (plan->how == BY_A_SIGNAL)
        raise(SIGKILL);
    if (plan->how == WITHOUT_FINALIZING)
        _exit(0);
    if (plan->how == ORDERLY) {
        for (int i = 0; i < SAVED; i++)
            if (saved[i] != MPI_COMM_NULL)
                ET_MPI(MPI_Comm_free(&saved[i]));
        if (comm != MPI_COMM_NULL)
            ET_MPI(MPI_Comm_free(&comm));
    }
    end_sessions();
    exit(0);
}

static void follow_removal(const struct plan *plan, const struct news *news)
{
    const struct list *leaving = &news->members;
    const struct list everybody = all();

    for (int i = 0; i < leaving->n; i++) {
        ET_CHECK(model.life[leaving->uids[i]] == LIVES, "SR4: uid %d has left", leaving->uids[i]);
        model.life[leaving->uids[i]] = LEAVES;
        discard_late_for(leaving->uids[i]);
    }
    if (plan->keeps) {
        keep(comm, &everybody);
        comm = MPI_COMM_NULL;
    }
    if (plan->how == ORDERLY || plan->how == WITHOUT_FREEING)
        plan_late(leaving);
    if (leaves(news))
        leave(plan);
    add_set(news->delta, *leaving);
    add_set(news->set, combine(MPIX_PSETOP_DIFFERENCE, &everybody, leaving));
    strcpy(model.set, news->set);
}

/* The first messages contain the uids of all. */
static struct list learn_all(MPI_Comm made)
{
    struct list everybody = { 0 };

    ET_MPI(MPI_Comm_size(made, &everybody.n));
    ET_CHECK(everybody.n <= MEMBERS, "%d processes", everybody.n);
    ET_MPI(MPI_Allgather(&me, 1, MPI_INT, everybody.uids, 1, MPI_INT, made));
    return everybody;
}

static void follow_addition(const struct news *news, MPI_Comm made)
{
    const struct list before = all(), after = learn_all(made);
    const struct list first = part_of(&after, 0, before.n);
    const struct list delta = part_of(&after, before.n, after.n - before.n);
    int tag = atoi(news->delta + strlen("mpix://rc/"));

    ET_CHECK(!memcmp(&first, &before, sizeof(before)), "SO1: who was there is not first");
    for (int i = 0; i < delta.n; i++) {
        int uid = delta.uids[i];
        ET_CHECK(uid == delta.uids[0] + i && uid < UIDS && model.life[uid] == NEVER, "uid %d", uid);
        model.life[uid] = LIVES;
        model.started_by[uid] = (short) tag;
    }
    add_set(news->delta, delta);
    add_set(news->set, after);
    strcpy(model.set, news->set);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Earlier processes have the same model; a joining one gets it. */
static void share_model(int joins)
{
    static struct model other;

    other = model;
    share(&other, sizeof(other), 0);
    if (joins)
        model = other;
    ET_CHECK(!memcmp(&other, &model, sizeof(model)),
             "the models differ: random %u and %u, made up %d and %d", other.random, model.random,
             other.made_up, model.made_up);
}

/* SR5, SR9: whoever was to leave before this change has ended. */
static void count_change(const struct news *news)
{
    model.changes++;
    model.declined = news->type == MPIX_RC_NONE;
    for (int uid = 0; uid < UIDS; uid++)
        if (model.life[uid] == LEAVES)
            model.life[uid] = GONE;
}

/* SF2: none if one of those that join has died.  Some may have got one nevertheless, so all notify
 * each other on the old one. */
static MPI_Comm connect_next(const struct plan *plan, const struct news *news)
{
    MPI_Comm next;
    int connected;

    pause_own();
    int error = connect_all(news->set, plan->tag, &next), mine = error == MPI_SUCCESS;
    if (news->type == MPIX_RC_ADD && deaths) {
        ET_MPI(MPI_Allreduce(&mine, &connected, 1, MPI_INT, MPI_SUM, comm));
        if (connected < size) {
            ET_CHECK(mine ||
                     class_of(error) == MPI_ERR_PROC_ABORTED, "SF2: class %d", class_of(error));
            if (next != MPI_COMM_NULL)
                ET_MPI(MPI_Comm_free(&next));
            return MPI_COMM_NULL;
        }
    }
    ET_MPI(error);
    return next;
}

static void go_over_to(MPI_Comm next)
{
    const struct list everybody = all();

    if (comm != MPI_COMM_NULL) {
        check_drained(comm, size < everybody.n);        /* else some of its members leave */
        ET_MPI(MPI_Comm_free(&comm));
    }
    comm = next;
    learn_comm(&everybody);
    share_model(0);
    if (logs) {
        struct usage usage = measure();
        log_line("has %ld descriptors, %ld mappings, %ld threads, %ld bytes", usage.descriptors,
                 usage.mappings, usage.threads, usage.heap);
    }
}

static void change_all(void)
{
    struct change change = {.type = MPIX_RC_NONE };
    struct news news = { 0 };
    const char *queried = NULL;

    make_capacity(2);
    const struct plan plan = draw_plan();
    log_line("awaits a change, requested %s by %s", plan.bound, plan.all_query ? "all" : "one");
    ET_MPI(MPI_Barrier(comm));
    if (plan.all_query || rank == plan.queries)
        change = query_change(&plan, &queried);
    int is_notified = change.type != MPIX_RC_NONE;
    if (is_notified)
        news = take(&change, &plan, queried);
    notify_news(&plan, &news, is_notified);
    count_change(&news);
    if (news.type == MPIX_RC_NONE) {
        if (!deaths)
            check_unknown(news.delta);
        return;
    }
    if (is_notified && plan.notifies_before)
        accept_later(&change, &plan, &news);
    if (news.type == MPIX_RC_SUB)
        follow_removal(&plan, &news);
    MPI_Comm next = connect_next(&plan, &news);
    if (next == MPI_COMM_NULL)
        return;
    if (news.type == MPIX_RC_ADD)
        follow_addition(&news, next);
    go_over_to(next);
}

#endif /* SESSION_RANDOM_CHANGES_H_INCLUDED */
