/*
 * SC2: manager_std_dev and manager_change_prob of manager_config are hints to --adapt-policy
 * random: with probability 0 nothing is offered any more.
 */

#include "elastic_test.h"
#include "mpidynres_sim.h"

static int program(int argc, char **argv)
{
    MPI_Session session;
    char delta[MPI_MAX_PSET_NAME_LEN];
    MPIDYNRES_RC_type type;
    MPIDYNRES_RC_tag tag;
    MPI_Info info;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    for (int i = 0; i < 100; i++, et_sleep_ms(10)) {
        ET_MPI(MPIDYNRES_RC_get(session, &type, delta, &tag, &info));
        ET_CHECK(type == MPIDYNRES_RC_NONE, "SC2: a change was offered");
    }
    ET_MPI(MPI_Session_finalize(&session));
    et_log("PASS dynres_hints");
    return 0;
}

int main(int argc, char **argv)
{
    MPIDYNRES_SIM_config config;

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    MPIDYNRES_SIM_get_default_config(&config);
    ET_MPI(MPI_Info_create(&config.manager_config));
    ET_MPI(MPI_Info_set(config.manager_config, "manager_initial_number", "1"));
    ET_MPI(MPI_Info_set(config.manager_config, "manager_std_dev", "1.5"));
    ET_MPI(MPI_Info_set(config.manager_config, "manager_change_prob", "0"));
    ET_MPI(MPIDYNRES_SIM_start(config, argc, argv, program));
    ET_MPI(MPI_Info_free(&config.manager_config));
    ET_MPI(MPI_Finalize());
    return 0;
}
