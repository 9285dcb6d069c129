/*
 * Detection of hosts that do not answer: no power, no network, and no message about it.  A watched
 * connection counts as closed when its host has not answered for KEEPALIVE_S; never because the
 * process there does not read, is stopped or busy: its kernel answers.  Not watched: rigid jobs,
 * whose sockets are stock's.
 *
 * On an idle connection TCP keep-alive probes, and breaks the connection.  It pauses while bytes
 * wait for an acknowledgement or for window space, and TCP_USER_TIMEOUT would also break a
 * connection whose window is closed.  So then the event loop checks the kernel's counters: segments
 * were sent again and again, and no acknowledgement came.
 */

#ifndef KEEPALIVE_H_INCLUDED
#define KEEPALIVE_H_INCLUDED

#include <stdint.h>

#define HYD_KEEPALIVE_S 30

/* Local sockets, whose peer cannot be silent, are ignored. */
void HYD_keepalive_watch(int fd);
void HYD_keepalive_remove(int fd);

/* ---- for event_loop.c: milliseconds of one clock --------------------------------------------- */

/* When HYD_keepalive_check has to be called, <0: at no time. */
int64_t HYD_keepalive_next(void);
/* Shuts down the connections of hosts that do not answer: their readers get the end of the
 * stream. */
void HYD_keepalive_check(int64_t now_ms);

#endif /* KEEPALIVE_H_INCLUDED */
