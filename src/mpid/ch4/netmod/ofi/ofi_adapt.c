/*
 * Addresses of processes that join and leave, in libfabric's address vectors.  All vectors of a
 * process (one for each context) get the same insertions and removals in the same order, because
 * MPICH keeps one table for all of them.
 *
 * A business card has: uint32_t name_len, uint16_t num_nics, uint16_t num_vnis, then the names,
 * ordered by vni, each of name_len bytes.
 */

#include "mpidimpl.h"
#include "ofi_impl.h"
#include "ofi_adapt.h"
#include "ofi_noinline.h"
#include "ch4_adapt_preconnect.h"
#include "ch4_adapt_unexpected.h"
#include "mpir_adapt_device.h"

struct bc_header {
    uint32_t name_len;
    uint16_t num_nics, num_vnis;
};

#define AM_SOURCE_BIT (1ULL << 62)
#define UNIQUE_SOURCE_BIT (1ULL << 63)

uint64_t MPIDI_OFI_adapt_am_source(unsigned uid)
{
    return AM_SOURCE_BIT | ((uint64_t) uid << 16);
}

static const char *bc_name(const struct bc_header *bc, int nic, int vni)
{
    return (const char *) (bc + 1) + (size_t) (vni * bc->num_nics + nic) * bc->name_len;
}

int MPIDI_OFI_adapt_bc(void **bc, int *bytes)
{
    int mpi_errno = MPI_SUCCESS;
    struct bc_header header = {
        .name_len = (uint32_t) MPIDI_OFI_global.addrnamelen,
        .num_nics = (uint16_t) MPIDI_OFI_global.num_nics,
        .num_vnis = (uint16_t) MPIDI_OFI_global.num_vnis
    };
    struct bc_header *result;

    *bytes = (int) (sizeof(header) + header.name_len * header.num_nics * header.num_vnis);
    result = MPL_calloc(1, *bytes, MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!result, mpi_errno, MPI_ERR_OTHER, "**nomem");
    *result = header;
    for (int vni = 0; vni < header.num_vnis; vni++) {
        for (int nic = 0; nic < header.num_nics; nic++) {
            size_t length = header.name_len;
            int ctx_idx = MPIDI_OFI_get_ctx_index(NULL, vni, nic);
            MPIDI_OFI_CALL(fi_getname((fid_t) MPIDI_OFI_global.ctx[ctx_idx].ep,
                                      (char *) bc_name(result, nic, vni), &length), getname);
        }
    }
    *bc = result;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(result);
    goto fn_exit;
}

/* Contexts, and with them the names of a process, are numbered nic by nic. */
static int n_contexts(void)
{
    return MPIDI_OFI_global.num_nics * MPIDI_OFI_global.num_vnis;
}

static fi_addr_t *address_of(MPIDI_av_entry_t * entry, int name)
{
    const int num_vnis = MPIDI_OFI_global.num_vnis;

    return &MPIDI_OFI_AV(entry).dest[name / num_vnis][name % num_vnis];
}

/* Inserts a name into the vector of one context, where it must get the same address as in the
 * others. */
static int insert_name(int ctx_idx, const void *name, fi_addr_t wanted)
{
    int mpi_errno = MPI_SUCCESS;
    struct fid_av *av = MPIDI_OFI_global.ctx[ctx_idx].av;
    fi_addr_t addr;

    MPIDI_OFI_CALL(fi_av_insert(av, name, 1, &addr, 0ULL, NULL), avmap);
    if (addr != wanted) {
        fi_av_remove(av, &addr, 1, 0ULL);
        MPIR_ERR_SETANDJUMP(mpi_errno, MPI_ERR_OTHER, "**adaptvectors");
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Removes the first n of the names inserted by MPIDI_OFI_adapt_insert. */
static int remove_names(MPIDI_av_entry_t * entry, int n)
{
    int mpi_errno = MPI_SUCCESS;

    for (int i = 0; i < n; i++) {
        fi_addr_t *addr = address_of(entry, i % n_contexts());
        MPIDI_OFI_CALL(fi_av_remove(MPIDI_OFI_global.ctx[i / n_contexts()].av, addr, 1, 0ULL),
                       avmap);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_OFI_adapt_insert(const void *data, int bytes, MPIDI_av_entry_t * entry)
{
    int mpi_errno = MPI_SUCCESS, done = 0;
    const struct bc_header *bc = data;
    const int num_vnis = MPIDI_OFI_global.num_vnis, n = n_contexts();

    MPIR_ERR_CHKANDJUMP((size_t) bytes < sizeof(*bc) ||
                        bc->num_nics != MPIDI_OFI_global.num_nics || bc->num_vnis != num_vnis ||
                        bc->name_len != MPIDI_OFI_global.addrnamelen ||
                        (size_t) bytes < sizeof(*bc) + (size_t) n * bc->name_len, mpi_errno,
                        MPI_ERR_OTHER, "**adaptcard");

    for (; done < n; done++) {
        const char *name = bc_name(bc, done / num_vnis, done % num_vnis);
        MPIDI_OFI_CALL(fi_av_insert(MPIDI_OFI_global.ctx[0].av, name, 1, address_of(entry, done),
                                    0ULL, NULL), avmap);
    }
    for (; done < n * n; done++) {
        const char *name = bc_name(bc, done % n / num_vnis, done % n % num_vnis);
        mpi_errno = insert_name(done / n, name, *address_of(entry, done % n));
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    (void) remove_names(entry, done);
    goto fn_exit;
}

/* FNV-1a */
static uint64_t hash(uint64_t value, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        value = (value ^ ((const unsigned char *) bytes)[i]) * 0x100000001b3ULL;
    return value;
}

/* Unique among all processes that ever communicate, because an address may be reused after the end
 * of its process.  In an elastic job it keeps the job's bit. */
static uint64_t unique_source(void)
{
    uint64_t value =
        hash(0xcbf29ce484222325ULL, MPIDI_OFI_global.addrname[0], MPIDI_OFI_global.addrnamelen);
    struct timespec now;
    pid_t pid = getpid();

    clock_gettime(CLOCK_REALTIME, &now);
    value = hash(hash(value, &pid, sizeof(pid)), &now, sizeof(now));
    return UNIQUE_SOURCE_BIT | (MPIDI_Adapt_am_source & AM_SOURCE_BIT) | (value >> 3 & ~0xffffULL);
}

/* Active messages identify their sender by an address index or a number in the job; the same values
 * occur in other launches.  Before this process sends to another launch, it takes a unique
 * identity, and restarts its message numbers.  All parts of a message have the same identity.  From
 * then on memory of other processes is not mapped directly (ipc_adapt.h). */
static int use_unique_source(void)
{
    static uint64_t source;
    int mpi_errno = MPI_SUCCESS;

    if (source && MPIDI_Adapt_am_source == source)
        goto fn_exit;
    for (int vni = 0; vni < MPIDI_OFI_global.num_vnis; vni++) {
        while (MPIDI_OFI_global.per_vni[vni].deferred_am_isend_q) {
            mpi_errno = MPID_Progress_test(NULL);
            MPIR_ERR_CHECK(mpi_errno);
        }
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vni).lock);
        MPIDIU_map_destroy(MPIDI_OFI_global.per_vni[vni].am_send_seq_tracker);
        MPIDIU_map_create(&MPIDI_OFI_global.per_vni[vni].am_send_seq_tracker, MPL_MEM_BUFFER);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vni).lock);
    }
    source = unique_source();
    MPIDI_Adapt_am_source = source;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_OFI_adapt_insert_elsewhere(const void *name, fi_addr_t addr)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_elastic = MPIDI_Adapt_am_source & AM_SOURCE_BIT;

    mpi_errno = use_unique_source();
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 1; is_elastic && i < n_contexts(); i++) {
        mpi_errno = insert_name(i, name, addr);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void tracker_remove(void *map, uint64_t key)
{
    if (MPIDIU_map_lookup(map, key) != MPIDIU_MAP_NOT_FOUND)
        MPIDIU_map_erase(map, key);
}

int MPIDI_OFI_adapt_remove(MPIDI_av_entry_t * entry, uint64_t am_source)
{
    int mpi_errno = MPI_SUCCESS;
    int num_nics = MPIDI_OFI_global.num_nics, num_vnis = MPIDI_OFI_global.num_vnis;

    mpi_errno = remove_names(entry, n_contexts() * n_contexts());
    MPIR_ERR_CHECK(mpi_errno);
    for (int ctx_vni = 0; ctx_vni < num_vnis; ctx_vni++) {
        /* The address may be reused for another process, whose messages start at number 0 again. */
        for (int nic = 0; nic < num_nics; nic++) {
            for (int vni = 0; vni < num_vnis; vni++) {
                tracker_remove(MPIDI_OFI_global.per_vni[ctx_vni].am_recv_seq_tracker,
                               am_source + vni * MPIDI_OFI_MAX_NICS + nic);
                tracker_remove(MPIDI_OFI_global.per_vni[ctx_vni].am_send_seq_tracker,
                               MPIDI_OFI_AV(entry).dest[nic][vni]);
            }
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* With one context there is only one path for a message; with several MPICH distributes messages by
 * its own rules. */
bool MPIDI_OFI_adapt_can_preconnect(void)
{
    return MPIDI_OFI_ENABLE_TAGGED && MPIDI_OFI_global.num_nics == 1 &&
        MPIDI_OFI_global.num_vnis == 1;
}

int MPIDI_OFI_adapt_preconnect(MPIDI_av_entry_t * to, unsigned epoch, int index)
{
    MPIR_Context_id_t context = MPIDI_Adapt_context_of(MPIDI_ADAPT_CONTEXT__UNION, epoch) +
        MPIR_CONTEXT_INTRA_COLL;

    if (!MPIDI_OFI_adapt_can_preconnect())
        return MPIDI_ADAPT_PRECONNECT__NEVER;
    uint64_t match_bits = MPIDI_OFI_init_sendtag(context, MPIDI_ADAPT_PRECONNECT_TAG, 0);
    ssize_t result = fi_tinjectdata(MPIDI_OFI_global.ctx[0].tx, NULL, 0, (uint64_t) index,
                                    MPIDI_OFI_av_to_phys(to, 0, 0, 0), match_bits);
    if (result == -FI_EAGAIN)
        return MPIDI_ADAPT_PRECONNECT__LATER;
    return result == 0 ? MPIDI_ADAPT_PRECONNECT__SENT : MPIDI_ADAPT_PRECONNECT__NEVER;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* Interval of libfabric's rxm between polls for connection requests, in microseconds; both sides of
 * a new connection would wait for the default of 10 ms. */
#define CONNECTING "FI_OFI_RXM_CM_PROGRESS_INTERVAL"
#define CONNECTING_US "500"

static bool set_connecting;

void MPID_Adapt_before_init(void)
{
    if (!getenv(CONNECTING))
        set_connecting = setenv(CONNECTING, CONNECTING_US, 1) == 0;
}

void MPID_Adapt_after_init(void)
{
    if (set_connecting)
        unsetenv(CONNECTING);   /* the program's environment is unchanged */
    set_connecting = false;
}
