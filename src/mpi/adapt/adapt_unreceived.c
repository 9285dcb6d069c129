/*
 * Messages that nobody had received when the window closed.  They cannot be received any more, which is
 * hardly what the program wants: the device throws them away, and mpiexec tells of them.
 *
 * All processes have entered commit and no send is incomplete (MPIR_Adapt_check_pending).  A message that is
 * still on its way over the network is not counted; that it never reaches a later world is the device's care.
 */

#include "adapt.h"

#define COMMS_MAX 8     /* that are reported one by one */
#define NAME_BYTES_MAX 64       /* of a communicator, as the daemon takes it */

struct unreceived {
    int count;
    int source, tag;            /* of the first */
};

struct report {
    unsigned epoch;
    MPIR_Comm *comm;            /* whose messages are being told */
    struct unreceived present, others;
    int told;
    int mpi_errno;
};

/* As the program knows it, in plain characters. */
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

static int tell(unsigned epoch, const char *name, const struct unreceived *unreceived)
{
    return MPIR_Adapt_tell_daemon("cmd=adapt_unreceived epoch=%u count=%d source=%d tag=%d comm=%s",
                                  epoch, unreceived->count, unreceived->source, unreceived->tag, name);
}

/* All messages of a communicator have been seen. */
static void tell_present(struct report *report)
{
    char name[NAME_BYTES_MAX];

    if (report->present.count > 0 && report->told < COMMS_MAX) {
        name_comm(report->comm, name);
        int err = tell(report->epoch, name, &report->present);
        if (report->mpi_errno == MPI_SUCCESS)
            report->mpi_errno = err;
        report->told++;
    } else if (report->present.count > 0) {
        report->present.count += report->others.count;
        report->others = report->present;
    }
    report->present.count = 0;
}

/* Messages of one communicator come one after the other. */
static void note(MPIR_Comm * comm, int source, int tag, void *context)
{
    struct report *report = context;

    if (comm != report->comm)
        tell_present(report);
    report->comm = comm;
    if (report->present.count++ == 0) {
        report->present.source = source;
        report->present.tag = tag;
    }
}

int MPIR_Adapt_drop_unreceived(unsigned epoch, bool * told)
{
    int mpi_errno = MPI_SUCCESS;
    struct report report = {.epoch = epoch };

    mpi_errno = MPID_Adapt_discard_unreceived(epoch, note, &report);
    MPIR_ERR_CHECK(mpi_errno);
    tell_present(&report);
    *told = report.told > 0;
    mpi_errno = report.mpi_errno;
    MPIR_ERR_CHECK(mpi_errno);
    if (report.others.count) {
        mpi_errno = tell(epoch, "other_communicators", &report.others);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
