/*
 * What ch4_adapt_ahead.c shares with ch4_adapt.c and ofi_adapt.c only: the greeting.  The first
 * message between two hosts makes a connection, which takes libfabric's providers some milliseconds.
 * Each process that was there before sends an empty message to a joining one: the sign in begin that it
 * knows that one's address.  Sent ahead, it also brings the connection.
 */

#ifndef CH4_ADAPT_AHEAD_H_INCLUDED
#define CH4_ADAPT_AHEAD_H_INCLUDED

#include "ch4_adapt.h"

#define MPIDI_ADAPT_GREETING_TAG 0

/* The union index of the joining process that pre-existing process `index` greets. */
int MPIDI_Adapt_greeted_by(const struct pmi_adapt_plan *plan, int index);
bool MPIDI_Adapt_is_on_one_host(const struct pmi_adapt_plan *plan);
/* Whether the greeting has been sent; asked once, by begin. */
bool MPIDI_Adapt_take_greeting(void);

/* ofi_adapt.c */
/* Whether greetings can be sent ahead; the same on all processes. */
bool MPIDI_OFI_adapt_can_greet(void);
typedef enum {
    MPIDI_OFI_ADAPT_GREETING__SENT,
    MPIDI_OFI_ADAPT_GREETING__LATER,    /* the connection is being made */
    MPIDI_OFI_ADAPT_GREETING__NEVER     /* not in this way: begin sends it as an ordinary message */
} MPIDI_OFI_Adapt_greeting_t;
/* What MPIC_Send would send on the union's communicator as its rank `index`.  Does not wait. */
MPIDI_OFI_Adapt_greeting_t MPIDI_OFI_adapt_greet(MPIDI_av_entry_t * to, unsigned epoch, int index);

#endif /* CH4_ADAPT_AHEAD_H_INCLUDED */
