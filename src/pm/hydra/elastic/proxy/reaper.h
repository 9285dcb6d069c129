/*
 * The reaper ends descendants of a program's own processes if this proxy is killed (clause DA9).
 * The kernel then kills the proxy's children, not their children.  The reaper is a process that is
 * notified of each process group; after the end of the proxy it kills the remaining ones.  It
 * exists from the first such process on, until the end of the proxy; a killed reaper is replaced
 * with the next process.  Without a reaper (no memory) all else continues.
 *
 * A process that outlives both, as its leader has ended before, belongs to no one, as after a
 * shell.
 */

#ifndef PROXY_REAPER_H_INCLUDED
#define PROXY_REAPER_H_INCLUDED

#include "hydra.h"

/* The process group of this process, which leads it, has begun; its leader has been waited for. */
void HYD_reaper_begun(pid_t leader);
void HYD_reaper_ended(pid_t leader);
/* The proxy has ended all of them, and ends.  The reaper has ended on return. */
void HYD_reaper_dismiss(void);

#endif /* PROXY_REAPER_H_INCLUDED */
