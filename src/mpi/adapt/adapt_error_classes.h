/* Texts of error classes, for upstream's errutil.c. */

#ifndef ADAPT_ERROR_CLASSES_H_INCLUDED
#define ADAPT_ERROR_CLASSES_H_INCLUDED

/* Of a class that upstream's table does not have. */
const char *MPIR_Adapt_class_text(int error_class);

/* src/mpi/session/session_life.c: whether this function of sessions is called after the last one was finalized, and
 * returns an error. */
bool MPIR_Session_answers(const char *function);

#endif /* ADAPT_ERROR_CLASSES_H_INCLUDED */
