/* See motion.h. */

#include "motion.h"

#include <stdio.h>
#include <stdlib.h>
#include "failure.h"

#define TAG_REMINDER 32767      /* the messages' tags are below */

/* Commit tells on which communicators requests are pending: one that is, until the wait. */
int adapt_motion_remind(struct MPIX_Adapt_motion_s *motion, const char *kind, const char *name)
{
    char text[MPI_MAX_OBJECT_NAME];
    int rank;

    snprintf(text, sizeof(text), "%s '%.80s' (not waited for)", kind, name);
    MPI_Comm_rank(motion->all, &rank);
    int code = MPI_Comm_set_name(motion->all, text);
    return code ? code : MPI_Irecv(NULL, 0, MPI_BYTE, rank, TAG_REMINDER, motion->all,
                                   &motion->reminder);
}

static int forget(struct MPIX_Adapt_motion_s *motion)
{
    if (motion->reminder == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    int code = MPI_Cancel(&motion->reminder);
    return code ? code : MPI_Wait(&motion->reminder, MPI_STATUS_IGNORE);
}

int MPIX_Adapt_motion_test(MPIX_Adapt_motion motion, int *done)
{
    bool is_through;

    if (!motion || !done)
        return adapt_fail(MPI_ERR_ARG, "MPIX_Adapt_motion_test: nothing has been started, or done is"
                          " NULL");
    int code = adapt_exchange_test(&motion->exchange, &is_through);
    *done = is_through;
    return code;
}

int MPIX_Adapt_motion_wait(MPIX_Adapt_motion *motion)
{
    if (!motion || !*motion)
        return adapt_fail(MPI_ERR_ARG, "MPIX_Adapt_motion_wait: nothing has been started");
    struct MPIX_Adapt_motion_s *waited = *motion;
    *motion = NULL;
    int code = adapt_exchange_wait(&waited->exchange);
    code = waited->finish(waited, code);
    const int forget_code = forget(waited), free_code = MPI_Comm_free(&waited->all);
    free(waited);
    return code ? code : forget_code ? forget_code : free_code;
}
