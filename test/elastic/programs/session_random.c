/*
 * A program that does with changing process sets what any program may, at random: SA1, SA2, SA3, SR4, SR7, SR8, SR9,
 * SJ1, SJ2, SL1, SL2, SL4, SF1, SI8, SI9, SO1 to SO8, SD1, SD2, SB1, SX2, SX5, SX6, SX9, SW3, ST1.
 *
 * All processes draw the same steps, and each does things of its own in between.  What MPI says is compared with a
 * model (session_model.h) that is the same in all of them.  --seed S, --changes N: how many are taken or declined;
 * --say 1: each step, on standard error; --only NAME: steps of one kind; --deaths 1: processes that join or leave may
 * die; --stranger 1: each has a thread with a session of its own.  mpiexec's policy says what changes are offered:
 *
 *     mpiexec -n 2 --adapt-range 1:6 --adapt-policy random:7 --adapt-interval 20ms session_random --seed 7 --changes 40
 */

#include "session_model.h"
#include "resources.h"
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

enum {
    SMALL = 8, MIDDLE = 65536, LARGE = 1 << 20,
    EAGER = 1000                /* a message that nobody has to receive for its sender to go on */
};

/* Of messages: those of each use of a communicator, news of changes, and those of processes that leave. */
enum { USES = 30000, NEWS, LAST };

static MPI_Session lasting;     /* of communicators; `session` looks at sets, and may be another one any time */
static MPI_Comm comm = MPI_COMM_NULL;   /* of all; everybody has the rank of his place in the set */
static MPI_Group group;         /* its processes */
static int rank, size;
static MPI_Comm kept[KEPT];     /* of those in the model that hold this process */
static unsigned char sent[LARGE], got[LARGE];
static volatile int belongs;    /* it is one of the job, whose death is the job's end */
static int says, deaths, world; /* world: of MPI, when: 0 never, 1 before the first session, 2 later */

#define SAY(...) \
    do { \
        if (says) \
            say_step(__VA_ARGS__); \
    } while (0)

static void say_step(const char *format, ...)
{
    char text[400];
    va_list list;
    int n = snprintf(text, sizeof(text), "%.3f uid %d: change %d: ", et_seconds(), me, model.changes);

    va_start(list, format);
    n += vsnprintf(text + n, sizeof(text) - (size_t) n - 1, format, list);
    va_end(list);
    text[n] = '\n';
    if (write(STDERR_FILENO, text, (size_t) n + 1) < 0)
        return;
}

/* ---- names and communicators ---------------------------------------------------------------------------------- */

/* One that nobody else has. */
static void make_up(const char *what, pset_name name)
{
    snprintf(name, sizeof(pset_name), "app://%s/%d", what, ++model.made);
}

static MPI_Group group_of(const struct list *members)
{
    const struct list everybody = all();
    int ranks[MEMBERS];
    MPI_Group made;

    for (int i = 0; i < members->n; i++)
        ranks[i] = place_of(&everybody, members->uids[i]);
    ET_MPI(MPI_Group_incl(group, members->n, ranks, &made));
    return made;
}

static MPI_Comm connect_list(const struct list *members, const char *tag)
{
    MPI_Group chosen = group_of(members);
    MPI_Comm made;
    int place;

    ET_MPI(MPI_Comm_create_from_group(chosen, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
    ET_MPI(MPI_Group_free(&chosen));
    ET_MPI(MPI_Comm_rank(made, &place));
    ET_CHECK(place == place_of(members, me), "SI7: rank %d of uid %d", place, me);
    return made;
}

/* SL1: from any of them, at any time. */
static void step_receive_late(void)
{
    for (int j = 0; j < model.n_late; j++) {
        const struct late *late = &model.late[j];
        for (int tag = late->tag + late->n; tag-- > late->tag && late->to == me;) {
            ET_MPI(MPI_Recv(got, late->bytes, MPI_BYTE, place_of(&model.kept[late->kept].members, late->from), tag,
                            kept[late->kept], MPI_STATUS_IGNORE));
            et_verify(got, (size_t) late->bytes, late->from, tag, "a message of one that has left");
        }
    }
    memset(model.late, 0, sizeof(model.late));
    model.n_late = 0;
}

/* What nobody receives would stay. */
static void forget_kept(int i)
{
    step_receive_late();
    if (kept[i] != MPI_COMM_NULL)
        ET_MPI(MPI_Comm_free(&kept[i]));
    memset(&model.kept[i], 0, sizeof(model.kept[i]));
}

/* The communicator is used again after other changes; its place. */
static int keep(MPI_Comm made, const struct list *members)
{
    int i = draw(KEPT);

    forget_kept(i);
    model.kept[i].id = ++model.made;
    model.kept[i].members = *members;
    kept[i] = made;
    return i;
}

/* ---- traffic ---------------------------------------------------------------------------------------------------- */

/* Each of them sends to one that is so much further, and receives. */
static void rotate(MPI_Comm on, const struct list *members, const struct list *living, int bytes, int tag)
{
    int place = place_of(living, me), n = living->n, away = draw(n), any = draw(2);
    int to = living->uids[(place + away) % n], from = living->uids[(place + n - away) % n];
    int source = any ? MPI_ANY_SOURCE : place_of(members, from);
    MPI_Request requests[2];
    MPI_Status status[2];

    et_fill(sent, (size_t) bytes, me, tag);
    memset(got, 0, (size_t) bytes);
    pause_own();
    if (draw_own(2)) {
        ET_MPI(MPI_Sendrecv(sent, bytes, MPI_BYTE, place_of(members, to), tag, got, bytes, MPI_BYTE, source, tag, on,
                            &status[0]));
    } else {
        ET_MPI(MPI_Irecv(got, bytes, MPI_BYTE, source, tag, on, &requests[0]));
        pause_own();
        ET_MPI(MPI_Isend(sent, bytes, MPI_BYTE, place_of(members, to), tag, on, &requests[1]));
        ET_MPI(MPI_Waitall(2, requests, status));
    }
    ET_CHECK(status[0].MPI_SOURCE == place_of(members, from), "a message of rank %d", status[0].MPI_SOURCE);
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
    ET_CHECK(!memcmp(out, members->uids, (size_t) members->n * sizeof(int)), "SA3: others are members");
}

/* SL4: with members that have ended the others send messages. */
static void use_comm(MPI_Comm on, const struct list *members, int tag)
{
    static const int bytes[] = { 0, SMALL, EAGER, MIDDLE, LARGE };
    struct list living = with_life(members, LIVES);

    for (int i = 1 + draw(3); i > 0; i--)
        rotate(on, members, &living, bytes[draw(5)], tag + i);
    if (living.n == members->n)
        collect(on, members, draw(2) ? 1 : MIDDLE / (int) sizeof(int));
}

/* All draw what those do who use it. */
static void use_if_member(MPI_Comm on, const struct list *members)
{
    unsigned before = model.random;
    int tag = ++model.made * 4 % USES;

    if (holds(members, me))
        use_comm(on, members, tag);
    model.random = before;
    draw(2);
}

static void step_traffic(void)
{
    int i = draw(KEPT + 1);

    if (i == KEPT || !model.kept[i].id) {
        struct list everybody = all();
        use_if_member(comm, &everybody);
    } else {
        use_if_member(kept[i], &model.kept[i].members);
    }
}

/* ---- sets ----------------------------------------------------------------------------------------------------- */

static void share(void *what, int bytes, int root)
{
    ET_MPI(MPI_Bcast(what, bytes, MPI_BYTE, root, comm));
}

/* Frees a set as one process does, after all have ceased to look at it. */
static void free_set(int i)
{
    pset_name name;

    strcpy(name, model.sets[i].name);
    ET_MPI(MPI_Barrier(comm));
    if (rank == draw(size))
        ET_MPI(MPIX_Session_pset_free(session, name));
    drop_set(name);
    ET_MPI(MPI_Barrier(comm));
    check_unknown(name);
}

static void make_room(int n)
{
    for (int i = 0; model.n_sets + n > SETS;)
        if (can_go(&model.sets[i]))
            free_set(i);
        else
            i++;
}

/* SN6: it is given unless it is another one's, or not well-formed. */
static MPI_Info wish_name(pset_name expected)
{
    MPI_Info info = MPI_INFO_NULL;
    pset_name wished;

    expected[0] = '\0';
    int kind = draw(6);
    make_up("wish", wished);
    if (kind == 0)
        strcpy(expected, wished);
    if (kind == 1)
        strcpy(wished, model.set);
    if (kind == 2)
        strcpy(wished, "mpix://mine");
    if (kind > 2)
        return MPI_INFO_NULL;
    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, draw(2) ? "mpix_name" : "mpidynres_proposed_name", wished));
    return info;
}

/* A set that is known, or what is called so in the process that makes another one of it. */
static struct list draw_operand(int maker, pset_name name)
{
    struct list self = { 1, {maker} }, its_world = world_of(maker);

    switch (draw(8)) {
        case 0:
            strcpy(name, draw(2) ? "mpi://SELF" : "MPI://self");
            return self;
        case 1:
            strcpy(name, "mpi://WORLD");
            return its_world;
    }
    const struct known *set = &model.sets[draw(model.n_sets)];
    strcpy(name, set->name);
    return set->members;
}

static void check_made(const char *name, const struct list *members, const char *expected)
{
    if (!members->n) {
        ET_CHECK(!name[0], "SO5: an empty set is called %s", name);
        return;
    }
    ET_CHECK(!expected[0] || !strcmp(name, expected), "SN6: %s, not %s", name, expected);
    check_set(name, members);
    add_set(name, *members);
}

/* SO1, SO3 to SO5: one makes it, and the others are told its name. */
static void step_combine(void)
{
    static const int ops[] = { MPIX_PSETOP_UNION, MPIX_PSETOP_DIFFERENCE, MPIX_PSETOP_INTERSECTION };
    const struct list everybody = all();
    int op = ops[draw(3)], maker = draw(size), operands = 1 + draw(3), n = 1;
    pset_name names[3], made, expected;
    const char *given[] = { names[0], names[1], names[2] };

    make_room(1);
    struct list members = draw_operand(everybody.uids[maker], names[0]);
    for (int i = 1; i < operands; i++) {
        struct list operand = draw_operand(everybody.uids[maker], names[i]);
        if (members.n + operand.n > MEMBERS)
            operands = i;
        else
            members = combine(op, &members, &operand);
    }
    MPI_Info info = wish_name(expected);
    if (rank == maker)
        ET_MPI(MPIX_Session_pset_op(session, op, given, operands, info, &made, &n));
    if (info != MPI_INFO_NULL)
        ET_MPI(MPI_Info_free(&info));
    share(made, sizeof(made), maker);
    SAY("combined %d of %s, %s: %s", op, names[0], operands > 1 ? names[1] : "", made);
    check_made(made, &members, expected);
}

/* SO2 */
static void step_split(void)
{
    make_room(3);
    const struct known set = model.sets[draw(model.n_sets)];
    const char *operand = set.name;
    int maker = draw(size), n = 3, first = draw(set.members.n + 1);
    int second = draw(set.members.n - first + 1), sizes[3] = { first, second, set.members.n - first - second };
    pset_name parts[3], text;
    MPI_Info info;

    if (rank == maker) {
        snprintf(text, sizeof(text), "%d,%d,%d", sizes[0], sizes[1], sizes[2]);
        ET_MPI(MPI_Info_create(&info));
        ET_MPI(MPI_Info_set(info, "mpi_part_sizes", text));
        ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_SPLIT, &operand, 1, info, parts, &n));
        ET_MPI(MPI_Info_free(&info));
        ET_CHECK(n == 3, "SO2: %d parts", n);
    }
    share(parts, sizeof(parts), maker);
    for (int i = 0, at = 0; i < 3; at += sizes[i++]) {
        struct list members = part_of(&set.members, at, sizes[i]);
        check_made(parts[i], &members, "");
    }
}

/* SO6 */
static void step_from_group(void)
{
    const struct list everybody = all();
    struct list members = draw_list(&everybody, 1);
    int maker = draw(size);
    pset_name made, expected;

    make_room(1);
    MPI_Info info = wish_name(expected);
    if (rank == maker) {
        MPI_Group chosen = group_of(&members);
        ET_MPI(MPIX_Session_pset_from_group(session, chosen, info, made));
        ET_MPI(MPI_Group_free(&chosen));
    }
    if (info != MPI_INFO_NULL)
        ET_MPI(MPI_Info_free(&info));
    share(made, sizeof(made), maker);
    check_made(made, &members, expected);
}

/* What others free or move meanwhile: as it was, or not there. */
static void look_meanwhile(const struct known *set)
{
    MPI_Group found;
    MPI_Info info;
    pset_name made;
    int error, n = 1;
    const char *operand = set->name;

    switch (draw_own(3)) {
        case 0:
            error = MPI_Group_from_session_pset(session, set->name, &found);
            if (error == MPI_SUCCESS)
                check_group(set->name, &set->members, found);
            if (found != MPI_GROUP_EMPTY)
                ET_MPI(MPI_Group_free(&found));
            break;
        case 1:
            error = MPI_Session_get_pset_info(session, set->name, &info);
            if (error == MPI_SUCCESS) {
                check_info(set->name, &set->members, info, 0);
                ET_MPI(MPI_Info_free(&info));
            }
            break;
        default:
            error = MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, &operand, 1, MPI_INFO_NULL, &made, &n);
            if (error == MPI_SUCCESS)
                ET_MPI(MPIX_Session_pset_free(session, made));
            else
                ET_CHECK(!made[0], "SO5: %s", made);
    }
    if (error != MPI_SUCCESS && (class_of(error) != MPI_ERR_PROC_ABORTED || fate_of(&set->members) == LIVES))
        ET_ERROR(error, MPI_ERR_ARG, NULL);
}

/* SO7, SO8, SA1, SA2: as many as like do it, one can; the others look. */
static void step_take_away(void)
{
    int i = draw(model.n_sets), by_all = draw(2), who = draw(size), moves = draw(2), done = 0, over = 0, sum;
    pset_name to;
    char first[64];
    MPI_Request request;

    struct known set = model.sets[i];
    if (!can_go(&set))
        return;
    if (moves && (!strncmp(set.name, "mpix://", 7) || !strncmp(set.name, "mpi", 3)))
        moves = !strncmp(set.name, "mpix://op", 9);
    snprintf(first, sizeof(first), "app://moved/%d", ++model.made);
    snprintf(to, sizeof(to), "%s/%d", first, by_all ? rank : who);
    SAY("%s is %s, %s", set.name, moves ? "moved" : "freed", by_all ? "by all" : "by one");
    ET_MPI(MPI_Barrier(comm));
    pause_own();
    if (by_all || rank == who) {
        int error = moves ? MPIX_Session_pset_move(session, set.name, to) : MPIX_Session_pset_free(session, set.name);
        done = error == MPI_SUCCESS;
        if (!done)
            ET_ERROR(error, MPI_ERR_ARG, NULL);
    }
    ET_MPI(MPI_Ibarrier(comm, &request));
    while (!over) {
        look_meanwhile(&set);
        ET_MPI(MPI_Test(&request, &over, MPI_STATUS_IGNORE));
    }
    check_unknown(set.name);
    ET_MPI(MPI_Allreduce(&done, &sum, 1, MPI_INT, MPI_SUM, comm));
    ET_CHECK(sum == 1, "SA2: %d processes have freed or moved %s", sum, set.name);
    drop_set(set.name);
    done = done ? rank : 0;
    ET_MPI(MPI_Allreduce(&done, &who, 1, MPI_INT, MPI_MAX, comm));
    if (!moves)
        return;
    snprintf(to, sizeof(to), "%s/%d", first, who);
    check_set(to, &set.members);
    add_set(to, set.members);
}

/* SO7: the set of all gets a name that others may have had before. */
static void step_rename(void)
{
    const struct list everybody = all();
    pset_name from;

    strcpy(from, model.set);
    if (strncmp(from, "mpix://op", 9))
        return;
    make_room(1);
    ET_MPI(MPI_Barrier(comm));
    if (rank == draw(size))
        ET_MPI(MPIX_Session_pset_move(session, from, "app://main"));
    ET_MPI(MPI_Barrier(comm));
    check_unknown(from);
    drop_set(from);
    if (find_set("app://main"))
        drop_set("app://main");
    add_set("app://main", everybody);
    strcpy(model.set, "app://main");
    check_set(model.set, &everybody);
}

/* ---- data, texts ------------------------------------------------------------------------------------------------ */

static void check_data(MPI_Info data, const char *key, const char *expected)
{
    pset_name value;

    ET_CHECK(value_of(data, key, value) && !strcmp(value, expected), "SD2: %s is '%s'", key, value);
    ET_MPI(MPI_Info_free(&data));
}

/* SD1, SD2: one writes, when it likes; the others wait, alone or all together. */
static void step_data(void)
{
    const struct list everybody = all();
    int writer = draw(size), together = draw(2);
    const struct known set = model.sets[draw(model.n_sets)];
    const char *key, *coll;
    pset_name name, value, other;
    MPI_Request request;
    MPI_Info data;

    if (fate_of(&set.members) != LIVES)
        return;
    make_up("key", name);
    snprintf(value, sizeof(value), "%d", draw(1000000));
    key = name;
    coll = together ? model.set : "mpi://SELF";
    SAY("data of %s, written by uid %d, read %s", set.name, everybody.uids[writer], coll);
    if (rank == writer) {
        pause_own();
        ET_MPI(MPI_Info_create(&data));
        ET_MPI(MPI_Info_set(data, key, value));
        ET_MPI(MPIX_Session_set_pset_data(session, set.name, data));
        ET_MPI(MPI_Info_free(&data));
    }
    if (draw_own(2)) {
        ET_MPI(MPIX_Session_iget_pset_data(session, coll, set.name, &key, 1, 1, &data, &request));
        use_if_member(comm, &everybody);
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        if (together)
            use_if_member(comm, &everybody);
        ET_MPI(MPIX_Session_get_pset_data(session, coll, set.name, &key, 1, 1, &data));
        if (!together)
            use_if_member(comm, &everybody);
    }
    check_data(data, key, value);
    make_up("never", other);    /* what nobody has written is not there */
    key = other;
    ET_MPI(MPIX_Session_get_pset_data(session, "mpi://SELF", set.name, &key, 1, 0, &data));
    ET_CHECK(!value_of(data, key, value), "SD2: %s is there", key);
    ET_MPI(MPI_Info_free(&data));
}

/* SB1: all are told in the same call. */
static void step_text(void)
{
    const struct list everybody = all();
    const struct known set = model.sets[draw(model.n_sets)];
    int calls = 0, given = 1 + draw(20), counts[MEMBERS], first = -1;
    pset_name text, expected;

    if (fate_of(&set.members) != LIVES)
        return;
    make_up("text", expected);
    SAY("text for %s", set.name);
    for (text[0] = '\0'; holds(&set.members, me) && !text[0]; calls++) {
        int gives = set.members.uids[0] == me && calls + 1 == given;
        if (gives)
            strcpy(text, expected);
        if (!draw_own(10))
            pause_own();
        ET_MPI(MPIX_Session_bcast_pset_info(session, set.name, text, sizeof(text), set.members.uids[0] == me));
        ET_CHECK(!text[0] || !strcmp(text, expected), "SB1: the text is %s", text);
    }
    ET_MPI(MPI_Allgather(&calls, 1, MPI_INT, counts, 1, MPI_INT, comm));
    for (int i = 0; i < size; i++) {
        if (!holds(&set.members, everybody.uids[i]))
            continue;
        first = first < 0 ? counts[i] : first;
        ET_CHECK(counts[i] == first && first >= given, "SB1: told in call %d, and in call %d of rank %d", first,
                 counts[i], i);
    }
}

/* ---- what is made of groups ------------------------------------------------------------------------------------ */

static void use_and_keep(MPI_Comm made, const struct list *members)
{
    int keeps = draw(2), member = holds(members, me);

    use_if_member(made, members);
    if (keeps)
        keep(member ? made : MPI_COMM_NULL, members);
    else if (member)
        ET_MPI(MPI_Comm_free(&made));
}

static void step_communicator(void)
{
    const struct list everybody = all();
    struct list members = draw_list(&everybody, 1);
    MPI_Comm made = MPI_COMM_NULL;
    pset_name tag;

    make_up("communicator", tag);
    pause_own();
    if (holds(&members, me))
        made = connect_list(&members, tag);
    use_and_keep(made, &members);
}

struct creation {
    struct list members;
    pset_name tag;
    MPI_Comm made;
};

static void *create(void *what)
{
    struct creation *creation = what;

    if (holds(&creation->members, me))
        creation->made = connect_list(&creation->members, creation->tag);
    return NULL;
}

/* SI8, ST1: two at a time, of groups that have to do with each other. */
static void step_two(void)
{
    const struct list everybody = all();
    struct creation two[2];
    pthread_t thread;

    for (int i = 0; i < 2; i++) {
        two[i].members = draw_list(&everybody, 1);
        two[i].made = MPI_COMM_NULL;
        make_up("two", two[i].tag);
    }
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
    struct list both = draw_list(&everybody, 1);
    pset_name tag;
    MPI_Comm made;

    if (both.n < 2)
        return;
    int n = 1 + draw(both.n - 1);
    struct list sides[2] = { part_of(&both, 0, n), part_of(&both, n, both.n - n) };
    int leaders[2] = { draw(sides[0].n), draw(sides[1].n) };
    make_up("inter", tag);
    pause_own();
    if (!holds(&both, me))
        return;
    int mine = holds(&sides[0], me) ? 0 : 1;
    MPI_Group local = group_of(&sides[mine]), remote = group_of(&sides[1 - mine]);
    ET_MPI(MPI_Intercomm_create_from_groups(local, leaders[mine], remote, leaders[1 - mine], tag, MPI_INFO_NULL,
                                            MPI_ERRORS_RETURN, &made));
    ET_MPI(MPI_Group_free(&local));
    ET_MPI(MPI_Group_free(&remote));
    et_exercise_inter(made, mine == 0, "between groups");
    ET_MPI(MPI_Comm_free(&made));
}

/* SX9: what is put there comes there, and can be got. */
static void step_window(void)
{
    const struct list everybody = all();
    struct list members = draw_list(&everybody, 1);
    int bytes = draw(2) ? SMALL : MIDDLE, creates = draw(2), away = draw(members.n), tag = draw(1000), n = members.n;
    unsigned char *memory;
    long *count, one = 1;
    pset_name name;
    MPI_Win win;

    make_up("window", name);
    if (!holds(&members, me))
        return;
    int place = place_of(&members, me), from = members.uids[(place + n - away) % n];
    MPI_Group chosen = group_of(&members);
    if (creates) {
        memory = calloc(1, (size_t) bytes + sizeof(long));
        ET_MPI(MPIX_Win_create_from_group(chosen, name, memory, bytes + (int) sizeof(long), 1, MPI_INFO_NULL,
                                          MPI_ERRORS_RETURN, &win));
    } else {
        ET_MPI(MPIX_Win_allocate_from_group(chosen, name, bytes + (int) sizeof(long), 1, MPI_INFO_NULL,
                                            MPI_ERRORS_RETURN, &memory, &win));
    }
    ET_MPI(MPI_Group_free(&chosen));
    count = (long *) (memory + bytes);
    *count = 0;
    et_fill(sent, (size_t) bytes, me, tag);
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Put(sent, bytes, MPI_BYTE, (place + away) % n, 0, bytes, MPI_BYTE, win));
    ET_MPI(MPI_Win_fence(0, win));
    et_verify(memory, (size_t) bytes, from, tag, "what was put");
    ET_MPI(MPI_Get(got, bytes, MPI_BYTE, (place + away) % n, 0, bytes, MPI_BYTE, win));
    ET_MPI(MPI_Win_fence(0, win));
    et_verify(got, (size_t) bytes, me, tag, "what was got");
    ET_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    ET_MPI(MPI_Accumulate(&one, 1, MPI_LONG, 0, bytes, 1, MPI_LONG, MPI_SUM, win));
    ET_MPI(MPI_Win_unlock(0, win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_CHECK(*count == (place == 0 ? n : 0), "%ld of %d have been counted", *count, n);
    ET_MPI(MPI_Win_free(&win));
    if (creates)
        free(memory);
}

/* ---- sessions --------------------------------------------------------------------------------------------------- */

static MPI_Session open_another(void)
{
    MPI_Session before = session, opened;

    open_session();
    opened = session;
    session = before;
    return opened;
}

/* SX2, SX7 */
static void step_reopen(void)
{
    if (draw_own(2)) {
        ET_MPI(MPI_Session_finalize(&session));
        pause_own();
        session = open_another();
    } else {
        MPI_Session other = open_another();
        ET_MPI(MPI_Session_finalize(&session));
        session = other;
    }
}

static void learn_group(const struct list *members)
{
    ET_MPI(MPI_Comm_group(comm, &group));
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_CHECK(size == members->n, "SA3: %d processes, not %d", size, members->n);
    meet_group(group, members->uids);
}

static int connect_all(const char *set, const char *tag, MPI_Comm * made)
{
    MPI_Session looks = session;

    session = lasting;
    int error = try_connect(set, tag, made);
    session = looks;
    return error;
}

/* All end all that they have, and begin anew. */
static void step_renew(void)
{
    const struct list everybody = all();
    int frees = draw(2);
    pset_name tag;

    for (int i = 0; i < UIDS; i++)
        if (model.life[i] == LEAVES)
            return;
    make_up("again", tag);
    step_receive_late();
    for (int i = 0; i < KEPT; i++) {
        if (!frees)
            kept[i] = MPI_COMM_NULL;    /* the end of the session releases it */
        forget_kept(i);
    }
    ET_MPI(MPI_Barrier(comm));
    ET_MPI(MPI_Group_free(&everyone));
    ET_MPI(MPI_Group_free(&group));
    met.n = 0;
    if (frees)
        ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&lasting));
    ET_MPI(MPI_Session_finalize(&session));
    pause_own();
    open_session();
    lasting = open_another();
    ET_MPI(connect_all(model.set, tag, &comm));
    learn_group(&everybody);
}

/* ---- of its own -------------------------------------------------------------------------------------------------- */

static void look_at_list(void)
{
    static int told;
    static pset_name first;
    pset_name name;
    MPI_Info psets;
    int n, length = sizeof(name);

    ET_MPI(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    ET_CHECK(n >= told && n >= 2, "SI1: %d sets after %d", n, told);
    if (told)
        ET_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, told - 1, &length, name));
    ET_CHECK(!told || !strcmp(name, first), "SI1: %s was %s", name, first);
    told = n;
    length = sizeof(first);
    ET_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n - 1, &length, first));
    ET_MPI(MPIX_Session_get_psets(session, MPI_INFO_NULL, &psets));
    for (int i = 0; i < model.n_sets; i++)
        ET_CHECK(value_of(psets, model.sets[i].name, name) == holds(&model.sets[i].members, me), "SI2: %s",
                 model.sets[i].name);
    ET_MPI(MPI_Info_free(&psets));
}

static void make_own(void)
{
    const struct known *first = &model.sets[draw_own(model.n_sets)], *second = &model.sets[draw_own(model.n_sets)];
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
static void look_at_all(void)
{
    pset_name value;
    MPI_Info info;

    ET_MPI(MPI_Session_get_pset_info(session, "mpix://ALL", &info));
    ET_CHECK(value_of(info, "mpi_size", value) && atoi(value) >= size, "SN4: %s processes of %d", value, size);
    ET_MPI(MPI_Info_free(&info));
}

static void by_the_way(void)
{
    const struct known *set = &model.sets[draw_own(model.n_sets)];
    struct list own_world = world_of(me);
    MPI_Comm alone;
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
            look_at_list();
            break;
        case 4:
            look_at_all();
            break;
        case 5:
            step_reopen();
            break;
        case 6:
            ET_MPI(MPIX_Session_rc_test(session, draw_own(2) ? NULL : model.set, &flag));
            break;
        case 7:
            alone = connect_set("mpi://SELF", "alone");
            et_exercise(alone, "mpi://SELF");
            ET_MPI(MPI_Comm_free(&alone));
            break;
        case 8:
            check_set("mpi://WORLD", &own_world);
            break;
        default:
            pause_own();
    }
}

/* ---- ends ------------------------------------------------------------------------------------------------------- */

/* SA1: who was told to leave has ended, when one has seen it and has told the others. */
static void step_confirm(void)
{
    int who = draw(size);

    for (int i = 0; i < model.n_sets; i++) {
        struct list leaving = with_life(&model.sets[i].members, LEAVES);
        if (leaving.n != 1 || fate_of(&model.sets[i].members) == GONE)
            continue;
        if (rank == who)
            await_state(model.sets[i].name, "ended");
        ET_MPI(MPI_Barrier(comm));
        model.life[leaving.uids[0]] = GONE;
        check_set(model.sets[i].name, &model.sets[i].members);
    }
}

static void send_late(void)
{
    for (int j = 0; j < model.n_late; j++) {
        const struct late *late = &model.late[j];
        for (int tag = late->tag; tag < late->tag + late->n && late->from == me; tag++) {
            et_fill(sent, (size_t) late->bytes, me, tag);
            ET_MPI(MPI_Send(sent, late->bytes, MPI_BYTE, place_of(&model.kept[late->kept].members, late->to), tag,
                            kept[late->kept]));
        }
    }
}

/* ---- a thread that knows nothing of the others ------------------------------------------------------------------ */

static pthread_t stranger;
static volatile int has_stranger, stops;

/* SX11, ST1: with a session of its own it makes sets and communicators of this process alone. */
static void *be_strange(void *unused)
{
    const char *self = "mpi://SELF";
    MPI_Session own;
    MPI_Group alone;
    MPI_Comm made;
    MPI_Info info;
    pset_name name;

    (void) unused;
    while (!stops) {
        int n = 1, flag;
        ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &own));
        for (int i = 0; i < 10 && !stops; i++) {
            ET_MPI(MPIX_Session_pset_op(own, MPIX_PSETOP_UNION, &self, 1, MPI_INFO_NULL, &name, &n));
            ET_MPI(MPIX_Session_pset_exists(own, name, &flag, NULL));
            ET_CHECK(flag, "SA1: %s is not there", name);
            ET_MPI(MPI_Group_from_session_pset(own, name, &alone));
            ET_MPI(MPI_Comm_create_from_group(alone, "stranger", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
            et_exercise(made, name);
            ET_MPI(MPI_Comm_free(&made));
            ET_MPI(MPI_Group_free(&alone));
            ET_MPI(MPIX_Session_rc_test(own, name, &flag));
            ET_MPI(MPI_Session_get_pset_info(own, "mpix://ALL", &info));
            ET_MPI(MPI_Info_free(&info));
            ET_MPI(MPIX_Session_pset_free(own, name));
            et_sleep_ms(i);
        }
        ET_MPI(MPI_Session_finalize(&own));
    }
    return NULL;
}

static void end_stranger(void)
{
    stops = 1;
    if (has_stranger)
        ET_CHECK(!pthread_join(stranger, NULL), "no thread");
}

static void finish(void)
{
    end_stranger();
    ET_MPI(MPI_Session_finalize(&session));
    ET_MPI(MPI_Session_finalize(&lasting));
    if (world)
        ET_MPI(MPI_Finalize());
}

/* ---- changes ---------------------------------------------------------------------------------------------------- */

struct news {
    int type, n, uids[MEMBERS];
    pset_name delta, set;
};

/* Who takes part in a change, as all have drawn it. */
struct plan {
    int asks, all_ask, tells_before;    /* rank that asks; or all do; the others are told before it is accepted */
    int may_decline, how;       /* how they leave */
    int to_keep;                /* a place for the communicator; -1: it is freed */
    pset_name bound, tag;       /* set that is asked for; "" for all */
};

enum how { ORDERLY, WITHOUT_FREEING, WITHOUT_FINALIZING, BY_A_SIGNAL };

/* SR4: who is removed is in the set that was asked for.  SF2: one that is added may have died. */
static void learn_delta(struct news *news, const char *asked)
{
    const struct known *bound = asked ? find_set(asked) : NULL;
    int places[MEMBERS], found[MEMBERS];
    MPI_Group delta;

    int error = MPI_Group_from_session_pset(session, news->delta, &delta);
    if (error != MPI_SUCCESS && deaths && news->type == MPIX_RC_ADD) {
        ET_ERROR(error, MPI_ERR_PROC_ABORTED, NULL);
        return;
    }
    ET_MPI(error);
    ET_MPI(MPI_Group_size(delta, &news->n));
    ET_CHECK(news->n < MEMBERS, "%d processes", news->n);
    for (int i = 0; i < news->n; i++)
        places[i] = i;
    if (news->type == MPIX_RC_SUB) {
        ET_MPI(MPI_Group_translate_ranks(delta, news->n, places, everyone, found));
        for (int i = 0; i < news->n; i++) {
            news->uids[i] = met.uids[found[i]];
            ET_CHECK(!bound || bound->members.uids[bound->members.n - news->n + i] == news->uids[i],
                     "SR4: uid %d of %s is removed", news->uids[i], asked);
        }
    }
    ET_MPI(MPI_Group_free(&delta));
}

static struct change ask(const struct plan *plan, const char **asked)
{
    struct change change = {.type = MPIX_RC_NONE };
    MPI_Status status;
    int others = 0;
    double end = et_seconds() + et.patience_s;

    for (int i = 0; change.type == MPIX_RC_NONE; i++) {
        *asked = i < 50 && plan->bound[0] ? plan->bound : i % 2 ? model.set : NULL;
        change = get_change(*asked);
        if (change.type == MPIX_RC_SUB && find_set(change.delta)) {
            accept_change(&change, NULL, NULL); /* SF1: who had been told has left, others of it not yet */
            change.type = MPIX_RC_NONE;
        }
        if (change.type == MPIX_RC_NONE && plan->all_ask)
            ET_MPI(MPI_Iprobe(MPI_ANY_SOURCE, NEWS, comm, &others, &status));
        if (others)
            break;
        ET_CHECK(et_seconds() < end, "there is no change");
        et_sleep_ms(1);
    }
    return change;
}

/* Where all ask nobody may be told of the next change before he knows of this one. */
static void tell_news(const struct plan *plan, struct news *news, int teller)
{
    MPI_Status status;

    if (!plan->all_ask) {
        share(news, sizeof(*news), plan->asks);
    } else if (teller) {
        for (int i = 0; i < size; i++)
            if (i != rank)
                ET_MPI(MPI_Send(news, sizeof(*news), MPI_BYTE, i, NEWS, comm));
    } else {
        ET_MPI(MPI_Recv(news, sizeof(*news), MPI_BYTE, MPI_ANY_SOURCE, NEWS, comm, &status));
    }
    if (plan->all_ask)
        ET_MPI(MPI_Barrier(comm));
}

static int leaves(const struct news *news)
{
    for (int i = 0; i < news->n && news->type == MPIX_RC_SUB; i++)
        if (news->uids[i] == me)
            return 1;
    return 0;
}

/* SF2: those who join may have died, which is an error, or is found out later. */
static void accept_now(struct change *change, const struct plan *plan, struct news *news)
{
    MPI_Info keys;

    ET_MPI(MPI_Info_create(&keys));
    ET_MPI(MPI_Info_set(keys, "app_set", news->set));
    ET_MPI(MPI_Info_set(keys, "app_tag", plan->tag));
    int error = MPIX_Session_rc_accept(session, change->tag, keys);
    ET_MPI(MPI_Info_free(&keys));
    if (error == MPI_SUCCESS)
        return;
    ET_CHECK(deaths && class_of(error) == MPI_ERR_SPAWN && news->type == MPIX_RC_ADD, "SR7: class %d", class_of(error));
    ET_ERROR(MPIX_Session_rc_accept(session, change->tag, MPI_INFO_NULL), MPI_ERR_ARG, "tag");
    if (!plan->tells_before)
        news->type = MPIX_RC_NONE;
}

/* As the process that is told of it. */
static struct news take(struct change *change, const struct plan *plan, const char *asked)
{
    struct news news = {.type = change->type };
    pset_name value;
    MPI_Comm never;

    strcpy(news.delta, change->delta);
    ET_CHECK(value_of(change->info, "mpix_old_size", value) && atoi(value) == size, "SR11: %s of %d", value, size);
    ET_MPI(MPI_Info_free(&change->info));
    learn_delta(&news, asked);
    pause_own();
    int declines = plan->may_decline && draw_own(3) == 0;
    if (!declines || draw_own(2))
        set_after(model.set, change, news.set);
    if (news.type == MPIX_RC_ADD && news.set[0] && !deaths && draw_own(3) == 0) {
        check_state(news.set, "proposed");
        ET_ERROR(connect_all(news.set, plan->tag, &never), MPI_ERR_GROUP, NULL);
    }
    pause_own();
    if (declines) {
        ET_MPI(MPIX_Session_rc_decline(session, change->tag));
        ET_ERROR(MPIX_Session_rc_accept(session, change->tag, MPI_INFO_NULL), MPI_ERR_ARG, "tag");
        if (news.set[0])
            ET_MPI(MPIX_Session_pset_free(session, news.set));
        news.type = MPIX_RC_NONE;
        SAY("%s is declined", news.delta);
        return news;
    }
    SAY("%s, %d %s, is accepted %s the others know", news.delta, news.n, news.type == MPIX_RC_ADD ? "added" : "removed",
        plan->tells_before ? "after" : "before");
    if (!plan->tells_before)
        accept_now(change, plan, &news);
    return news;
}

/* SF1, SR9: who has been told of it may leave without accepting; if all do it is complete. */
static void accept_later(struct change *change, const struct plan *plan, struct news *news)
{
    pause_own();
    if (leaves(news) && draw_own(2))
        return;
    accept_now(change, plan, news);
}

static void leave(const struct plan *plan)
{
    pause_own();
    send_late();
    pause_own();
    SAY("leaves");
    if (plan->how == BY_A_SIGNAL)
        raise(SIGKILL);
    if (plan->how == WITHOUT_FINALIZING)
        _exit(0);
    if (plan->how == ORDERLY) {
        for (int i = 0; i < KEPT; i++)
            if (kept[i] != MPI_COMM_NULL)
                ET_MPI(MPI_Comm_free(&kept[i]));
        if (comm != MPI_COMM_NULL)
            ET_MPI(MPI_Comm_free(&comm));
    }
    finish();
    exit(0);
}

/* The messages on their way of those who leave to those who stay. */
static void plan_late(const struct news *news)
{
    for (int j = 0; j < 4; j++) {
        int i = draw(KEPT), from = draw(news->n), n = 1 + draw(20), bytes = draw(2) ? SMALL : EAGER, to = draw(MEMBERS);
        const struct list *members = &model.kept[i].members;
        struct list living = with_life(members, LIVES);
        if (model.n_late == LATE || !living.n || !holds(members, news->uids[from]))
            continue;
        model.late[model.n_late++] = (struct late) {
            news->uids[from], living.uids[to % living.n], i, n, bytes, LAST + 100 * (++model.made % 1000)
        };
    }
}

static void forget_late_for(int uid)
{
    for (int j = 0; j < model.n_late; j++)
        if (model.late[j].to == uid)
            model.late[j].n = 0;
}

static void follow_removal(const struct plan *plan, struct news *news)
{
    const struct list everybody = all();
    struct list delta = { 0 };
    int is_leaving = leaves(news);

    for (int i = 0; i < news->n; i++) {
        ET_CHECK(model.life[news->uids[i]] == LIVES, "SR4: uid %d has left", news->uids[i]);
        append(&delta, news->uids[i]);
        model.life[news->uids[i]] = LEAVES;
        forget_late_for(news->uids[i]);
    }
    struct list rest = combine(MPIX_PSETOP_DIFFERENCE, &everybody, &delta);
    if (plan->to_keep >= 0) {
        keep(comm, &everybody);
        comm = MPI_COMM_NULL;
    }
    if (plan->how == ORDERLY || plan->how == WITHOUT_FREEING)
        plan_late(news);
    if (is_leaving)
        leave(plan);
    add_set(news->delta, delta);
    add_set(news->set, rest);
    strcpy(model.set, news->set);
}

/* Uids of all are told by the first messages. */
static struct list learn_all(MPI_Comm made)
{
    struct list everybody = { 0 };

    ET_MPI(MPI_Comm_size(made, &everybody.n));
    ET_CHECK(everybody.n <= MEMBERS, "%d processes", everybody.n);
    ET_MPI(MPI_Allgather(&me, 1, MPI_INT, everybody.uids, 1, MPI_INT, made));
    return everybody;
}

static void follow_addition(const struct news *news, int tag, MPI_Comm made)
{
    const struct list before = all(), after = learn_all(made);
    struct list delta = part_of(&after, before.n, after.n - before.n);
    struct list first = part_of(&after, 0, before.n);

    ET_CHECK(!memcmp(&first, &before, sizeof(before)), "SO1: who was there is not first");
    for (int i = 0; i < delta.n; i++) {
        ET_CHECK(delta.uids[i] == delta.uids[0] + i && model.life[delta.uids[i]] == NEVER, "uid %d", delta.uids[i]);
        model.life[delta.uids[i]] = LIVES;
        model.group[delta.uids[i]] = (short) tag;
    }
    add_set(news->delta, delta);
    add_set(news->set, after);
    strcpy(model.set, news->set);
}

/* Who was there has the same model; who joins gets it. */
static void share_model(int joins)
{
    static struct model other;

    other = model;
    ET_MPI(MPI_Bcast(&other, sizeof(other), MPI_BYTE, 0, comm));
    if (joins)
        model = other;
    ET_CHECK(!memcmp(&other, &model, sizeof(model)), "the models differ: random %u and %u, made %d and %d",
             other.random, model.random, other.made, model.made);
}

static struct plan draw_plan(void)
{
    struct plan plan = {.asks = draw(size),.all_ask = draw(3) == 0,.tells_before = draw(2),.may_decline = draw(2),
        .how = draw(4),.to_keep = draw(2) - 1
    };
    const struct known *set = &model.sets[draw(model.n_sets)];

    make_up("change", plan.tag);
    if (draw(3) == 0 && fate_of(&set->members) == LIVES)
        strcpy(plan.bound, set->name);
    if (plan.all_ask)
        plan.tells_before = 1;
    if (plan.all_ask || model.declined) /* mpiexec's policy stops if nobody wants its offers */
        plan.may_decline = 0;
    if (plan.tells_before || (plan.how == BY_A_SIGNAL && !deaths))      /* SL3: these are only for who is let go */
        plan.how = plan.how % WITHOUT_FINALIZING;
    return plan;
}

/* SF2: one of those who join has died; nobody can be told by the communicator that was to be made. */
static int all_have(int mine)
{
    int sum;

    ET_MPI(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
    return sum == size;
}

static void change_all(void)
{
    struct change change = {.type = MPIX_RC_NONE };
    struct news news = { 0 };
    const char *asked = NULL;
    MPI_Comm next;

    make_room(2);
    const struct plan plan = draw_plan();
    SAY("awaits a change, asked for %s by %s", plan.bound, plan.all_ask ? "all" : "one");
    ET_MPI(MPI_Barrier(comm));
    if (plan.all_ask || rank == plan.asks)
        change = ask(&plan, &asked);
    int teller = change.type != MPIX_RC_NONE;
    if (teller)
        news = take(&change, &plan, asked);
    tell_news(&plan, &news, teller);
    model.changes++;
    for (int uid = 0; uid < UIDS; uid++)
        if (model.life[uid] == LEAVES)  /* SR5, SR9 */
            model.life[uid] = GONE;
    model.declined = news.type == MPIX_RC_NONE;
    if (news.type == MPIX_RC_NONE) {
        if (!deaths)
            check_unknown(news.delta);
        return;
    }
    if (teller && plan.tells_before)
        accept_later(&change, &plan, &news);
    if (news.type == MPIX_RC_SUB)
        follow_removal(&plan, &news);
    pause_own();
    int error = connect_all(news.set, plan.tag, &next);
    if (news.type == MPIX_RC_ADD && deaths && !all_have(error == MPI_SUCCESS)) {
        ET_CHECK(error == MPI_SUCCESS || class_of(error) == MPI_ERR_PROC_ABORTED, "SF2: class %d", class_of(error));
        if (next != MPI_COMM_NULL)
            ET_MPI(MPI_Comm_free(&next));
        return;
    }
    ET_MPI(error);
    if (news.type == MPIX_RC_ADD)
        follow_addition(&news, atoi(news.delta + strlen("mpix://rc/")), next);
    if (comm != MPI_COMM_NULL)
        ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Group_free(&group));
    comm = next;
    const struct list everybody = all();
    learn_group(&everybody);
    share_model(0);
    struct usage usage = measure();
    SAY("has %ld descriptors, %ld mappings, %ld threads, %ld bytes", usage.descriptors, usage.mappings, usage.threads,
        usage.heap);
}

/* What a process keeps over the second half of its changes: pools that have grown once, and what libfabric knows of
 * processes. */
static void check_growth(const struct usage *first, int changes)
{
    struct usage last = measure();

    ET_CHECK(last.descriptors <= first->descriptors + 16, "%ld descriptors, then %ld", first->descriptors,
             last.descriptors);
    ET_CHECK(last.mappings <= first->mappings + 32, "%ld mappings, then %ld", first->mappings, last.mappings);
    ET_CHECK(last.threads <= first->threads, "%ld threads, then %ld", first->threads, last.threads);
    ET_CHECK(last.heap <= first->heap + (4L << 20) + 4096L * changes, "%ld bytes, then %ld", first->heap, last.heap);
}

/* ---- begin and end ---------------------------------------------------------------------------------------------- */

static void begin_launched(unsigned seed)
{
    model.random = seed * 2654435761u + 1;
    ET_MPI(connect_all("mpi://WORLD", "launch", &comm));
    struct list everybody = learn_all(comm);
    for (int i = 0; i < everybody.n; i++)
        model.life[everybody.uids[i]] = LIVES;
    learn_group(&everybody);
    if (rank == 0) {
        const char *operand = "mpi://WORLD";
        int n = 1;
        ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, &operand, 1, MPI_INFO_NULL, &model.set, &n));
    }
    share(model.set, sizeof(model.set), 0);
    add_set(model.set, everybody);
}

/* SJ2 */
static void begin_joining(const char *delta)
{
    pset_name set, tag;

    ET_CHECK(session_value("app_set", set) && session_value("app_tag", tag), "SR7: the keys of the accept");
    pause_own();
    ET_MPI(connect_all(set, tag, &comm));
    struct list everybody = learn_all(comm);
    belongs = 1;
    learn_group(&everybody);
    share_model(1);
    ET_CHECK(!strcmp(model.set, set), "SA1: %s", model.set);
    struct list own_world = world_of(me);
    check_set(delta, &own_world);
}

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
    pthread_t thread;

    if (draw_own(20) == 0)
        ET_CHECK(!pthread_create(&thread, NULL, die, NULL), "no thread");
}

static void open_world(void)
{
    int provided;

    ET_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
    ET_CHECK(provided == MPI_THREAD_MULTIPLE, "level %d", provided);
}

static const struct step {
    const char *name;
    void (*run) (void);
} steps[] = {
    {"traffic", step_traffic}, {"traffic", step_traffic}, {"combine", step_combine}, {"combine", step_combine},
    {"split", step_split}, {"from_group", step_from_group}, {"take_away", step_take_away}, {"rename", step_rename},
    {"data", step_data}, {"text", step_text}, {"communicator", step_communicator}, {"two", step_two},
    {"intercomm", step_intercomm}, {"window", step_window}, {"renew", step_renew}, {"confirm", step_confirm},
    {"receive_late", step_receive_late}
};

static void run_step(const char *only)
{
    const struct step *step = &steps[draw(sizeof(steps) / sizeof(steps[0]))];

    by_the_way();
    if (only && strcmp(only, step->name))
        return;
    SAY("%s", step->name);
    step->run();
}

int main(int argc, char **argv)
{
    unsigned seed;
    int changes = (int) et_number(argc, argv, "changes", 10);
    const char *only = et_argument(argc, argv, "only", NULL);
    pset_name delta, uid;
    struct usage middle = { 0 };

    et_options(&argc, &argv);
    seed = et.seed;
    says = (int) et_number(argc, argv, "say", 0);
    world = (int) (seed % 3);
    own_random = seed * 40503u + (unsigned) getpid();
    deaths = (int) et_number(argc, argv, "deaths", 0);
    if (deaths && getenv("PMI_ADAPT") && !strstr(getenv("PMI_ADAPT"), " epoch=0 "))
        may_die();
    for (int i = 0; i < KEPT; i++)
        kept[i] = MPI_COMM_NULL;
    pause_own();
    if (world == 1)
        open_world();
    open_session();
    if (world == 2)
        open_world();
    lasting = open_another();
    ET_CHECK(session_value("mpidynres_process_id", uid), "SI4: no mpidynres_process_id");
    me = atoi(uid);
    own_random = seed * 40503u + (unsigned) me * 2654435761u;
    has_stranger = (int) et_number(argc, argv, "stranger", 0);
    if (has_stranger)
        ET_CHECK(!pthread_create(&stranger, NULL, be_strange, NULL), "no thread");
    if (is_joiner(delta))
        begin_joining(delta);
    else
        begin_launched(seed);
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
    ET_MPI(MPI_Barrier(comm));
    finish();
    if (rank == 0)
        et_say("PASS session_random");
    return 0;
}
