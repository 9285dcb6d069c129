/*
 * How the loop that probes is measured (doc/user/measuring.md): the performance variables agree
 * with the program's own clock, in each world anew.  A round of the loop: rank 0 computes longest
 * and the others wait for it in MPI_Barrier; each sends itself messages in an inner loop; one calls
 * MPI from a callback, which is no site of its own.  With --off 1 nothing may be measured.
 */

#include "elastic_test.h"
#include <unistd.h>

#define ROUNDS 30
#define INNER 3

static MPI_T_pvar_session session;
static MPI_T_pvar_handle nodes, loops, loop_time, mpi_time, every;
static MPI_Op sum;
static double first_loop, first_mpi;    /* of the first round of a world, by our clock */
static double own_loop, own_mpi;        /* of the others */
static int finished, off;

static unsigned number(MPI_T_pvar_handle handle)
{
    unsigned value;
    ET_CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS, "a variable cannot be read");
    return value;
}

static double seconds(MPI_T_pvar_handle handle)
{
    double value;
    ET_CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS, "a variable cannot be read");
    return value;
}

/* A reduction operation that calls MPI while MPI_Allreduce is under way. */
static void add_with_mpi(void *in, void *inout, int *length, MPI_Datatype *type)
{
    char byte = 0;

    (void) type;
    ET_MPI(MPI_Sendrecv(MPI_BOTTOM, 0, MPI_BYTE, 0, 8, &byte, 0, MPI_BYTE, 0, 8, MPI_COMM_SELF,
                        MPI_STATUS_IGNORE));
    for (int i = 0; i < *length; i++)
        ((int *) inout)[i] += ((int *) in)[i];
}

#define TIMED(call) \
    do { \
        double entered = MPI_Wtime(); \
        ET_MPI(call); \
        mpi += MPI_Wtime() - entered; \
    } while (0)

/* Returns what MPI took of it. */
static double one_round(void)
{
    double mpi = 0;
    int one = 1, all;

    usleep(et.rank == 0 ? 6000 : 1000);
    TIMED(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < INNER; i++)
        TIMED(MPI_Sendrecv(&one, 1, MPI_INT, 0, 7, &all, 1, MPI_INT, 0, 7, MPI_COMM_SELF,
                           MPI_STATUS_IGNORE));
    TIMED(MPI_Allreduce(&one, &all, 1, MPI_INT, sum, MPI_COMM_WORLD));
    return mpi;
}

/* The first round of a world is not measured: the loop is not known yet, or the probe before it was
 * in another one. */
static void check_times(void)
{
    double loop = seconds(loop_time), mpi = seconds(mpi_time);

    if (off) {
        ET_CHECK(number(nodes) == 0 && loop == 0 &&
                 mpi == 0, "measured although it is switched off");
        return;
    }
    ET_CHECK(number(nodes) == 4, "%u sites, not probe, barrier, messages and sum", number(nodes));
    ET_CHECK(number(loops) == 2, "%u loops, not 2", number(loops));
    ET_CHECK(loop > 0 &&
             loop <= first_loop + own_loop, "%g s in the loop, of %g", loop, first_loop + own_loop);
    ET_CHECK(mpi > 0 && mpi <= first_mpi + own_mpi, "%g s in MPI, of %g", mpi, first_mpi + own_mpi);
    ET_CHECK(number(every) >= 1, "one iteration in %u is measured", number(every));
    if (number(every) == 1) {
        ET_CHECK(loop > 0.5 * own_loop, "%g s in the loop, only, of %g", loop, own_loop);
        ET_CHECK(et.rank == 0 || mpi > 0.5 * own_mpi, "%g s in MPI, only, of %g", mpi, own_mpi);
    }
}

/* A world's rounds, or as many as there are before it is adapted. */
static void live(void)
{
    first_loop = first_mpi = own_loop = own_mpi = 0;
    for (int round = 0; round < ROUNDS || et.epoch < et.epochs; round++) {
        double start = MPI_Wtime(), mpi = one_round();
        if (et_probe()) {
            et_adapt();
            return;
        }
        *(round == 0 ? &first_mpi : &own_mpi) += mpi;
        *(round == 0 ? &first_loop : &own_loop) += MPI_Wtime() - start;
        if (round == ROUNDS - 1)
            check_times();
    }
    finished = 1;
}

static void after(void)
{
    ET_CHECK(seconds(loop_time) == 0 &&
             seconds(mpi_time) == 0, "times of a former world: %g s, of these %g s in MPI",
             seconds(loop_time), seconds(mpi_time));
}

int main(int argc, char **argv)
{
    int provided;

    off = atoi(et_argument(argc, argv, "off", "0"));
    et_init(&argc, &argv);
    ET_CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS, "no MPI_T");
    ET_CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS, "no session");
    nodes = et_open_variable(session, "adapt_graph_nodes");
    loops = et_open_variable(session, "adapt_graph_loops");
    loop_time = et_open_variable(session, "adapt_loop_time");
    mpi_time = et_open_variable(session, "adapt_mpi_time");
    every = et_open_variable(session, "adapt_measure_every");
    ET_MPI(MPI_Op_create(add_with_mpi, 1, &sum));
    et.after = after;
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        et_adapt();
    while (!finished)
        live();
    return et_finish();
}
