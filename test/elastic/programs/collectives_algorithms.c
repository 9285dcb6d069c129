/*
 * Every collective by every algorithm that a control variable selects.  The tool interface lists
 * the variables (MPIR_CVAR_*_ALGORITHM) and their descriptions the values, so a new algorithm is
 * tried as soon as it is there.  Blocking, nonblocking and persistent calls (the latter started
 * five times), data changed each time, on communicators of one process to all and between two
 * groups, in place, with blocks of different lengths, with a type that has a gap, with a reduction
 * that does not commute, with roots at both ends.
 *
 * --case intra | inter | neighbors | device;  --large COUNT: elements of the longer messages;
 * --only PART of a variable's name;  --form persistent: these calls alone;  --least MEMBERS of a
 * communicator;  --log 1: each value
 */

#include "collectives_calls.h"

/* ---- the variables --------------------------------------------------------------------------- */

static struct variable {
    char name[200];
    int index, values;
    enum call call;
    int nonblocking;
} *variables;
static int n_variables;
static const char *only_form;   /* or NULL */

static int ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Whether a name is that of a collective, a suffix behind it. */
static int finds_call(const char *name, const char *suffix, enum call *call)
{
    for (enum call each = BARRIER; each < CALLS; each++) {
        const size_t length = strlen(names[each]);
        if (strncmp(name, names[each], length) == 0 && strcmp(name + length, suffix) == 0) {
            *call = each;
            return 1;
        }
    }
    return 0;
}

/* A description names each value and explains it behind a dash. */
static int count_values(const char *description)
{
    int n = 0;

    while ((description = strstr(description, " - "))) {
        description += 3;
        n++;
    }
    return n;
}

static int is_of_case(const char *name, const char *suffix, struct variable *variable)
{
    static const char prefix[] = "MPIR_CVAR_";

    if (strncmp(name, prefix, strlen(prefix)) != 0 || !ends_with(name, suffix))
        return 0;
    name += strlen(prefix);
    variable->nonblocking = 0;
    if (finds_call(name, suffix, &variable->call))
        return 1;
    variable->nonblocking = 1;
    return name[0] == 'I' && finds_call(name + 1, suffix, &variable->call);
}

static void list_variables(const char *suffix, int neighbors, const char *only)
{
    int n, verbosity, bind, scope;
    char description[4000];
    MPI_Datatype datatype;
    MPI_T_enum enumeration;

    ET_MPI(MPI_T_cvar_get_num(&n));
    variables = calloc((size_t) n, sizeof(*variables));
    ET_CHECK(variables, "no memory");
    for (int i = 0; i < n; i++) {
        struct variable *variable = &variables[n_variables];
        int length = sizeof(variable->name), description_length = sizeof(description);
        if (MPI_T_cvar_get_info(i, variable->name, &length, &verbosity, &datatype, &enumeration,
                                description, &description_length, &bind, &scope) != MPI_SUCCESS)
            continue;
        if (!is_of_case(variable->name, suffix, variable) || (only && !strstr(variable->name, only))
            || (variable->call >= NEIGHBOR_ALLGATHER) != neighbors)
            continue;
        variable->index = i;
        variable->values = count_values(description);
        ET_CHECK(datatype == MPI_INT &&
                 variable->values > 0, "%s: the description names no values: %s", variable->name,
                 description);
        n_variables++;
    }
}

static int handle_variable(const struct variable *variable, int value, int writes)
{
    MPI_T_cvar_handle handle;
    int n;

    ET_MPI(MPI_T_cvar_handle_alloc(variable->index, NULL, &handle, &n));
    if (writes)
        ET_MPI(MPI_T_cvar_write(handle, &value));
    else
        ET_MPI(MPI_T_cvar_read(handle, &value));
    ET_MPI(MPI_T_cvar_handle_free(&handle));
    return value;
}

static void try_variable(const struct variable *variable, int logs)
{
    const int before = handle_variable(variable, 0, 0);

    for (int value = 0; value < variable->values; value++) {
        handle_variable(variable, value, 1);
        for (enum form each = BLOCKING; each <= PERSISTENT; each++) {
            if (variable->nonblocking != (each != BLOCKING) ||
                (only_form && strcmp(only_form, form_names[each]) != 0))
                continue;
            snprintf(what, sizeof(what), "%s value %d, %s", variable->name, value,
                     form_names[each]);
            if (logs && rank == 0)
                et_log("%s on %d processes", what, n_local + (is_inter ? n_remote : 0));
            in_all_ways(variable->call, each);
        }
    }
    handle_variable(variable, before, 1);
}

/* ---- communicators --------------------------------------------------------------------------- */

static void try_all(int logs)
{
    round_number = 0;
    for (int i = 0; i < n_variables; i++)
        try_variable(&variables[i], logs);
    ET_MPI(MPI_Comm_free(&comm));
}

static void try_groups(int first, int second, int logs)
{
    MPI_Comm local;
    const int in_first = et.rank < first;

    ET_MPI(MPI_Comm_split(MPI_COMM_WORLD, et.rank < first + second ? in_first : MPI_UNDEFINED,
                          et.rank, &local));
    if (local == MPI_COMM_NULL)
        return;
    ET_MPI(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, in_first ? first : 0, 0, &comm));
    ET_MPI(MPI_Comm_free(&local));
    local_first = in_first ? 0 : first;
    n_local = in_first ? first : second;
    remote_first = in_first ? first : 0;
    n_remote = in_first ? second : first;
    rank = et.rank - local_first;
    try_all(logs);
}

static void try_members(int members, int neighbors, int logs)
{
    MPI_Comm plain;

    ET_MPI(MPI_Comm_split(MPI_COMM_WORLD, et.rank < members ? 0 : MPI_UNDEFINED, et.rank, &plain));
    if (plain == MPI_COMM_NULL)
        return;
    n_local = n_remote = members;
    rank = et.rank;
    if (neighbors) {
        const int left = (rank + members - 1) % members, right = (rank + 1) % members;
        const int sources[2] = { left, right }, destinations[2] = { right, left };
        ET_MPI(MPI_Dist_graph_create_adjacent(plain, 2, sources, MPI_UNWEIGHTED, 2, destinations,
                                              MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
        ET_MPI(MPI_Comm_free(&plain));
    } else {
        comm = plain;
    }
    try_all(logs);
}

int main(int argc, char **argv)
{
    const char *which = et_argument(argc, argv, "case", "intra"), *only =
        et_argument(argc, argv, "only", NULL);
    const int logs = (int) et_number(argc, argv, "log", 0), least =
        (int) et_number(argc, argv, "least", 1);
    const int neighbors = strcmp(which, "neighbors") == 0;
    size_t ints;
    int provided;

    only_form = et_argument(argc, argv, "form", NULL);
    large = (int) et_number(argc, argv, "large", 300);
    ints = (size_t) large * MOST * MOST * 2;
    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    ET_CHECK(et.size <= MOST, "at most %d processes", MOST);
    ET_MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    out = malloc(ints * sizeof(int));
    in = malloc(ints * sizeof(int));
    ET_CHECK(out && in, "no memory");
    ET_MPI(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &wide));
    ET_MPI(MPI_Type_commit(&wide));
    ET_MPI(MPI_Type_contiguous(2, MPI_INT, &line_type));
    ET_MPI(MPI_Type_commit(&line_type));
    ET_MPI(MPI_Op_create(compose_lines, 0, &compose));

    is_inter = strcmp(which, "inter") == 0;
    list_variables(is_inter ? "_INTER_ALGORITHM" : strcmp(which, "device") == 0
                   ? "_POSIX_INTRA_ALGORITHM" :
                   "_INTRA_ALGORITHM", neighbors, only);
    ET_CHECK(n_variables > 0, "no variable selects an algorithm");
    if (is_inter) {
        for (int first = 1; first < et.size; first++)
            try_groups(first, et.size - first, logs);
    } else {
        for (int members = least; members <= et.size; members++)
            try_members(members, neighbors, logs);
    }

    ET_MPI(MPI_Op_free(&compose));
    ET_MPI(MPI_Type_free(&line_type));
    ET_MPI(MPI_Type_free(&wide));
    free(out);
    free(in);
    free(variables);
    ET_MPI(MPI_T_finalize());
    if (et.rank == 0)
        et_log("PASS collectives_algorithms %s", which);
    ET_MPI(MPI_Finalize());
    return 0;
}
