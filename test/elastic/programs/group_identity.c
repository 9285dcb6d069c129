/*
 * A group names processes, not their slots: a process that joins, or is spawned, is never taken for
 * one that was in an older group.  C2, C9.  The groups of all worlds (and, with --case spawn, of
 * all that was spawned, of what was disconnected since too) are stored, and each two are compared
 * with a model: lists of processes, by host and number.
 */

#include "elastic_test.h"

#define GROUPS 24
#define MEMBERS 24

static struct group {
    MPI_Group group;
    et_identity members[MEMBERS];
    int size;
} groups[GROUPS];
static int n_groups;

static void keep(MPI_Group group, const et_identity * members, int size)
{
    ET_CHECK(n_groups < GROUPS && size <= MEMBERS, "%d groups, %d members", n_groups, size);
    struct group *saved = &groups[n_groups++];
    *saved = (struct group) {.group = group,.size = size };
    memcpy(saved->members, members, size * sizeof(et_identity));
}

/* ---- the model ------------------------------------------------------------------------------- */

static int rank_in(const struct group *group, et_identity who)
{
    for (int i = 0; i < group->size; i++) {
        if (group->members[i] == who)
            return i;
    }
    return MPI_UNDEFINED;
}

static struct group select_members(const struct group *a, const struct group *b, int common)
{
    struct group result = {.size = 0 };

    for (int i = 0; i < a->size; i++) {
        if ((rank_in(b, a->members[i]) != MPI_UNDEFINED) == common)
            result.members[result.size++] = a->members[i];
    }
    return result;
}

static struct group unite(const struct group *a, const struct group *b)
{
    struct group result = *a, rest = select_members(b, a, 0);

    ET_CHECK(a->size + rest.size <= MEMBERS, "a union of %d", a->size + rest.size);
    memcpy(result.members + a->size, rest.members, rest.size * sizeof(et_identity));
    result.size += rest.size;
    return result;
}

static int comparison(const struct group *a, const struct group *b)
{
    if (a->size != b->size || select_members(a, b, 1).size != a->size)
        return MPI_UNEQUAL;
    return memcmp(a->members, b->members,
                  a->size * sizeof(et_identity)) == 0 ? MPI_IDENT : MPI_SIMILAR;
}

/* ---- MPI's answers --------------------------------------------------------------------------- */

static void check_translation(MPI_Group group, const struct group *expected,
                              const struct group *other, const char *what)
{
    int ranks[MEMBERS], translated[MEMBERS];

    for (int i = 0; i < expected->size; i++)
        ranks[i] = i;
    ET_MPI(MPI_Group_translate_ranks(group, expected->size, ranks, other->group, translated));
    for (int i = 0; i < expected->size; i++) {
        int rank = rank_in(other, expected->members[i]);
        ET_CHECK(translated[i] == rank, "%s: rank %d is %d in the other group, not %d", what, i,
                 translated[i], rank);
    }
}

/* Takes the group. */
static void check(MPI_Group group, struct group expected, const struct group *a,
                  const struct group *b, const char *what)
{
    int size, rank;

    ET_MPI(MPI_Group_size(group, &size));
    ET_CHECK(size == expected.size, "%s: groups %d and %d: size %d, not %d", what,
             (int) (a - groups), (int) (b - groups), size, expected.size);
    ET_MPI(MPI_Group_rank(group, &rank));
    ET_CHECK(rank == rank_in(&expected, et_who()), "%s: groups %d and %d: my rank is %d", what,
             (int) (a - groups), (int) (b - groups), rank);
    check_translation(group, &expected, a, what);
    check_translation(group, &expected, b, what);
    if (group != MPI_GROUP_EMPTY)
        ET_MPI(MPI_Group_free(&group));
}

static void check_pair(const struct group *a, const struct group *b)
{
    MPI_Group result;
    int compared;

    ET_MPI(MPI_Group_intersection(a->group, b->group, &result));
    check(result, select_members(a, b, 1), a, b, "intersection");
    ET_MPI(MPI_Group_difference(a->group, b->group, &result));
    check(result, select_members(a, b, 0), a, b, "difference");
    ET_MPI(MPI_Group_union(a->group, b->group, &result));
    check(result, unite(a, b), a, b, "union");
    check_translation(a->group, a, b, "translation");
    ET_MPI(MPI_Group_compare(a->group, b->group, &compared));
    ET_CHECK(compared == comparison(a, b), "groups %d and %d compare as %d, not %d",
             (int) (a - groups), (int) (b - groups), compared, comparison(a, b));
}

static void check_all(void)
{
    for (int i = 0; i < n_groups; i++) {
        for (int j = 0; j < n_groups; j++)
            check_pair(&groups[i], &groups[j]);
    }
}

/* By all members of the world, of which each has its group last. */
static void create(void)
{
    const struct group *world = &groups[n_groups - 1];
    MPI_Comm comm;

    ET_MPI(MPI_Comm_create_group(MPI_COMM_WORLD, world->group, 1, &comm));
    et_exercise(comm, "a communicator of the world's group");
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Comm_create(MPI_COMM_WORLD, world->group, &comm));
    ET_MPI(MPI_Comm_free(&comm));
}

/* A process that has left, or was spawned, is in no communicator of this process alone. */
static void create_wrong(void)
{
    MPI_Comm comm;
    const struct group self = {.members = {et_who()},.size = 1 };

    for (int i = 0; i < n_groups; i++) {
        if (select_members(&groups[i], &self, 0).size > 0)
            ET_ERROR(MPI_Comm_create(MPI_COMM_SELF, groups[i].group, &comm), MPI_ERR_GROUP, NULL);
    }
}

/* ---- worlds that adapt ----------------------------------------------------------------------- */

static void keep_world(void)
{
    MPI_Group group;
    et_identity me = et_who(), members[MEMBERS];

    ET_CHECK(et.size <= MEMBERS, "a world of %d", et.size);
    ET_MPI(MPI_Allgather(&me, 1, MPI_UINT64_T, members, 1, MPI_UINT64_T, MPI_COMM_WORLD));
    ET_MPI(MPI_Comm_group(MPI_COMM_WORLD, &group));
    keep(group, members, et.size);
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    check_all();
    create();
    create_wrong();
}

/* The next world's group, as begin returns it: it is the later world's. */
static void window(void)
{
    MPI_Group group;

    if (et.next == MPI_COMM_NULL)
        return;
    ET_MPI(MPI_Comm_group(et.next, &group));
    keep(group, et.order, et.staying + et.joining);
    check_all();
}

static void after(void)
{
    keep_world();
    ET_CHECK(comparison(&groups[n_groups - 1], &groups[n_groups - 2]) == MPI_IDENT,
             "the new world is not what begin gave");
}

/* ---- processes that are spawned -------------------------------------------------------------- */

static int child(MPI_Comm parent)
{
    et_identity me = et_who();

    ET_MPI(MPI_Gather(&me, 1, MPI_UINT64_T, NULL, 0, MPI_UINT64_T, 0, parent));
    ET_MPI(MPI_Comm_disconnect(&parent));
    ET_MPI(MPI_Finalize());
    return 0;
}

static void spawn(char *program, int count)
{
    char *arguments[] = { "--child", "1", NULL };
    et_identity members[MEMBERS];
    MPI_Comm inter;
    MPI_Group group;

    ET_MPI(MPI_Comm_spawn(program, arguments, count, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                          MPI_ERRCODES_IGNORE));
    ET_MPI(MPI_Gather(NULL, 0, MPI_UINT64_T, members, 1, MPI_UINT64_T,
                      et.rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
    ET_MPI(MPI_Bcast(members, count, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    ET_MPI(MPI_Comm_remote_group(inter, &group));
    keep(group, members, count);
    check_all();
    ET_MPI(MPI_Comm_disconnect(&inter));
    check_all();
}

static int spawn_all(char *program)
{
    et_world_changed();
    keep_world();
    for (int i = 0; i < 4; i++)
        spawn(program, 1 + i % 2 * 2);
    for (int i = 0; i < n_groups; i++)
        ET_MPI(MPI_Group_free(&groups[i].group));
    if (et.rank == 0)
        et_log("PASS group_identity\n");
    ET_MPI(MPI_Finalize());
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Comm parent;

    if (et_argument(argc, argv, "child", NULL)) {
        ET_MPI(MPI_Init(&argc, &argv));
        ET_MPI(MPI_Comm_get_parent(&parent));
        return child(parent);
    }
    if (strcmp(et_argument(argc, argv, "case", "worlds"), "spawn") == 0) {
        ET_MPI(MPI_Init(&argc, &argv));
        return spawn_all(argv[0]);
    }
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_NEW)
        keep_world();
    et.window = window;
    et.after = after;
    et_loop();
    for (int i = 0; i < n_groups; i++)
        ET_MPI(MPI_Group_free(&groups[i].group));
    return et_finish();
}
