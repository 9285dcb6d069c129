/*
 * MPI_THREAD_MULTIPLE (W5, C2, C5): three threads of each process exchange messages on copies of
 * the world that are made anew after each commit, and go on doing so through probe, begin and
 * window of the main thread, until all processes are in the window; another thread talks to itself
 * on a copy of MPI_COMM_SELF all the time, through commit as well.
 */

#include "elastic_test.h"
#include <pthread.h>

#define THREADS 3
#define ROUNDS_IN_WINDOW 3

static MPI_Comm copies[THREADS], self_copy;
static pthread_t exchange_threads[THREADS], chatter_thread;
static volatile int closing, stop_chatter;
static volatile long rounds[THREADS];
static long chatter_rounds, rounds_before[THREADS];

static void *chatter(void *unused)
{
    long got = -1;

    while (!stop_chatter) {
        ET_MPI(MPI_Sendrecv(&chatter_rounds, 1, MPI_LONG, 0, 81, &got, 1, MPI_LONG, 0, 81,
                            self_copy, MPI_STATUS_IGNORE));
        ET_CHECK(got == chatter_rounds, "my own message has %ld", got);
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

/* A ring of messages, and whether all processes have had enough: so all of them end with the same
 * round. */
static void *exchange(void *argument)
{
    int index = (int) (intptr_t) argument, all_closing = 0, rank, size;

    MPI_Comm_rank(copies[index], &rank);
    MPI_Comm_size(copies[index], &size);
    while (!all_closing) {
        int mine = closing, got = -1;
        int from = (rank + size - 1) % size, word = rank * 1000 + (int) (rounds[index] % 1000);

        ET_MPI(MPI_Sendrecv(&word, 1, MPI_INT, (rank + 1) % size, index, &got, 1, MPI_INT, from,
                            index, copies[index], MPI_STATUS_IGNORE));
        ET_CHECK(got == from * 1000 + (int) (rounds[index] % 1000), "thread %d: got %d", index,
                 got);
        ET_MPI(MPI_Allreduce(&mine, &all_closing, 1, MPI_INT, MPI_MIN, copies[index]));
        rounds[index]++;
        et_sleep_ms(0.2);
    }
    return NULL;
}

static void begin_exchange(void)
{
    closing = 0;
    for (int i = 0; i < THREADS; i++) {
        ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]));
        rounds[i] = 0;
    }
    for (int i = 0; i < THREADS; i++)
        ET_CHECK(!pthread_create(&exchange_threads[i], NULL, exchange, (void *) (intptr_t) i),
                 "no thread");
}

static void end_exchange(void)
{
    closing = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(exchange_threads[i], NULL);
}

static void before(void)
{
    for (int i = 0; i < THREADS; i++)
        rounds_before[i] = rounds[i];
}

/* Threads on the old world go on in the window.  With commit it ends, so they are done with it by
 * then; for a leaving process MPI ends there. */
static void window(void)
{
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        return;
    for (int i = 0; i < THREADS; i++) {
        while (rounds[i] < rounds_before[i] + ROUNDS_IN_WINDOW)
            et_sleep_ms(0.5);
    }
    end_exchange();
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        end_chatter();
}

int main(int argc, char **argv)
{
    et_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    ET_MPI(MPI_Comm_dup(MPI_COMM_SELF, &self_copy));
    ET_CHECK(!pthread_create(&chatter_thread, NULL, chatter, NULL), "no thread");
    if (et.status == MPI_ADAPT_STATUS_NEW)
        begin_exchange();
    et.before = before;
    et.window = window;
    et.after = begin_exchange;
    et_loop();
    end_exchange();
    end_chatter();
    return et_finish();
}
