/* See failure.h. */

#include "failure.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "adapt_window.h"

static char message[2048];
static const char *called_as;   /* NULL: the name in C */
static const char *misfit;
static unsigned failures;

unsigned adapt_failures(void)
{
    return failures;
}

const char *MPIX_Adapt_data_message(void)
{
    return message;
}

static bool will_end(void)
{
    MPI_Errhandler handler;

    if (MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler) != MPI_SUCCESS)
        return true;
    bool fatal = handler == MPI_ERRORS_ARE_FATAL;
#ifdef MPI_ERRORS_ABORT         /* MPI 4 */
    fatal = fatal || handler == MPI_ERRORS_ABORT;
#endif
    if (handler != MPI_ERRHANDLER_NULL)
        MPI_Errhandler_free(&handler);
    return fatal;
}

const char *adapt_call_as(const char *name)
{
    const char *former = called_as;

    called_as = name;
    return former;
}

const char *MPIX_Adapt_data_call_as(const char *name)
{
    return adapt_call_as(name);
}

void adapt_set_misfit(const char *why)
{
    misfit = why;
}

void MPIX_Adapt_data_misfit(const char *why)
{
    adapt_set_misfit(why);
}

const char *adapt_misfit(const char *otherwise)
{
    return misfit ? misfit : otherwise;
}

const char *adapt_called(const char *function)
{
    return called_as ? called_as : function;
}

int adapt_fail(int error_class, const char *format, ...)
{
    char text[sizeof(message)];
    va_list arguments;

    failures++;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    const char *colon = called_as ? strstr(text, ": ") : NULL;
    if (colon)
        snprintf(message, sizeof(message), "%s%s", called_as, colon);
    else
        snprintf(message, sizeof(message), "%s", text);
    if (will_end()) {
        fprintf(stderr, "%s\n", message);
        MPI_Abort(MPI_COMM_WORLD, error_class);
    }
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, error_class);
    return error_class;
}
