/*
 * Boxes (adapt_boxes.h) and items (adapt_items.h) that move while the program computes: started,
 * perhaps tested, and waited for, all in the window.
 */

#ifndef ADAPT_MOTION_H_INCLUDED
#define ADAPT_MOTION_H_INCLUDED

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MPIX_Adapt_motion_s *MPIX_Adapt_motion;

/* Makes progress.  *done: it could be waited for without waiting. */
int MPIX_Adapt_motion_test(MPIX_Adapt_motion motion, int *done);
/* *motion is NULL afterwards, also with an error.  Waits may be in any order; commit returns
 * MPI_ERR_PENDING as long as one is outstanding. */
int MPIX_Adapt_motion_wait(MPIX_Adapt_motion *motion);

#ifdef __cplusplus
}
#endif

#endif /* ADAPT_MOTION_H_INCLUDED */
