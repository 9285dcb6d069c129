/*
 * Whether the launch of an expansion can open the files that it needs: its node daemons, and mpiexec itself.  It is
 * looked at before anything is started: a launch that lacks something in its middle leaves launchers that nobody
 * awaits.
 */

#ifndef MPIEXEC_CAPACITY_H_INCLUDED
#define MPIEXEC_CAPACITY_H_INCLUDED

#include "hydra.h"

/* For a group whose proxies are placed: 0, or -1 and what is missing, and what to do, in `error`. */
int HYD_step_check_capacity(const struct HYD_pg *pg, char *error, size_t error_bytes);

#endif /* MPIEXEC_CAPACITY_H_INCLUDED */
