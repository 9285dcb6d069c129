/*
 * Persistent and partitioned requests of MPI_PROC_NULL.  The device skips them when it starts
 * requests; they are active and complete from their start until the user completes them.
 */

#ifndef MPIR_START_NULL_H_INCLUDED
#define MPIR_START_NULL_H_INCLUDED

/* Called after MPID_Startall, for the requests that it has skipped.  The device finds out the peer
 * of a partitioned request. */
void MPID_Start_null(MPIR_Request * request);

static inline void MPIR_Start_null(int count, MPIR_Request * requests[])
{
    for (int i = 0; i < count; i++) {
        switch (requests[i]->kind) {
            case MPIR_REQUEST_KIND__PREQUEST_SEND:
            case MPIR_REQUEST_KIND__PREQUEST_RECV:
                if (requests[i]->u.persist.real_request == NULL)
                    MPID_Start_null(requests[i]);
                break;
            case MPIR_REQUEST_KIND__PART_SEND:
            case MPIR_REQUEST_KIND__PART_RECV:
                MPID_Start_null(requests[i]);
                break;
            default:
                break;
        }
    }
}

#endif /* MPIR_START_NULL_H_INCLUDED */
