/* See ch4_hosts.h. */

#include "mpidimpl.h"
#include "ch4_hosts.h"
#include "ch4_locality.h"
#include "mpir_adapt.h"
#include "mpidu_oversubscribed.h"
#include "mpid_session.h"
#include <errno.h>
#include <signal.h>

/* The identities of hosts, in the order in which this process received them: its own host first. */
static struct {
    uint64_t *keys;
    int n, max;
} hosts;

/* ---- keys ------------------------------------------------------------------------------------ */

#define FNV_START 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char) *text) * FNV_PRIME;
    return hash;
}

static uint64_t hash_boot(uint64_t hash)
{
    char boot[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file) {
        if (!fgets(boot, sizeof(boot), file))
            boot[0] = '\0';
        fclose(file);
    }
    return hash_text(hash, boot);
}

/* Hash of mpiexec's name for this host, which distinguishes several "hosts" on one machine, and of
 * the boot, so that two mpiexecs may use one name for different hosts. */
static uint64_t own_key(void)
{
    char text[MPI_MAX_PROCESSOR_NAME] = "";
    const char *name = getenv("MPIR_CVAR_CH3_INTERFACE_HOSTNAME");

    if (!name && !gethostname(text, sizeof(text) - 1))
        name = text;
    uint64_t key = hash_text(hash_boot(FNV_START), name ? name : "");
    if (MPIR_CVAR_NOLOCAL || MPIR_CVAR_ODD_EVEN_CLIQUES || MPIR_CVAR_NUM_CLIQUES > 1) {
        /* processes of one host simulate several hosts */
        snprintf(text, sizeof(text), " %d", (int) getpid());
        key = hash_text(key, text);
    }
    return key;
}

static uint64_t hash_number(uint64_t hash, int64_t number)
{
    for (int byte = 0; byte < 8; byte++)
        hash = (hash ^ (uint8_t) ((uint64_t) number >> 8 * byte)) * FNV_PRIME;
    return hash;
}

/* All settings that determine collectives of a host by flags: each side of a spawn, and each
 * mpiexec, may have its own environment.  The first computed value stays, because other processes
 * have received it; 0: a table of the user chooses the algorithms.  Across pid namespaces a process
 * could not detect the end of another one. */
static uint64_t own_settings(void)
{
    static uint64_t settings;
    const uint64_t pid_namespace = MPIR_Device_callbacks.pid_namespace();
    const int64_t numbers[] = {
        MPIR_CVAR_BARRIER_POSIX_INTRA_ALGORITHM, MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM,
        MPIR_CVAR_REDUCE_POSIX_INTRA_ALGORITHM, MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM,
        MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD, MPIR_CVAR_COLLECTIVE_FALLBACK,
        MPIR_CVAR_BCAST_INTRANODE_BUFFER_TOTAL_SIZE, MPIR_CVAR_BCAST_INTRANODE_NUM_CELLS,
        MPIR_CVAR_BCAST_INTRANODE_TREE_KVAL, MPIR_CVAR_REDUCE_INTRANODE_BUFFER_TOTAL_SIZE,
        MPIR_CVAR_REDUCE_INTRANODE_NUM_CELLS, MPIR_CVAR_REDUCE_INTRANODE_TREE_KVAL,
        MPIR_CVAR_ENABLE_INTRANODE_TOPOLOGY_AWARE_TREES,
            getenv("HYDRA_USER_PROVIDED_BINDING") != NULL,
        MPIR_CVAR_CH4_SHM_LANES > 0 && MPIDI_global.n_vcis == 1, (int64_t) pid_namespace
    };

    if (settings || !pid_namespace ||
        strcmp(MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE, ""))
        return settings;
    settings = hash_text(FNV_START, MPIR_CVAR_BCAST_INTRANODE_TREE_TYPE);
    settings = hash_text(settings, MPIR_CVAR_REDUCE_INTRANODE_TREE_TYPE);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        settings = hash_number(settings, numbers[i]);
    return settings;
}

/* 0: out of memory */
static int host_of(uint64_t key)
{
    for (int i = 0; i < hosts.n; i++) {
        if (hosts.keys[i] == key)
            return i + 1;
    }
    if (hosts.n == hosts.max) {
        int max = hosts.max ? 2 * hosts.max : 16;
        uint64_t *keys = MPL_realloc(hosts.keys, (size_t) max * sizeof(*keys), MPL_MEM_ADDRESS);
        if (!keys)
            return 0;
        hosts.keys = keys;
        hosts.max = max;
    }
    hosts.keys[hosts.n++] = key;
    return hosts.n;
}

/* ---- processors ------------------------------------------------------------------------------ */

/* Processes of the own host that were found in communicators and share memory, including this one.
 * With the network, a process that does not yield receives more messages at a time. */
static struct {
    int *pids;
    int n, max;
} sharers;

static void remove_ended(void)
{
    int n = 0;

    for (int i = 0; i < sharers.n; i++) {
        if (kill(sharers.pids[i], 0) == 0 || errno != ESRCH)
            sharers.pids[n++] = sharers.pids[i];
    }
    sharers.n = n;
}

/* Without memory the process is not counted. */
static void share_with(int pid)
{
    for (int i = 0; i < sharers.n; i++) {
        if (sharers.pids[i] == pid)
            return;
    }
    if (sharers.n == sharers.max) {
        int max = sharers.max ? 2 * sharers.max : 16;
        int *pids = MPL_realloc(sharers.pids, (size_t) max * sizeof(*pids), MPL_MEM_ADDRESS);
        if (!pids)
            return;
        sharers.pids = pids;
        sharers.max = max;
    }
    sharers.pids[sharers.n++] = pid;
}

void MPIDI_Hosts_give_way(void)
{
    static bool raised;         /* not because of the world */
    unsigned by_world = MPIDU_oversubscribed && !raised;

    remove_ended();
    if (sharers.n == 0)
        return;
    MPIDU_Oversubscribed_set(sharers.pids, sharers.n);
    raised = MPIDU_oversubscribed && !by_world;
    MPIDU_oversubscribed |= by_world;
}

/* ---- communicators --------------------------------------------------------------------------- */

static bool is_apart(MPIR_Comm * comm)
{
    int avtid, lpid;

    if (MPIDI_global.avt_mgr.n_avts == 1 && !MPIDI_Session_has_foreign_lpids())
        return false;
    for (int i = 0; i < comm->local_size; i++) {
        MPIDIU_comm_rank_to_pid(comm, i, &lpid, &avtid);
        if (avtid != 0 || MPIDI_Session_mate(lpid) < 0)
            return true;
    }
    return false;
}

/* Whether each communicator that it is derived from contains all its processes. */
static bool is_derived(const MPIR_Comm * comm)
{
    for (const MPIR_Comm_map_t * mapper = comm->mapper_head; mapper; mapper = mapper->next) {
        const MPIR_Comm *from = mapper->src_comm;
        if (from->comm_kind != MPIR_COMM_KIND__INTRACOMM ||
            MPIDI_COMM(from, hosts) < MPIDI_HOSTS__KNOWN)
            return false;
    }
    return comm->mapper_head != NULL;
}

static struct {
    const MPIR_Comm *comm;
    bool unknown_hosts;
} next;

void MPIDI_Hosts_next(const MPIR_Comm * comm, bool unknown_hosts)
{
    next.comm = comm;
    next.unknown_hosts = unknown_hosts;
}

bool MPIDI_Hosts_know(const MPIR_Group * group)
{
    const MPIDI_av_entry_t *table = MPIDI_global.avt_mgr.av_table0->table;
    bool all_known = true, all_mates = true;

    for (int i = 0; i < group->size; i++) {
        int lpid = (int) group->lrank_to_lpid[i].lpid;
        if (!table[lpid].host)
            return false;
        all_known = all_known && table[lpid].host_known;
        all_mates = all_mates && MPIDI_Session_mate(lpid) >= 0;
    }
    return all_known || all_mates;
}

/* A communicator of a process set, or of both sides of an intercommunicator; not a temporary one
 * for one side, or for the merge while that is made. */
static bool is_first(const MPIR_Comm * comm)
{
    return comm == next.comm ||
           (comm->mapper_head && !MPIR_CONTEXT_READ_FIELD(SUBCOMM, comm->context_id) &&
            (comm->mapper_head->next ||
             comm->mapper_head->src_comm->comm_kind == MPIR_COMM_KIND__INTRACOMM));
}

struct introduction {
    uint64_t host;              /* key of the host */
    uint64_t settings;
    int64_t pid;
};

static int take_in(MPIR_Comm * comm, const struct introduction *all)
{
    int mpi_errno = MPI_SUCCESS, avtid, lpid;
    uint64_t own = own_settings();

    for (int i = 0; i < comm->local_size; i++) {
        int host = host_of(all[i].host);
        MPIR_ERR_CHKANDJUMP(!host, mpi_errno, MPI_ERR_OTHER, "**nomem");
        MPIDIU_comm_rank_to_pid(comm, i, &lpid, &avtid);
        MPIDI_av_entry_t *av = &MPIDI_global.avt_mgr.av_tables[avtid]->table[lpid];
        av->host = (unsigned) host;
        av->host_known = 1;
        av->homogeneous = own && all[i].settings == own;
        if (host == MPIDI_HOST__OWN && (i == comm->rank || av->is_local != MPIDI_LOCALITY__NETWORK))
            share_with((int) all[i].pid);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The algorithm needs only ranks, addresses and the id of a communicator. */
static int exchange_hosts(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    struct introduction own = {.host = own_key(),.settings = own_settings(),.pid = getpid() }, *all;
    MPIR_CHKLMEM_DECL(1);

    MPIR_CHKLMEM_MALLOC(all, struct introduction *, (size_t) comm->local_size * sizeof(*all),
                        mpi_errno, "hosts", MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(hosts.n == 0 && host_of(own.host) != MPIDI_HOST__OWN, mpi_errno,
                        MPI_ERR_OTHER, "**nomem");
    mpi_errno = MPIR_Allgather_intra_brucks(&own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE,
                                            comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = take_in(comm, all);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Without a world processes of one node have channels instead of its segment. */
static void note_mates(MPIR_Comm * comm)
{
    int avtid, lpid;

    for (int i = 0; i < comm->local_size; i++) {
        MPIDIU_comm_rank_to_pid(comm, i, &lpid, &avtid);
        if (MPIR_Process.node_map[MPIDI_Session_mate(lpid)] ==
            MPIR_Process.node_map[MPIR_Process.rank])
            MPIDI_global.avt_mgr.av_table0->table[lpid].host = MPIDI_HOST__OWN;
    }
}

static bool are_homogeneous(MPIR_Comm * comm)
{
    int i = 0, avtid, lpid;

    for (; i < comm->local_size; i++) {
        MPIDIU_comm_rank_to_pid(comm, i, &lpid, &avtid);
        if (!MPIDI_global.avt_mgr.av_tables[avtid]->table[lpid].homogeneous)
            break;
    }
    return i == comm->local_size;
}

int MPIDI_Hosts_commit(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;

    MPIDI_COMM(comm, hosts) = MPIDI_HOSTS__TOGETHER;
    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM)
        goto fn_exit;
    if (!is_apart(comm)) {
        if (!MPIR_Process.comm_world)
            note_mates(comm);
        goto fn_exit;
    }
    MPIDI_COMM(comm, hosts) = MPIDI_HOSTS__UNKNOWN;
    if (!is_derived(comm) && (comm != next.comm || next.unknown_hosts)) {
        if (!is_first(comm))
            goto fn_exit;
        mpi_errno = exchange_hosts(comm);
        MPIR_ERR_CHECK(mpi_errno);
        /* otherwise at the end of MPID_Session_create_over */
        if (comm->mapper_head && comm->mapper_head->next)
            MPIDI_Hosts_give_way();
    }
    MPIDI_COMM(comm, hosts) = are_homogeneous(comm) ? MPIDI_HOSTS__HOMOGENEOUS : MPIDI_HOSTS__KNOWN;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

int MPIDI_Hosts_node(MPIR_Comm * comm, int avtid, int lpid)
{
    if (MPIDI_COMM(comm, hosts) >= MPIDI_HOSTS__KNOWN)
        return MPIDI_global.avt_mgr.av_tables[avtid]->table[lpid].host - 1;
    int mate = avtid == 0 ? MPIDI_Session_mate(lpid) : -1;
    return mate < 0 ? -1 : MPIR_Process.node_map[mate];
}

int MPID_First_on_node(MPIR_Comm * comm, int *rank)
{
    int node, other, mpi_errno = MPID_Get_node_id(comm, comm->rank, &node);

    MPIR_ERR_CHECK(mpi_errno);
    *rank = 0;
    while (MPID_Get_node_id(comm, *rank, &other) == MPI_SUCCESS && other != node)
        (*rank)++;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Hosts_max_node(void)
{
    return MPL_MAX(MPIR_Process.num_nodes, hosts.n) - 1;
}
