/*
 * Detects that all processes of the board have committed.  Processes count themselves on the board
 * but wake no other process, because they wait until the commit is complete.  So the proxy polls
 * the count while a window is open, and before it sends mpiexec a message that must follow the
 * commit.  State: the polled window.
 */

#ifndef PROXY_COMMITTED_H_INCLUDED
#define PROXY_COMMITTED_H_INCLUDED

#include "hydra.h"
#include "board.h"

/* The window of this epoch opens: polls from now on, and notifies mpiexec when all processes of the
 * board have committed. */
void HYD_committed_await(const struct HYD_board *board, uint32_t epoch);
/* Notifies mpiexec now, if all have committed.  Call it before a message that must follow the
 * commit. */
HYD_status HYD_committed_poll(void);

#endif /* PROXY_COMMITTED_H_INCLUDED */
