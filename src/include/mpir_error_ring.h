/* A part of errutil.c, of which it knows the ring of error codes. */

#ifndef MPIR_ERROR_RING_H_INCLUDED
#define MPIR_ERROR_RING_H_INCLUDED

/* Whether the chain of an error code has this entry of the ring.  If a chain led back into itself,
 * whoever reads it would never come to its end. */
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
