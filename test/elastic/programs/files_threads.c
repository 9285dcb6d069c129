/*
 * Files under MPI_THREAD_MULTIPLE.  A thread that waits for other processes in a collective
 * operation on a file lets the other threads of its process go on with other files: here two
 * threads have a file each, and in each process another one comes first.  The first calls of a
 * process may come from several threads at once.
 *
 *   --case cross       collective operations of two threads, in opposite orders
 *   --case ordered     the same with the shared file pointer
 *   --case first       the first two calls at once, with preload/slow_mutex.c
 */

#include "elastic_test.h"
#include <pthread.h>
#include <unistd.h>

#define ROUNDS 4
#define COUNT 1000
#define LATER_US 100000         /* the other thread waits for the other process by then */

static int rank, size;
static int ordered;
static MPI_Comm comms[2];
static pthread_barrier_t barrier;

static void come_later_if(int later)
{
    if (later)
        usleep(LATER_US);
}

static int value_of(int number, int of_rank, int k)
{
    return (number * 16 + of_rank) * COUNT + k;
}

static void write_and_read(MPI_File file, int number, int later)
{
    const MPI_Offset mine = (MPI_Offset) rank * COUNT * (MPI_Offset) sizeof(int);
    int values[COUNT], from = (rank + 1) % size;
    const MPI_Offset other = (MPI_Offset) from * COUNT * (MPI_Offset) sizeof(int);

    for (int k = 0; k < COUNT; k++)
        values[k] = value_of(number, rank, k);
    come_later_if(later);
    if (ordered)
        ET_MPI(MPI_File_write_ordered(file, values, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    else
        ET_MPI(MPI_File_write_at_all(file, mine, values, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    come_later_if(later);
    ET_MPI(MPI_File_sync(file));
    ET_MPI(MPI_Barrier(comms[number]));
    come_later_if(later);
    ET_MPI(MPI_File_read_at_all(file, other, values, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    for (int k = 0; k < COUNT; k++)
        ET_CHECK(values[k] == value_of(number, from, k), "file %d has %d at %d of rank %d", number,
                 values[k], k, from);
}

static void *work(void *argument)
{
    const int number = *(const int *) argument;
    char name[32];
    MPI_File file;

    snprintf(name, sizeof(name), "file-%d", number);
    for (int round = 0; round < ROUNDS; round++) {
        const int later = number != (rank + round) % 2;
        come_later_if(later);
        ET_MPI(MPI_File_open(comms[number], name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                             &file));
        write_and_read(file, number, later);
        come_later_if(later);
        ET_MPI(MPI_File_set_size(file, 0));
        come_later_if(later);
        ET_MPI(MPI_File_close(&file));
    }
    return NULL;
}

static void *open_first(void *argument)
{
    MPI_File file;
    char name[32];

    snprintf(name, sizeof(name), "first-%d-%d", rank, *(const int *) argument);
    pthread_barrier_wait(&barrier);
    ET_MPI(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                         &file));
    ET_MPI(MPI_File_close(&file));
    return NULL;
}

static void run(void *(*thread) (void *))
{
    pthread_t threads[2];
    int numbers[2] = { 0, 1 };

    for (int k = 0; k < 2; k++)
        ET_CHECK(pthread_create(&threads[k], NULL, thread, &numbers[k]) == 0, "no thread");
    for (int k = 0; k < 2; k++)
        ET_CHECK(pthread_join(threads[k], NULL) == 0, "no thread");
}

int main(int argc, char **argv)
{
    const char *which = et_argument(argc, argv, "case", "cross");
    int provided;

    ET_MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    ET_CHECK(provided == MPI_THREAD_MULTIPLE, "level %d", provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ET_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL));
    for (int k = 0; k < 2; k++)
        ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[k]));
    ordered = !strcmp(which, "ordered");
    if (strcmp(which, "first")) {
        run(work);
    } else {
        ET_CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0, "no barrier");
        et_make_file("begin");
        run(open_first);
    }
    for (int k = 0; k < 2; k++)
        ET_MPI(MPI_Comm_free(&comms[k]));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        et_log("PASS files %s", which);
    ET_MPI(MPI_Finalize());
    return 0;
}
