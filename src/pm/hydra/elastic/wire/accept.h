/*
 * Accepts connections of any process.  A failure, for example because descriptors or memory are
 * exhausted, is no failure of the job.  For listening sockets of the event loop (event_loop.h).
 */

#ifndef ACCEPT_H_INCLUDED
#define ACCEPT_H_INCLUDED

/* The next connection, close-on-exec. -1: there is none, or no free descriptor for it.  In the
 * latter case it stays in the socket's queue, the socket pauses for a second, and the user is
 * notified once; `whose` names the expected peers. */
int HYD_accept(int listen_fd, const char *whose);

#endif /* ACCEPT_H_INCLUDED */
