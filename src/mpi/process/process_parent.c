/*
 * MPIX_Comm_parent_create: makes the world of processes that will start together, and the stub of
 * the intercommunicator with them (SPEC DC1-DC3).
 */

#include "process_world.h"

static void unbind_requests(struct MPIR_Process_world *world)
{
    for (int i = 0; world->requests && i < world->n; i++) {
        if (world->requests[i])
            world->requests[i]->world = NULL;
    }
}

int MPIR_Process_world_check_args(int n_args)
{
    int mpi_errno = MPI_SUCCESS;
    char text[128];

    snprintf(text, sizeof(text), "a program has %d arguments and can have %d: write them to a file",
             n_args, PMI_TASK_WORLD_ARGUMENTS_MAX);
    MPIR_ERR_CHKANDJUMP1(n_args > PMI_TASK_WORLD_ARGUMENTS_MAX, mpi_errno, MPI_ERR_ARG,
                         "**processparent", "**processparent %s", text);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* On the holder: assigns the requests to this world. */
static int hold_requests(struct MPIR_Process_world *world, const MPI_Request handles[])
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP1(!handles, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s",
                         "array_of_requests");
    world->requests = MPL_calloc((size_t) world->n, sizeof(*world->requests), MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!world->requests, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < world->n; i++) {
        struct MPIR_Process_request *request =
            MPIR_Process_inactive(MPIR_Process_handle(handles[i]));
        MPIR_ERR_CHKANDJUMP(!request ||
                            request->world, mpi_errno, MPI_ERR_REQUEST, "**processbound");
        mpi_errno = MPIR_Process_world_check_args(request->n_args);
        MPIR_ERR_CHECK(mpi_errno);
        request->world = world;
        world->requests[i] = request;
    }
    mpi_errno = MPIR_Dynproc_parent_listen(&world->service, world->parent);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Agrees on an error of the greatest class of any process; or else on the holder of the requests,
 * and their number. */
static int agree_on_holder(struct MPIR_Process_world *world, int own_errno)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    const int rank = world->local->rank, own_class =
        own_errno ? MPIR_ERR_GET_CLASS(own_errno) : MPI_SUCCESS;
    bool holds = world->n > 0;
    /* the holder's rank as a maximum, and as its own negative */
    int mine[4] = { own_class, holds ? rank : -1, holds ? -rank : -INT_MAX, world->n }, all[4];

    mpi_errno = MPIR_Allreduce(mine, all, 4, MPI_INT, MPI_MAX, world->local, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = own_errno;
    if (!mpi_errno && all[0])
        mpi_errno = MPIR_Dynproc_error_elsewhere(all[0]);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(all[1] < 0 ||
                        all[1] != -all[2], mpi_errno, MPI_ERR_REQUEST, "**processbound");
    world->holder = all[1];
    world->n = all[3];

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int make_stub(struct MPIR_Process_world *world)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPIR_Get_contextid_sparse(world->local, &world->context_id, FALSE);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Sched_next_tag(world->local, &world->tag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Dynproc_gather_bcs(world->local, world->holder, world->lines, &world->bcs);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPID_Dynproc_stub(world->local, true, world->context_id, world->n, &world->stub);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Dynproc_lines_make(world->lines, world->stub, false, NULL);
    world->stub->revoked = 1;
    if (!MPIR_Process_world_is_held_here(world))
        mpi_errno = MPIR_Process_world_receive(world, 0, world->head, 3, MPI_INT);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Comm_parent_create_impl(MPIR_Comm * local, int n, const MPI_Request handles[],
                                 MPIR_Comm ** intercomm)
{
    int mpi_errno = MPI_SUCCESS, own_errno = MPI_SUCCESS;
    struct MPIR_Process_world *world = MPL_calloc(1, sizeof(*world), MPL_MEM_OTHER);

    MPIR_ERR_CHKANDJUMP(!world, mpi_errno, MPI_ERR_OTHER, "**nomem");
    world->local = local;
    world->n = MPL_MAX(n, 0);
    world->lines = MPIR_Dynproc_lines_new();
    MPIR_Assertp(world->lines);
    if (n < 0)
        MPIR_ERR_SET1(own_errno, MPI_ERR_COUNT, "**countneg", "**countneg %d", n);
    else if (n > 0)
        own_errno = hold_requests(world, handles);
    mpi_errno = agree_on_holder(world, own_errno);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = make_stub(world);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Comm_add_ref(local);
    MPIR_Dynproc_at_finalize();
    (void) MPID_Dynproc_answer_from_now_on();
#if defined HAVE_ERROR_CHECKING && HAVE_ERROR_CHECKING == MPID_ERROR_LEVEL_RUNTIME
    MPIR_Process.do_error_checks = 1;   /* checks call the functions for stubs */
#endif
    world->next = MPIR_Process_worlds;
    MPIR_Process_worlds = world;
    *intercomm = world->stub;
    MPIR_Dynproc_start_polling_by(MPIR_Process_poll_worlds, MPIR_Process_close_worlds);

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (world) {
        unbind_requests(world);
        MPIR_Process_world_stop_listening(world);
        MPIR_Process_world_free(world);
    }
    goto fn_exit;
}
