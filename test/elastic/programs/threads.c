/*
 * MPI_THREAD_MULTIPLE (W5, C2, C5): in each iteration three threads exchange messages on copies of
 * the world that are made anew after each commit; another thread talks to itself on a copy of
 * MPI_COMM_SELF all the time, through begin, window and commit.  The probe is made by the main
 * thread.
 */

#include "elastic_test.h"
#include <pthread.h>

#define THREADS 3
#define ROUNDS 4

static MPI_Comm copies[THREADS], self_copy;
static volatile int stop_chatter;
static long chatter_rounds;
static pthread_t chatter_thread;

static void *chatter(void *unused)
{
    long got = -1;

    while (!stop_chatter) {
        ET_MPI(MPI_Sendrecv(&chatter_rounds, 1, MPI_LONG, 0, 81, &got, 1, MPI_LONG, 0, 81,
                            self_copy, MPI_STATUS_IGNORE));
        ET_CHECK(got == chatter_rounds, "my own message says %ld", got);
        chatter_rounds++;
        et_sleep_ms(0.2);
    }
    return unused;
}

static void end_chatter(void)
{
    stop_chatter = 1;
    pthread_join(chatter_thread, NULL);
    ET_CHECK(chatter_rounds > 0, "the thread on MPI_COMM_SELF did nothing");
}

static void *exchange(void *argument)
{
    int index = (int) (intptr_t) argument, got = -1;
    int to = (et.rank + 1) % et.size, from = (et.rank + et.size - 1) % et.size;

    for (int i = 0; i < ROUNDS; i++) {
        int word = et.rank * 1000 + index * 100 + i;
        ET_MPI(MPI_Sendrecv(&word, 1, MPI_INT, to, i, &got, 1, MPI_INT, from, i, copies[index],
                            MPI_STATUS_IGNORE));
        ET_CHECK(got == from * 1000 + index * 100 + i, "thread %d: got %d", index, got);
    }
    return NULL;
}

static void all_threads(void)
{
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++)
        ET_CHECK(!pthread_create(&thread[i], NULL, exchange, (void *) (intptr_t) i), "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    et_sleep_ms(1);
}

static void make_copies(void)
{
    for (int i = 0; i < THREADS; i++)
        ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]));
}

/* MPI ends for a leaving process in commit: its threads have to be done with it by then. */
static void window(void)
{
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        end_chatter();
}

static void after(void)
{
    make_copies();
    all_threads();
}

int main(int argc, char **argv)
{
    et_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    ET_MPI(MPI_Comm_dup(MPI_COMM_SELF, &self_copy));
    ET_CHECK(!pthread_create(&chatter_thread, NULL, chatter, NULL), "no thread");
    if (et.status == MPI_ADAPT_STATUS_NEW)
        make_copies();
    et.compute = all_threads;
    et.window = window;
    et.after = after;
    et_loop();
    end_chatter();
    return et_finish();
}
