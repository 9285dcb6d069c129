/*
 * C9, connect and accept after adaptations: the first rank of each new world opens a port, the
 * last one connects to it from MPI_COMM_SELF, they talk and disconnect; with names published too.
 */

#include "elastic_test.h"

static void talk(MPI_Comm inter, int mine, int theirs)
{
    int got = -1;

    ET_MPI(MPI_Sendrecv(&mine, 1, MPI_INT, 0, 71, &got, 1, MPI_INT, 0, 71, inter,
                        MPI_STATUS_IGNORE));
    ET_CHECK(got == theirs, "the other side sent %d, not %d", got, theirs);
    ET_MPI(MPI_Comm_disconnect(&inter));
}

static void after(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    int last = et.size - 1;

    if (last == 0)
        return;
    if (et.rank == 0)
        ET_MPI(MPI_Open_port(MPI_INFO_NULL, port));
    ET_MPI(MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD));
    if (et.rank == 0) {
        ET_MPI(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
        talk(inter, et.epoch, et.epoch + 1000);
        ET_MPI(MPI_Close_port(port));
    } else if (et.rank == last) {
        ET_MPI(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
        talk(inter, et.epoch + 1000, et.epoch);
    }
    et_exercise(MPI_COMM_WORLD, "the world after connecting");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_NEW)
        after();
    et.after = after;
    return et_run();
}
