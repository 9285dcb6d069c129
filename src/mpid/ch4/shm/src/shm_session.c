/*
 * Rows of sessions and of channels (ch4_adapt_api.txt) for shared memory: all call posix
 * (posix_session.c, posix_recv_segment.c, posix_channels.c).
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

void MPIDI_SHM_channels_bc(char *text, int text_sz)
{
    MPIDI_POSIX_channels_bc(text, text_sz);
}

void MPIDI_SHM_channels_offer(int avtid, int lpid, const char *text)
{
    MPIDI_POSIX_channels_offer(avtid, lpid, text);
}

int MPIDI_SHM_channels_decide(int avtid, int lpid)
{
    return MPIDI_POSIX_channels_decide(avtid, lpid);
}

bool MPIDI_SHM_channels_undecided(int avtid, int lpid)
{
    return MPIDI_POSIX_channels_undecided(avtid, lpid);
}

int MPIDI_SHM_channels_remove_exited(int number, int *avtid_p, int *lpid_p)
{
    return MPIDI_POSIX_channels_remove_exited(number, avtid_p, lpid_p);
}

bool MPIDI_SHM_channels_sends(void)
{
    return MPIDI_POSIX_channels_sends();
}

void MPIDI_SHM_channels_without(int lpid)
{
    MPIDI_POSIX_channels_without(lpid);
}

bool MPIDI_SHM_channels_hold(MPIR_Request * req)
{
    return MPIDI_POSIX_channels_hold(req);
}

void MPIDI_SHM_channels_counts(unsigned **open_p, unsigned long long **sent_p)
{
    MPIDI_POSIX_channels_counts(open_p, sent_p);
}
