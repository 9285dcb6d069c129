/*
 * Steps of session_random on sets: all make, free, move and read them, write and read data and
 * texts, and see that who was requested to leave has ended; SA1, SA2, SN6, SO1 to SO8, SD1, SD2,
 * SB1.
 */

#ifndef SESSION_RANDOM_SETS_H_INCLUDED
#define SESSION_RANDOM_SETS_H_INCLUDED

#include "session_random_comms.h"

/* ---- sets that go ---------------------------------------------------------------------------- */

/* As one process does, after all have ceased to read it. */
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

static void make_capacity(int n)
{
    int i = 0;

    while (model.n_sets + n > SETS)
        if (can_go(&model.sets[i]))
            free_set(i);
        else
            i++;
}

/* A set that others free or move meanwhile is unchanged, or missing. */
static void query_meanwhile(const struct known *set)
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
            error =
                MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, &operand, 1, MPI_INFO_NULL, &made,
                                     &n);
            if (error == MPI_SUCCESS)
                ET_MPI(MPIX_Session_pset_free(session, made));
            else
                ET_CHECK(!made[0], "SO5: %s", made);
    }
    if (error != MPI_SUCCESS &&
        (class_of(error) != MPI_ERR_PROC_ABORTED || fate_of(&set->members) == LIVES))
        ET_ERROR(error, MPI_ERR_ARG, NULL);
}

/* SO7: the library's own names cannot, but for those of what was made; query_change() knows deltas
 * by their names. */
static int can_move(const char *name)
{
    return strncmp(name, "mpi", 3) || !strncmp(name, "mpix://op", 9);
}

/* SA2: as many as like try it, one can, and the others query; the rank of the one.  NULL: it is
 * freed. */
static int take_away(const struct known *set, const char *to, int tries)
{
    int takes = 0, over = 0, sums[2];
    MPI_Request request;

    pause_own();
    if (tries) {
        int error = to ? MPIX_Session_pset_move(session, set->name, to)
            : MPIX_Session_pset_free(session, set->name);
        takes = error == MPI_SUCCESS;
        if (!takes)
            ET_ERROR(error, MPI_ERR_ARG, NULL);
    }
    ET_MPI(MPI_Ibarrier(comm, &request));
    while (!over) {
        query_meanwhile(set);
        ET_MPI(MPI_Test(&request, &over, MPI_STATUS_IGNORE));
    }
    check_unknown(set->name);
    const int mine[] = { takes, takes ? rank : 0 };
    ET_MPI(MPI_Allreduce(mine, sums, 2, MPI_INT, MPI_SUM, comm));
    ET_CHECK(sums[0] == 1, "SA2: %d processes have freed or moved %s", sums[0], set->name);
    return sums[1];
}

/* SO7, SO8: where all move it, each has a name of his own for it. */
static void step_take_away(void)
{
    const struct known set = model.sets[draw(model.n_sets)];
    int by_all = draw(2), who = draw(size), moves = draw(2);
    pset_name to;

    if (!can_go(&set))
        return;
    moves = moves && can_move(set.name);
    model.made_up++;
    snprintf(to, sizeof(to), "app://moved/%d/%d", model.made_up, rank);
    log_line("%s is %s, %s", set.name, moves ? "moved" : "freed", by_all ? "by all" : "by one");
    ET_MPI(MPI_Barrier(comm));
    who = take_away(&set, moves ? to : NULL, by_all || rank == who);
    drop_set(set.name);
    if (moves) {
        snprintf(to, sizeof(to), "app://moved/%d/%d", model.made_up, who);
        check_set(to, &set.members);
        add_set(to, set.members);
    }
}

/* SO7: the set of all gets a name that sets of all may have had before, and means the new one from
 * then on. */
static void step_rename(void)
{
    static const char *const to = "app://main";
    const struct list everybody = all();
    pset_name from;

    strcpy(from, model.set);
    if (strncmp(from, "mpix://op", 9))
        return;
    make_capacity(1);
    ET_MPI(MPI_Barrier(comm));
    if (rank == draw(size))
        ET_MPI(MPIX_Session_pset_move(session, from, to));
    ET_MPI(MPI_Barrier(comm));
    check_unknown(from);
    drop_set(from);
    if (find_set(to))
        drop_set(to);
    add_set(to, everybody);
    strcpy(model.set, to);
    check_set(model.set, &everybody);
}

/* ---- sets that are made ---------------------------------------------------------------------- */

/* SN6: it is given unless it is another one's, or not well-formed.  The expected name: "" if none
 * is requested. */
static MPI_Info requested_name(pset_name expected)
{
    int kind = draw(6);
    pset_name proposed;
    MPI_Info info;

    expected[0] = '\0';
    make_up("proposed", proposed);
    switch (kind) {
        case 0:
            strcpy(expected, proposed);
            break;
        case 1:
            strcpy(proposed, model.set);
            break;
        case 2:
            strcpy(proposed, "mpix://mine");
            break;
        default:
            return MPI_INFO_NULL;
    }
    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, draw(2) ? "mpix_name" : "mpidynres_proposed_name", proposed));
    return info;
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

/* A set that is known, or what is called so in the process that makes another one of it. */
static struct list draw_operand(int maker, pset_name name)
{
    switch (draw(8)) {
        case 0:
            strcpy(name, draw(2) ? "mpi://SELF" : "MPI://self");
            return (struct list) { 1, {maker} };
        case 1:
            strcpy(name, "mpi://WORLD");
            return world_of(maker);
    }
    const struct known *set = &model.sets[draw(model.n_sets)];
    strcpy(name, set->name);
    return set->members;
}

/* SO1, SO3 to SO5: one makes it, and the others are notified of its name. */
static void step_combine(void)
{
    static const int ops[] =
        { MPIX_PSETOP_UNION, MPIX_PSETOP_DIFFERENCE, MPIX_PSETOP_INTERSECTION };
    const struct list everybody = all();
    int op = ops[draw(3)], maker = draw(size), operands = 1 + draw(3), n = 1;
    pset_name names[3], made, expected;
    const char *given[] = { names[0], names[1], names[2] };

    make_capacity(1);
    struct list members = draw_operand(everybody.uids[maker], names[0]);
    for (int i = 1; i < operands; i++) {
        struct list operand = draw_operand(everybody.uids[maker], names[i]);
        if (members.n + operand.n > MEMBERS)
            operands = i;
        else
            members = combine(op, &members, &operand);
    }
    MPI_Info info = requested_name(expected);
    if (rank == maker)
        ET_MPI(MPIX_Session_pset_op(session, op, given, operands, info, &made, &n));
    if (info != MPI_INFO_NULL)
        ET_MPI(MPI_Info_free(&info));
    share(made, sizeof(made), maker);
    log_line("combined %d of %s, %s: %s", op, names[0], operands > 1 ? names[1] : "", made);
    check_made(made, &members, expected);
}

/* SO2 */
static void step_split(void)
{
    make_capacity(3);
    const struct known set = model.sets[draw(model.n_sets)];
    const char *operand = set.name;
    int maker = draw(size), n = 3, first = draw(set.members.n + 1);
    int second = draw(set.members.n - first + 1), sizes[3] =
        { first, second, set.members.n - first - second };
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
    struct list members = draw_list(&everybody);
    int maker = draw(size);
    pset_name made, expected;

    make_capacity(1);
    MPI_Info info = requested_name(expected);
    if (rank == maker) {
        MPI_Group group = group_of(&members);
        ET_MPI(MPIX_Session_pset_from_group(session, group, info, made));
        ET_MPI(MPI_Group_free(&group));
    }
    if (info != MPI_INFO_NULL)
        ET_MPI(MPI_Info_free(&info));
    share(made, sizeof(made), maker);
    check_made(made, &members, expected);
}

/* SA1: who was requested to leave has ended, when one has seen it and has notified the others. */
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

/* ---- data and texts -------------------------------------------------------------------------- */

static void write_data(const char *set, const char *key, const char *value)
{
    MPI_Info data;

    pause_own();
    ET_MPI(MPI_Info_create(&data));
    ET_MPI(MPI_Info_set(data, key, value));
    ET_MPI(MPIX_Session_set_pset_data(session, set, data));
    ET_MPI(MPI_Info_free(&data));
}

/* Waits for it.  A process that only waits together with the others first does what they do while
 * they wait. */
static void read_data(const char *set, const char *key, const char *expected, int together)
{
    const char *coll = together ? model.set : "mpi://SELF";
    pset_name value;
    MPI_Request request;
    MPI_Info data;

    if (draw_own(2)) {
        ET_MPI(MPIX_Session_iget_pset_data(session, coll, set, &key, 1, 1, &data, &request));
        use_all();
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        if (together)
            use_all();
        ET_MPI(MPIX_Session_get_pset_data(session, coll, set, &key, 1, 1, &data));
        if (!together)
            use_all();
    }
    ET_CHECK(value_of(data, key, value) && !strcmp(value, expected), "SD2: %s is '%s'", key, value);
    ET_MPI(MPI_Info_free(&data));
}

static void check_no_data(const char *set, const char *key)
{
    pset_name value;
    MPI_Info data;

    ET_MPI(MPIX_Session_get_pset_data(session, "mpi://SELF", set, &key, 1, 0, &data));
    ET_CHECK(!value_of(data, key, value), "SD2: %s is there", key);
    ET_MPI(MPI_Info_free(&data));
}

/* SD1, SD2: one writes, when it likes; the others wait, alone or all together. */
static void step_data(void)
{
    int writer = draw(size), together = draw(2);
    const struct known set = model.sets[draw(model.n_sets)];
    pset_name key, never, value;

    if (fate_of(&set.members) != LIVES)
        return;
    make_up("key", key);
    make_up("never", never);
    snprintf(value, sizeof(value), "%d", draw(1000000));
    log_line("data of %s, written by rank %d, read %s", set.name, writer,
             together ? "together" : "alone");
    if (rank == writer)
        write_data(set.name, key, value);
    read_data(set.name, key, value, together);
    check_no_data(set.name, never);
}

/* Calls until it is notified, which the first member does in the call that is given; how many these
 * were. */
static int await_text(const struct known *set, const char *text, int given)
{
    int notifies = set->members.uids[0] == me, calls = 0;
    pset_name notified = "";

    while (!notified[0]) {
        calls++;
        if (notifies && calls == given)
            strcpy(notified, text);
        if (!draw_own(10))
            pause_own();
        ET_MPI(MPIX_Session_bcast_pset_info(session, set->name, notified, sizeof(notified),
                                            notifies));
        ET_CHECK(!notified[0] || !strcmp(notified, text), "SB1: the text is %s", notified);
    }
    return calls;
}

/* SB1: all are notified in the same call. */
static void step_text(void)
{
    const struct list everybody = all();
    const struct known set = model.sets[draw(model.n_sets)];
    int given = 1 + draw(20), calls = 0, counts[MEMBERS];
    pset_name text;

    if (fate_of(&set.members) != LIVES)
        return;
    make_up("text", text);
    log_line("text for %s", set.name);
    if (holds(&set.members, me))
        calls = await_text(&set, text, given);
    ET_MPI(MPI_Allgather(&calls, 1, MPI_INT, counts, 1, MPI_INT, comm));
    for (int i = 0; i < set.members.n; i++) {
        int first = counts[index_of(&everybody, set.members.uids[0])];
        int count = counts[index_of(&everybody, set.members.uids[i])];
        ET_CHECK(count == first &&
                 count >= given, "SB1: got in call %d of uid %d, %d of uid %d, not before %d",
                 first, set.members.uids[0], count, set.members.uids[i], given);
    }
}

#endif /* SESSION_RANDOM_SETS_H_INCLUDED */
