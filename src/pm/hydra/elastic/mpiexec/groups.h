/* Records of process groups (state.h): made, and freed. */

#ifndef MPIEXEC_GROUPS_H_INCLUDED
#define MPIEXEC_GROUPS_H_INCLUDED

#include "hydra.h"

struct HYD_step_group;

/* The record of a group whose proxies are placed. */
HYD_status HYD_step_new_group(struct HYD_pg *pg, struct HYD_step_group **group);
/* That of the launch itself. */
HYD_status HYD_step_adopt_launch(void);
void HYD_step_free_group(struct HYD_step_group *group);

#endif /* MPIEXEC_GROUPS_H_INCLUDED */
