/*
 * Checks whether the launch of an expansion can open the files that it needs: its proxies, and
 * mpiexec itself.  The check precedes all starts, because a launch that fails halfway leaves
 * launchers for which no parent waits.
 */

#ifndef MPIEXEC_CAPACITY_H_INCLUDED
#define MPIEXEC_CAPACITY_H_INCLUDED

#include "hydra.h"

/* For a group with assigned proxies: 0, or -1 with the missing resource and the remedy in
 * `error`. */
int HYD_step_check_capacity(const struct HYD_pg *pg, char *error, size_t error_bytes);

#endif /* MPIEXEC_CAPACITY_H_INCLUDED */
