/*
 * How a function of adapt_data fails: an error class, told to the error handler of MPI_COMM_WORLD,
 * and a text.  SPEC-epop F3.
 *
 * The text is not that of an error code of its own: MPICH 4.0.2 takes a code that MPI_Add_error_code
 * has added to a predefined class for one of its own messages.
 */

#ifndef FAILURE_H_INCLUDED
#define FAILURE_H_INCLUDED

#include <mpi.h>

/* Keeps the text for MPIX_Adapt_data_message; writes it to standard error if the error handler will
 * end the job.  Returns the class. */
int adapt_fail(int error_class, const char *format, ...) __attribute__ ((format(printf, 2, 3)));

#endif /* FAILURE_H_INCLUDED */
