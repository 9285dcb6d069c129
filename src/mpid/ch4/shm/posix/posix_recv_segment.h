/*
 * A process' receive segment: the memory of the channels that lead to it (posix_channel_ring.h),
 * and the claims on them.
 *
 * It is a nameless file, which other processes of the same user on the host open through /proc by
 * the business card, and check (mpl_shm_nameless.h).  So it needs no name and no cleanup, and it
 * cannot be opened from another pid namespace.  It is made with the first business card, its size
 * is sealed, and only written pages use memory.
 *
 * A channel here has both directions: one in the peer's receive segment, one in ours.  States:
 * free; claimed, in the peer's receive segment; open, when the peer has claimed one in ours;
 * exited, after the peer's end; broken, after malformed data.  The critical section protects all
 * data.
 */

#ifndef POSIX_RECV_SEGMENT_H_INCLUDED
#define POSIX_RECV_SEGMENT_H_INCLUDED

#include "posix_channel_ring.h"

#define MPIDI_POSIX_CHANNELS_MAX 256

enum channel_state { CHANNEL_FREE, CHANNEL_CLAIMED, CHANNEL_BROKEN, CHANNEL_OPEN, CHANNEL_EXITED };

/* The location and identity of a process' receive segment. */
struct channel_bc {
    char boot[40];              /* identity of the host and its boot */
    unsigned pid, fd;
    unsigned long long device, inode, nonce;
};

struct recv_segment_head;
struct channel_wait;            /* posix_channels.c */

struct channel {
    enum channel_state state;
    bool busy;                  /* while one of its messages is handled */
    struct channel_end in, out;
    struct channel_pace pace;   /* of sent long messages */
    MPIR_Request *active;       /* the message that arrives in parts */
    struct channel_bc peer;
    int avtid, lpid;            /* address of the peer */
    unsigned stuck;             /* failed attempts to send in succession */
    /* sent messages that wait for a reply, in order */
    struct channel_wait *waits, *last_wait;
    unsigned polls;             /* number of polls of `waits` */
    /* claimed: the head of the peer's receive segment, and the slot there; open: the memory of the
     * channel */
    struct recv_segment_head *head;
    size_t slot;
    void *memory;
    size_t memory_bytes;
    size_t own_slot;            /* the peer's slot in our receive segment */
};

extern struct channel MPIDI_POSIX_channel[MPIDI_POSIX_CHANNELS_MAX];
extern int MPIDI_POSIX_channels_top;    /* channels from this number on are free */

/* Rows of ch4_adapt_api.txt: channels_bc writes the own business card as text, "" if there is no
 * receive segment; channels_offer claims a channel for the process with this lpid, in the receive
 * segment of a business card; channels_decide returns the number of the open channel, or -1, after
 * that process has tried, too; channels_undecided returns whether a channel is claimed there and
 * the other process has not decided since; channels_remove_exited frees the first channel after
 * `number` whose peer has ended and of which nothing waits to be received, and returns its number,
 * or -1. */

/* Whether the peer still has its receive segment; if not, sets the state CHANNEL_EXITED. */
bool MPIDI_POSIX_channel_lives(struct channel *channel);

/* The peer has ended: requests that wait for its replies get an error. */
void MPIDI_POSIX_channel_fail_waits(struct channel *channel);

#endif /* POSIX_RECV_SEGMENT_H_INCLUDED */
