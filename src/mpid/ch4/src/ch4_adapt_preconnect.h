/*
 * Connections between hosts before the window.  The first message between two hosts makes a
 * connection, which takes libfabric's providers some milliseconds.  Each pre-existing process sends
 * an empty message to a joining one: in begin it shows that the sender knows the receiver's
 * address.  Sent before the window, it also makes the connection.
 *
 * State: whether it has been sent, and whether one has failed; of a joining process, the receives.
 * MPID_Adapt_preconnect and MPID_Adapt_is_preconnected (mpir_adapt_device.h) are here, too.
 */

#ifndef CH4_ADAPT_PRECONNECT_H_INCLUDED
#define CH4_ADAPT_PRECONNECT_H_INCLUDED

#include "ch4_adapt.h"

#define MPIDI_ADAPT_PRECONNECT_TAG 0

/* Results of MPIDI_NM_adapt_preconnect. */
typedef enum {
    MPIDI_ADAPT_PRECONNECT__SENT,
    MPIDI_ADAPT_PRECONNECT__LATER,      /* the connection is being made */
    MPIDI_ADAPT_PRECONNECT__NEVER /* not in this way: begin sends it as an ordinary message */
} MPIDI_Adapt_preconnect_t;

/* The preparation of another adaptation begins. */
void MPIDI_Adapt_reset_preconnect(void);
/* Whether a joining process that this one has sent a message to may have ended, because its
 * adaptation was or may be withdrawn.  Then the network reports an error of a message without a
 * request. */
bool MPIDI_Adapt_preconnected_may_end(void);
/* In begin: from here on no process sends over the network to a process that does not have its
 * address. */
int MPIDI_Adapt_wait_for_addresses(const struct pmi_adapt_plan *plan);

#endif /* CH4_ADAPT_PRECONNECT_H_INCLUDED */
