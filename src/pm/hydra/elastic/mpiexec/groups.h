/*
 * Records of process groups (state.h): made, and freed.
 *
 * Three things of a launched proxy end, in any order: its control connection and its output (both
 * are stock's), and the process that launched it (launcher_ends.h).  When all have ended for all
 * proxies of a group, HYD_step_reap frees the group.
 */

#ifndef MPIEXEC_GROUPS_H_INCLUDED
#define MPIEXEC_GROUPS_H_INCLUDED

#include "hydra.h"

struct HYD_step_group;

/* Makes the record of a group with assigned proxies. */
HYD_status HYD_step_new_group(struct HYD_pg *pg, struct HYD_step_group **group);
/* Makes the record of the launch itself. */
HYD_status HYD_step_adopt_launch(void);
/* Ends the processes of an expansion; its record is freed when they have ended. */
void HYD_step_kill_group(int group);
void HYD_step_free_group(struct HYD_step_group *group);

/* ---- called by stock files ---- */

/* Frees process groups that have ended; `current` is the one that the caller waits for. */
void HYD_step_reap(struct HYD_pg *current);

#endif /* MPIEXEC_GROUPS_H_INCLUDED */
