/*
 * How programs for libmpidynres begin: a main that gives control to MPIDYNRES_SIM_start, which
 * gives it to the program.  Here every process runs the program, and mpiexec is the manager.  SC2.
 *
 * Of manager_config, manager_std_dev and manager_change_prob are hints to mpiexec --adapt-policy
 * random; manager_initial_number and manager_initial_number_random are ignored (mpiexec -n).
 */

#ifndef MPIDYNRES_SIM_H
#define MPIDYNRES_SIM_H

#include "mpidynres.h"

#ifdef __cplusplus
extern "C" {
#endif

struct MPIDYNRES_SIM_config {
    MPI_Comm base_communicator;
    MPI_Info manager_config;
};
typedef struct MPIDYNRES_SIM_config MPIDYNRES_SIM_config;

static inline int MPIDYNRES_SIM_get_default_config(MPIDYNRES_SIM_config *o_config)
{
    o_config->base_communicator = MPI_COMM_WORLD;
    o_config->manager_config = MPI_INFO_NULL;
    return 0;
}

/* Returns when i_sim_main does or has called MPIDYNRES_exit. */
static inline int MPIDYNRES_SIM_start(MPIDYNRES_SIM_config i_config, int argc, char *argv[],
                                      int i_sim_main(int, char **))
{
    mpidynres_manager_config_.config = i_config.manager_config;
    mpidynres_manager_config_.is_set = i_config.manager_config != MPI_INFO_NULL;
    if (setjmp(mpidynres_exit_point_.to) == 0) {
        mpidynres_exit_point_.is_set = 1;
        i_sim_main(argc, argv);
    }
    mpidynres_exit_point_.is_set = 0;
    return 0;
}

/* A program may leave its main to this header. */
#ifdef MPIDYNRES_MAIN
int MPIDYNRES_main(int argc, char **argv);

int main(int argc, char **argv)
{
    MPIDYNRES_SIM_config config;
    int error = MPI_Init(&argc, &argv);

    if (error) {
        fprintf(stderr, "MPI_Init has failed\n");
        return EXIT_FAILURE;
    }
    MPIDYNRES_SIM_get_default_config(&config);
    error = MPIDYNRES_SIM_start(config, argc, argv, MPIDYNRES_main);
    MPI_Finalize();
    return error;
}
#endif

#ifdef __cplusplus
}
#endif

#endif /* MPIDYNRES_SIM_H */
