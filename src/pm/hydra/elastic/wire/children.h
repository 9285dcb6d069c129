/*
 * Children whose exit codes are not the job's.  Stock's wait for the job's end (bscu_wait.c) takes any child that ends
 * badly for a launcher of the job; the launcher of a growth that failed is not one.
 */

#ifndef CHILDREN_H_INCLUDED
#define CHILDREN_H_INCLUDED

#include <sys/types.h>

/* Whether the exit code of this child says nothing of the job; NULL: no child's does. */
extern int (*HYD_excuses_child) (pid_t pid);

#endif /* CHILDREN_H_INCLUDED */
