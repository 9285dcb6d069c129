/*
 * Replies to PMI commands.  A process that sends commands without reading the replies delays only
 * itself: unsent replies wait here, and the proxy reads nothing more from the process until it has
 * read them.  So the queue contains at most the replies to the commands in one buffer, including
 * replies of mpiexec.  A process that follows PMI and reads a reply before the next command never
 * uses this queue.
 *
 * State: waiting answers, by connection; owned by answers.c, used from the event loop only.
 */

#ifndef PROXY_ANSWERS_H_INCLUDED
#define PROXY_ANSWERS_H_INCLUDED

#include "hydra.h"

/* Sends bytes to the process at this connection.  A closed connection is not an error here: the
 * reader of the connection detects it. */
HYD_status HYD_answer(int fd, const char *text, size_t bytes);

/* Closes a connection that has been deregistered, after its waiting answers are sent. */
HYD_status HYD_answers_close(int fd);

/* Tries to send, then returns whether replies still wait. */
int HYD_answers_wait(int fd);

#endif /* PROXY_ANSWERS_H_INCLUDED */
