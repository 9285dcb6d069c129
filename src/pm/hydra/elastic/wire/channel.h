/*
 * Channels: descriptors that never block.  Data for one is sent at once as far as the descriptor
 * accepts it, and the rest by the event loop (event_loop.h); the reader's callback gets messages
 * when they are complete. HYDU_sock_write and HYDU_sock_read use the channel of a descriptor that
 * has one, so that Hydra's own handlers need no change.  Rigid jobs have none.
 *
 * State: one record for each channel, owned by channel.c, used from the event loop only.  A channel
 * does not bound its queue: the writer checks HYD_channel_waiting and stops its source
 * (HYD_loop_pause).
 */

#ifndef CHANNEL_H_INCLUDED
#define CHANNEL_H_INCLUDED

#include "hydra.h"
#include "hook.h"
#include "send_queue.h"

/* Bytes of the message that begins with the HEAD bytes at `head`, head included; 0: it cannot be
 * one.  `userp` is that of the registration. */
typedef size_t(*HYD_channel_frame) (const void *head, void *userp);

/* From now on writing to fd does not block.  A socket's end is noticed by who reads it, and what is
 * written until then is dropped; for others an error of writing is an error of the event loop.
 * Regular files need none and get none. */
HYD_status HYD_channel_open(int fd);
/* From now on complete messages are read from it: the callback that is registered for fd is called
 * once for each, and once when the other end is closed, or sends an invalid message (HYDU_sock_read
 * returns closed). */
HYD_status HYD_channel_read_frames(int fd, size_t head_bytes, HYD_channel_frame frame);
/* Closes the descriptor and drops waiting data.  Also for one without a channel. */
void HYD_channel_close(int fd);

/* Bytes that wait to be sent. */
size_t HYD_channel_waiting(int fd);
/* Takes over one use of the block; fd has a channel. */
HYD_status HYD_channel_send_block(int fd, struct HYD_block *block);

/* ---- for sock.c ------------------------------------------------------------------------------ */

/* Whether fd has a channel, and so it is done. */
int HYD_channel_writes(int fd, const void *bytes, int n, int *sent, int *closed,
                       HYD_status * status);
int HYD_channel_reads(int fd, void *bytes, int n, int *received, int *closed);

/* ---- for event_loop.c ------------------------------------------------------------------------ */

/* The descriptor by which what waits is written (fd, or another description of it); -1: nothing
 * waits. */
int HYD_channel_output_fd(int fd);
/* The channel after `fd` that has something to send, -1: none; begin with -1. */
int HYD_channel_next_output(int fd);
HYD_status HYD_channel_flush(int fd);
/* Whether input is read by HYD_channel_input; 0 also while a message is being handled: `busy`. */
int HYD_channel_has_frames(int fd, int *busy);
HYD_status HYD_channel_input(int fd,
                             HYD_status(*callback) (int fd, HYD_event_t events, void *userp),
                             void *userp);

#endif /* CHANNEL_H_INCLUDED */
