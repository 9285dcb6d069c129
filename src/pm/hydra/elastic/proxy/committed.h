/*
 * Detects that all processes of the board have committed.  They count themselves on the board and
 * wake no process for it, because they stand still until the commit is complete; so while a window
 * is open the proxy polls the count, and it polls before it sends mpiexec a message that must
 * follow the commit.  State: the window that it polls.
 */

#ifndef PROXY_COMMITTED_H_INCLUDED
#define PROXY_COMMITTED_H_INCLUDED

#include "hydra.h"
#include "board.h"

/* The window of this epoch opens: polls from now on, and notifies mpiexec when all of the board
 * have committed. */
void HYD_committed_await(const struct HYD_board *board, uint32_t epoch);
/* Notifies mpiexec now, if all have committed; to be called before a message that must follow. */
HYD_status HYD_committed_poll(void);

#endif /* PROXY_COMMITTED_H_INCLUDED */
