/*
 * Standard input goes to rank 0 of the world, whoever that is, and output is labelled with ranks of the world.
 * HYD_step_stdin and HYD_step_label (glue.h) are what Hydra calls.
 */

#ifndef MPIEXEC_INPUT_H_INCLUDED
#define MPIEXEC_INPUT_H_INCLUDED

struct HYD_proxy;

/* The node daemon of who reads standard input, NULL: nobody. */
struct HYD_proxy *HYD_step_first_proxy(void);
/* Looks whether rank 0 is somebody else now; after each event of the core. */
void HYD_step_follow_first(void);

#endif /* MPIEXEC_INPUT_H_INCLUDED */
