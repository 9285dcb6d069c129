/*
 * Ends of processes.  Stock reports the exit codes of a proxy when all of its processes have ended.  Adaptations need
 * each at once, and processes that leave must not stay behind as zombies, so every adaptive process is watched by
 * a pidfd.  The pidfd only wakes the loop; it is the stock waitpid that reaps.  Who broke off is reported before
 * those that are killed for it.  The calls for Hydra's own files are in agent.h.
 */

#ifndef PROXY_EXITS_H_INCLUDED
#define PROXY_EXITS_H_INCLUDED

#include "hydra.h"

/* Watches those that are not watched yet. */
HYD_status HYD_exits_watch(void);
/* STEP_LET_GO.  An error if the payload is malformed. */
HYD_status HYD_exits_let_go(const char *payload, size_t bytes);

#endif /* PROXY_EXITS_H_INCLUDED */
