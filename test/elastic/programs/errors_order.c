/*
 * E1: operations out of order are errors with a message, and change nothing: begin with nothing
 * pending, commit without begin, begin and probe and MPI_Finalize in a window, the initialisation
 * twice.
 */

#include "elastic_test.h"

static void quiet(int on)
{
    MPI_Errhandler handler = on ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
}

static void begin_fails(const char *word)
{
    MPI_Comm inter = MPI_COMM_SELF, next = MPI_COMM_SELF;
    int a = -7, b = -7, c = -7;

    ET_ERROR(MPI_Comm_adapt_begin(&inter, &next, &a, &b, &c), MPI_ERR_LASTCODE, word);
}

static void outside(void)
{
    quiet(1);
    begin_fails("pending");
    ET_ERROR(MPI_Comm_adapt_commit(), MPI_ERR_LASTCODE, "begin");
    quiet(0);
    et_exercise(MPI_COMM_WORLD, "the world after the errors");
}

static void before(void)
{
    quiet(1);
    ET_ERROR(MPI_Comm_adapt_commit(), MPI_ERR_LASTCODE, "begin");
    quiet(0);
}

static void window(void)
{
    int size, finalized = -1;

    quiet(1);
    begin_fails("window");
    ET_ERROR(MPI_Finalize(), MPI_ERR_LASTCODE, "window");
    ET_MPI(MPI_Finalized(&finalized));
    ET_CHECK(!finalized, "the error finalised MPI");
    quiet(0);
    et_exercise(MPI_COMM_WORLD, "the old world after the errors");
    if (et.next != MPI_COMM_NULL) {
        ET_MPI(MPI_Comm_size(et.next, &size));
        ET_CHECK(size == et.staying + et.joining, "new_comm_world has %d", size);
        et_exercise(et.next, "new_comm_world after the errors");
    }
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_NEW)
        outside();
    et.before = before;
    et.window = window;
    et_loop();
    quiet(1);
    ET_ERROR(MPI_Comm_adapt_commit(), MPI_ERR_LASTCODE, "begin");
    quiet(0);
    return et_finish();
}
