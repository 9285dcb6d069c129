/*
 * Who ends what processes of a program's own have started, if this node daemon is killed itself (DA9).  The kernel
 * kills its children then, not theirs.  The warden is a process that is told of each process group; when the daemon has
 * ended, it kills those that are left.  There is one as soon as there is such a process, and as long as the daemon
 * lives; one that is killed is replaced with the next process.  Without one (no memory) everything goes on.
 *
 * A process that outlives both, as its leader has ended before, is nobody's, as after a shell.
 */

#ifndef PROXY_WARDEN_H_INCLUDED
#define PROXY_WARDEN_H_INCLUDED

#include "hydra.h"

/* The process group of this process, which leads it, has begun; its leader has been waited for. */
void HYD_warden_begun(pid_t leader);
void HYD_warden_ended(pid_t leader);
/* The daemon has ended all of them, and ends.  The warden has ended on return. */
void HYD_warden_dismiss(void);

#endif /* PROXY_WARDEN_H_INCLUDED */
