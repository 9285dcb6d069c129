/*
 * Defect 52 of the base (doc/developer/known-defects.md): a message that ends within an element of
 * the receiver's datatype is MPI_ERR_TYPE if the datatype has gaps; one that ends between two
 * elements is complete.  The receive is posted before the message is sent, or after it has arrived.
 * Run by 2 processes.
 */

#include "elastic_test.h"
#include <stdbool.h>

#define LARGE 1000000           /* bytes; more than the library buffers */

static char sent[LARGE + 8], received[4 * LARGE];

static void send_bytes(int bytes, bool posted)
{
    if (posted)
        ET_MPI(MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Send(sent, bytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD));
    ET_MPI(MPI_Send(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD));
}

static void receive(int bytes, bool posted, MPI_Datatype type, int count, bool fits)
{
    MPI_Request request;
    MPI_Status status;
    int error, class = MPI_SUCCESS;

    if (!posted && bytes < 1000)
        ET_MPI(MPI_Recv(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Irecv(received, count, type, 1, 2, MPI_COMM_WORLD, &request));
    if (posted)
        ET_MPI(MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD));
    error = MPI_Wait(&request, &status);
    if (error)
        ET_MPI(MPI_Error_class(error, &class));
    ET_CHECK(class == (fits ? MPI_SUCCESS : MPI_ERR_TYPE), "%d bytes, %sposted: class %d", bytes,
             posted ? "" : "not ", class);
    if (posted || bytes >= 1000)
        ET_MPI(MPI_Recv(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    static const struct {
        int bytes;
        bool fits_ints, fits_pairs;
    } cases[] = {
        {3, false, false}, {4, true, false}, {6, false, false}, {8, true, true},
        {12, true, true}, {20, true, true}, {LARGE, true, false}, {LARGE + 3, false, false},
        {LARGE - 4, true, true}
    };
    MPI_Datatype ints, pairs;
    int rank;

    ET_MPI(MPI_Init(&argc, &argv));
    ET_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Type_vector(2, 1, 2, MPI_INT, &ints));
    ET_MPI(MPI_Type_commit(&ints));
    ET_MPI(MPI_Type_create_struct(2, (int[]) {1, 1}, (MPI_Aint[]) {0, 8},
                                  (MPI_Datatype[]) {MPI_DOUBLE, MPI_INT}, &pairs));
    ET_MPI(MPI_Type_commit(&pairs));
    for (int i = 0; i < (int) (sizeof(cases) / sizeof(cases[0])); i++)
        for (int posted = 0; posted < 2; posted++) {
            const int bytes = cases[i].bytes;
            for (int pair = 0; pair < 2; pair++)
                if (rank == 1)
                    send_bytes(bytes, posted);
                else if (pair)
                    receive(bytes, posted, pairs, bytes / 12 + 1, cases[i].fits_pairs);
                else
                    receive(bytes, posted, ints, bytes / 8 + 1, cases[i].fits_ints);
        }
    ET_MPI(MPI_Type_free(&ints));
    ET_MPI(MPI_Type_free(&pairs));
    MPI_Finalize();
    if (rank == 0)
        printf("PASS element_parts\n");
    return 0;
}
