/*
 * I5, SR1: what a program with process sets prints is read while it runs, and however much it is.
 * Every process makes a set (--dynamic 1: searches for changes instead), prints READY and goes on
 * when the reader, who has seen that, has made the file `go`; one of them then ends, and the others
 * print --kb kilobytes each.
 */

#include "session_changes.h"

static void use_sets(int dynamic)
{
    pset_name made;
    int flag;

    if (dynamic)
        ET_MPI(MPIX_Session_rc_test(session, NULL, &flag));
    else
        make_set(MPIX_PSETOP_UNION, "mpi://SELF", "mpi://WORLD", made);
}

int main(int argc, char **argv)
{
    long kb = et_number(argc, argv, "kb", 1);
    MPI_Group world;
    int rank, size;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    ET_MPI(MPI_Group_rank(world, &rank));
    ET_MPI(MPI_Group_size(world, &size));
    ET_MPI(MPI_Group_free(&world));
    use_sets((int) et_number(argc, argv, "dynamic", 0));
    et_log("READY %d", rank);
    et_await_file("go");
    for (long i = 0; i < kb && (rank > 0 || size == 1); i++)
        et_log("PRINTED %d %ld %01000d", rank, i, 0);
    ET_MPI(MPI_Session_finalize(&session));
    return 0;
}
