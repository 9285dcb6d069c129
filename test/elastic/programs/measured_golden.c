/*
 * The sequence of calls of Compres 2017, listings 10.1 and 10.2: what MPIR_CVAR_ADAPT_GRAPH_LOG
 * writes of it is looked at from outside.  Call sites have identifiers of ours, those of the
 * listings.
 */

#include "elastic_test.h"

static const int sequence[] =
    { 2, 0, 6, 3, 1, 6, 3, 1, 6, 3, 1, 9, 7, 9, 7, 3, 1, 6, 3, 1, 6, 3, 1, 9, 7, 9, 7 };

static void call_from(int id)
{
    int out = 1, in;

    ET_CHECK(MPI_T_set_call_site_identifier(id) == MPI_SUCCESS, "the identifier %d is refused", id);
    if (id == 6 || id == 3)
        ET_MPI(MPI_Sendrecv(&out, 1, MPI_INT, 0, 7, &in, 1, MPI_INT, 0, 7, MPI_COMM_SELF,
                            MPI_STATUS_IGNORE));
    else
        ET_MPI(MPI_Barrier(MPI_COMM_SELF));
}

int main(int argc, char **argv)
{
    ET_CHECK(MPI_T_set_call_site_identifier(17) == MPI_SUCCESS,
             "an identifier is refused before initialisation");
    et_init(&argc, &argv);
    call_from(18);              /* before the first probe nothing is observed */
    ET_CHECK(!et_probe(), "no adaptation was requested");
    for (size_t i = 0; i < sizeof(sequence) / sizeof(sequence[0]); i++)
        call_from(sequence[i]);
    return et_finish();
}
