/*
 * DS5: what is left of processes that had shared memory with this one.  --rounds N: so many are
 * spawned, one after the other, talk and end; then there are as many descriptors and mappings as
 * after a few, and no channels but the last one's.  A message to an ended process does not wait for
 * it: a short message counts as sent, a synchronous or a long one is an error.  So it is if they
 * wait already when it ends.
 */

#include "resources.h"
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#define LONG_BYTES (1 << 20)
#define FEW 4
#define WAITING 3
#define PATIENCE_S 30
#define CONNECTION 2            /* descriptors of one, as each side opens one */

static MPI_T_pvar_handle channels;
static MPI_T_pvar_session tool;

static int child(MPI_Comm parent)
{
    char *buffer = calloc(LONG_BYTES, 1);
    int pid = (int) getpid();

    ET_MPI(MPI_Send(&pid, 1, MPI_INT, 0, 0, parent));
    ET_MPI(MPI_Recv(buffer, LONG_BYTES, MPI_BYTE, 0, 0, parent, MPI_STATUS_IGNORE));
    et_verify(buffer, LONG_BYTES, 0, 0, "a long message");
    ET_MPI(MPI_Recv(&pid, 1, MPI_INT, 0, 3, parent, MPI_STATUS_IGNORE));
    free(buffer);
    ET_MPI(MPI_Finalize());
    return 0;
}

/* The network closes a connection when it notices that the other end has: that of the last child
 * perhaps not before it is used again. */
static void await_descriptors(int most)
{
    double began = et_seconds();
    int flag;

    while ((int) measure().descriptors > most) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        ET_CHECK(et_seconds() < began + PATIENCE_S, "%d descriptors, then %d", most,
                 (int) measure().descriptors);
        et_sleep_ms(1);
    }
}

static int count_recv_segments(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;

    ET_CHECK(maps, "no /proc/self/maps");
    while (fgets(line, sizeof(line), maps))
        n += strstr(line, "mpich-channels") != NULL;
    fclose(maps);
    return n;
}

static unsigned count_channels(void)
{
    unsigned value;

    ET_CHECK(MPI_T_pvar_read(tool, channels, &value) == MPI_SUCCESS, "MPI_T_pvar_read");
    return value;
}

static void send_after_the_end(MPI_Comm inter, char *buffer)
{
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    ET_MPI(MPI_Send(buffer, 8, MPI_BYTE, 0, 1, inter));
    ET_ERROR(MPI_Ssend(buffer, 8, MPI_BYTE, 0, 1, inter), MPIX_ERR_PROC_FAILED, "has ended");
    ET_ERROR(MPI_Send(buffer, LONG_BYTES, MPI_BYTE, 0, 1, inter), MPIX_ERR_PROC_FAILED,
             "has ended");
    ET_ERROR(MPI_Ssend(buffer, LONG_BYTES, MPI_BYTE, 0, 1, inter), MPIX_ERR_PROC_FAILED,
             "has ended");
}

/* Nobody receives these; the child has nothing to do with them. */
static void start_waiting(MPI_Comm inter, char *buffer, MPI_Request requests[WAITING])
{
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    ET_MPI(MPI_Issend(buffer, 8, MPI_BYTE, 0, 2, inter, &requests[0]));
    ET_MPI(MPI_Isend(buffer, LONG_BYTES, MPI_BYTE, 0, 2, inter, &requests[1]));
    ET_MPI(MPI_Issend(buffer, LONG_BYTES, MPI_BYTE, 0, 2, inter, &requests[2]));
}

static void wait_in_vain(MPI_Request requests[WAITING])
{
    for (int i = 0; i < WAITING; i++)
        ET_ERROR(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED, "has ended");
}

static void round_of_one(char *program, char *buffer)
{
    char *arguments[] = { "--child", NULL };
    MPI_Request requests[WAITING];
    MPI_Comm inter;
    int pid;

    ET_MPI(MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                          MPI_ERRCODES_IGNORE));
    ET_CHECK(count_channels() == 1, "%u channels", count_channels());
    ET_MPI(MPI_Recv(&pid, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
    et_fill(buffer, LONG_BYTES, 0, 0);
    ET_MPI(MPI_Send(buffer, LONG_BYTES, MPI_BYTE, 0, 0, inter));
    start_waiting(inter, buffer, requests);
    ET_MPI(MPI_Send(&pid, 1, MPI_INT, 0, 3, inter));
    wait_in_vain(requests);
    while (kill(pid, 0) == 0 || errno != ESRCH)
        et_sleep_ms(1);
    send_after_the_end(inter, buffer);
    ET_MPI(MPI_Comm_free(&inter));
}

int main(int argc, char **argv)
{
    int rounds = et_number(argc, argv, "rounds", 0), descriptors = 0, recv_segments = 0, provided;
    char *buffer = calloc(LONG_BYTES, 1);
    MPI_Comm parent;

    ET_MPI(MPI_Init(&argc, &argv));
    ET_MPI(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL)
        return child(parent);
    ET_CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS, "no MPI_T");
    ET_CHECK(MPI_T_pvar_session_create(&tool) == MPI_SUCCESS, "no session of MPI_T");
    channels = et_open_variable(tool, "shm_lanes");
    for (int i = 0; i < rounds; i++) {
        round_of_one(argv[0], buffer);
        if (i == FEW) {
            descriptors = (int) measure().descriptors;
            recv_segments = count_recv_segments();
        }
    }
    ET_CHECK(count_recv_segments() == recv_segments &&
             recv_segments > 0, "%d mappings, then %d", recv_segments, count_recv_segments());
    await_descriptors(descriptors + CONNECTION);
    ET_MPI(MPI_Finalize());
    et_log("PASS channels_ends");
    free(buffer);
    return 0;
}
