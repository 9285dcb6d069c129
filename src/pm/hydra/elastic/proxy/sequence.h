/*
 * Commands of the core arrive by paths of different length (wire/tree.h), possibly twice or in
 * another order.  They are numbered for each proxy, and carried out once and in order.  State: the
 * next number, and commands that arrived too early.
 */

#ifndef PROXY_SEQUENCE_H_INCLUDED
#define PROXY_SEQUENCE_H_INCLUDED

#include "wire/message.h"
#include "wire/tree.h"

/* Carries out the command when it is the next one.  An immediate reply is written to *answer, whose
 * sequence otherwise stays 0; NULL: it is sent to mpiexec. */
HYD_status HYD_sequence_deliver(const struct HYD_adapt_message *message, const char *payload,
                                struct HYD_relay_frozen *answer);

#endif /* PROXY_SEQUENCE_H_INCLUDED */
