/*
 * Steps of session_random that make something of groups: some of all, in any order, make
 * communicators, intercommunicators and windows, and use them; SI8, SI9, SX6, SX9, ST1.
 */

#ifndef SESSION_RANDOM_GROUPS_H_INCLUDED
#define SESSION_RANDOM_GROUPS_H_INCLUDED

#include "session_random_comms.h"
#include <pthread.h>

/* ---- communicators --------------------------------------------------------------------------- */

static void use_and_keep(MPI_Comm made, const struct list *members)
{
    int keeps = draw(2);

    use_if_member(made, members);
    if (keeps)
        keep(made, members);
    else if (made != MPI_COMM_NULL)
        end_comm(&made, members);
}

struct creation {
    struct list members;
    pset_name tag;
    MPI_Comm made;
};

static struct creation draw_creation(void)
{
    const struct list everybody = all();
    struct creation creation = {.members = draw_list(&everybody),.made = MPI_COMM_NULL };

    make_up("communicator", creation.tag);
    return creation;
}

/* As a thread may. */
static void *create(void *what)
{
    struct creation *creation = what;

    if (holds(&creation->members, me))
        creation->made = connect_list(&creation->members, creation->tag);
    return NULL;
}

static void step_communicator(void)
{
    struct creation one = draw_creation();

    pause_own();
    create(&one);
    use_and_keep(one.made, &one.members);
}

/* SI8, ST1: two at a time, of groups that have to do with each other. */
static void step_two(void)
{
    struct creation two[2];
    pthread_t thread;

    for (int i = 0; i < 2; i++)
        two[i] = draw_creation();
    if (draw(3) == 0)
        two[1].members = two[0].members;
    int other = draw_own(2);
    ET_CHECK(!pthread_create(&thread, NULL, create, &two[other]), "no thread");
    pause_own();
    create(&two[1 - other]);
    ET_CHECK(!pthread_join(thread, NULL), "no thread");
    for (int i = 0; i < 2; i++)
        use_and_keep(two[i].made, &two[i].members);
}

/* SX6 */
static void step_intercomm(void)
{
    const struct list everybody = all();
    struct list both = draw_list(&everybody);
    int leaders[2];
    pset_name tag;
    MPI_Comm made;

    if (both.n < 2)
        return;
    int n = 1 + draw(both.n - 1);
    const struct list sides[2] = { part_of(&both, 0, n), part_of(&both, n, both.n - n) };
    for (int i = 0; i < 2; i++)
        leaders[i] = draw(sides[i].n);
    make_up("inter", tag);
    pause_own();
    if (!holds(&both, me))
        return;
    int mine = holds(&sides[0], me) ? 0 : 1;
    MPI_Group local = group_of(&sides[mine]), remote = group_of(&sides[1 - mine]);
    ET_MPI(MPI_Intercomm_create_from_groups(local, leaders[mine], remote, leaders[1 - mine], tag,
                                            MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
    ET_MPI(MPI_Group_free(&local));
    ET_MPI(MPI_Group_free(&remote));
    et_exercise_inter(made, mine == 0, "between groups");
    ET_MPI(MPI_Comm_free(&made));
}

/* ---- windows --------------------------------------------------------------------------------- */

/* SX9: what is put into it comes there, and can be got: so many bytes of the one that is so much
 * further.  A number behind them counts the members. */
static void use_window(MPI_Win win, unsigned char *memory, const struct list *members, int bytes,
                       int away, int tag)
{
    int n = members->n, position = index_of(members, me), to = (position + away) % n;
    int from = members->uids[(position + n - away) % n];
    long *count = (long *) (memory + bytes), one = 1;

    *count = 0;
    et_fill(sent, (size_t) bytes, me, tag);
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Put(sent, bytes, MPI_BYTE, to, 0, bytes, MPI_BYTE, win));
    ET_MPI(MPI_Win_fence(0, win));
    et_verify(memory, (size_t) bytes, from, tag, "what was put");
    ET_MPI(MPI_Get(got, bytes, MPI_BYTE, to, 0, bytes, MPI_BYTE, win));
    ET_MPI(MPI_Win_fence(0, win));
    et_verify(got, (size_t) bytes, me, tag, "what was got");
    ET_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    ET_MPI(MPI_Accumulate(&one, 1, MPI_LONG, 0, bytes, 1, MPI_LONG, MPI_SUM, win));
    ET_MPI(MPI_Win_unlock(0, win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_CHECK(*count == (position == 0 ? n : 0), "%ld of %d have been counted", *count, n);
}

static void step_window(void)
{
    const struct list everybody = all();
    struct list members = draw_list(&everybody);
    int bytes = draw(2) ? SMALL : MIDDLE, creates = draw(2), away = draw(members.n), tag =
        draw(1000);
    int whole = bytes + (int) sizeof(long);
    unsigned char *memory;
    pset_name name;
    MPI_Win win;

    make_up("window", name);
    if (!holds(&members, me))
        return;
    MPI_Group group = group_of(&members);
    if (creates) {
        memory = calloc(1, (size_t) whole);
        ET_MPI(MPIX_Win_create_from_group(group, name, memory, whole, 1, MPI_INFO_NULL,
                                          MPI_ERRORS_RETURN, &win));
    } else {
        ET_MPI(MPIX_Win_allocate_from_group(group, name, whole, 1, MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                            &memory, &win));
    }
    ET_MPI(MPI_Group_free(&group));
    use_window(win, memory, &members, bytes, away, tag);
    ET_MPI(MPI_Win_free(&win));
    if (creates)
        free(memory);
}

#endif /* SESSION_RANDOM_GROUPS_H_INCLUDED */
