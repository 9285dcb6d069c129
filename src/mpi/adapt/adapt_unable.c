/*
 * A process that cannot take part in an adaptation notifies its proxy, with the reason, and the
 * step manager withdraws the adaptation, unless the world has been notified already.  No state;
 * inside the library's critical section.  SPEC P7, E3.
 */

#include "adapt.h"

#define STACK_BYTES 16384       /* longer than an error stack: its last line has the cause */

const char *MPIR_Adapt_reason_of(int mpi_errno, char *text, int bytes)
{
    char stack[STACK_BYTES];

    MPIR_Err_get_string(mpi_errno, stack, sizeof(stack), NULL);
    for (size_t end = strlen(stack); end > 0 && stack[end - 1] == '\n'; end--)
        stack[end - 1] = '\0';
    const char *line = strrchr(stack, '\n') ? strrchr(stack, '\n') + 1 : stack;
    const char *reason = strstr(line, ": ");    /* before it: function(line).... */
    MPL_strncpy(text, reason ? reason + 2 : line, (size_t) bytes);
    return text;
}

void MPIR_Adapt_report_unable(unsigned epoch, int mpi_errno)
{
    char text[MPI_MAX_ERROR_STRING], hex[2 * MPI_MAX_ERROR_STRING + 1] = "";
    const char *reason = MPIR_Adapt_reason_of(mpi_errno, text, sizeof(text));

    for (size_t i = 0; reason[i]; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char) reason[i]);
    (void) MPIR_Board_notify_proxy("cmd=adapt_unable epoch=%u why=%s", epoch, hex);
}

void MPIR_Adapt_await_removal(int mpi_errno)
{
    struct pmi_adapt_control *control = MPIR_Board.control;

    MPIR_Adapt_report_unable(MPIR_Board.join_epoch, mpi_errno);
    while (__atomic_load_n(&control->agreed, __ATOMIC_ACQUIRE) != MPIR_Board.join_epoch) {
        if (MPIR_Adapt_board_wait(__atomic_load_n(&control->wake, __ATOMIC_ACQUIRE)))
            return;
    }
}
