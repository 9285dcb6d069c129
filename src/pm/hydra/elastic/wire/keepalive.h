/*
 * Detection of hosts that do not answer: no power, no network, and no message about it.  A watched
 * connection counts as closed when its host has not answered for KEEPALIVE_S.  A process that does
 * not read, is stopped or busy has no effect, because its kernel answers.  Sockets of rigid jobs
 * are stock's and are not watched.
 *
 * On an idle connection TCP keep-alive sends probes, and breaks the connection.  Keep-alive pauses
 * while bytes wait for an acknowledgement or for window space, and TCP_USER_TIMEOUT would also
 * break a connection whose window is closed.  In that state the event loop checks the kernel's
 * counters for segments that were sent repeatedly without an acknowledgement.
 */

#ifndef KEEPALIVE_H_INCLUDED
#define KEEPALIVE_H_INCLUDED

#include <stdint.h>

#define HYD_KEEPALIVE_S 30

/* Ignores local sockets, because their peer always answers. */
void HYD_keepalive_watch(int fd);
void HYD_keepalive_remove(int fd);

/* ---- for event_loop.c: milliseconds of one clock --------------------------------------------- */

/* Time of the next call of HYD_keepalive_check, <0: never. */
int64_t HYD_keepalive_next(void);
/* Shuts down the connections of hosts that do not answer: their readers get the end of the
 * stream. */
void HYD_keepalive_check(int64_t now_ms);

#endif /* KEEPALIVE_H_INCLUDED */
