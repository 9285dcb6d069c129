/*
 * Child processes: defines HYDU_create_process, which Hydra declares, with additional properties of
 * children.
 *
 * Their exit codes: stock's wait for the job's end (bscu_wait.c) treats any failing child as a
 * launcher of the job; the launcher of a failed growth is not one.
 *
 * The other properties apply to children that are started later.
 */

#ifndef CHILDREN_H_INCLUDED
#define CHILDREN_H_INCLUDED

#include <sys/types.h>

/* Whether to ignore the exit code of this child for the job; NULL: no exit code is ignored. */
extern int (*HYD_excuses_child) (pid_t pid);

/* Children do not inherit the caller's variables (-genvnone, -genvlist).  Without a PATH of their
 * own, their programs are still searched for in the caller's PATH. */
extern int HYD_child_clears_env;
/* The signal that children get when the caller ends, 0: none. */
extern int HYD_child_death_signal;
/* Descriptor on which children report that they cannot be executed, -1: their standard error.
 * Execution closes it. */
extern int HYD_child_error_fd;
/* Children get a session of their own, not only a process group (sessions.h). */
extern int HYD_child_session;

#endif /* CHILDREN_H_INCLUDED */
