/*
 * Preloaded into programs on Debian's own MPI (pytest test/debian --compare): a process that waits
 * for a message yields the processor each time that there is none.  Without that four processes on
 * two processors take turns of a time slice each, and programs of seconds run for many minutes.
 * Their results are not touched.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void *worker);

/* UCX' own, which counts what has come. */
unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*progress)(void *);

    if (!progress)
        progress = (unsigned (*)(void *)) dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned came = progress(worker);
    if (came == 0)
        sched_yield();
    return came;
}
