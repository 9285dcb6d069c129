/* See sequence.h. */

#include "hydra.h"
#include "commands.h"
#include "sequence.h"

/* A command that arrived before an earlier one. */
struct early {
    struct HYD_adapt_message message;
    struct early *next;
    char payload[];
};
static struct early *early_commands = NULL;
static uint32_t next_sequence = 1;

static HYD_status keep_early(const struct HYD_adapt_message *message, const char *payload)
{
    struct early *command;
    HYD_status status = HYD_SUCCESS;

    for (command = early_commands; command; command = command->next)
        if (command->message.sequence == message->sequence)
            goto fn_exit;
    HYDU_MALLOC_OR_JUMP(command, struct early *, sizeof(*command) + message->bytes, status);
    command->message = *message;
    if (message->bytes)
        memcpy(command->payload, payload, message->bytes);
    command->next = early_commands;
    early_commands = command;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static struct early *take_early(uint32_t sequence)
{
    struct early **link, *command;

    for (link = &early_commands; *link && (*link)->message.sequence != sequence;
         link = &(*link)->next);
    command = *link;
    if (command)
        *link = command->next;
    return command;
}

HYD_status HYD_sequence_deliver(const struct HYD_adapt_message *message, const char *payload,
                                struct HYD_relay_frozen *answer)
{
    struct early *command = NULL;
    HYD_status status = HYD_SUCCESS;

    if (message->sequence > next_sequence)
        return keep_early(message, payload);
    if (message->sequence < next_sequence)      /* the first reply may take a longer path */
        return HYD_commands_repeated(message->sequence, answer);
    do {
        next_sequence++;
        status = command ? HYD_commands_execute(&command->message, command->payload, NULL) :
            HYD_commands_execute(message, payload, answer);
        MPL_free(command);
        HYDU_ERR_POP(status, "unable to carry out a command in its turn\n");
        command = take_early(next_sequence);
    } while (command);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}
