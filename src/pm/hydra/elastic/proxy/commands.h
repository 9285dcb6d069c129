/*
 * The commands of the step manager (enum step_command), carried out on the board.  The proxy
 * decides nothing.  State: the last answer to STEP_FREEZE.
 */

#ifndef PROXY_COMMANDS_H_INCLUDED
#define PROXY_COMMANDS_H_INCLUDED

#include "hydra.h"
#include "wire/message.h"
#include "wire/tree.h"

/* `answer`: for what is answered at once; NULL: report it to mpiexec. */
HYD_status HYD_commands_execute(const struct HYD_adapt_message *message, const char *payload,
                                struct HYD_relay_frozen *answer);
/* A command with this sequence has been carried out before: answers once more if it was the last
 * STEP_FREEZE. */
HYD_status HYD_commands_repeated(uint32_t sequence, struct HYD_relay_frozen *answer);

#endif /* PROXY_COMMANDS_H_INCLUDED */
