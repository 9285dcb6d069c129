/*
 * The reaper ends descendants of a program's own processes if this proxy is killed (clause DA9).
 * The kernel then kills the proxy's children, not their children.  The reaper is a process that is
 * notified of each process group.  After the end of the proxy it kills the remaining ones.  It
 * exists from the first such process on until the end of the proxy.  If the reaper is killed, the
 * next start of such a process starts a new one.  Without a reaper (no memory) everything else
 * works.
 *
 * A process whose leader has ended before is not killed, as with a shell.
 */

#ifndef PROXY_REAPER_H_INCLUDED
#define PROXY_REAPER_H_INCLUDED

#include "hydra.h"

/* The process group with this leader has begun. */
void HYD_reaper_begun(pid_t leader);
/* The leader of this process group has been waited for. */
void HYD_reaper_ended(pid_t leader);
/* Called when the proxy has ended all process groups, and ends.  The reaper has ended on return. */
void HYD_reaper_dismiss(void);

#endif /* PROXY_REAPER_H_INCLUDED */
