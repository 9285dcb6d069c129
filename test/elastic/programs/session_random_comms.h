/*
 * Communicators of session_random: the one of all, those that stay over changes, and what is sent
 * on them.  All processes take each step_ function at the same time and have drawn the same before
 * it; SI7, SL1, SL4.
 */

#ifndef SESSION_RANDOM_COMMS_H_INCLUDED
#define SESSION_RANDOM_COMMS_H_INCLUDED

#include "session_model.h"
#include <stdarg.h>
#include <unistd.h>

enum {
    SMALL = 8, MIDDLE = 65536, LARGE = 1 << 20,
    EAGER = 1000                /* a message that nobody has to receive for its sender to go on */
};

/* Of messages: those of each use of a communicator, news of changes, one that is never received,
 * and those of processes that leave. */
enum { USE_TAGS = 30000, NEWS_TAG, GONE_TAG, LATE_TAGS };

/* of all; everybody has the rank of his position in the set */
static MPI_Comm comm = MPI_COMM_NULL;
static int rank, size;
static MPI_Comm saved[SAVED];     /* of those in the model that hold this process */
static unsigned char sent[LARGE], got[LARGE];
static int logs;                /* what it does */

static void log_line(const char *format, ...) __attribute__ ((format(printf, 1, 2)));

static void log_line(const char *format, ...)
{
    char what[4 * MPI_MAX_PSET_NAME_LEN];
    va_list list;

    if (!logs)
        return;
    va_start(list, format);
    vsnprintf(what, sizeof(what), format, list);
    va_end(list);
    dprintf(STDERR_FILENO, "%.3f uid %d: change %d: %s\n", et_seconds(), me, model.changes, what);
}

/* ---- names and communicators ----------------------------------------------------------------- */

/* One that nobody else has. */
static void make_up(const char *what, pset_name name)
{
    snprintf(name, sizeof(pset_name), "app://%s/%d", what, ++model.made_up);
}

static void share(void *what, int bytes, int root)
{
    ET_MPI(MPI_Bcast(what, bytes, MPI_BYTE, root, comm));
}

static void learn_comm(const struct list *members)
{
    MPI_Group group;

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_CHECK(size == members->n, "SA3: %d processes, not %d", size, members->n);
    ET_MPI(MPI_Comm_group(comm, &group));
    rendezvous(group, members);
    ET_MPI(MPI_Group_free(&group));
}

static MPI_Group group_of(const struct list *members)
{
    const struct list everybody = all();
    int ranks[MEMBERS];
    MPI_Group whole, part;

    for (int i = 0; i < members->n; i++)
        ranks[i] = index_of(&everybody, members->uids[i]);
    ET_MPI(MPI_Comm_group(comm, &whole));
    ET_MPI(MPI_Group_incl(whole, members->n, ranks, &part));
    ET_MPI(MPI_Group_free(&whole));
    return part;
}

static MPI_Comm connect_list(const struct list *members, const char *tag)
{
    MPI_Group group = group_of(members);
    MPI_Comm made;
    int position;

    ET_MPI(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Comm_rank(made, &position));
    ET_CHECK(position == index_of(members, me), "SI7: rank %d of uid %d", position, me);
    return made;
}

/* SL1: nothing is left on it, nor has anything come that was sent on another one.  Earlier messages
 * of its members come before those that they send now, if all of them live. */
static void check_drained(MPI_Comm on, int all_live)
{
    int members, left, ones[MEMBERS], from[MEMBERS];
    MPI_Status status;

    for (int i = 0; i < MEMBERS; i++)
        ones[i] = 1;
    ET_MPI(MPI_Comm_size(on, &members));
    if (all_live)
        ET_MPI(MPI_Alltoall(ones, 1, MPI_INT, from, 1, MPI_INT, on));
    int error = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, on, &left, &status);
    if (!all_live && class_of(error) == MPIX_ERR_PROC_FAILED)
        return;                 /* SL4: all others have ended */
    ET_MPI(error);
    ET_CHECK(!left, "SL1: a message of rank %d with tag %d is left on a communicator of %d",
             status.MPI_SOURCE, status.MPI_TAG, members);
}

/* With its other living members.  One that leaves need not have received all. */
static void end_comm(MPI_Comm *on, const struct list *members)
{
    struct list living = with_life(members, LIVES);

    if (holds(&living, me))
        check_drained(*on, living.n == members->n);
    ET_MPI(MPI_Comm_free(on));
}

/* ---- messages of those who leave ------------------------------------------------------------- */

/* From those who leave to some of those who stay, on communicators that both are in. */
static void plan_late(const struct list *leaving)
{
    for (int j = 0; j < 4; j++) {
        int i = draw(SAVED), from = draw(leaving->n), n = 1 + draw(20), bytes =
            draw(2) ? SMALL : EAGER;
        int to = draw(MEMBERS);
        struct list living = with_life(&model.saved[i], LIVES);
        if (model.n_late == LATE || !living.n || !holds(&model.saved[i], leaving->uids[from]))
            continue;
        model.late[model.n_late++] = (struct late) {
            leaving->uids[from], living.uids[to % living.n], i, n, bytes,
                LATE_TAGS + 100 * (++model.made_up % 1000)
        };
    }
}

static void discard_late_for(int uid)
{
    for (int j = 0; j < model.n_late; j++)
        if (model.late[j].to == uid)
            model.late[j].n = 0;
}

static void send_late(void)
{
    for (int j = 0; j < model.n_late; j++) {
        const struct late *late = &model.late[j];
        for (int tag = late->tag; tag < late->tag + late->n && late->from == me; tag++) {
            et_fill(sent, (size_t) late->bytes, me, tag);
            ET_MPI(MPI_Send(sent, late->bytes, MPI_BYTE,
                            index_of(&model.saved[late->saved], late->to), tag,
                            saved[late->saved]));
        }
    }
}

/* SL1: what was sent can be received long after its sender has ended, the last one first. */
static void step_receive_late(void)
{
    for (int j = 0; j < model.n_late; j++) {
        const struct late *late = &model.late[j];
        for (int tag = late->tag + late->n; tag-- > late->tag && late->to == me;) {
            ET_MPI(MPI_Recv(got, late->bytes, MPI_BYTE,
                            index_of(&model.saved[late->saved], late->from), tag,
                            saved[late->saved], MPI_STATUS_IGNORE));
            et_verify(got, (size_t) late->bytes, late->from, tag, "a message of one that has left");
        }
    }
    memset(model.late, 0, sizeof(model.late));
    model.n_late = 0;
}

/* ---- communicators that stay ----------------------------------------------------------------- */

/* Late messages on it could not be received any more. */
static void discard_saved(int i)
{
    step_receive_late();
    if (saved[i] != MPI_COMM_NULL)
        end_comm(&saved[i], &model.saved[i]);
    model.saved[i] = (struct list) { 0 };
}

/* Communicators of these members, to be used again after other changes. */
static void keep(MPI_Comm made, const struct list *members)
{
    int i = draw(SAVED);

    discard_saved(i);
    model.saved[i] = *members;
    saved[i] = made;
}

/* ---- traffic --------------------------------------------------------------------------------- */

/* Each of the living sends to the one that is so much further, and receives. */
static void rotate(MPI_Comm on, const struct list *members, const struct list *living, int bytes,
                   int tag)
{
    int position = index_of(living, me), n = living->n, away = draw(n), any = draw(2);
    int to = index_of(members, living->uids[(position + away) % n]), from =
        living->uids[(position + n - away) % n];
    int source = any ? MPI_ANY_SOURCE : index_of(members, from);
    MPI_Request requests[2];
    MPI_Status status[2];

    et_fill(sent, (size_t) bytes, me, tag);
    memset(got, 0, (size_t) bytes);
    pause_own();
    if (draw_own(2)) {
        ET_MPI(MPI_Sendrecv(sent, bytes, MPI_BYTE, to, tag, got, bytes, MPI_BYTE, source, tag, on,
                            &status[0]));
    } else {
        ET_MPI(MPI_Irecv(got, bytes, MPI_BYTE, source, tag, on, &requests[0]));
        pause_own();
        ET_MPI(MPI_Isend(sent, bytes, MPI_BYTE, to, tag, on, &requests[1]));
        ET_MPI(MPI_Waitall(2, requests, status));
    }
    ET_CHECK(status[0].MPI_SOURCE == index_of(members, from), "a message of rank %d",
             status[0].MPI_SOURCE);
    et_verify(got, (size_t) bytes, from, tag, "a message");
}

static void collect(MPI_Comm on, const struct list *members, int count)
{
    int *in = (int *) sent, *out = (int *) got, root = draw(members->n), sum = 0;

    for (int i = 0; i < members->n; i++)
        sum += members->uids[i];
    for (int i = 0; i < count; i++)
        in[i] = me + i;
    ET_MPI(MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, on));
    for (int i = 0; i < count; i++)
        ET_CHECK(out[i] == sum + i * members->n, "allreduce: element %d is %d", i, out[i]);
    if (members->uids[root] == me)
        et_fill(sent, MIDDLE, me, count);
    ET_MPI(MPI_Bcast(sent, MIDDLE, MPI_BYTE, root, on));
    et_verify(sent, MIDDLE, members->uids[root], count, "a broadcast");
    ET_MPI(MPI_Allgather(&me, 1, MPI_INT, out, 1, MPI_INT, on));
    ET_CHECK(!memcmp(out, members->uids, (size_t) members->n * sizeof(int)),
             "SA3: others are members");
}

/* SL4: when members have ended the others send messages. */
static void use_comm(MPI_Comm on, const struct list *members, int tag)
{
    static const int bytes[] = { 0, SMALL, EAGER, MIDDLE, LARGE };
    struct list living = with_life(members, LIVES);

    for (int i = 1 + draw(3); i > 0; i--)
        rotate(on, members, &living, bytes[draw(5)], tag + i);
    if (living.n == members->n)
        collect(on, members, draw(2) ? 1 : MIDDLE / (int) sizeof(int));
}

/* Draws of its members meanwhile do not count: the others do not make them. */
static void use_if_member(MPI_Comm on, const struct list *members)
{
    unsigned before = model.random;
    int tag = ++model.made_up * 4 % USE_TAGS;

    if (holds(members, me))
        use_comm(on, members, tag);
    model.random = before;
    draw(2);                    /* who goes on does not begin with their first number */
}

static void use_all(void)
{
    const struct list everybody = all();

    use_if_member(comm, &everybody);
}

static void step_traffic(void)
{
    int i = draw(SAVED + 1);

    if (i == SAVED || !model.saved[i].n)
        use_all();
    else
        use_if_member(saved[i], &model.saved[i]);
}

/* SL4: what needs a member that has ended is an error, also what all the others call. */
static int call_with_ended(MPI_Comm on, int how, int peer)
{
    int flag = 0, error, one = 1, sum;

    switch (how) {
        case 0:
            return MPI_Recv(got, SMALL, MPI_BYTE, peer, GONE_TAG, on, MPI_STATUS_IGNORE);
        case 1:
            return MPI_Ssend(sent, SMALL, MPI_BYTE, peer, GONE_TAG, on);
        case 2:
            do
                error = MPI_Iprobe(peer, GONE_TAG, on, &flag, MPI_STATUS_IGNORE);
            while (error == MPI_SUCCESS);
            return error;
        default:
            return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, on);
    }
}

/* Its messages are received before: over a network it is dropped with what is sent to it. */
static void step_ended(void)
{
    int i = draw(SAVED), how = draw(4), any = draw(MEMBERS);
    struct list ended_one = with_life(&model.saved[i], GONE), living =
        with_life(&model.saved[i], LIVES);

    step_receive_late();
    if (!ended_one.n || !holds(&living, me))
        return;
    int peer = index_of(&model.saved[i], ended_one.uids[any % ended_one.n]);
    int class = class_of(call_with_ended(saved[i], how, peer));
    ET_CHECK(class == MPIX_ERR_PROC_FAILED ||
             (how == 3 && class == MPI_ERR_OTHER), "SL4: way %d: %d", how, class);
}

#endif /* SESSION_RANDOM_COMMS_H_INCLUDED */
