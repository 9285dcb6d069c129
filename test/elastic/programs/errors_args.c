/* E2: NULL where NULL must not be: MPI_ERR_ARG, nothing changed, in every state. */

#include "elastic_test.h"

static void quiet(int on)
{
    MPI_Errhandler handler = on ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
}

static void probe_arguments(void)
{
    int pending, status;
    MPI_Info info;

    quiet(1);
    ET_ERROR(MPI_Probe_adapt(NULL, &status, &info), MPI_ERR_ARG, NULL);
    ET_ERROR(MPI_Probe_adapt(&pending, NULL, &info), MPI_ERR_ARG, NULL);
    ET_ERROR(MPI_Probe_adapt(NULL, NULL, NULL), MPI_ERR_ARG, NULL);
    quiet(0);
}

static void begin_arguments(void)
{
    MPI_Comm inter, next;
    int a, b, c;

    quiet(1);
    ET_ERROR(MPI_Comm_adapt_begin(NULL, &next, &a, &b, &c), MPI_ERR_ARG, NULL);
    ET_ERROR(MPI_Comm_adapt_begin(&inter, NULL, &a, &b, &c), MPI_ERR_ARG, NULL);
    ET_ERROR(MPI_Comm_adapt_begin(&inter, &next, NULL, &b, &c), MPI_ERR_ARG, NULL);
    ET_ERROR(MPI_Comm_adapt_begin(&inter, &next, &a, NULL, &c), MPI_ERR_ARG, NULL);
    ET_ERROR(MPI_Comm_adapt_begin(&inter, &next, &a, &b, NULL), MPI_ERR_ARG, NULL);
    quiet(0);
}

static void before(void)
{
    begin_arguments();  /* a failed begin does not begin */
    ET_CHECK(et_probe(), "the failed begin took TRUE back");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    probe_arguments();
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        begin_arguments();
    et.before = before;
    et.window = begin_arguments;
    return et_run();
}
