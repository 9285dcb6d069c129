/*
 * C3: a leaving process ends inside commit, by exit(0): handlers run in reverse order with MPI
 * finalised, stdio is flushed, temporary files are removed.  Nothing complains of what it could not
 * free.  The harness counts the lines and checks the files.
 */

#include "elastic_test.h"
#include <unistd.h>

static FILE *notes;

static void last_handler(void)
{
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        printf("HANDLER 2 finalized epoch=%d rank=%d\n", et.epoch + 1, et.rank);
}

static void first_handler(void)
{
    int finalized = 0;

    if (et.status != MPI_ADAPT_STATUS_LEAVING)
        return;
    MPI_Finalized(&finalized);
    printf("HANDLER 1 %sfinalized epoch=%d rank=%d\n", finalized ? "" : "not ", et.epoch + 1,
           et.rank);
}

__attribute__ ((destructor))
static void destructor(void)
{
    if (et.status == MPI_ADAPT_STATUS_LEAVING && write(STDOUT_FILENO, "DESTRUCTOR\n", 11) != 11)
        _exit(ET_FAILED);
}

static MPI_Datatype vector, structure;

static void make_types(void)
{
    int lengths[2] = { 1, 3 };
    MPI_Aint positions[2] = { 0, 8 };

    ET_MPI(MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &vector));
    ET_MPI(MPI_Type_commit(&vector));
    MPI_Datatype types[2] = { MPI_INT, vector };
    ET_MPI(MPI_Type_create_struct(2, lengths, positions, types, &structure));
    ET_MPI(MPI_Type_commit(&structure));
}

static void free_types(void)
{
    ET_MPI(MPI_Type_free(&structure));
    ET_MPI(MPI_Type_free(&vector));
}

static void window(void)
{
    char name[64];

    if (et.status != MPI_ADAPT_STATUS_LEAVING)
        return;
    /* what stdio holds back until exit */
    snprintf(name, sizeof(name), "left_%d_%d", et.epoch + 1, et.rank);
    notes = fopen(name, "w");
    ET_CHECK(notes, "cannot write %s", name);
    fprintf(notes, "goodbye from rank %d\n", et.rank);
}

int main(int argc, char **argv)
{
    static char held[1 << 16];

    setvbuf(stdout, held, _IOFBF, sizeof(held));
    atexit(last_handler);
    atexit(first_handler);
    et_init(&argc, &argv);
    make_types();
    et.window = window;
    et_loop();
    free_types();
    return et_finish();
}
