/*
 * E4: a process (--who joining, staying or leaving; the highest rank of that kind) is killed in
 * the window.  The job ends with a report; the harness checks the report, the exit code and the
 * leftovers.
 */

#include "elastic_test.h"
#include <signal.h>

static const char *who;

static void window(void)
{
    static const struct {
        const char *name;
        int status;
    } kinds[] = {
        {"joining", MPI_ADAPT_STATUS_JOINING}, {"staying", MPI_ADAPT_STATUS_STAYING},
        {"leaving", MPI_ADAPT_STATUS_LEAVING},
    };
    int wanted = 0, mine, last;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, who) == 0)
            wanted = kinds[i].status;
    /* what is made at first use (shared segments of collectives) exists and has no name any more */
    for (int i = 0; i < 4; i++) {
        et_exercise(MPI_COMM_WORLD, "the old world");
        if (et.next != MPI_COMM_NULL)
            et_exercise(et.next, "new_comm_world");
    }
    mine = et.status == wanted ? et.rank : -1;
    ET_MPI(MPI_Allreduce(&mine, &last, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (mine >= 0 && mine == last) {
        et_log("DYING epoch=%d rank=%d", et.epoch + 1, et.rank);
        raise(SIGKILL);
    }
    et_exercise(MPI_COMM_WORLD, "the old world with a dead process");
    if (et.next != MPI_COMM_NULL)
        et_exercise(et.next, "new_comm_world with a dead process");
    et_sleep_ms(1000 * et.patience_s);
}

int main(int argc, char **argv)
{
    who = et_argument(argc, argv, "who", "staying");
    et_init(&argc, &argv);
    et.window = window;
    return et_run();
}
