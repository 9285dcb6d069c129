/*
 * When all processes of the board have committed.  They count themselves on the board and wake nobody up for it,
 * because they stand still until they are through; so while a window is open the daemon looks now and then, and
 * before it tells mpiexec anything that must come after the commit.  State: the window that it looks at.
 */

#ifndef PROXY_COMMITTED_H_INCLUDED
#define PROXY_COMMITTED_H_INCLUDED

#include "hydra.h"
#include "board.h"

/* The window of this epoch opens: looks from now on, and tells mpiexec when all of the board have committed. */
void HYD_committed_await(const struct HYD_board *board, uint32_t epoch);
/* Tells it now, if they have; to be called before what must come after it. */
HYD_status HYD_committed_look(void);

#endif /* PROXY_COMMITTED_H_INCLUDED */
