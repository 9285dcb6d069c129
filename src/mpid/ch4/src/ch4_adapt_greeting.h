/*
 * Greetings between hosts.  The first message between two hosts makes a connection, which takes libfabric's providers
 * some milliseconds.  Each process that was there before sends an empty message to a joining one: the sign in begin
 * that it knows that one's address.  Sent ahead, it also brings the connection.
 *
 * State: whether it has been sent; of a joining process, the receives.  MPID_Adapt_greet and MPID_Adapt_is_greeted
 * (mpir_adapt_device.h) are here, too.
 */

#ifndef CH4_ADAPT_GREETING_H_INCLUDED
#define CH4_ADAPT_GREETING_H_INCLUDED

#include "ch4_adapt.h"

#define MPIDI_ADAPT_GREETING_TAG 0

/* What MPIDI_NM_adapt_greet returns. */
typedef enum {
    MPIDI_ADAPT_GREETING__SENT,
    MPIDI_ADAPT_GREETING__LATER,        /* the connection is being made */
    MPIDI_ADAPT_GREETING__NEVER /* not in this way: begin sends it as an ordinary message */
} MPIDI_Adapt_greeting_t;

/* Another adaptation is prepared. */
void MPIDI_Adapt_reset_greeting(void);
/* Begin: nobody speaks over the network from here on to a process that does not know its address. */
int MPIDI_Adapt_wait_for_addresses(const struct pmi_adapt_plan *plan);

#endif /* CH4_ADAPT_GREETING_H_INCLUDED */
