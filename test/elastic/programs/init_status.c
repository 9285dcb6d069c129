/*
 * I1: NEW from the launcher, JOINING from an expansion, by both initialisations; the thread level
 * is given as in MPI_Init_thread and the library knows that it is initialised.
 */

#include "elastic_test.h"

int main(int argc, char **argv)
{
    int level = (int) et_number(argc, argv, "level", -1), provided = -1, flag = 0, main_thread = 0;

    if (level < 0)
        et_init(&argc, &argv);
    else
        et_init_thread(&argc, &argv, level);
    ET_MPI(MPI_Initialized(&flag));
    ET_CHECK(flag, "not initialised after the adaptive initialisation");
    ET_MPI(MPI_Query_thread(&provided));
    ET_CHECK(provided >= level, "thread level %d, requested %d", provided, level);
    ET_MPI(MPI_Is_thread_main(&main_thread));
    ET_CHECK(main_thread, "not the main thread");
    et_log("STATUS %s", et.status == MPI_ADAPT_STATUS_NEW ? "NEW" : "JOINING");
    return et_run();
}
