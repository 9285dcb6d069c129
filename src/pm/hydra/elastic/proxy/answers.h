/*
 * Answers to PMI commands.  A process that sends commands and does not read the answers delays only
 * itself: unsent answers wait here, and nothing more is read from the process until it has read
 * them.  So the queue holds at most the answers to the commands in one buffer, including those that
 * mpiexec gives.  A process that follows PMI and reads an answer before the next command never uses
 * this queue.
 *
 * State: waiting answers, by connection; owned by answers.c, used from the event loop only.
 */

#ifndef PROXY_ANSWERS_H_INCLUDED
#define PROXY_ANSWERS_H_INCLUDED

#include "hydra.h"

/* Sends bytes to the process at this connection.  A closed connection is no error: its reader
 * detects it. */
HYD_status HYD_answer(int fd, const char *text, size_t bytes);

/* Closes a connection that has been deregistered, after its waiting answers are sent. */
HYD_status HYD_answers_close(int fd);

/* Whether anything waits still, after another try. */
int HYD_answers_wait(int fd);

#endif /* PROXY_ANSWERS_H_INCLUDED */
