/*
 * SI8: a process that is slow has come all the same.  4 processes make a communicator.  Rank 1
 * sends its first message and is stopped before it has had another one; that is enough for rank 2,
 * which is through and ends.  Rank 3 waits for rank 1, for much longer than it takes to learn that
 * rank 2 has ended, and gets the communicator when rank 1 goes on.
 */

#include "elastic_test.h"
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

static MPI_Session session;
static MPI_Group all;

static MPI_Comm create(const char *tag)
{
    MPI_Comm comm;

    ET_MPI(MPI_Comm_create_from_group(all, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    return comm;
}

static int has_ended(int pid)
{
    char path[64], text[256] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "r");
    if (!file)
        return 1;
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    const char *state = n > 0 ? strrchr(text, ')') : NULL;
    return !state || state[2] == 'Z';
}

int main(int argc, char **argv)
{
    int rank, pids[4], pid = (int) getpid();
    MPI_Comm first, second;

    et_options(&argc, &argv);
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
    ET_MPI(MPI_Group_rank(all, &rank));
    first = create("first");
    ET_MPI(MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, first));
    ET_MPI(MPI_Barrier(first));
    if (rank == 1)
        et_make_file("coming");
    if (rank == 0) {
        et_await_file("coming");
        et_sleep_ms(300);       /* it sends, and waits for this process */
        ET_CHECK(kill(pids[1], SIGSTOP) == 0, "cannot stop rank 1");
    }
    second = create("second");
    if (rank == 0) {
        for (int i = 0; i < 1000 && !has_ended(pids[2]); i++)
            et_sleep_ms(10);
        et_sleep_ms(8000);
        ET_CHECK(kill(pids[1], SIGCONT) == 0, "cannot wake rank 1");
    }
    /* rank 2 does not wait for anybody any more */
    ET_MPI(MPI_Comm_free(&second));
    ET_MPI(MPI_Comm_free(&first));
    ET_MPI(MPI_Group_free(&all));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 3)
        et_log("PASS session_slow");
    return 0;
}
