/*
 * The MPI_T performance variables of adaptations and their control variables
 * (doc/user/variables.md): what a tool reads agrees with what the program has seen.  With
 * --oversubscribe 1 all processes run on one processor, and progress_yield follows the number of
 * processes; --yield N states what it must be in any case.
 */

#define _GNU_SOURCE
#include "elastic_test.h"
#include <sched.h>
#include <unistd.h>

static MPI_T_pvar_session session;
static int oversubscribe, yield, joined;
static double total;

/* The first processor of those that the process may run on. */
static void bind_to_one(void)
{
    cpu_set_t mine, one;

    CPU_ZERO(&mine);
    ET_CHECK(sched_getaffinity(0, sizeof(mine), &mine) == 0, "sched_getaffinity fails");
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &mine)) {
            CPU_SET(i, &one);
            break;
        }
    }
    ET_CHECK(sched_setaffinity(0, sizeof(one), &one) == 0, "sched_setaffinity fails");
}

/* A counter counts from the allocation of its handle on, so the handles live as long as the
 * session. */
static struct {
    const char *name;
    int class;
    MPI_T_pvar_handle handle;
} variables[] = {
    {"adapt_adaptations", MPI_T_PVAR_CLASS_COUNTER},
    {"adapt_probe_count", MPI_T_PVAR_CLASS_LEVEL},
    {"adapt_standstill_last", MPI_T_PVAR_CLASS_LEVEL},
    {"adapt_standstill_max", MPI_T_PVAR_CLASS_LEVEL},
    {"adapt_standstill_total", MPI_T_PVAR_CLASS_AGGREGATE},
    {"adapt_joining_wait", MPI_T_PVAR_CLASS_LEVEL},
    {"progress_yield", MPI_T_PVAR_CLASS_LEVEL},
};

#define N_VARIABLES (sizeof(variables) / sizeof(variables[0]))

static void open_variables(void)
{
    int provided, index, count;

    ET_CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS, "no MPI_T");
    ET_CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS, "no session");
    for (size_t i = 0; i < N_VARIABLES; i++) {
        const char *name = variables[i].name;
        ET_CHECK(MPI_T_pvar_get_index(name, variables[i].class, &index) == MPI_SUCCESS,
                 "no variable %s", name);
        ET_CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &variables[i].handle, &count) ==
                 MPI_SUCCESS && count == 1, "no handle for %s", name);
    }
}

static void read_pvar(const char *name, void *value, int bytes)
{
    unsigned long long buffer;

    for (size_t i = 0; i < N_VARIABLES; i++) {
        if (strcmp(variables[i].name, name) == 0)
            ET_CHECK(MPI_T_pvar_read(session, variables[i].handle, &buffer) == MPI_SUCCESS,
                     "%s cannot be read", name);
    }
    memcpy(value, &buffer, bytes);
}

static double seconds(const char *name)
{
    double value;
    read_pvar(name, &value, sizeof(value));
    return value;
}

static unsigned long long number(const char *name)
{
    unsigned long long value;
    read_pvar(name, &value, sizeof(value));
    return value;
}

static void check_yield(void)
{
    unsigned value;
    int expected = yield >= 0 ? yield : et.size > 1;

    read_pvar("progress_yield", &value, sizeof(value));
    if (oversubscribe || yield >= 0)
        ET_CHECK((int) value == expected, "progress_yield is %u with %d processes", value, et.size);
}

static int commits;

static void check_after(void)
{
    double last = seconds("adapt_standstill_last");
    double max = seconds("adapt_standstill_max");

    commits++;
    total += last;
    ET_CHECK(number("adapt_probe_count") == 0, "probes after a commit");
    ET_CHECK(last > 0 && max >= last, "standstill %g, maximum %g", last, max);
    double sum = seconds("adapt_standstill_total");
    ET_CHECK(sum > 0.999 * total && sum < 1.001 * total, "total %g, not %g", sum, total);
    unsigned long long n = number("adapt_adaptations");
    ET_CHECK(n == (unsigned long long) commits, "%llu adaptations, not %d", n, commits);
    double wait = seconds("adapt_joining_wait");
    ET_CHECK(wait >= 0 && (wait > 0) == joined, "joining wait %g", wait);
    check_yield();
}

int main(int argc, char **argv)
{
    oversubscribe = atoi(et_argument(argc, argv, "oversubscribe", "0"));
    yield = atoi(et_argument(argc, argv, "yield", "-1"));
    if (oversubscribe)
        bind_to_one();
    et_init(&argc, &argv);
    open_variables();
    joined = et.status == MPI_ADAPT_STATUS_JOINING;
    if (!joined)
        check_yield();
    et.after = check_after;
    return et_run();
}
