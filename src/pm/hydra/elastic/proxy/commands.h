/*
 * Carries out the commands of the step manager (enum step_command) on the board.  The proxy makes
 * no decisions.  State: the last answer to STEP_FREEZE.
 */

#ifndef PROXY_COMMANDS_H_INCLUDED
#define PROXY_COMMANDS_H_INCLUDED

#include "hydra.h"
#include "wire/message.h"
#include "wire/tree.h"

/* `answer`: gets an immediate reply; NULL: report it to mpiexec. */
HYD_status HYD_commands_execute(const struct HYD_adapt_message *message, const char *payload,
                                struct HYD_relay_frozen *answer);
/* A command with this sequence number has already been carried out: replies again if it was the
 * last STEP_FREEZE. */
HYD_status HYD_commands_repeated(uint32_t sequence, struct HYD_relay_frozen *answer);

#endif /* PROXY_COMMANDS_H_INCLUDED */
