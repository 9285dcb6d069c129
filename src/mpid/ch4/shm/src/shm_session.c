/*
 * Rows of sessions and of lanes (ch4_api.txt) for shared memory: all of it is posix' (posix_session.c, posix_mailbox.c,
 * posix_lanes.c).
 */

#include "mpidimpl.h"
#include "shm_noinline.h"
#include "../posix/posix_noinline.h"

int MPIDI_SHM_session_start(void)
{
    return MPIDI_POSIX_session_start();
}

int MPIDI_SHM_session_shift(int shift, int size)
{
    return MPIDI_POSIX_session_shift(shift, size);
}

bool MPIDI_SHM_session_sends(void)
{
    return MPIDI_POSIX_session_sends();
}

void MPIDI_SHM_lanes_card(char *text, int text_sz)
{
    MPIDI_POSIX_lanes_card(text, text_sz);
}

void MPIDI_SHM_lanes_offer(int avtid, int lpid, const char *text)
{
    MPIDI_POSIX_lanes_offer(avtid, lpid, text);
}

int MPIDI_SHM_lanes_settle(int avtid, int lpid)
{
    return MPIDI_POSIX_lanes_settle(avtid, lpid);
}

bool MPIDI_SHM_lanes_undecided(int avtid, int lpid)
{
    return MPIDI_POSIX_lanes_undecided(avtid, lpid);
}

int MPIDI_SHM_lanes_departed(int number, int *avtid_p, int *lpid_p)
{
    return MPIDI_POSIX_lanes_departed(number, avtid_p, lpid_p);
}

bool MPIDI_SHM_lanes_sends(void)
{
    return MPIDI_POSIX_lanes_sends();
}

void MPIDI_SHM_lanes_counts(unsigned **open_p, unsigned long long **sent_p)
{
    MPIDI_POSIX_lanes_counts(open_p, sent_p);
}
