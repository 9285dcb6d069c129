/*
 * Rows of sessions (ch4_adapt_api.txt) for libfabric: addresses of single processes in its vector,
 * before the world's are exchanged.  SX5.
 *
 * As text an address is the endpoint's name in hexadecimal.  Processes that have exchanged
 * addresses in this way never use the world's shared memory with each other: a message must not
 * overtake one that was sent over the network.  Channels (ch4_channels.h) are made before the first
 * message.  Active messages are marked with the rank instead of the sender's lpid in its own
 * vector, which differs between processes.
 */

#include "mpidimpl.h"
#include "ofi_impl.h"
#include "ofi_adapt.h"
#include "ofi_noinline.h"
#include "mpid_session.h"
#include "../../src/ch4_locality.h"

static unsigned char *known;    /* for each lpid in the table */

int MPIDI_OFI_session_address(char *text, int bytes)
{
    int mpi_errno = MPI_SUCCESS;
    unsigned char name[FI_NAME_MAX];
    size_t length = sizeof(name);

    MPIDI_OFI_CALL(fi_getname((fid_t) MPIDI_OFI_global.ctx[0].ep, name, &length), getname);
    MPIR_ERR_CHKANDJUMP(2 * length + 1 > (size_t) bytes, mpi_errno, MPI_ERR_OTHER,
                        "**sessionaddress");
    for (size_t i = 0; i < length; i++)
        snprintf(text + 2 * i, 3, "%02x", name[i]);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Returns the number of bytes, 0 if it is not hexadecimal or too long. */
static size_t decode(const char *text, unsigned char *name)
{
    size_t length = strlen(text);
    unsigned byte;

    if (length % 2 || length / 2 > FI_NAME_MAX || strspn(text, "0123456789abcdef") != length)
        return 0;
    for (size_t i = 0; i < length / 2; i++) {
        sscanf(text + 2 * i, "%2x", &byte);
        name[i] = (unsigned char) byte;
    }
    return length / 2;
}

/* The world's addresses are inserted later. */
static void address_reset(int lpid)
{
    known[lpid] = 0;
#ifdef MPIDI_BUILD_CH4_LOCALITY_INFO
    MPIDIU_get_av(0, lpid).is_local =
        MPIR_Process.node_map[lpid] == MPIR_Process.node_map[MPIR_Process.rank];
#endif
}

int MPIDI_OFI_session_insert(int lpid, const char *text)
{
    int mpi_errno = MPI_SUCCESS;
    unsigned char name[FI_NAME_MAX];
    size_t own_length = 0;

    if (!text) {
        address_reset(lpid);
        goto fn_exit;
    }

    if (!known) {
        known = MPL_calloc(MPL_MAX(MPIR_Process.size, MPID_SESSION_LPIDS_MAX), 1, MPL_MEM_ADDRESS);
        MPIR_ERR_CHKANDJUMP(!known, mpi_errno, MPI_ERR_OTHER, "**nomem");
        /* in a world they already have numbers, the ranks */
        if (!MPIR_Process.comm_world)
            MPIDI_Adapt_am_source = MPIDI_OFI_adapt_am_source(MPIR_Device_callbacks.session_lpid());
    }
    /* names of one provider have one length, which this returns */
    (void) fi_getname((fid_t) MPIDI_OFI_global.ctx[0].ep, NULL, &own_length);
    MPIR_ERR_CHKANDJUMP(decode(text, name) != own_length, mpi_errno, MPI_ERR_OTHER,
                        "**sessionaddress");
    MPIDI_av_entry_t *entry = &MPIDIU_get_av(0, lpid);
    MPIDI_OFI_CALL(fi_av_insert(MPIDI_OFI_global.ctx[0].av, name, 1,
                                &MPIDI_OFI_AV(entry).dest[0][0], 0ULL, NULL), avmap);
#ifdef MPIDI_BUILD_CH4_LOCALITY_INFO
    /* also for this process: without a world it has no shared memory yet */
    entry->is_local = MPIDI_LOCALITY__NETWORK;
#endif
    known[lpid] = 1;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The condition that upstream waits for when it is finalised. */
bool MPIDI_OFI_session_sends(void)
{
    for (int vni = 0; vni < MPIDI_OFI_global.num_vnis; vni++) {
        if (MPIDI_OFI_global.per_vni[vni].am_inflight_rma_send_mrs ||
            MPIDI_OFI_global.per_vni[vni].am_inflight_inject_emus)
            return true;
    }
    return false;
}

bool MPIDI_OFI_session_knows(int lpid)
{
    return known && known[lpid];
}
