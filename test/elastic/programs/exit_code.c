/*
 * Exit codes after an adaptation: the process --who (old: rank 0 of the launch; joined: the last
 * rank) ends with --code, after MPI_Finalize (--how finalize), without it (exit), by MPI_Abort
 * (abort), by one on a communicator with a name (abort_named) or by a signal (kill).
 * With --rigid 1 the program calls MPI_Init alone.
 */

#include "elastic_test.h"
#include <signal.h>

int main(int argc, char **argv)
{
    const char *who = et_argument(argc, argv, "who", "joined");
    const char *how = et_argument(argc, argv, "how", "finalize");
    int code = (int) et_number(argc, argv, "code", 7), mine;

    if (et_number(argc, argv, "rigid", 0)) {
        ET_MPI(MPI_Init(&argc, &argv));
        et_options(&argc, &argv);
        et_world_changed();
    } else {
        et_init(&argc, &argv);
        et_loop();
    }
    mine = et.rank == (strcmp(who, "joined") == 0 ? et.size - 1 : 0);
    et_exercise(MPI_COMM_WORLD, "the last world");
    if (et.rank == 0)
        et_log("PASS epoch=%d size=%d", et.epoch, et.size);
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));        /* nobody dies before that was sent */
    if (strcmp(how, "finalize") == 0) {
        ET_MPI(MPI_Finalize());
        return mine ? code : 0;
    }
    if (mine && strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, code);
    if (mine && strcmp(how, "abort_named") == 0) {
        MPI_Comm part;
        ET_MPI(MPI_Comm_dup(MPI_COMM_SELF, &part));
        ET_MPI(MPI_Comm_set_name(part, "the last part"));
        MPI_Abort(part, code);
    }
    if (mine && strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (mine)
        exit(code);
    et_sleep_ms(1000 * et.patience_s);  /* the launcher ends the others */
    return 0;
}
