/* See failure.h. */

#include "failure.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include "adapt_window.h"

static char message[1024];

const char *MPIX_Adapt_data_message(void)
{
    return message;
}

static bool will_end(void)
{
    MPI_Errhandler handler;

    if (MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler) != MPI_SUCCESS)
        return true;
    bool fatal = handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_ABORT;
    if (handler != MPI_ERRHANDLER_NULL)
        MPI_Errhandler_free(&handler);
    return fatal;
}

int adapt_fail(int error_class, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    if (will_end())
        fprintf(stderr, "%s\n", message);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, error_class);
    return error_class;
}
