/*
 * Unexpected messages that libfabric holds for worlds that have ended (ch4_adapt_unexpected.h):
 * found by a peek for bits of their context id, and discarded in libfabric.  No state.
 */

#include "mpidimpl.h"
#include "ofi_impl.h"
#include "ofi_noinline.h"
#include "ch4_adapt_unexpected.h"
#include "mpir_adapt_context.h"

bool MPIDI_OFI_adapt_has_generations(void)
{
    const uint64_t mask = MPIR_ADAPT_GENERATION_MASK;
    const uint64_t protocol = MPIDI_OFI_PROTOCOL_MASK | MPIDI_OFI_SYNC_SEND_ACK;
    uint64_t in_match_bits = mask << MPIDI_OFI_TAG_BITS;

    return in_match_bits >> MPIDI_OFI_TAG_BITS == mask && (in_match_bits & protocol) == 0;
}

/* Searches in the context of one endpoint.  A search without result causes an event, too. */
static int peek(int ctx_idx, int vni, uint64_t bits, uint64_t ignore, uint64_t flags,
                int *found, MPI_Status * status)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request request;       /* for the event's handler; only the fields set here are read */
    struct fi_msg_tagged message = {.addr = FI_ADDR_UNSPEC,.tag = bits,.ignore = ignore };
    MPL_atomic_int_t *state = &MPIDI_OFI_REQUEST(&request, util_id);
    ssize_t err;

    MPIDI_OFI_REQUEST(&request, kind) = MPIDI_OFI_req_kind__probe;
    MPIDI_OFI_REQUEST(&request, event_id) = MPIDI_OFI_EVENT_PEEK;
    MPL_atomic_release_store_int(state, MPIDI_OFI_PEEK_START);
    message.context = &MPIDI_OFI_REQUEST(&request, context);

    while (true) {
        err = fi_trecvmsg(MPIDI_OFI_global.ctx[ctx_idx].rx, &message,
                          flags | FI_PEEK | FI_COMPLETION);
        if (err != -FI_EAGAIN)
            break;
        MPIDI_OFI_PROGRESS(vni);
    }
    *found = 0;
    if (err)                    /* no message, or a provider that cannot search */
        goto fn_exit;
    MPIDI_OFI_PROGRESS_WHILE(MPL_atomic_acquire_load_int(state) == MPIDI_OFI_PEEK_START, vni);
    *found = MPL_atomic_relaxed_load_int(state) == MPIDI_OFI_PEEK_FOUND;
    status->MPI_SOURCE = request.status.MPI_SOURCE;
    status->MPI_TAG = request.status.MPI_TAG;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_OFI_adapt_find_unexpected(MPIR_Context_id_t id, MPIR_Context_id_t mask, bool take_out,
                                    int *found, MPI_Status * status)
{
    int mpi_errno = MPI_SUCCESS;
    uint64_t bits = (uint64_t) (id & mask) << MPIDI_OFI_TAG_BITS;
    /* Messages with a protocol are part of requests, or of connections to other jobs. */
    uint64_t ignore = ~(((uint64_t) mask << MPIDI_OFI_TAG_BITS) | MPIDI_OFI_PROTOCOL_MASK |
                        MPIDI_OFI_SYNC_SEND_ACK);

    *found = 0;
    if (!MPIDI_OFI_ENABLE_TAGGED)
        goto fn_exit;
    for (int vni = 0; vni < MPIDI_OFI_global.num_vnis && !*found; vni++) {
        MPIDI_OFI_THREAD_CS_ENTER_VCI_OPTIONAL(vni);
        for (int nic = 0; nic < MPIDI_OFI_global.num_nics && !*found; nic++) {
            mpi_errno = peek(MPIDI_OFI_get_ctx_index(NULL, vni, nic), vni, bits, ignore,
                             take_out ? FI_DISCARD : 0, found, status);
            if (mpi_errno)
                break;
        }
        MPIDI_OFI_THREAD_CS_EXIT_VCI_OPTIONAL(vni);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
