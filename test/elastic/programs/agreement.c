/*
 * P3: all pre-existing processes see TRUE at the same probe call, counted from the start or the
 * last commit, however different their speeds.  --speed states how they differ:
 *   sleep    rank r sleeps 2 * r milliseconds between two probes
 *   compute  the same, computing
 *   burst    rank 0 probes without a pause, the others sleep
 *   random   each pause is drawn anew, sometimes long
 *   coupled  neighbours exchange a message between two probes (nobody may wait for ever)
 *   start    rank 0 starts to probe much later than the others
 *   free     rank r sleeps 1 + r milliseconds, and nothing but the probes keeps them together
 * In all but the last a barrier after every 32 probes bounds how far the fast ones get ahead, as in
 * any real program: the slow ones have to make up for it before the agreed probe.
 */

#include "elastic_test.h"

static const char *speed;
static unsigned draw;

static void pause_sleep(void)
{
    et_sleep_ms(0.2 + 2 * et.rank);
}

static void pause_compute(void)
{
    et_spin_ms(0.1 + 0.5 * et.rank);
}

static void pause_burst(void)
{
    if (et.rank > 0)
        et_sleep_ms(et.rank);
}

static void pause_random(void)
{
    unsigned n = et_random(&draw) % 1000;

    if (n < 10)
        et_sleep_ms(30);
    else if (n < 300)
        et_sleep_ms(1 + n % 4);
    else if (n < 600)
        et_spin_ms(0.05);
}

static void pause_coupled(void)
{
    int got = -1, to = (et.rank + 1) % et.size, from = (et.rank + et.size - 1) % et.size;

    if (et.rank % 2)
        et_sleep_ms(1);
    ET_MPI(MPI_Sendrecv(&et.rank, 1, MPI_INT, to, 3, &got, 1, MPI_INT, from, 3, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
    ET_CHECK(got == from, "got %d from %d", got, from);
}

static void pause_start(void)
{
    if (et.rank == 0 && et.probes == 0)
        et_sleep_ms(400);
    et_sleep_ms(0.5);
}

static void pause_free(void)
{
    et_sleep_ms(1 + et.rank);
}

static void (*pause_of_mode) (void);

static void compute(void)
{
    pause_of_mode();
    if (pause_of_mode != pause_free && et.probes % 32 == 31)
        ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void choose(void)
{
    static const struct {
        const char *name;
        void (*pause) (void);
    } table[] = {
        {"sleep", pause_sleep}, {"compute", pause_compute}, {"burst", pause_burst},
        {"random", pause_random}, {"coupled", pause_coupled}, {"start", pause_start},
        {"free", pause_free},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(speed, table[i].name) == 0)
            pause_of_mode = table[i].pause;
    ET_CHECK(pause_of_mode, "no speed %s", speed);
    et.compute = compute;
}

static void before(void)
{
    long least, most;

    ET_MPI(MPI_Allreduce(&et.probes, &least, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD));
    ET_MPI(MPI_Allreduce(&et.probes, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
    ET_CHECK(least == most, "TRUE at my probe %ld, elsewhere at %ld to %ld", et.probes, least,
             most);
    if (et.rank == 0)
        et_log("AGREED epoch=%d probe=%ld", et.epoch + 1, et.probes);
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    speed = et_argument(argc, argv, "speed", "sleep");
    draw = et.seed * 7919 + (unsigned) et_who();
    choose();
    et.before = before;
    return et_run();
}
