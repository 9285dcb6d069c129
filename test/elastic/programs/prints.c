/*
 * Each process prints --kb kilobytes in numbered lines, and then takes part in --epochs
 * adaptations; with --rigid 1 it calls MPI_Init and only prints; with --after FILE it begins when
 * there is such a file.  For readers that pause, and hosts that fail meanwhile.
 */

#include "elastic_test.h"
#include <string.h>
#include <unistd.h>

static void print(long kb)
{
    char line[1024];

    memset(line, '.', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (long i = 0; i < kb; i++) {
        int n = snprintf(line, sizeof(line), "PRINTED %d %ld", et.rank, i);
        line[n] = ' ';
        for (size_t done = 0; done < sizeof(line);) {
            ssize_t written = write(STDOUT_FILENO, line + done, sizeof(line) - done);
            ET_CHECK(written > 0, "unable to print");
            done += (size_t) written;
        }
    }
}

/* MPI_Init of another process may need our progress, on stock MPICH as well. */
static void await_file(const char *name)
{
    int found;

    while (name && access(name, F_OK) < 0) {
        ET_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
        usleep(10000);
    }
}

int main(int argc, char **argv)
{
    long kb = et_number(argc, argv, "kb", 1);

    if (et_number(argc, argv, "rigid", 0)) {
        et_options(&argc, &argv);
        ET_MPI(MPI_Init(&argc, &argv));
        et_world_changed();
        print(kb);
        ET_MPI(MPI_Finalize());
        return 0;
    }
    const char *after = et_argument(argc, argv, "after", NULL);
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        await_file(after);
        print(kb);
    }
    return et_run();
}
