/*
 * Process sets that programs make: SN3, SN6, SO1-SO3, SO5, SO7, SO8, SI1-SI3, SI5, SI6, SD1-SD3,
 * SE1.  One process makes, moves and frees them, all query.  --world 1: beside MPI_COMM_WORLD.  Run
 * by 4 processes.
 */

#include "elastic_test.h"

#define NAMES 8
#define BIG_KEYS 60
#define REQUESTS 32
#define BIG_BYTES 1000

static MPI_Session session;
static MPI_Comm all;            /* from mpi://WORLD, to pass names on */
static int rank;

typedef char pset_name[MPI_MAX_PSET_NAME_LEN];

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, key, value));
    return info;
}

static void check_value(MPI_Info info, const char *key, const char *expected)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag;

    ET_MPI(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag));
    ET_CHECK(flag == (expected != NULL), "key %s is %s there", key, flag ? "" : "not");
    ET_CHECK(!expected || !strcmp(value, expected), "%s is %s, not %s", key, value, expected);
}

/* One process has it, all get it. */
static void share(pset_name name, int root)
{
    ET_MPI(MPI_Bcast(name, MPI_MAX_PSET_NAME_LEN, MPI_CHAR, root, all));
}

/* The members are these ranks in this order. */
static void check_members(const char *name, int size, const int *ranks)
{
    MPI_Group group, world;
    int found, of_group[16], of_world[16], included, primary, running;

    ET_MPI(MPI_Group_from_session_pset(session, name, &group));
    ET_MPI(MPI_Comm_group(all, &world));
    ET_MPI(MPI_Group_size(group, &found));
    ET_CHECK(found == size, "%s has %d members, not %d", name, found, size);
    for (int i = 0; i < size; i++)
        of_group[i] = i;
    ET_MPI(MPI_Group_translate_ranks(group, size, of_group, world, of_world));
    int mine = 0;
    for (int i = 0; i < size; i++) {
        ET_CHECK(of_world[i] == ranks[i], "member %d of %s is rank %d, not %d", i, name,
                 of_world[i], ranks[i]);
        mine = mine || ranks[i] == rank;
    }
    ET_MPI(MPIX_Session_pset_included(session, name, &included));
    ET_CHECK(included == mine, "included in %s: %d", name, included);
    ET_MPI(MPIX_Session_get_primary_process(session, name, &primary));
    ET_CHECK(primary == (ranks[0] == rank), "primary of %s: %d", name, primary);
    ET_MPI(MPIX_Session_pset_exists(session, name, &running, NULL));
    ET_CHECK(running == 1, "%s is not running", name);
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Group_free(&world));
}

/* Its communicator is an ordinary one (SI9). */
static void use_set(const char *name)
{
    MPI_Group group;
    MPI_Comm comm;
    int size, sum, one = 1;

    ET_MPI(MPI_Group_from_session_pset(session, name, &group));
    ET_MPI(MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    ET_CHECK(sum == size, "%d of %d processes of %s", sum, size, name);
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Group_free(&group));
}

/* By one process, sent to all; the operation's name as in libmpidynres. */
static void make(int root, int op, const char *const *input, int n, const char *proposed,
                 pset_name name)
{
    MPI_Info info = proposed ? info_of("mpix_name", proposed) : MPI_INFO_NULL;
    int noutput = 1;

    if (rank == root) {
        ET_MPI(MPIX_Session_pset_op(session, op, input, n, info, (pset_name *) name, &noutput));
        ET_CHECK(noutput == 1, "%d outputs", noutput);
    }
    if (info != MPI_INFO_NULL)
        ET_MPI(MPI_Info_free(&info));
    share(name, root);
}

static void make_from_ranks(int root, int n, const int *ranks, const char *proposed, pset_name name)
{
    MPI_Group world, group;
    MPI_Info info = proposed ? info_of("mpidynres_proposed_name", proposed) : MPI_INFO_NULL;

    ET_MPI(MPI_Comm_group(all, &world));
    ET_MPI(MPI_Group_incl(world, n, ranks, &group));
    if (rank == root)
        ET_MPI(MPIX_Session_pset_from_group(session, group, info, name));
    if (info != MPI_INFO_NULL)
        ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Group_free(&world));
    share(name, root);
}

static void check_algebra(void)
{
    pset_name odd, rest, joined, common, taken, parts[3];
    const char *operands[3] = { "mpi://WORLD", odd, rest };
    int noutput = 3;

    make_from_ranks(2, 2, (const int[]) {3, 1}, "app://odd", odd);
    ET_CHECK(!strcmp(odd, "app://odd"), "SN6: %s", odd);
    check_members(odd, 2, (const int[]) {3, 1});
    if (rank % 2)
        use_set(odd);

    make(1, MPIX_PSETOP_DIFFERENCE, operands, 2, NULL, rest);
    ET_CHECK(!strcmp(rest, "mpix://op/1.1"), "SN3: %s", rest);
    check_members(rest, 2, (const int[]) {0, 2});
    check_members("mpidynres://op_1.1", 2, (const int[]) {0, 2});
    make(3, MPIX_PSETOP_UNION, operands + 1, 2, "app://odd", joined);
    ET_CHECK(!strcmp(joined, "mpix://op/3.1"), "SN6: a name that is in use was given: %s", joined);
    check_members(joined, 4, (const int[]) {3, 1, 0, 2});
    use_set(joined);
    operands[2] = joined;
    make(0, MPIX_PSETOP_INTERSECTION, operands, 3, NULL, common);
    check_members(common, 2, (const int[]) {1, 3});
    operands[0] = odd;
    make(0, MPIX_PSETOP_DIFFERENCE, operands, 3, NULL, taken);
    ET_CHECK(!taken[0], "SN7: an empty result is called %s", taken);

    if (rank == 0) {
        MPI_Info sizes = info_of("mpi_part_sizes", "1,0,3");
        const char *whole = joined;
        ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_SPLIT, &whole, 1, sizes, parts, &noutput));
        ET_CHECK(noutput == 3 && !parts[1][0], "%d parts, the second is '%s'", noutput, parts[1]);
        ET_MPI(MPI_Info_free(&sizes));
    }
    share(parts[0], 0);
    share(parts[2], 0);
    check_members(parts[0], 1, (const int[]) {3});
    check_members(parts[2], 3, (const int[]) {1, 0, 2});
}

static void check_described(void)
{
    MPI_Info info;
    char size[16];
    int flag, dynamic, running;
    pset_name name;

    ET_MPI(MPI_Session_get_pset_info(session, "mpix://op/1.1", &info));
    check_value(info, "mpi_size", "2");
    check_value(info, "mpi_included", rank % 2 ? "False" : "True");
    check_value(info, "mpi_primary", rank == 0 ? "True" : "False");
    check_value(info, "mpi_dyn", "False");
    check_value(info, "mpidynres_op", "difference");
    check_value(info, "mpidynres_op_parent1", "mpi://WORLD");
    check_value(info, "mpidynres_op_parent2", "app://odd");
    check_value(info, "mpix_state", "running");
    ET_MPI(MPI_Info_free(&info));

    ET_MPI(MPIX_Session_get_psets(session, MPI_INFO_NULL, &info));
    ET_MPI(MPI_Info_get(info, "app://odd", 15, size, &flag));
    ET_CHECK(flag == rank % 2, "SI2: app://odd is %s listed", flag ? "" : "not");
    check_value(info, "mpi://WORLD", "4");
    ET_MPI(MPI_Info_free(&info));

    ET_MPI(MPIX_Session_get_default_pset(session, name, &dynamic));
    ET_CHECK(!strcmp(name, "mpi://WORLD") && dynamic == 0, "SI5: %s, %d", name, dynamic);
    ET_MPI(MPIX_Session_pset_exists(session, "app://nobody", &running, &info));
    ET_CHECK(running == 0 && info == MPI_INFO_NULL, "SI6: app://nobody is there");
    ET_MPI(MPIX_Session_pset_exists(session, "app://odd", &running, &info));
    check_value(info, "mpidynres_name", "app://odd");
    ET_MPI(MPI_Info_free(&info));
}

static int count_listed(void)
{
    int n;

    ET_MPI(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    return n;
}

static void nth(int n, pset_name name)
{
    int bytes = MPI_MAX_PSET_NAME_LEN;

    ET_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &bytes, name));
}

/* SI1, SO7, SO8 */
static void check_moved_and_freed(void)
{
    static const int three[] = { 0, 1, 2 };
    pset_name next, name;
    int before, after;
    MPI_Group group;

    ET_MPI(MPI_Barrier(all));
    before = count_listed();
    ET_MPI(MPI_Barrier(all));
    make_from_ranks(0, 3, three, NULL, next);
    ET_MPI(MPI_Barrier(all));
    after = count_listed();
    ET_CHECK(after == before + (rank < 3), "SI1: %d sets, and then %d", before, after);
    if (rank < 3) {
        nth(before, name);
        ET_CHECK(!strcmp(name, next), "SI1: set %d is %s", before, name);
    }
    ET_MPI(MPI_Barrier(all));
    if (rank == 1)
        ET_MPI(MPIX_Session_pset_move(session, next, "app://odd"));
    ET_MPI(MPI_Barrier(all));
    check_members("app://odd", 3, three);
    ET_ERROR(MPI_Group_from_session_pset(session, next, &group), MPI_ERR_ARG, "no process set");
    ET_MPI(MPI_Barrier(all));
    if (rank == 3) {            /* any process */
        ET_MPI(MPIX_Session_pset_free(session, "app://odd"));
        ET_ERROR(MPIX_Session_pset_free(session, "app://odd"), MPI_ERR_ARG, "no process set");
        ET_ERROR(MPIX_Session_pset_free(session, "mpi://WORLD"), MPI_ERR_ARG, NULL);
        ET_ERROR(MPIX_Session_pset_move(session, "mpix://op/1.1", "mpi://WORLD"), MPI_ERR_ARG,
                 "mpi://WORLD");
    }
    ET_MPI(MPI_Barrier(all));
    ET_ERROR(MPI_Group_from_session_pset(session, "app://odd", &group), MPI_ERR_ARG, "app://odd");
    if (rank < 3) {
        nth(before, name);
        ET_CHECK(!strcmp(name, next), "SI1: set %d is %s after it has been moved", before, name);
    }
}

static void check_key(const char *coll, const char *set, const char *key, const char *expected)
{
    MPI_Info data;

    ET_MPI(MPIX_Session_get_pset_data(session, coll, set, &key, 1, 0, &data));
    check_value(data, key, expected);
    ET_MPI(MPI_Info_free(&data));
}

static void put(const char *set, const char *key, const char *value)
{
    MPI_Info data = info_of(key, value);

    ET_MPI(MPIX_Session_set_pset_data(session, set, data));
    ET_MPI(MPI_Info_free(&data));
}

/* SD2: who waits takes part in the communication of others. */
static void check_waiting(const char *set)
{
    const char *key = "late";
    static char message[1 << 20];
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Info data;

    if (rank == 0)
        ET_MPI(MPI_Irecv(message, sizeof(message), MPI_CHAR, 3, 7, all, &request));
    ET_MPI(MPI_Barrier(all));
    if (rank == 3) {
        message[sizeof(message) - 1] = 42;
        ET_MPI(MPI_Ssend(message, sizeof(message), MPI_CHAR, 0, 7, all));
        put(set, key, "here");
    }
    ET_MPI(MPIX_Session_get_pset_data(session, "mpi://WORLD", set, &key, 1, 1, &data));
    check_value(data, key, "here");
    ET_MPI(MPI_Info_free(&data));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    ET_CHECK(rank != 0 || message[sizeof(message) - 1] == 42, "the message is not whole");
}

static void check_big(const char *set)
{
    static char keys[BIG_KEYS][16], value[BIG_BYTES + 1];
    const char *names[BIG_KEYS];
    MPI_Info data;

    memset(value, 'x', BIG_BYTES);
    for (int i = 0; i < BIG_KEYS; i++) {
        snprintf(keys[i], sizeof(keys[i]), "big%d", i);
        names[i] = keys[i];
    }
    if (rank == 2) {
        MPI_Info big = info_of(keys[0], value);
        for (int i = 1; i < BIG_KEYS; i++)
            ET_MPI(MPI_Info_set(big, keys[i], value));
        ET_MPI(MPIX_Session_set_pset_data(session, set, big));
        for (int i = 0; i < BIG_KEYS; i++) {
            snprintf(keys[i], sizeof(keys[i]), "more%d", i);
            ET_MPI(MPI_Info_set(big, keys[i], value));
        }
        ET_ERROR(MPIX_Session_set_pset_data(session, set, big), MPI_ERR_NO_MEM, "bytes of data");
        ET_MPI(MPI_Info_free(&big));
        for (int i = 0; i < BIG_KEYS; i++)
            snprintf(keys[i], sizeof(keys[i]), "big%d", i);
    }
    ET_MPI(MPIX_Session_get_pset_data(session, "mpi://world", set, names, BIG_KEYS, 1, &data));
    for (int i = 0; i < BIG_KEYS; i++)
        check_value(data, keys[i], value);
    ET_MPI(MPI_Info_free(&data));
}

/* Operations without an object, and of requests. */
static void return_errors(void)
{
    int initialized;

    ET_MPI(MPI_Initialized(&initialized));
    ET_MPI(MPI_Comm_set_errhandler(initialized ? MPI_COMM_WORLD : MPI_COMM_SELF,
                                   MPI_ERRORS_RETURN));
}

static MPI_Request iget(const char *coll, const char *set, const char *key, int wait,
                        MPI_Info * data)
{
    MPI_Request request;

    ET_MPI(MPIX_Session_iget_pset_data(session, coll, set, &key, 1, wait, data, &request));
    return request;
}

/* SD2, while the program goes on: in the rounds of the blocking call, and completed in any
 * order. */
static void check_requests(const char *set)
{
    MPI_Info early, late, much[REQUESTS + 1];
    MPI_Request requests[REQUESTS + 1];
    const char *key = "never";
    int flag;

    requests[0] = iget("mpi://WORLD", set, "after all", 1, &late);
    ET_MPI(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
    ET_CHECK(!flag && late == MPI_INFO_NULL, "SD2: there is data that nobody has written");
    requests[1] = iget("mpi://WORLD", set, "colour", 0, &early);
    ET_MPI(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    check_value(early, "colour", "blue");
    ET_MPI(MPI_Info_free(&early));
    check_key("mpi://WORLD", set, "colour", "blue");
    ET_MPI(MPI_Barrier(all));
    if (rank == 1)
        put(set, "after all", "here");
    ET_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    check_value(late, "after all", "here");
    ET_MPI(MPI_Info_free(&late));

    for (int i = 0; i < REQUESTS; i++)
        requests[i] = iget("mpi://SELF", set, rank == 0 ? "the last" : "colour", 1, &much[i]);
    if (rank == 0) {
        ET_ERROR(MPIX_Session_iget_pset_data(session, "mpi://SELF", set, &key, 1, 1, &late,
                                             &requests[REQUESTS]),
                 MPI_ERR_NO_MEM, "requests");
        put(set, "the last", "here");
    }
    ET_MPI(MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < REQUESTS; i++)
        ET_MPI(MPI_Info_free(&much[i]));
    ET_ERROR(MPIX_Session_iget_pset_data(session, "app://nobody", set, &key, 1, 0, &late, NULL),
             MPI_ERR_ARG, NULL);
    return_errors();
    requests[0] = iget("mpi://SELF", "app://nobody", "key", 0, &late);
    ET_ERROR(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_ARG, "app://nobody");
    ET_MPI(MPI_Barrier(all));
}

static void check_data(void)
{
    pset_name set;

    make_from_ranks(0, 2, (const int[]) {0, 1}, NULL, set);
    if (rank == 2) {            /* any process */
        put(set, "colour", "red");
        put(set, "colour", "blue");
        put("mpi://WORLD", "colour", "green");
    }
    ET_MPI(MPI_Barrier(all));
    check_key("mpi://WORLD", set, "colour", "blue");
    check_key("mpi://SELF", "MPI://WORLD", "colour", "green");
    check_key("mpi://SELF", set, "no such key", NULL);
    if (rank < 2)
        check_key(set, set, "colour", "blue");
    check_waiting(set);
    check_requests(set);
    check_big(set);
}

/* SE1, SO5 */
static void check_refused(void)
{
    pset_name name = "untouched", names[2];
    const char *unknown[] = { "mpi://WORLD", "app://nobody" }, *world = "mpi://WORLD";
    int noutput = 1, two = 2, flag;
    MPI_Session closed, copy;
    MPI_Info sizes = info_of("mpi_part_sizes", "3,2"), data = info_of("key", "value");

    ET_ERROR(MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, unknown, 2, MPI_INFO_NULL, &name,
                                  &noutput),
             MPI_ERR_ARG, "app://nobody");
    ET_CHECK(!name[0], "SO5: the name is %s", name);
    ET_ERROR(MPIX_Session_pset_op(session, MPIX_PSETOP_GROW, unknown, 1, MPI_INFO_NULL, &name,
                                  &noutput),
             MPI_ERR_ARG, "array holds");
    ET_ERROR(MPIX_Session_pset_op(session, MPIX_PSETOP_ADD, unknown, 1, MPI_INFO_NULL, &name,
                                  &noutput),
             MPI_ERR_INFO_NOKEY, "mpi_num_procs_add");
    ET_ERROR(MPIX_Session_pset_op(session, 11, unknown, 1, MPI_INFO_NULL, &name, &noutput),
             MPI_ERR_ARG, "11");
    ET_ERROR(MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, unknown, 0, MPI_INFO_NULL, &name,
                                  &noutput),
             MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_pset_op(session, MPIX_PSETOP_SPLIT, &world, 1, sizes, names, &two),
             MPI_ERR_ARG, "5");
    ET_ERROR(MPIX_Session_pset_op(session, MPIX_PSETOP_SPLIT, &world, 1, sizes, &name, &noutput),
             MPI_ERR_ARG, "array holds");
    ET_ERROR(MPIX_Session_pset_op(session, MPIX_PSETOP_SPLIT, &world, 1, data, &name, &noutput),
             MPI_ERR_INFO_NOKEY, "mpi_part_sizes");
    ET_MPI(MPI_Info_set(sizes, "mpi_part_sizes", "2,two"));
    ET_ERROR(MPIX_Session_pset_op(session, MPIX_PSETOP_SPLIT, &world, 1, sizes, names, &two),
             MPI_ERR_INFO_VALUE, "2,two");
    ET_ERROR(MPIX_Session_set_pset_data(session, "mpi://SELF", data), MPI_ERR_ARG, "no data");
    ET_ERROR(MPIX_Session_set_pset_data(session, "app://nobody", data), MPI_ERR_ARG,
             "app://nobody");
    ET_ERROR(MPIX_Session_pset_free(session, ""), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_pset_included(session, "app://nobody", &flag), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_pset_included(session, NULL, &flag), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_pset_included(session, "mpi://WORLD", NULL), MPI_ERR_ARG, NULL);

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &closed));
    copy = closed;
    ET_MPI(MPI_Session_finalize(&closed));
    return_errors();
    ET_ERROR(MPIX_Session_pset_included(copy, "mpi://WORLD", &flag), MPI_ERR_SESSION, NULL);
    ET_MPI(MPI_Info_free(&sizes));
    ET_MPI(MPI_Info_free(&data));
}

int main(int argc, char **argv)
{
    int world = (int) et_number(argc, argv, "world", 0);
    MPI_Group group;

    if (world)
        ET_MPI(MPI_Init(&argc, &argv));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    ET_MPI(MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Comm_rank(all, &rank));

    check_algebra();
    check_described();
    check_moved_and_freed();
    check_data();
    check_refused();

    ET_MPI(MPI_Barrier(all));
    ET_MPI(MPI_Comm_free(&all));
    ET_MPI(MPI_Session_finalize(&session));
    if (world)
        ET_MPI(MPI_Finalize());
    if (rank == 0)
        et_log("PASS session_named");
    return 0;
}
