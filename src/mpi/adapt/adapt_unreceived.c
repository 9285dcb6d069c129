/*
 * Messages that were not received before the window closed.  They cannot be received any more,
 * which is probably an error of the program: the device discards them, and mpiexec reports them.
 *
 * All processes have entered commit and no send is incomplete (MPIR_Adapt_check_pending).  A
 * message that is still in the network is not counted; the device ensures that it never reaches a
 * later world.
 */

#include "adapt.h"

#define COMMS_MAX 8     /* max number that is reported individually */
#define NAME_BYTES_MAX 64       /* of a communicator, as the proxy accepts it */

struct unreceived {
    int count;
    int source, tag;            /* of the first message */
};

struct report {
    unsigned epoch;
    MPIR_Comm *comm;            /* communicator of the present messages */
    struct unreceived present, others;
    int reported;
    int mpi_errno;
};

/* The communicator's name, in printable characters. */
static void name_comm(const MPIR_Comm * comm, char name[NAME_BYTES_MAX])
{
    const char *given = comm->name[0] ? comm->name : "a_derived_communicator";

    if (comm == MPIR_Process.comm_world)
        given = "MPI_COMM_WORLD";
    else if (comm->adapt.by_begin)
        given = comm->comm_kind == MPIR_COMM_KIND__INTERCOMM ? "intercomm" : "new_comm_world";
    MPL_strncpy(name, given, NAME_BYTES_MAX);
    for (char *c = name; *c; c++)
        if (*c <= ' ' || *c > '~')
            *c = '_';
}

static int report_unreceived(unsigned epoch, const char *name, const struct unreceived *unreceived)
{
    return
        MPIR_Board_notify_proxy("cmd=adapt_unreceived epoch=%u count=%d source=%d tag=%d comm=%s",
                                epoch, unreceived->count, unreceived->source, unreceived->tag,
                                name);
}

/* Reports the present communicator, after all its messages. */
static void report_present(struct report *report)
{
    char name[NAME_BYTES_MAX];

    if (report->present.count > 0 && report->reported < COMMS_MAX) {
        name_comm(report->comm, name);
        int err = report_unreceived(report->epoch, name, &report->present);
        if (report->mpi_errno == MPI_SUCCESS)
            report->mpi_errno = err;
        report->reported++;
    } else if (report->present.count > 0) {
        report->present.count += report->others.count;
        report->others = report->present;
    }
    report->present.count = 0;
}

/* Messages of one communicator are noted in succession. */
static void note(MPIR_Comm * comm, int source, int tag, void *context)
{
    struct report *report = context;

    if (comm != report->comm)
        report_present(report);
    report->comm = comm;
    if (report->present.count++ == 0) {
        report->present.source = source;
        report->present.tag = tag;
    }
}

int MPIR_Adapt_drop_unreceived(unsigned epoch, bool * reported)
{
    int mpi_errno = MPI_SUCCESS;
    struct report report = {.epoch = epoch };

    mpi_errno = MPID_Adapt_discard_unreceived(epoch, note, &report);
    MPIR_ERR_CHECK(mpi_errno);
    report_present(&report);
    *reported = report.reported > 0;
    mpi_errno = report.mpi_errno;
    MPIR_ERR_CHECK(mpi_errno);
    if (report.others.count) {
        mpi_errno = report_unreceived(epoch, "other_communicators", &report.others);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
