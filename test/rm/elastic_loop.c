/*
 * An elastic program whose end the test decides:   elastic_loop STOP-FILE
 *
 * Steps in common (one reduction and 5 ms each) until rank 0 sees the file.  Each step adds 1 to a
 * counter that all carry; at the end all must have the same, and rank 0 states so.  No process is
 * more than a step before others, however busy the machine is, so that an adaptation is agreed on
 * at once.
 *
 * As long as the file STOP-FILE.silent is there, nobody probes.
 *
 * The file STOP-FILE.wish holds a size: rank 0 takes the file away and requests that size.  The
 * outcome of the size request is a line of STOP-FILE.wished: "granted 4: ", "refused 4: REASON"
 * (with the size of the world).
 */

#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long steps = 0;

static void adapt(int joining_here)
{
    MPI_Comm intercomm, new_world;
    int staying, leaving, joining, rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_adapt_begin(&intercomm, &new_world, &staying, &leaving, &joining);
    if (joining > 0)
        MPI_Bcast(&steps, 1, MPI_LONG, joining_here ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL,
                  intercomm);
    MPI_Comm_adapt_commit();
}

static int request = 0;            /* that is open; 0: none */

static void make_size_request(const char *stop_file)
{
    char name[4096], size[16] = "";
    MPI_Info info;

    snprintf(name, sizeof(name), "%s.wish", stop_file);
    FILE *file = fopen(name, "r");
    if (!file)
        return;
    if (fgets(size, sizeof(size), file)) {
        unlink(name);
        size[strcspn(size, "\n")] = '\0';
        MPI_Info_create(&info);
        MPI_Info_set(info, "size", size);
        MPI_Info_set(info, "reason", "the test wants it");
        MPIX_Adapt_request(info, &request);
        MPI_Info_free(&info);
    }
    fclose(file);
}

static void check_size_request(const char *stop_file)
{
    static const char *const names[] = { "open", "granted", "refused", "withdrawn" };
    char name[4096], size[16], reason[256];
    int state, flag, n = sizeof(reason);
    MPI_Info info;

    MPIX_Adapt_request_state(request, &state, &info);
    if (state == MPIX_ADAPT_REQUEST_OPEN)
        return;
    MPI_Info_get_string(info, "reason", &n, reason, &flag);
    n = sizeof(size);
    MPI_Info_get_string(info, "size", &n, size, &flag);
    MPI_Info_free(&info);
    request = 0;
    snprintf(name, sizeof(name), "%s.wished", stop_file);
    FILE *file = fopen(name, "a");
    if (file) {
        fprintf(file, "%s %s: %s\n", names[state], size, reason);
        fclose(file);
    }
}

enum { SEEN_STOP = 1, SEEN_SILENT = 2 };

/* Returns which of the files are there, the same everywhere. */
static int step(const char *stop_file)
{
    const struct timespec pause = { 0, 5000000 };
    char silent[4096];
    int rank, seen = 0, all;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(silent, sizeof(silent), "%s.silent", stop_file);
    if (rank == 0 && access(stop_file, F_OK) == 0)
        seen |= SEEN_STOP;
    if (rank == 0 && access(silent, F_OK) == 0)
        seen |= SEEN_SILENT;
    MPI_Allreduce(&seen, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    steps++;
    if (rank == 0)
        make_size_request(stop_file);
    if (rank == 0 && request)
        check_size_request(stop_file);
    nanosleep(&pause, NULL);
    return all;
}

int main(int argc, char **argv)
{
    int status, pending, rank, size, seen;
    long least, most;

    MPI_Init_adapt(&argc, &argv, &status);
    if (argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (status == MPI_ADAPT_STATUS_JOINING)
        adapt(1);
    while (!((seen = step(argv[1])) & SEEN_STOP)) {
        if (seen & SEEN_SILENT)
            continue;
        MPI_Probe_adapt(&pending, &status, NULL);
        if (pending)
            adapt(0);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Reduce(&steps, &least, 1, MPI_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&steps, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d processes, %ld steps, which is %s\n", size, most,
               least == most ? "right" : "WRONG");
    MPI_Finalize();
    return rank == 0 && least != most;
}
