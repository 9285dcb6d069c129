/*
 * Child processes: HYDU_create_process, which Hydra declares, with properties of children that
 * Hydra does not have.
 *
 * Their exit codes: stock's wait for the job's end (bscu_wait.c) treats any failing child as a
 * launcher of the job; the launcher of a failed growth is not one.
 *
 * The other properties are those of children that are started from now on.
 */

#ifndef CHILDREN_H_INCLUDED
#define CHILDREN_H_INCLUDED

#include <sys/types.h>

/* Whether the exit code of this child does not concern the job; NULL: every child's does. */
extern int (*HYD_excuses_child) (pid_t pid);

/* Whether they do not inherit the caller's variables (-genvnone, -genvlist); their programs are
 * still searched for in its PATH, if they have none of their own. */
extern int HYD_child_clears_env;
/* The signal that they get when the caller ends, 0: none. */
extern int HYD_child_death_signal;
/* Where they report that they cannot be executed, -1: on their standard error; closed by
 * execution. */
extern int HYD_child_error_fd;
/* Whether they have a session of their own, or only a process group (sessions.h). */
extern int HYD_child_session;

#endif /* CHILDREN_H_INCLUDED */
