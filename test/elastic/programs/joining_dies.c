/*
 * E3 and P7: joining processes that die before agreement (by a signal or an exit code, before or
 * after their initialisation).  The expansion that dies is notified by the file "die": the process
 * that removes it is the one.  Staying processes never notice; the next offer succeeds, which the
 * harness makes.
 */

#include "elastic_test.h"
#include <signal.h>
#include <unistd.h>

static void die(const char *how)
{
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "segv") == 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    _exit(how[0] == 'z' ? 0 : 17);
}

int main(int argc, char **argv)
{
    const char *when = et_argument(argc, argv, "when", "after-init");
    const char *how = et_argument(argc, argv, "how", "kill");
    /* the variable that the launcher gives to joining processes shows, before initialisation, that
     * this one joins: its epoch is not 0 */
    const char *extension = getenv("PMI_ADAPT");
    int joining = extension && !strstr(extension, "epoch=0");

    if (joining && strcmp(when, "before-init") == 0 && unlink("die") == 0)
        die(how);
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_JOINING && strcmp(when, "after-init") == 0 &&
        unlink("die") == 0)
        die(how);
    return et_run();
}
