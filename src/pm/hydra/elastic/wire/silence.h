/*
 * Hosts that say nothing more: no power, no network, and no word of it.  A watched connection is taken for closed
 * when its host has not answered for SILENCE_S; never because the process there does not read, is stopped or busy:
 * its kernel answers for it.  Not watched: rigid jobs, whose sockets are stock's.
 *
 * Nothing under way: TCP keep-alive asks, and breaks the connection.  It rests while bytes wait for an
 * acknowledgement or for room, and TCP_USER_TIMEOUT would also break a connection whose window is closed.  So
 * then the event loop looks at what the kernel has counted: segments were sent again and again, and none came back.
 */

#ifndef SILENCE_H_INCLUDED
#define SILENCE_H_INCLUDED

#include <stdint.h>

#define HYD_SILENCE_S 30

/* Not for local sockets, where nothing can be silent: they are left alone. */
void HYD_silence_watch(int fd);
void HYD_silence_forget(int fd);

/* ---- for event_loop.c: milliseconds of one clock ----------------------------------------------- */

/* When HYD_silence_check has to be called, <0: at no time. */
int64_t HYD_silence_next(void);
/* Shuts down the connections of hosts that are silent: their readers see the end. */
void HYD_silence_check(int64_t now_ms);

#endif /* SILENCE_H_INCLUDED */
