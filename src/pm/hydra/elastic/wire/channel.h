/*
 * Channels: descriptors that never block.  Data is sent at once as far as the descriptor accepts
 * it; the event loop (event_loop.h) sends the rest.  The reader's callback gets complete messages
 * only.  HYDU_sock_write and HYDU_sock_read use the channel of a descriptor, if there is one, so
 * that Hydra's own handlers need no change.  Rigid jobs have no channels.
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

/* Bytes of the message that begins with the bytes at `head`, including the head; 0: the head is
 * invalid.  `userp` is that of the registration. */
typedef size_t(*HYD_channel_frame) (const void *head, void *userp);

/* From now on writing to fd does not block.  The reader of a socket detects its end; data that is
 * written before that is dropped.  For other descriptors a write error is an error of the event
 * loop.  Regular files get no channel, because they need none. */
HYD_status HYD_channel_open(int fd);
/* From now on the registered callback of fd is called once for each complete message, and once when
 * the other end is closed or sends an invalid message (then HYDU_sock_read returns closed). */
HYD_status HYD_channel_read_frames(int fd, size_t head_bytes, HYD_channel_frame frame);
/* Closes the descriptor and drops waiting data.  Also for a descriptor without a channel. */
void HYD_channel_close(int fd);

/* Bytes that wait to be sent. */
size_t HYD_channel_waiting(int fd);
/* Takes over one reference to the block; fd must have a channel. */
HYD_status HYD_channel_send_block(int fd, struct HYD_block *block);

/* ---- for sock.c ------------------------------------------------------------------------------ */

/* Writes by the channel. 0: fd has no channel, and nothing was done. */
int HYD_channel_writes(int fd, const void *bytes, int n, int *sent, int *closed,
                       HYD_status * status);
int HYD_channel_reads(int fd, void *bytes, int n, int *received, int *closed);

/* ---- for event_loop.c ------------------------------------------------------------------------ */

/* The descriptor for writing waiting data (fd, or another open file description of it); -1: no data
 * waits. */
int HYD_channel_output_fd(int fd);
/* The next channel after `fd` with waiting data, -1: none.  Begin with -1. */
int HYD_channel_next_output(int fd);
HYD_status HYD_channel_flush(int fd);
/* Whether HYD_channel_input reads the input.  `busy`: a message is being handled. */
int HYD_channel_has_frames(int fd, int *busy);
HYD_status HYD_channel_input(int fd,
                             HYD_status(*callback) (int fd, HYD_event_t events, void *userp),
                             void *userp);

#endif /* CHANNEL_H_INCLUDED */
