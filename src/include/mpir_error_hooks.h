/* Functions that upstream's errutil.c calls. */

#ifndef MPIR_ERROR_HOOKS_H_INCLUDED
#define MPIR_ERROR_HOOKS_H_INCLUDED

/* src/mpi/adapt/adapt_error_classes.c: the text of a class that upstream's table does not have. */
const char *MPIR_Adapt_class_text(int error_class);
/* src/mpi/session/session_life.c: whether this is a function of sessions, which returns an error if
 * it is called after the last session was finalized. */
bool MPIR_Session_answers(const char *function);

#endif /* MPIR_ERROR_HOOKS_H_INCLUDED */
