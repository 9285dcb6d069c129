/*
 * The intercommunicator with processes that start together as one MPI_COMM_WORLD, before these run
 * (SPEC DC1-DC3).
 *
 * Until then it is a stub: an object without the device's part, marked as a revoked communicator.
 * So the existing validity tests call this file from MPI calls that communicate, and these wait
 * here; other calls are not affected.  If the processes have ended before, the stub remains and may
 * be freed.
 */

#include "process_world.h"

struct MPIR_Process_world *MPIR_Process_worlds;

static struct MPIR_Process_world *world_of(const MPIR_Comm * comm)
{
    struct MPIR_Process_world *world = MPIR_Process_worlds;

    while (world && world->stub != comm)
        world = world->next;
    return world;
}

/* Discards the stub, which is unknown to the device, and deletes its attributes. */
void MPIR_Process_discard_stub(struct MPIR_Process_world *world)
{
    MPIR_Comm *comm = world->stub;
    int error;

    world->stub = NULL;
    if (comm->errhandler && !HANDLE_IS_BUILTIN(comm->errhandler->handle))
        MPIR_Errhandler_free_impl(comm->errhandler);
    MPIR_Free_contextid(comm->recvcontext_id);
    MPID_Thread_mutex_destroy(&comm->mutex, &error);
    MPII_COMML_FORGET(comm);
    MPIR_Object_set_ref(comm, 0);
    MPIR_Handle_obj_free(&MPIR_Comm_mem, comm);
}

bool MPIR_Process_is_stub(const MPIR_Comm * comm)
{
    return comm && comm->revoked && world_of(comm);
}

int MPIR_Process_free_stub(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Process_world *world = world_of(comm);

    if (MPIR_Process.attr_free && comm->attributes)
        mpi_errno = MPIR_Process.attr_free(comm->handle, &comm->attributes);
    MPIR_ERR_CHECK(mpi_errno);
    world->is_freed = true;
    if (world->state == MPIR_PROCESS_WORLD_FAILED)
        MPIR_Process_discard_stub(world);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* An error if the only process that can start the others would wait for ever. */
static int check_wait(const struct MPIR_Process_world *world)
{
    int mpi_errno = MPI_SUCCESS;

    bool is_alone = MPIR_ThreadInfo.thread_provided < MPI_THREAD_MULTIPLE;

    MPIR_ERR_CHKANDJUMP1(MPIR_Process_world_is_held_here(world) && !world->is_started &&
                         is_alone, mpi_errno, MPI_ERR_COMM, "**processparent", "**processparent %s",
                         "the processes are not started: call MPI_Startall with their requests");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Process_use_stub(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Process_world *world = world_of(comm);
    struct MPIR_Dynproc_wait wait = {.fd = -1 };

    MPIR_ERR_CHKANDJUMP(!world, mpi_errno, MPIX_ERR_REVOKED, "**comm");
    while (comm->revoked && world->state == MPIR_PROCESS_WORLD_AWAITED) {
        mpi_errno = check_wait(world);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Dynproc_pause(&wait);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIR_ERR_CHKANDJUMP(comm->revoked, mpi_errno, MPI_ERR_COMM, "**processparent");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
