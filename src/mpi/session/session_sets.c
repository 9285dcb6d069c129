/*
 * Process sets: their names, and their members.  SX4: SN1, SN5, SN7, SI1, SI3, SI7.
 *
 * mpi://WORLD, mpi://SELF and mpi://SHARED are read from the tables of the world and follow it over
 * an adaptation.  The step manager owns all others, also those of mpiexec's --pset; it is queried
 * once for each, and again when a name may have another meaning, or none (session_cache.c).  The
 * list of names that a caller receives only grows.
 */

#include "session.h"
#include "connect_board.h"

#define N_PREDEFINED 3

/* The names after the predefined ones, in the order in which this process received them. */
static struct {
    char **names;
    int n, capacity;
    uint32_t serial;            /* of the last query */
} known;
static MPL_initlock_t lock = MPL_INITLOCK_INITIALIZER;

/* Under the lock. */
static void append_known(const char *name)
{
    for (int i = 0; i < known.n; i++)
        if (!strcmp(known.names[i], name))
            return;
    if (known.n == known.capacity) {
        int capacity = known.capacity ? 2 * known.capacity : 16;
        char **more = MPL_realloc(known.names, capacity * sizeof(*more), MPL_MEM_OTHER);
        if (!more)
            return;
        known.names = more;
        known.capacity = capacity;
    }
    known.names[known.n] = MPL_strdup(name);
    if (known.names[known.n])
        known.n++;
}

static void take_known(void *state, const char *name, int size)
{
    MPL_initlock_lock(&lock);
    append_known(name);
    MPL_initlock_unlock(&lock);
}

/* Whether there is a step manager. */
static bool is_managed(void)
{
    return MPIR_Session_check_manager() == MPI_SUCCESS;
}

static int query_new_names(void)
{
    return is_managed() ? MPIR_Session_list_made(&known.serial, take_known, NULL) : MPI_SUCCESS;
}

/* The library's own names, in the order in which they are listed; compared without regard to case
 * (SN1). */
bool MPIR_Session_nth_predefined(int index, struct MPIR_Session_set *set)
{
    static const char *const names[] = { "mpi://WORLD", "mpi://SELF", "mpi://SHARED" };
    const int sizes[] = { MPIR_Process.size, 1, MPIR_Process.local_size };
    const int *start = MPIR_Session_start_lpids();
    const int *const ranks[] = {
        start, start ? &start[MPIR_Process.rank] : &MPIR_Process.rank,
        start ? MPIR_Session_shared_lpids() : MPIR_Process.node_local_map
    };

    if (index < 0 || index >= N_PREDEFINED)
        return false;
    *set = (struct MPIR_Session_set) {
        names[index], sizes[index], ranks[index], NULL, PMI_SET_RUNNING,
            ranks[index] ? ranks[index][0] : 0
    };
    return true;
}

bool MPIR_Session_find_predefined(const char *name, struct MPIR_Session_set *set)
{
    for (int i = 0; MPIR_Session_nth_predefined(i, set); i++)
        if (!MPL_stricmp(name, set->name))
            return true;
    return false;
}

/* The step manager's data of mpi://WORLD and mpi://SHARED. */
static struct cached {
    struct MPIR_Session_stamp stamp;
    bool known;
    enum pmi_set_state state;
    int primary;
} cached[N_PREDEFINED];

/* uids are lpids in jobs without windows */
static int query_state(struct MPIR_Session_set *set, struct cached *it)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };

    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    struct MPIR_Session_stamp stamp = MPIR_Session_stamp();
    MPIR_Session_write_set_state(&call, set->ranks, set->size);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    set->state = (enum pmi_set_state) MPIR_Session_answer_number(&answer);
    uint32_t first = MPIR_Session_answer_number(&answer);
    set->primary = first < MPID_SESSION_LPIDS_MAX ? (int) first : -1;
    bool lasts = MPIR_Session_answer_number(&answer) != 0;
    MPIR_ERR_CHKANDJUMP(answer.bad, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    *it = (struct cached) {
        stamp, lasts, set->state, set->primary
    };

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Programs that have sent no query of sets yet send none for the MPI 4.0 data of mpi://...: a
 * process detects ended members when it makes a communicator.  All processes of a world with
 * windows run, as does the caller itself. */
static int know_state(struct MPIR_Session_set *set, bool query)
{
    struct cached *it = &cached[strcmp(set->name, "mpi://WORLD") ? 2 : 0];

    if (!strcmp(set->name, "mpi://SELF") || MPIR_Adapt_is_on() ||
        (!query && !MPIR_Board_words()) || !is_managed())
        return MPI_SUCCESS;
    const struct MPIR_Session_stamp now = MPIR_Session_stamp();
    if (!it->known || it->stamp.invalidations != now.invalidations || it->stamp.epoch != now.epoch)
        return query_state(set, it);
    set->state = it->state;
    set->primary = it->primary;
    return MPI_SUCCESS;
}

static int find_set(const char *name, bool state_matters, bool query, struct MPIR_Session_set *set)
{
    int mpi_errno = MPI_SUCCESS;

    if (MPIR_Session_find_predefined(name, set)) {
        mpi_errno = know_state(set, query);
        MPIR_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    MPIR_ERR_CHKANDJUMP1(!is_managed() || !*name, mpi_errno, MPI_ERR_ARG, "**psetunknown",
                         "**psetunknown %s", name);
    struct MPIR_Session_made *made;
    mpi_errno = MPIR_Session_lookup(name, state_matters, &made);
    MPIR_ERR_CHECK(mpi_errno);
    *set = (struct MPIR_Session_set) {
        made->name, made->size, made->ranks, made, made->state, made->primary
    };

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_find_set(const char *name, struct MPIR_Session_set *set)
{
    return find_set(name, false, false, set);
}

int MPIR_Session_find_set_and_state(const char *name, struct MPIR_Session_set *set)
{
    return find_set(name, true, false, set);
}

int MPIR_Session_query_set(const char *name, struct MPIR_Session_set *set)
{
    return find_set(name, true, true, set);
}

void MPIR_Session_release_set(struct MPIR_Session_set *set)
{
    MPIR_Session_made_release(set->made);
}

/* The name of the n-th set that contains the caller, NULL: there are fewer. */
static const char *nth_name(int n)
{
    struct MPIR_Session_set set;

    if (n < 0)
        return NULL;
    if (MPIR_Session_nth_predefined(n, &set))
        return set.name;
    MPL_initlock_lock(&lock);
    const char *name = n - N_PREDEFINED < known.n ? known.names[n - N_PREDEFINED] : NULL;
    MPL_initlock_unlock(&lock);
    return name;
}

/* ---- the functions of MPI 4.0 ---------------------------------------------------------------- */

int MPIR_Session_get_num_psets_impl(MPIR_Session * session_ptr, MPIR_Info * info_ptr,
                                    int *npset_names)
{
    int mpi_errno = MPIR_Session_check(session_ptr);

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = query_new_names();
    MPIR_ERR_CHECK(mpi_errno);
    *npset_names = N_PREDEFINED + known.n;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_get_nth_pset_impl(MPIR_Session * session_ptr, MPIR_Info * info_ptr, int n,
                                   int *pset_len, char *pset_name)
{
    const char *name = nth_name(n);
    int mpi_errno = MPIR_Session_check(session_ptr);

    MPIR_ERR_CHECK(mpi_errno);
    if (!name) {                /* their number has not been queried yet */
        mpi_errno = query_new_names();
        MPIR_ERR_CHECK(mpi_errno);
        name = nth_name(n);
    }
    MPIR_ERR_CHKANDJUMP(!name, mpi_errno, MPI_ERR_ARG, "**psetinvalidn");
    MPIR_ERR_CHKANDJUMP(*pset_len < 0, mpi_errno, MPI_ERR_ARG, "**psetlength");
    if (*pset_len == 0)
        *pset_len = (int) strlen(name) + 1;
    else
        MPL_strncpy(pset_name, name, *pset_len);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIR_Session_set_holds_me(const struct MPIR_Session_set *set)
{
    if (set->made)
        return set->made->holds_me;
    for (int i = 0; i < set->size && set->ranks; i++) {
        if (set->ranks[i] == MPIR_Session_lpid())
            return true;
    }
    return !set->ranks;
}

enum pmi_set_state MPIR_Session_state_of(const struct MPIR_Session_set *set)
{
    return set->state;
}

static const char *name_of_state(enum pmi_set_state state)
{
    switch (state) {
        case PMI_SET_PROPOSED:
            return "proposed";
        case PMI_SET_STARTING:
            return "starting";
        case PMI_SET_RUNNING:
            return "running";
        default:
            return "ended";
    }
}

bool MPIR_Session_set_is_led_by_me(const struct MPIR_Session_set *set)
{
    return MPIR_Session_lpid() == set->primary;
}

/* Data of sets that programs have made. */
static int describe_made(const struct MPIR_Session_made *made, MPIR_Info * info)
{
    static const struct {
        enum pmi_set_op op;
        const char *libmpidynres_name;  /* name in libmpidynres; NULL: it has no such operation */
    } ops[] = {
        {PMI_SET_OP_UNION, "union"},
        {PMI_SET_OP_INTERSECTION, "intersect"},
        {PMI_SET_OP_DIFFERENCE, "difference"}
    };
    int mpi_errno = MPI_SUCCESS;
    char serial[16];

    if (made->op == PMI_SET_OP_ADD || made->op == PMI_SET_OP_SUB) {
        const char *const pairs[][2] = {
            {"mpidynres_rc", "true"},
            {"mpidynres_rc_type", made->op == PMI_SET_OP_ADD ? "add" : "sub"},
            {"mpidynres_rc_tag", made->operands[0]}
        };
        for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
            mpi_errno = MPIR_Info_set_impl(info, pairs[i][0], pairs[i][1]);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
    snprintf(serial, sizeof(serial), "%u", made->serial);
    mpi_errno = MPIR_Info_set_impl(info, "mpix_serial", serial);
    MPIR_ERR_CHECK(mpi_errno);
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (ops[i].op != made->op)
            continue;
        mpi_errno = MPIR_Info_set_impl(info, "mpidynres_op", ops[i].libmpidynres_name);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Info_set_impl(info, "mpidynres_op_parent1", made->operands[0]);
        MPIR_ERR_CHECK(mpi_errno);
        if (made->operands[1][0])
            mpi_errno = MPIR_Info_set_impl(info, "mpidynres_op_parent2", made->operands[1]);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_describe_set(const struct MPIR_Session_set *set, MPIR_Info ** info_p)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Info *info = NULL;
    char size[16];
    bool dynamic = set->made ? set->made->op == PMI_SET_OP_ADD :
        MPIR_Session_is_joining() && !strcmp(set->name, "mpi://WORLD");

    snprintf(size, sizeof(size), "%d", set->size);
    const char *const pairs[][2] = {
        {"mpi_size", size},
        {"mpi_included", MPIR_Session_set_holds_me(set) ? "True" : "False"},
        {"mpi_primary", MPIR_Session_set_is_led_by_me(set) ? "True" : "False"},
        {"mpi_dyn", dynamic ? "True" : "False"},
        {"mpidynres_name", set->name},
        {"mpix_state", name_of_state(MPIR_Session_state_of(set))}
    };
    mpi_errno = MPIR_Info_alloc(&info);
    MPIR_ERR_CHECK(mpi_errno);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        mpi_errno = MPIR_Info_set_impl(info, pairs[i][0], pairs[i][1]);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (set->made)
        mpi_errno = describe_made(set->made, info);
    MPIR_ERR_CHECK(mpi_errno);
    *info_p = info;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (info)
        MPIR_Info_free_impl(info);
    *info_p = NULL;
    goto fn_exit;
}

int MPIR_Session_get_pset_info_impl(MPIR_Session * session_ptr, const char *pset_name,
                                    MPIR_Info ** info_p_p)
{
    struct MPIR_Session_set set = { 0 };
    int mpi_errno = MPIR_Session_check(session_ptr);

    *info_p_p = NULL;
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_find_set_and_state(pset_name, &set);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_describe_set(&set, info_p_p);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_release_set(&set);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* SI7: in a job that does not change through sets, mpi://... is a group as in MPI 4.0, also when
 * one of its processes has ended. */
int MPIR_Group_from_session_pset_impl(MPIR_Session * session_ptr, const char *pset_name,
                                      MPIR_Group ** new_group_ptr)
{
    struct MPIR_Session_set set = { 0 };
    MPIR_Group *group;
    int mpi_errno = MPIR_Session_check(session_ptr);

    MPIR_ERR_CHECK(mpi_errno);
    if (MPIR_Session_is_dynamic() || !MPIR_Session_find_predefined(pset_name, &set)) {
        mpi_errno = MPIR_Session_find_set(pset_name, &set);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_ERR_CHKANDJUMP1(MPIR_Session_state_of(&set) == PMI_SET_ENDED, mpi_errno,
                             MPI_ERR_PROC_ABORTED, "**psetended", "**psetended %s", pset_name);
    }
    MPIR_ERR_CHKANDJUMP1(!strcmp(set.name, "mpix://ALL"), mpi_errno, MPI_ERR_ARG, "**psetcall",
                         "**psetcall %s",
                         "mpix://ALL differs between processes, and gives no group");
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
        if (rank == MPIR_Session_lpid())
            group->rank = i;
        if (i > 0 && rank != (int) group->lrank_to_lpid[i - 1].lpid + 1)
            group->is_local_dense_monotonic = FALSE;
    }
    *new_group_ptr = group;

  fn_exit:
    MPIR_Session_release_set(&set);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
