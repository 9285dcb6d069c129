/*
 * C4, C9: handles that are never freed.  Each adaptation ends --each communicators and the program
 * forgets them: memory stays bounded, new communicators work, and the handles of the latest ones
 * are refused.  Handles that are freed release their slot at once.
 */

#include "elastic_test.h"

static MPI_Comm *comms;
static int each;

static void make(void)
{
    for (int i = 0; i < each; i++) {
        ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
        for (int j = 0; j < i; j++)
            ET_CHECK(comms[i] != comms[j], "two communicators with one handle");
    }
}

static void after(void)
{
    int size;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (comms[0] != MPI_COMM_NULL) {
        for (int i = 0; i < each; i++)
            ET_ERROR(MPI_Comm_size(comms[i], &size), MPI_ERR_COMM, "adaptation");
        /* in every other window all are freed */
        for (int i = 0; et.epoch % 2 == 0 && i < each; i++) {
            MPI_Comm copy = comms[i];
            ET_MPI(MPI_Comm_free(&comms[i]));
            int error = MPI_Comm_size(copy, &size);
            ET_CHECK(error != MPI_SUCCESS, "a freed handle has size %d", size);
        }
    }
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    make();
    et_exercise(comms[each - 1], "the latest communicator");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    each = (int) et_number(argc, argv, "each", 300);
    comms = malloc(each * sizeof(MPI_Comm));
    comms[0] = MPI_COMM_NULL;
    if (et.status == MPI_ADAPT_STATUS_NEW)
        make();
    et.after = after;
    et_loop();
    for (int i = 0; i < each; i++)
        ET_MPI(MPI_Comm_free(&comms[i]));
    free(comms);
    return et_finish();
}
