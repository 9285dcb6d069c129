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

/* How many calls of it there were. */
unsigned adapt_failures(void);

/* Errors name the function `name` instead of the C function that the program has called, until it
 * is NULL: of other languages.  Returns the name until now. */
const char *adapt_call_as(const char *name);
/* Why the program's part of an array or field does not fit, as its language has found: until the
 * next adapt_set_misfit; NULL: nothing is known.  The text is the caller's. */
void adapt_set_misfit(const char *why);
/* That, or `otherwise`. */
const char *adapt_misfit(const char *otherwise);
/* That name, or `function`. */
const char *adapt_called(const char *function);

#endif /* FAILURE_H_INCLUDED */
