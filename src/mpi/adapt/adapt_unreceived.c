/*
 * Messages that nobody had received when the window closed.  They cannot be received any more, which is
 * hardly what the program wants: they are taken out, counted, and mpiexec tells of them.
 *
 * All processes have entered commit and no send is incomplete (MPIR_Adapt_check_pending), so that whatever
 * is here is here as a whole, and receiving it waits for nobody.  A message that is still on its way over
 * the network is not counted; that it never reaches a later world is the device's care.
 */

#include "adapt.h"

#define COMMS_MAX 8     /* that are reported one by one */
#define NAME_BYTES_MAX 64       /* of a communicator, as the daemon takes it */

struct unreceived {
    int count;
    int source, tag;            /* of the first */
};

struct ending_comms {
    MPIR_Comm **comms;
    int count, capacity;
};

static void add_ending(MPIR_Comm * comm, void *context)
{
    struct ending_comms *ending = context;

    if (comm->adapt.lineage == MPIR_ADAPT_LINEAGE_SELF)
        return;
    if (ending->count == ending->capacity) {
        int capacity = 2 * ending->capacity + 16;
        MPIR_Comm **comms = MPL_realloc(ending->comms, capacity * sizeof(*comms), MPL_MEM_OTHER);
        if (!comms)
            return;     /* one fewer is looked at */
        ending->comms = comms;
        ending->capacity = capacity;
    }
    ending->comms[ending->count++] = comm;
}

/* Takes one message out, if there is any. */
static int drop_one(MPIR_Comm * comm, int *found, MPI_Status * status)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *message = NULL, *request = NULL;
    MPI_Aint bytes;
    char *buffer = NULL;

    mpi_errno = MPID_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPIR_CONTEXT_INTRA_PT2PT, found, status);
    MPIR_ERR_CHECK(mpi_errno);
    if (!*found)
        goto fn_exit;
    mpi_errno = MPID_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPIR_CONTEXT_INTRA_PT2PT, found,
                             &message, status);
    MPIR_ERR_CHECK(mpi_errno);
    if (!*found)
        goto fn_exit;

    MPIR_Get_count_impl(status, MPI_BYTE, &bytes);
    buffer = MPL_malloc(bytes + 1, MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!buffer, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = MPID_Mrecv(buffer, bytes, MPI_BYTE, message, MPI_STATUS_IGNORE, &request);
    MPIR_ERR_CHECK(mpi_errno);
    if (request) {
        mpi_errno = MPID_Wait(request, MPI_STATUS_IGNORE);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_Request_free(request);
    }

  fn_exit:
    MPL_free(buffer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int drop_all(MPIR_Comm * comm, struct unreceived *unreceived)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Status status;
    int found = 1;

    while (found) {
        mpi_errno = drop_one(comm, &found, &status);
        MPIR_ERR_CHECK(mpi_errno);
        if (found && unreceived->count++ == 0) {
            unreceived->source = status.MPI_SOURCE;
            unreceived->tag = status.MPI_TAG;
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

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

int MPIR_Adapt_drop_unreceived(unsigned epoch)
{
    int mpi_errno = MPI_SUCCESS;
    struct ending_comms ending = { NULL, 0, 0 };
    struct unreceived others = { 0, 0, 0 };
    char name[NAME_BYTES_MAX];
    int told = 0;

    add_ending(MPIR_Process.comm_world, &ending);
    MPIR_Adapt_foreach_comm(add_ending, &ending);
    mpi_errno = MPIDI_Adapt_progress();
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < ending.count; i++) {
        struct unreceived unreceived = { 0, 0, 0 };
        mpi_errno = drop_all(ending.comms[i], &unreceived);
        MPIR_ERR_CHECK(mpi_errno);
        if (unreceived.count == 0)
            continue;
        if (told < COMMS_MAX) {
            name_comm(ending.comms[i], name);
            mpi_errno = tell(epoch, name, &unreceived);
            MPIR_ERR_CHECK(mpi_errno);
            told++;
        } else {
            unreceived.count += others.count;
            others = unreceived;
        }
    }
    if (others.count) {
        mpi_errno = tell(epoch, "other_communicators", &others);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_free(ending.comms);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
