/* The members of a session's communicators that have ended, by communicator and rank
 * (MPID_Session_mark_exited). */

#ifndef CH4_EXITED_H_INCLUDED
#define CH4_EXITED_H_INCLUDED

#include <stdbool.h>

/* Whether this member has ended, and no message of it arrives any more. */
bool MPIDI_Exited_is(MPIR_Comm * comm, int rank);
/* Whether no process is left that can send from this source, which may be MPI_ANY_SOURCE. */
bool MPIDI_Exited_no_sender(MPIR_Comm * comm, int source);
/* Whether also a message that was matched does not arrive (MPID_Session_mark_silent). */
bool MPIDI_Exited_is_silent(MPIR_Comm * comm, int rank);
/* Whether messages to it used the shared segment. */
bool MPIDI_Exited_had_segment(MPIR_Comm * comm, int rank);
/* Whether any communicator has members whose end is detected, or had some. */
bool MPIDI_Exited_is_watching(void);

#endif /* CH4_EXITED_H_INCLUDED */
