/*
 * W5 and C5, derived datatypes: a vector, an indexed block and a structure that were made before
 * the first adaptation are used in the window (old world, intercomm, new_comm_world) and after
 * every commit; joining processes make their own.
 */

#include "elastic_test.h"
#include <stddef.h>

#define SIDE 64

struct particle {
    double position[3];
    int charge;
    char kind;
};

static MPI_Datatype column, blocks, particles;

static void make_types(void)
{
    int lengths[3] = { 3, 1, 1 }, positions[4];
    MPI_Aint offsets[3] = { offsetof(struct particle, position), offsetof(struct particle, charge),
        offsetof(struct particle, kind)
    };
    MPI_Datatype basic[3] = { MPI_DOUBLE, MPI_INT, MPI_CHAR }, raw;

    ET_MPI(MPI_Type_vector(SIDE, 1, SIDE, MPI_DOUBLE, &column));
    ET_MPI(MPI_Type_commit(&column));
    for (int i = 0; i < 4; i++)
        positions[i] = 7 * i;
    ET_MPI(MPI_Type_create_indexed_block(4, 3, positions, MPI_INT, &blocks));
    ET_MPI(MPI_Type_commit(&blocks));
    ET_MPI(MPI_Type_create_struct(3, lengths, offsets, basic, &raw));
    ET_MPI(MPI_Type_create_resized(raw, 0, sizeof(struct particle), &particles));
    ET_MPI(MPI_Type_commit(&particles));
    ET_MPI(MPI_Type_free(&raw));
}

static void trade(MPI_Comm comm, int rank, int peer, const char *name)
{
    static double matrix[SIDE][SIDE], line[SIDE];
    static struct particle send[2000], got[2000];
    int pick[32], flat[12];

    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            matrix[i][k] = rank * 10000 + i * 100 + k;
    ET_MPI(MPI_Sendrecv(&matrix[0][5], 1, column, peer, 21, line, SIDE, MPI_DOUBLE, peer, 21, comm,
                        MPI_STATUS_IGNORE));
    for (int i = 0; i < SIDE; i++)
        ET_CHECK(line[i] == peer * 10000 + i * 100 + 5, "%s: column has %g at %d", name, line[i],
                 i);
    for (int i = 0; i < 32; i++)
        pick[i] = rank * 100 + i;
    ET_MPI(MPI_Sendrecv(pick, 1, blocks, peer, 22, flat, 12, MPI_INT, peer, 22, comm,
                        MPI_STATUS_IGNORE));
    for (int i = 0; i < 12; i++)
        ET_CHECK(flat[i] == peer * 100 + i / 3 * 7 + i % 3, "%s: block has %d", name, flat[i]);
    for (int i = 0; i < 2000; i++)
        send[i] = (struct particle) { {rank, i, rank + i}, i - rank, (char) (i % 100) };
    ET_MPI(MPI_Sendrecv(send, 2000, particles, peer, 23, got, 2000, particles, peer, 23, comm,
                        MPI_STATUS_IGNORE));
    for (int i = 0; i < 2000; i++)
        ET_CHECK(got[i].position[0] == peer && got[i].position[2] == peer + i &&
                 got[i].charge == i - peer && got[i].kind == i % 100, "%s: particle %d", name, i);
}

static void all(MPI_Comm comm, const char *name)
{
    int rank, size;

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    trade(comm, rank, size - 1 - rank, name);
    trade(comm, rank, rank, name);
}

static void window(void)
{
    int remote;

    all(MPI_COMM_WORLD, et.status == MPI_ADAPT_STATUS_JOINING ? "joining world" : "old world");
    if (et.inter != MPI_COMM_NULL) {
        ET_MPI(MPI_Comm_remote_size(et.inter, &remote));
        if (et.rank < remote)
            trade(et.inter, et.rank, et.rank, "intercomm");
    }
    if (et.next != MPI_COMM_NULL)
        all(et.next, "new_comm_world");
}

static void after(void)
{
    all(MPI_COMM_WORLD, "new world");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    make_types();
    et.window = window;
    et.after = after;
    et_loop();
    ET_MPI(MPI_Type_free(&column));
    ET_MPI(MPI_Type_free(&blocks));
    ET_MPI(MPI_Type_free(&particles));
    return et_finish();
}
