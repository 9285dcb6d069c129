/*
 * Accepts connections, when descriptors or memory may be exhausted and any process may connect: a
 * failure of it is no failure of the job.  For listening sockets that the event loop (event_loop.h)
 * serves.
 */

#ifndef ACCEPT_H_INCLUDED
#define ACCEPT_H_INCLUDED

/* The next connection, close-on-exec, or -1: there is none (any more), or there is no descriptor
 * for it.  Then it stays in the socket's queue, the socket pauses for a second, and the user is
 * notified once; `whose` names the expected peers. */
int HYD_accept(int listen_fd, const char *whose);

#endif /* ACCEPT_H_INCLUDED */
