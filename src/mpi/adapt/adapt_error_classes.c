/*
 * Texts of error classes beyond upstream's table, which ends at 61: MPI 4.0 has some more, and
 * MPICH and this extension have those of MPIX.  Upstream's get_class_msg calls this for classes
 * outside its table.  No state.
 */

#include "mpiimpl.h"
#include "mpir_error_hooks.h"

static const struct {
    int error_class;
    const char *text;
} classes[] = {
    {MPI_ERR_SESSION, "Invalid session, or objects of different sessions"},
    {MPI_ERR_PROC_ABORTED, "A process that takes part has ended"},
    {MPI_ERR_VALUE_TOO_LARGE, "The value is too large for the type that it is returned in"},
    {MPIX_ERR_PROC_FAILED, "A process has ended or failed, or its host cannot be reached"},
    {MPIX_ERR_PROC_FAILED_PENDING,
     "The request is pending, since a process that might have matched it has failed"},
    {MPIX_ERR_REVOKED, "The communicator has been revoked"},
    {MPIX_ERR_EAGAIN, "The operation is not possible now; it may be later"},
    {MPIX_ERR_NOREQ, "No further request can be created"},
    {MPIX_ERR_INVALID_SIGNAL, "There is no such signal"},
    {MPIX_ERR_ALLOCATE, "There are no such slots for processes"},
    {MPIX_ERR_KEY, "The server does not accept this key"},
};

const char *MPIR_Adapt_class_text(int error_class)
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
        if (classes[i].error_class == error_class)
            return classes[i].text;
    }
    return "Unknown error class";
}
