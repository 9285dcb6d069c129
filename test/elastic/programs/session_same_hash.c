/*
 * SI8: two creations at a time with different tags never mix, even if the tags' hashes agree.  Two
 * threads of each of 2 processes make a communicator each, again and again, in whatever order, and
 * notify each other which one it is; --inter 1: between the processes.
 */

#include "elastic_test.h"
#include <pthread.h>

#define ROUNDS 60

static const char *const tags[] = { "org.example.64075", "org.example.74076" };

static MPI_Session session;
static int inter;

static void create(MPI_Group world, const char *tag, MPI_Comm * comm)
{
    MPI_Group halves[2];
    int rank;

    if (!inter) {
        ET_MPI(MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm));
        return;
    }
    ET_MPI(MPI_Group_rank(world, &rank));
    for (int i = 0; i < 2; i++)
        ET_MPI(MPI_Group_incl(world, 1, &i, &halves[i]));
    ET_MPI(MPI_Intercomm_create_from_groups(halves[rank], 0, halves[!rank], 0, tag, MPI_INFO_NULL,
                                            MPI_ERRORS_ARE_FATAL, comm));
    for (int i = 0; i < 2; i++)
        ET_MPI(MPI_Group_free(&halves[i]));
}

static void *work(void *argument)
{
    int mine = *(int *) argument, other, rank;
    unsigned seed = (unsigned) mine;
    MPI_Group world;
    MPI_Comm comm;

    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    ET_MPI(MPI_Group_rank(world, &rank));
    seed += 2 * (unsigned) rank;
    for (int i = 0; i < ROUNDS; i++) {
        if (rand_r(&seed) % 2)
            et_sleep_ms(rand_r(&seed) % 3);
        create(world, tags[mine], &comm);
        int peer = inter ? 0 : !rank;
        ET_MPI(MPI_Sendrecv(&mine, 1, MPI_INT, peer, 0, &other, 1, MPI_INT, peer, 0, comm,
                            MPI_STATUS_IGNORE));
        ET_CHECK(other == mine,
                 "SI8: round %d: the other one has made the communicator with tag %s", i,
                 tags[other]);
        ET_MPI(MPI_Comm_free(&comm));
    }
    ET_MPI(MPI_Group_free(&world));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    int numbers[] = { 0, 1 }, rank;
    MPI_Group world;

    inter = atoi(et_argument(argc, argv, "inter", "0"));
    et_options(&argc, &argv);
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    ET_MPI(MPI_Group_rank(world, &rank));
    ET_MPI(MPI_Group_free(&world));
    for (int i = 0; i < 2; i++)
        ET_CHECK(!pthread_create(&threads[i], NULL, work, &numbers[i]), "no thread");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_same_hash");
    return 0;
}
