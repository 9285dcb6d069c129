/*
 * An iteration of which it is known how much of its time is MPI's, by hand and, with -DPHASES_EPOP,
 * as phases:
 *
 *   mpiexec -n P phases [-i ITERATIONS] [-w WORK] [-s PROCESSES] [-a SERIAL] [-t] [-m MU]
 *       [-e ERROR] [-k]
 *
 *   -w WORK   milliseconds of work in an iteration, shared by all processes: c = WORK / P for each
 *             (800)
 *   -s N      more than N processes do not make it faster: c = WORK / N then
 *   -a SERIAL this part of the work is not shared: each process does it (0)
 *   -t        the difference to a linear speed-up is time in MPI: one process alone does the serial
 *             part, at most N do the rest, and the others wait for them
 *   -m MU     time in MPI for each second outside of it, over all processes: a number, or as a
 *             function of P
 *             cannon:A,B (A P^1.5 + B P^0.5) or linear:A (A P)  (0.2)
 *   -e ERROR  an iteration takes up to this part more or less, by its number (0)
 *   -k        keeps time: an iteration begins when it is due, so that what a busy machine wakes
 *             late is not added up
 *
 * With -DPHASES_WAITS_SLEEP a process that waits in MPI sleeps, too: many jobs share few cores
 * then.
 *
 * To work is to sleep, so that many processes need no core.  Processes in turn sleep m longer than
 * c, and the others wait for that one in MPI_Allreduce: of (c + m) P together (P - 1) m is MPI's,
 * and MU is m (P - 1) / (P c + m).  Rank 0 prints one line of JSON at the end.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    long iterations;
    int scales_to;              /* 0: as far as you like */
    int keeps_time;
    int others_wait;            /* -t */
    double serial, error;
    /* mu: constant + ... P + ... P^0.5 + ... P^1.5 */
    double work_s, mu_linear, mu_root, mu_power;
    double mu;
} options = { .iterations = 100, .work_s = 0.8, .mu = 0.2 };

static struct {
    long iteration;
    double began;
    double due_s;               /* when this iteration is due; 0: when it begins */
    int joins;
} state;

/* who is later, beyond an iteration, has been stopped, and begins anew */
#define LATE_MAX_S 0.5

/* ---- what an iteration is ---- */

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static void sleep_until(double s)
{
    struct timespec until = { .tv_sec = (time_t) s };

    until.tv_nsec = (long) (1e9 * (s - (double) until.tv_sec));
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

#ifdef PHASES_WAITS_SLEEP
/* A wait that has lasted T polls T / 8 later again, within these bounds. */
#define POLL_MIN_S 50e-6
#define POLL_MAX_S 2e-3

/* MPICH calls this function, instead of that of the C library, between two polls that find nothing.
 * A call long after the one before it belongs to another wait. */
int sched_yield(void)
{
    static _Thread_local double begin_s, next_s;
    double now = now_s();

    if (now > next_s + POLL_MAX_S)
        begin_s = now;
    next_s = now + fmin(fmax((now - begin_s) / 8, POLL_MIN_S), POLL_MAX_S);
    sleep_until(next_s);
    return 0;
}
#endif

static double mu_of(int p)
{
    return options.mu + options.mu_linear * p + options.mu_root * sqrt(p) +
        options.mu_power * pow(p, 1.5);
}

/* How much longer one process sleeps. */
static double imbalance_s(int p, double each_s)
{
    double mu = mu_of(p);

    if (p == 1 || mu == 0)
        return 0;
    if (mu >= p - 1) {
        fprintf(stderr,
                "phases: %d processes can at most wait %d times as long as all work, "
                "not %g times\n",
                p, p - 1, mu);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return mu * p * each_s / (p - 1 - mu);
}

/* The same in all processes: around 1, evenly distributed. */
static double duration_factor(long iteration)
{
    unsigned long long mixed = ((unsigned long long) iteration + 1) * 0x9e3779b97f4a7c15ull;

    mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93ull;
    return 1 + options.error * (2.0 * (double) (mixed >> 11) / 9007199254740992.0 - 1);
}

static void iterate(void)
{
    int rank, size, all, one = 1;
    double start = now_s();

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int busy = options.scales_to && options.scales_to < size ? options.scales_to : size;
    double work_s = options.work_s * duration_factor(state.iteration);
    double serial_s = work_s * options.serial, each_s = (work_s - serial_s) / busy;
    if (!options.others_wait)
        each_s += serial_s;
    double longer_s = options.others_wait ? serial_s : imbalance_s(size, each_s);
    int turn = (int) ((state.iteration + rank) % size); /* 0: the process that works longer */
    if (options.keeps_time && state.due_s > 0 &&
        start - state.due_s < each_s + longer_s + LATE_MAX_S)
        start = state.due_s;
    state.due_s = start + each_s + longer_s;
    if (!options.others_wait || turn < busy)
        sleep_until(start + each_s + (turn == 0 ? longer_s : 0));
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    state.iteration++;
}

/* ---- before and after ---- */

static int read_mu(const char *text)
{
    char end;

    options.mu = 0;
    return sscanf(text, "cannon:%lf,%lf%c", &options.mu_power, &options.mu_root, &end) == 2 ||
        sscanf(text, "linear:%lf%c", &options.mu_linear, &end) == 1 ||
        sscanf(text, "%lf%c", &options.mu, &end) == 1;
}

static int read_options(int argc, char **argv)
{
    int good = 1;

    for (int option; good && (option = getopt(argc, argv, "i:w:s:a:tm:e:k")) != -1;) {
        switch (option) {
            case 'i': options.iterations = atol(optarg); break;
            case 'w': options.work_s = 1e-3 * atof(optarg); break;
            case 's': options.scales_to = atoi(optarg); break;
            case 'a': options.serial = atof(optarg); break;
            case 't': options.others_wait = 1; break;
            case 'e': options.error = atof(optarg); break;
            case 'm': good = read_mu(optarg); break;
            case 'k': options.keeps_time = 1; break;
            default: good = 0;
        }
    }
    good = good && optind == argc && options.iterations > 0 && options.scales_to >= 0 &&
        options.work_s > 0 && options.serial >= 0 && options.serial <= 1 && options.error >= 0 &&
        options.error < 1 && mu_of(1) >= 0;
    if (!good)
        fprintf(stderr,
                "usage: phases [-i ITERATIONS] [-w WORK_MS] [-s PROCESSES] [-a SERIAL] [-t] "
                "[-m MU|cannon:A,B|linear:A] [-e ERROR] [-k]\n");
    return good;
}

static int begin(int *argc, char ***argv)
{
    int status;

#ifdef PHASES_WAITS_SLEEP
    setenv("MPIR_CVAR_PROGRESS_YIELD", "always", 1);
#endif
    MPI_Init_adapt(argc, argv, &status);
    state.began = now_s();
    state.joins = status == MPI_ADAPT_STATUS_JOINING;
    return read_options(*argc, *argv);
}

/* Joining processes go on where the others are. */
static void send_position(MPI_Comm old_world, MPI_Comm intercomm, int joins)
{
    int rank, root = 0;

    state.due_s = 0;
    if (intercomm == MPI_COMM_NULL)
        return;
    if (!joins) {
        MPI_Comm_rank(old_world, &rank);
        root = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    }
    MPI_Bcast(&state.iteration, 1, MPI_LONG, root, intercomm);
}

static void report(void)
{
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        printf("{\"processes\":%d,\"iterations\":%ld,\"seconds\":%.6f,\"mu\":%g}\n", size,
               state.iteration, now_s() - state.began, size > 1 ? mu_of(size) : 0);
}

#ifdef PHASES_EPOP
#include <epop.h>

static int init(int *argc, char ***argv, void **data)
{
    (void) data;
    return begin(argc, argv) ? 0 : 2;
}

static int move(void *data, const epop_window_t *window)
{
    (void) data;
    send_position(window->old_world, window->intercomm, window->status == MPI_ADAPT_STATUS_JOINING);
    return 0;
}

static int work(void *data)
{
    (void) data;
    iterate();
    return 0;
}

static int goes_on(void *data)
{
    (void) data;
    return state.iteration < options.iterations;
}

static int report_all(void *data)
{
    (void) data;
    report();
    return 0;
}

static program_t *program(void)
{
    static program_element_t elements[] = {
        {.type = INIT,.init = init},
        {.type = EP,.name = "work",.phase_redistribute = move,.phase_exec = work,
         .loop_condition = goes_on},
        {.type = RP,.name = "report",.phase_exec = report_all}
    };
    static program_t phases = { .size = 3, .elements = elements, .name = "phases" };

    return &phases;
}

int main(int argc, char **argv)
{
    return epop_main(argc, argv, program);
}

#else

static void window(void)
{
    MPI_Comm intercomm, new_world;
    int staying, leaving, joining;

    MPI_Comm_adapt_begin(&intercomm, &new_world, &staying, &leaving, &joining);
    send_position(MPI_COMM_WORLD, intercomm, state.joins);
    MPI_Comm_adapt_commit();
}

int main(int argc, char **argv)
{
    int pending, local_status;

    if (!begin(&argc, &argv))
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (state.joins)
        window();
    do {
        if (!state.joins) {
            MPI_Probe_adapt(&pending, &local_status, NULL);
            if (pending == MPI_ADAPT_TRUE)
                window();
        }
        state.joins = 0;
        iterate();
    } while (state.iteration < options.iterations);
    report();
    MPI_Finalize();
    return 0;
}

#endif
