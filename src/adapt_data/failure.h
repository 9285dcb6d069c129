/*
 * How a function of adapt_data fails: an error class, passed to the error handler of
 * MPI_COMM_WORLD, and a text.  SPEC-epop F3.
 *
 * The text is not that of an error code of its own: MPICH 4.0.2 takes a code that
 * MPI_Add_error_code has added to a predefined class for one of its own messages.
 */

#ifndef FAILURE_H_INCLUDED
#define FAILURE_H_INCLUDED

#include <mpi.h>

/* The text begins with the name of the function and a colon.  Keeps it for MPIX_Adapt_data_message.
 * If the error handler is one that ends the job, writes it to standard error and ends the job.
 * Returns the class. */
int adapt_fail(int error_class, const char *format, ...) __attribute__ ((format(printf, 2, 3)));

/* The number of calls of adapt_fail. */
unsigned adapt_failures(void);

/* For other languages: errors have the function name `name` instead of that of the called C
 * function, until it is set to NULL.  Returns the previous name. */
const char *adapt_call_as(const char *name);
/* Stores the reason why the program's part of an array or field does not fit, as its language
 * binding has detected; valid until the next adapt_set_misfit.  NULL: no reason.  The caller owns
 * the text. */
void adapt_set_misfit(const char *why);
/* The stored reason, or `otherwise`. */
const char *adapt_misfit(const char *otherwise);
/* The name of adapt_call_as, or `function`. */
const char *adapt_called(const char *function);

#endif /* FAILURE_H_INCLUDED */
