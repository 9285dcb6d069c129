/*
 * Properties of child processes that Hydra does not have.
 *
 * Their exit codes: stock's wait for the job's end (bscu_wait.c) takes any failing child for a launcher of the job;
 * the launcher of a failed growth is not one.
 *
 * Their variables: with -genvnone and -genvlist a process has only the given ones (launch.c).
 */

#ifndef CHILDREN_H_INCLUDED
#define CHILDREN_H_INCLUDED

#include <sys/types.h>

/* Whether the exit code of this child does not concern the job; NULL: every child's does. */
extern int (*HYD_excuses_child) (pid_t pid);

/* Whether children started from now on do not inherit the caller's variables. */
extern int HYD_child_clears_env;

/* In the child, before its variables are set: returns the PATH in which its program is searched for, or NULL. */
char *HYD_child_clear_env(void);
/* Then, as execvp: in its own PATH, if it has one, else in the one above. */
int HYD_child_execute(char **args, const char *path);

#endif /* CHILDREN_H_INCLUDED */
