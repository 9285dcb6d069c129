/*
 * The cost of measuring for the calls of an adaptive program: mpiexec -n P measured_calls
 * [--detect] [--ms TIME] POINT...
 *
 *   POINT: latency:BYTES   half of a ping-pong between ranks 0 and 1
 *          bcast:BYTES     MPI_Bcast from rank 0
 *          writes:SECONDS  how often rank 0 writes down its loops, for each second of a loop of
 *                          ping-pongs and probes
 *
 * Without --detect a probe follows every batch, and before the first sample so many that the loops
 * are known: then one iteration in many is measured.  With it there is one probe at the beginning
 * and no other, so that every call is measured, from SITES sites, as while loops are being
 * detected.  MPIR_CVAR_ADAPT_MEASURE=0 measures nothing: that is the reference.  Prints a line for
 * each point, as world_speed.
 */

#include "measure.h"
#include <string.h>

#ifndef MPI_ADAPT_TRUE

int main(void)
{
    fprintf(stderr, "measured_calls: this MPI has no adaptation operations\n");
    return 1;
}

#else

#define SITES 32               /* of each operation */
#define KNOWN 64                /* probes until loops are known, and the cost of measuring too */
#define TAG 7

static struct {
    int rank, bytes, detect;
    char *data;
} bench;

#define FOUR(call) call; call; call; call;
#define ALL_SITES(call) \
    FOUR(call) FOUR(call) FOUR(call) FOUR(call) FOUR(call) FOUR(call) FOUR(call) FOUR(call)

static void send_there(void)
{
    MPI_Send(bench.data, bench.bytes, MPI_BYTE, 1 - bench.rank, TAG, MPI_COMM_WORLD);
}

static void receive(void)
{
    MPI_Recv(bench.data, bench.bytes, MPI_BYTE, 1 - bench.rank, TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static inline __attribute__((always_inline)) void exchange(void)
{
    if (bench.rank == 0) {
        MPI_Send(bench.data, bench.bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        receive();
    } else if (bench.rank == 1) {
        receive();
        send_there();
    }
}

static inline __attribute__((always_inline)) void broadcast(void)
{
    MPI_Bcast(bench.data, bench.bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void probe(void)
{
    int pending, local_status;
    MPI_Probe_adapt(&pending, &local_status, NULL);
}

static void latency(const void *unused, int count)
{
    (void) unused;
    for (int i = 0; i < count; i++) {
        ALL_SITES(exchange());
    }
    if (!bench.detect)
        probe();
}

static void bcast(const void *unused, int count)
{
    (void) unused;
    for (int i = 0; i < count; i++) {
        ALL_SITES(broadcast());
    }
    if (!bench.detect)
        probe();
}

/* Of the variable of this name; it has none: 0. */
static unsigned read_variable(const char *name)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int provided, index, count;
    unsigned value = 0;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_SUCCESS &&
        MPI_T_pvar_session_create(&session) == MPI_SUCCESS) {
        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
        MPI_T_pvar_read(session, handle, &value);
        MPI_T_pvar_session_free(&session);
    }
    MPI_T_finalize();
    return value;
}

/* From the first one on, which comes at once. */
static void count_writes(double seconds)
{
    double start, took = 0;
    unsigned first;

    latency(NULL, 1);
    first = read_variable("adapt_graph_writes");
    start = now_us();
    while (took < 1e6 * seconds) {
        latency(NULL, 100);
        took = now_us() - start;
        MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    if (bench.rank != 0)
        return;
    took = (read_variable("adapt_graph_writes") - first) / (1e-6 * took);
    printf("{\"what\":\"writes\"");
    print_numbers("us", &took, 1);
    printf("}\n");
}

static void run_point(const char *point, double budget_us)
{
    int is_latency = !strncmp(point, "latency:", strlen("latency:"));
    const char *colon = strchr(point, ':');

    bench.bytes = colon ? atoi(colon + 1) : 0;
    if (!strncmp(point, "writes:", strlen("writes:"))) {
        bench.bytes = 8;
        count_writes(atof(point + strlen("writes:")));
        return;
    }
    if (!is_latency && strncmp(point, "bcast:", strlen("bcast:")) != 0) {
        fprintf(stderr, "measured_calls: unknown point %s\n", point);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < KNOWN; i++)
        (is_latency ? latency : bcast) (NULL, 1);
    measure(point, is_latency ? latency : bcast, NULL, (is_latency ? 2 : 1) * SITES, MPI_COMM_WORLD,
            budget_us);
}

int main(int argc, char **argv)
{
    double budget_us = 10000;
    int local_status, first = 1, largest = 1;

    MPI_Init_adapt(&argc, &argv, &local_status);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    for (; first < argc && argv[first][0] == '-'; first++) {
        if (!strcmp(argv[first], "--detect"))
            bench.detect = 1;
        else if (!strcmp(argv[first], "--ms") && first + 1 < argc)
            budget_us = 1000 * atof(argv[++first]);
    }
    for (int i = first; i < argc; i++) {
        const char *colon = strchr(argv[i], ':');
        int bytes = colon ? atoi(colon + 1) : 0;
        bytes = bytes > 8 ? bytes : 8;
        largest = bytes > largest ? bytes : largest;
    }
    bench.data = calloc((size_t) largest, 1);
    if (!bench.data)
        MPI_Abort(MPI_COMM_WORLD, 1);
    bind_to_core(bench.rank);
    probe();
    for (int i = first; i < argc; i++)
        run_point(argv[i], budget_us);
    free(bench.data);
    MPI_Finalize();
    return 0;
}

#endif
