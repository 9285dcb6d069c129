/* See motion.h. */

#include "motion.h"

#include <stdlib.h>
#include "failure.h"

int MPIX_Adapt_motion_test(MPIX_Adapt_motion motion, int *done)
{
    bool is_through;

    if (!motion || !done)
        return adapt_fail(MPI_ERR_ARG,
                          "MPIX_Adapt_motion_test: nothing has been started, or done is" " NULL");
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
    const int final_code = adapt_channel_finish(waited->channel, &waited->debt);
    free(waited);
    return code ? code : final_code;
}
