/*
 * Process sets of static Sessions: which there are, and who is in them.  SX4: SN1, SN5, SN7, SI1, SI7.
 *
 * mpi://WORLD, mpi://SELF and mpi://SHARED are read from the tables of the world and follow it over an adaptation.  The
 * sets that mpiexec's --pset names are asked for once, in the PMI's key-value space of the launch.  The list of
 * names that a caller is shown is made at the first look and never changes.
 */

#include "session.h"
#include "mpir_adapt.h"

#define KEY_FORMAT "elastic-pset-%d"    /* as mpiexec/psets.c writes them */

/* A set of mpiexec's, which comes as NAME+RANKS, ranks as 0-3,8. */
struct named_set {
    char name[MPI_MAX_PSET_NAME_LEN];
    int *ranks;
    int size;
    bool mine;
};

static struct named_set *named;
static int n_named = -1;        /* not yet asked for */
static MPL_initlock_t lock = MPL_INITLOCK_INITIALIZER;

static int read_range(const char **text, int *first, int *last)
{
    char *end;

    *first = *last = (int) strtol(*text, &end, 10);
    if (end == *text || *first < 0)
        return -1;
    if (*end == '-') {
        const char *second = end + 1;
        *last = (int) strtol(second, &end, 10);
        if (end == second)
            return -1;
    }
    if (*last < *first || *last >= MPIR_Process.size || (*end && *end != ','))
        return -1;
    *text = *end ? end + 1 : end;
    return 0;
}

/* What comes from mpiexec is checked here; a line that is wrong is no set. */
static bool read_set(const char *line, struct named_set *set)
{
    const char *plus = strrchr(line, '+'), *text;
    int first, last;

    if (!plus || plus == line || plus - line >= MPI_MAX_PSET_NAME_LEN)
        return false;
    memset(set, 0, sizeof(*set));
    memcpy(set->name, line, plus - line);
    for (text = plus + 1; *text; set->size += last - first + 1)
        if (read_range(&text, &first, &last))
            return false;
    set->ranks = set->size ? MPL_malloc(set->size * sizeof(int), MPL_MEM_OTHER) : NULL;
    if (!set->ranks)
        return false;
    set->size = 0;
    for (text = plus + 1; *text;) {
        read_range(&text, &first, &last);
        for (int rank = first; rank <= last; rank++) {
            set->ranks[set->size++] = rank;
            set->mine = set->mine || rank == MPIR_Process.rank;
        }
    }
    return true;
}

/* Under the lock.  Other launchers have no such keys; without one, a question would start one. */
static int ask_for_named(void)
{
    int mpi_errno = MPI_SUCCESS, bytes = MPIR_pmi_max_val_size();
    char key[32], *line = NULL;

    if (n_named >= 0)
        goto fn_exit;
    n_named = 0;
    /* after an adaptation ranks are no longer those of the launch */
    if (!MPIR_Session_has_daemon() || MPIR_Adapt_epoch() > 0)
        goto fn_exit;
    line = MPL_malloc(bytes, MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!line, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0;; i++) {
        struct named_set set, *more;

        snprintf(key, sizeof(key), KEY_FORMAT, i);
        MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
        int none = MPIR_pmi_kvs_get(-1, key, line, bytes) != MPI_SUCCESS;
        MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
        if (none)
            break;
        if (!read_set(line, &set))
            continue;
        more = MPL_realloc(named, (n_named + 1) * sizeof(*named), MPL_MEM_OTHER);
        MPIR_ERR_CHKANDJUMP(!more, mpi_errno, MPI_ERR_OTHER, "**nomem");
        named = more;
        named[n_named++] = set;
    }

  fn_exit:
    MPL_free(line);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int load_named(void)
{
    MPL_initlock_lock(&lock);
    int mpi_errno = ask_for_named();
    MPL_initlock_unlock(&lock);
    return mpi_errno;
}

/* The library's own names, in the order in which they are listed; compared without regard to case (SN1). */
static bool find_predefined(int index, const char *name, struct MPIR_Session_set *set)
{
    static const char *const names[] = { "mpi://WORLD", "mpi://SELF", "mpi://SHARED" };
    const int sizes[] = { MPIR_Process.size, 1, MPIR_Process.local_size };
    const int *const ranks[] = { NULL, &MPIR_Process.rank, MPIR_Process.node_local_map };

    for (int i = 0; i < 3; i++) {
        if (name ? MPL_stricmp(name, names[i]) == 0 : i == index) {
            *set = (struct MPIR_Session_set) {
                names[i], sizes[i], ranks[i]
            };
            return true;
        }
    }
    return false;
}

int MPIR_Session_find_set(const char *name, struct MPIR_Session_set *set)
{
    int mpi_errno = MPI_SUCCESS;

    if (find_predefined(-1, name, set))
        goto fn_exit;
    mpi_errno = load_named();
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < n_named && MPIR_Adapt_epoch() == 0; i++) {
        if (!strcmp(named[i].name, name)) {
            *set = (struct MPIR_Session_set) {
                named[i].name, named[i].size, named[i].ranks
            };
            goto fn_exit;
        }
    }
    MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_ARG, "**psetunknown", "**psetunknown %s", name);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The n-th set that holds the caller. */
static bool listed(int n, struct MPIR_Session_set *set)
{
    if (n < 0 || find_predefined(n, NULL, set))
        return n >= 0;
    n -= 3;
    for (int i = 0; i < n_named; i++) {
        if (named[i].mine && n-- == 0) {
            set->name = named[i].name;
            return true;
        }
    }
    return false;
}

/* ---- the functions of MPI 4.0 ---------------------------------------------------------------------------- */

int MPIR_Session_get_num_psets_impl(MPIR_Session * session_ptr, MPIR_Info * info_ptr,
                                    int *npset_names)
{
    struct MPIR_Session_set set;
    int mpi_errno = MPIR_Session_check(session_ptr), n = 0;

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = load_named();
    MPIR_ERR_CHECK(mpi_errno);
    while (listed(n, &set))
        n++;
    *npset_names = n;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_get_nth_pset_impl(MPIR_Session * session_ptr, MPIR_Info * info_ptr, int n,
                                   int *pset_len, char *pset_name)
{
    struct MPIR_Session_set set;
    int mpi_errno = MPIR_Session_check(session_ptr);

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = load_named();
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(!listed(n, &set), mpi_errno, MPI_ERR_ARG, "**psetinvalidn");
    MPIR_ERR_CHKANDJUMP(*pset_len < 0, mpi_errno, MPI_ERR_ARG, "**psetlength");
    if (*pset_len == 0)
        *pset_len = (int) strlen(set.name) + 1;
    else
        MPL_strncpy(pset_name, set.name, *pset_len);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static bool holds_me(const struct MPIR_Session_set *set)
{
    for (int i = 0; i < set->size && set->ranks; i++) {
        if (set->ranks[i] == MPIR_Process.rank)
            return true;
    }
    return !set->ranks;
}

int MPIR_Session_get_pset_info_impl(MPIR_Session * session_ptr, const char *pset_name,
                                    MPIR_Info ** info_p_p)
{
    struct MPIR_Session_set set;
    int mpi_errno = MPIR_Session_check(session_ptr);
    MPIR_Info *info = NULL;
    char size[16];

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_find_set(pset_name, &set);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Info_alloc(&info);
    MPIR_ERR_CHECK(mpi_errno);
    snprintf(size, sizeof(size), "%d", set.size);
    mpi_errno = MPIR_Info_set_impl(info, "mpi_size", size);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Info_set_impl(info, "mpi_included", holds_me(&set) ? "True" : "False");
    MPIR_ERR_CHECK(mpi_errno);
    bool primary = MPIR_Process.rank == (set.ranks ? set.ranks[0] : 0);
    mpi_errno = MPIR_Info_set_impl(info, "mpi_primary", primary ? "True" : "False");
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Info_set_impl(info, "mpi_dyn", "False");
    MPIR_ERR_CHECK(mpi_errno);
    *info_p_p = info;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (info)
        MPIR_Info_free_impl(info);
    *info_p_p = NULL;
    goto fn_exit;
}

int MPIR_Group_from_session_pset_impl(MPIR_Session * session_ptr, const char *pset_name,
                                      MPIR_Group ** new_group_ptr)
{
    struct MPIR_Session_set set;
    MPIR_Group *group;
    int mpi_errno = MPIR_Session_check(session_ptr);

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_find_set(pset_name, &set);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Group_create(set.size, &group);
    MPIR_ERR_CHECK(mpi_errno);
    group->size = set.size;
    group->rank = MPI_UNDEFINED;
    group->session = MPIR_Session_number(session_ptr);
    group->idx_of_first_lpid = -1;
    group->is_local_dense_monotonic = TRUE;
    for (int i = 0; i < set.size; i++) {
        int rank = set.ranks ? set.ranks[i] : i;
        group->lrank_to_lpid[i].lpid = rank;
        if (rank == MPIR_Process.rank)
            group->rank = i;
        if (i > 0 && rank != (int) group->lrank_to_lpid[i - 1].lpid + 1)
            group->is_local_dense_monotonic = FALSE;
    }
    *new_group_ptr = group;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
