/* A part of errutil.c, because it uses that file's ring of error codes. */

#ifndef MPIR_ERROR_RING_H_INCLUDED
#define MPIR_ERROR_RING_H_INCLUDED

/* Whether the chain of an error code contains this entry of the ring.  A reader of a chain with a
 * cycle would never reach its end. */
static int leads_to(int error_code, int wanted_idx)
{
    int ring_idx, ring_id, generic_idx;

    while (error_code != MPI_SUCCESS &&
           convertErrcodeToIndexes(error_code, &ring_idx, &ring_id, &generic_idx) == 0 &&
           generic_idx >= 0 && ErrorRing[ring_idx].id == ring_id) {
        if (ring_idx == wanted_idx)
            return 1;
        error_code = ErrorRing[ring_idx].prev_error;
    }
    return 0;
}

#endif /* MPIR_ERROR_RING_H_INCLUDED */
