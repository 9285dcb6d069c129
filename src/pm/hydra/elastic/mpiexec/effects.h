/*
 * Performs the effects of the core (stepmgr/stepmgr.h, struct step_effects) with the files of this
 * folder, and creates the core with them.
 */

#ifndef MPIEXEC_EFFECTS_H_INCLUDED
#define MPIEXEC_EFFECTS_H_INCLUDED

/* From now on HYD_core_create makes a core with these effects. */
void HYD_effects_use(void);

#endif /* MPIEXEC_EFFECTS_H_INCLUDED */
