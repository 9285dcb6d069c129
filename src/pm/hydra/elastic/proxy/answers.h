/*
 * Answers to PMI commands.  A process that asks and does not read what it is answered waits for itself: what its
 * connection does not take waits here, and until it has been read no more is read from the process.  So there wait at
 * most the answers to what the daemon has read of it already, a buffer full of commands, and mpiexec's to such of them
 * as it was asked.  Who follows PMI, and reads an answer before it asks again, never comes here.
 *
 * State: what waits, by connection; owned by answers.c, used from the event loop only.
 */

#ifndef PROXY_ANSWERS_H_INCLUDED
#define PROXY_ANSWERS_H_INCLUDED

#include "hydra.h"

/* Says so many bytes to the process at this connection.  That nobody is there any more is no error: who reads it finds
 * that out. */
HYD_status HYD_answer(int fd, const char *text, size_t bytes);

/* In place of close, of a connection that has been deregistered: first what waits is said. */
HYD_status HYD_answers_close(int fd);

/* Whether anything waits still, after another try. */
int HYD_answers_wait(int fd);

#endif /* PROXY_ANSWERS_H_INCLUDED */
