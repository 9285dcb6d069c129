/*
 * Commands of the core arrive by paths of different length (wire/tree.h): perhaps twice, and in
 * another order.  They are numbered for each proxy, and carried out once and in order.  State: the
 * next number, and the commands that arrived before their turn.
 */

#ifndef PROXY_SEQUENCE_H_INCLUDED
#define PROXY_SEQUENCE_H_INCLUDED

#include "wire/message.h"
#include "wire/tree.h"

/* Carries out the command in its turn.  If that is now, and it is answered at once, the answer goes
 * to *answer (else its sequence stays 0); NULL: to mpiexec. */
HYD_status HYD_sequence_deliver(const struct HYD_adapt_message *message, const char *payload,
                                struct HYD_relay_frozen *answer);

#endif /* PROXY_SEQUENCE_H_INCLUDED */
