/*
 * Whether the other side of a connection is still there.  DN4: its death is an error of what is done with the
 * intercommunicator.
 *
 * The network does not tell that a process has ended from whom one receives.  So rank 0 keeps the connection on which
 * the sides have met as long as there is the intercommunicator.  If it breaks without a farewell, the other side's
 * rank 0 has ended, and with it its job.  What it has sent before comes in first, so that a second goes by; then all
 * receives from the other side end with an error (MPID_Dynproc_fail), and those that begin later, too.  A farewell is
 * said when the intercommunicator is freed, and not by MPI_Finalize: the others of the same side may not be there yet.
 *
 * A server of many clients must not run out of descriptors for that: beyond half of those that the process may have,
 * connections are not watched.
 *
 * Looked at in progress, some hundred times a second; no hook is active without connections.
 */

#include "dynproc.h"
#include "adapt_handles.h"
#include <sys/resource.h>

#define POLLS 256               /* between two looks at the clock */
#define LOOK_SECONDS 0.01
#define LINGER_SECONDS 1.0      /* what is on its way comes in */

struct watch {
    MPIR_Comm *comm;
    int fd;                     /* -1: it has ended, */
    double ended_at;            /* then */
    struct watch *next;
};

static struct watch *watches;
static int hook_id = -1;

/* Whether there is still something to watch. */
static bool is_connected(struct watch *watch)
{
    char farewell;

    if (watch->fd < 0)
        return true;
    ssize_t n = recv(watch->fd, &farewell, 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    close(watch->fd);
    watch->fd = -1;
    watch->ended_at = MPIR_Dynproc_now();
    return n <= 0;
}

static int look(int *made_progress)
{
    static bool looks;          /* what ends makes progress, which would come here again */
    static unsigned polls;
    static double last;

    if (looks || ++polls % POLLS || MPIR_Dynproc_now() - last < LOOK_SECONDS)
        return MPI_SUCCESS;
    looks = true;
    last = MPIR_Dynproc_now();
    for (struct watch ** place = &watches; *place;) {
        struct watch *watch = *place;
        if (!is_connected(watch)) {
            *place = watch->next;
            MPL_free(watch);
            continue;
        }
        if (watch->fd < 0 && last - watch->ended_at > LINGER_SECONDS)
            MPID_Dynproc_fail(watch->comm);
        place = &watch->next;
    }
    if (!watches)
        MPIR_Progress_hook_deactivate(hook_id);
    looks = false;
    return MPI_SUCCESS;
}

/* Descriptors are given from the lowest on. */
static bool is_affordable(int fd)
{
    struct rlimit limit;

    return fd >= 0 && (getrlimit(RLIMIT_NOFILE, &limit) || (rlim_t) fd < limit.rlim_cur / 2);
}

bool MPIR_Dynproc_had_connections(void)
{
    return hook_id >= 0;
}

void MPIR_Dynproc_watch(MPIR_Comm * comm, int fd)
{
    struct watch *watch = is_affordable(fd) ? MPL_malloc(sizeof(*watch), MPL_MEM_OTHER) : NULL;

    if (hook_id < 0 && MPIR_Progress_hook_register(look, &hook_id) != MPI_SUCCESS) {
        MPL_free(watch);
        watch = NULL;
    }
    if (!watch) {               /* it is as without a connection then */
        if (fd >= 0)
            close(fd);
        return;
    }
    *watch = (struct watch) {.comm = comm,.fd = fd,.next = watches };
    watches = watch;
    MPIR_Progress_hook_activate(hook_id);
}

void MPIR_Dynproc_comm_freed(const MPIR_Comm * comm)
{
    struct watch **place = &watches;

    while (*place && (*place)->comm != comm)
        place = &(*place)->next;
    struct watch *watch = *place;
    if (!watch)
        return;
    *place = watch->next;
    if (watch->fd >= 0) {
        (void) !send(watch->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        close(watch->fd);
    }
    MPL_free(watch);
}
