/*
 * Process sets that programs make: operations on sets, their names, and their data.  The step
 * manager owns and orders them (session_call.c); this file has the process' calls and replies.
 * SN6, SN7, SO1-SO8, SD1-SD3, SI2, SI5, SI6, SE1.
 */

#include "session.h"
#include "mpir_adapt.h"

/* ---- names and numbers of the caller --------------------------------------------------------- */

static int get_value(MPIR_Info * info, const char *key, char value[MPI_MAX_INFO_VAL + 1])
{
    int flag = 0;

    value[0] = '\0';
    return info ? MPIR_Info_get_impl(info, key, MPI_MAX_INFO_VAL, value, &flag) : MPI_SUCCESS;
}

/* SN6: a text that is too long is no name, and an empty text requests none. */
static int get_proposed_name(MPIR_Info * info, char value[MPI_MAX_INFO_VAL + 1])
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = get_value(info, "mpix_name", value);
    MPIR_ERR_CHECK(mpi_errno);
    if (!value[0])
        mpi_errno = get_value(info, "mpidynres_proposed_name", value);
    MPIR_ERR_CHECK(mpi_errno);
    if (strlen(value) > PMI_SET_NAME_MAX)
        value[0] = '\0';

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Reads "3,0,2" of mpi_part_sizes; *n: the number of sizes. */
static int get_parts(MPIR_Info * info, uint32_t sizes[PMI_SET_OPERANDS_MAX], int *n)
{
    int mpi_errno = MPI_SUCCESS;
    char value[MPI_MAX_INFO_VAL + 1], *end;
    const char *text = value;

    mpi_errno = get_value(info, "mpi_part_sizes", value);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(!value[0], mpi_errno, MPI_ERR_INFO_NOKEY, "**psetparts");
    for (*n = 0; *n < PMI_SET_OPERANDS_MAX; text = end + 1) {
        long size = strtol(text, &end, 10);
        MPIR_ERR_CHKANDJUMP1(*text < '0' || *text > '9' || size > INT_MAX || (*end && *end != ','),
                             mpi_errno, MPI_ERR_INFO_VALUE, "**psetparts", "**psetparts %s", value);
        sizes[(*n)++] = (uint32_t) size;
        if (!*end)
            break;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* mpi://WORLD is the present world, and in a joining process its delta. */
int MPIR_Session_find_name(const char *name, struct MPIR_Session_name *found)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_set set;
    bool world = !MPL_stricmp(name, "mpi://WORLD");

    if (world && MPIR_Session_is_joining()) {
        found->text = MPIR_Session_delta_name();
        goto fn_exit;
    }
    MPIR_ERR_CHKANDJUMP1(!world && MPIR_Session_find_predefined(name, &set), mpi_errno, MPI_ERR_ARG,
                         "**psetnodata", "**psetnodata %s", name);
    snprintf(found->of_epoch, sizeof(found->of_epoch), "mpix://WORLD/%u", MPIR_Adapt_epoch());
    found->text = world ? found->of_epoch : name;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Changes are requested for one set. */
int MPIR_Session_find_bound(const char *name, struct MPIR_Session_name *found)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_set set;
    bool own = MPL_stricmp(name, "mpi://WORLD") && MPIR_Session_find_predefined(name, &set);

    MPIR_ERR_CHKANDJUMP1(own, mpi_errno, MPI_ERR_ARG, "**psetcall", "**psetcall %s",
                         "mpi://SELF and mpi://SHARED are different sets in each process: create a "
                         "set from it");
    mpi_errno = MPIR_Session_find_name(name, found);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- operations ------------------------------------------------------------------------------ */

static int check_op(int op)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP1(op < MPIX_PSETOP_ADD || op > MPIX_PSETOP_SPLIT, mpi_errno, MPI_ERR_ARG,
                         "**psetop", "**psetop %d", op);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_pset_op_impl(MPIR_Session * session, int op, const char *const input[], int ninput,
                              MPIR_Info * info, char output[][MPI_MAX_PSET_NAME_LEN], int *noutput)
{
    int mpi_errno = MPIR_Session_check(session), parts = 1;
    uint32_t sizes[PMI_SET_OPERANDS_MAX];
    char proposed[MPI_MAX_INFO_VAL + 1];
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    struct MPIR_Session_stamp stamp;
    bool done = false;

    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP1(!output, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s", "output");
    if (*noutput > 0)
        output[0][0] = '\0';
    mpi_errno = check_op(op);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(ninput < 1 ||
                        ninput > PMI_SET_OPERANDS_MAX, mpi_errno, MPI_ERR_ARG, "**psetop");
    for (int i = 0; i < ninput; i++)
        MPIR_ERR_CHKANDJUMP(!input[i], mpi_errno, MPI_ERR_ARG, "**psetunknown");
    if (op < MPIX_PSETOP_UNION) {
        mpi_errno = MPIR_Session_request_op(op, input, ninput, info, output, noutput);
        MPIR_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    if (!info && op != MPIX_PSETOP_SPLIT && *noutput > 0) {
        mpi_errno = MPIR_Session_make_by_itself(op, input, ninput, output[0], &done);
        MPIR_ERR_CHECK(mpi_errno);
        if (done) {
            *noutput = 1;
            goto fn_exit;
        }
    }
    mpi_errno = get_proposed_name(info, proposed);
    MPIR_ERR_CHECK(mpi_errno);
    if (op == MPIX_PSETOP_SPLIT)
        mpi_errno = get_parts(info, sizes, &parts);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP2(*noutput < parts, mpi_errno, MPI_ERR_ARG, "**psetoproom",
                         "**psetoproom %d %d", *noutput, parts);
    MPIR_Session_write_set_make(&call, op, proposed, sizes, op == MPIX_PSETOP_SPLIT ? parts : 0,
                                input, ninput, true);
    stamp = MPIR_Session_stamp();
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    int n = (int) MPIR_Session_answer_number(&answer);
    MPIR_ERR_CHKANDJUMP(answer.bad || n != parts, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    for (int i = 0; i < n; i++)
        MPIR_Session_answer_text(&answer, output[i], MPI_MAX_PSET_NAME_LEN - 1);
    *noutput = n;
    mpi_errno = MPIR_Session_cache_lookups(&answer, MPIR_Session_answer_number(&answer), stamp);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_pset_from_group_impl(MPIR_Session * session, MPIR_Group * group, MPIR_Info * info,
                                      char *name)
{
    int mpi_errno = MPIR_Session_check(session), *ranks = NULL;
    char proposed[MPI_MAX_INFO_VAL + 1];
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    struct MPIR_Session_stamp stamp;

    name[0] = '\0';
    MPIR_ERR_CHECK(mpi_errno);
    ranks = MPL_malloc(MPL_MAX(group->size, 1) * sizeof(int), MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!ranks, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < group->size; i++) {
        uint64_t lpid = group->lrank_to_lpid[i].lpid;
        MPIR_ERR_CHKANDJUMP(lpid >= MPID_SESSION_LPIDS_MAX, mpi_errno, MPI_ERR_GROUP,
                            "**sessiongroup");
        ranks[i] = (int) lpid;
    }
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = get_proposed_name(info, proposed);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_write_set_from_list(&call, proposed, ranks, group->size, true);
    stamp = MPIR_Session_stamp();
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_answer_text(&answer, name, MPI_MAX_PSET_NAME_LEN - 1);
    mpi_errno = MPIR_Session_cache_lookups(&answer, MPIR_Session_answer_number(&answer), stamp);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(ranks);
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The step manager is notified that the set `name`, which is not a predefined one, is called `to`,
 * or freed (NULL). */
static int notify_of_set(MPIR_Session * session, const char *name, const char *to,
                         const char *refusal)
{
    int mpi_errno = MPIR_Session_check(session);
    struct MPIR_Session_call call;
    struct MPIR_Session_set set;

    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP1(MPIR_Session_find_predefined(name, &set), mpi_errno, MPI_ERR_ARG,
                         "**psetcall", "**psetcall %s", refusal);
    if (to)
        MPIR_Session_write_set_move(&call, name, to);
    else
        MPIR_Session_write_set_free(&call, name);
    mpi_errno = MPIR_Session_call_notify(&call);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_pset_move_impl(MPIR_Session * session, const char *from, const char *to)
{
    return notify_of_set(session, from, to, "sets mpi://... cannot be renamed");
}

int MPIR_Session_pset_free_impl(MPIR_Session * session, const char *name)
{
    return notify_of_set(session, name, NULL, "sets mpi://... cannot be freed");
}

/* ---- queries --------------------------------------------------------------------------------- */

struct listing {
    MPIR_Info *info;
    int mpi_errno;
};

static void add_listed(void *state, const char *name, int size)
{
    struct listing *listing = state;
    char text[16];

    snprintf(text, sizeof(text), "%d", size);
    if (!listing->mpi_errno)
        listing->mpi_errno = MPIR_Info_set_impl(listing->info, name, text);
}

int MPIR_Session_get_psets_impl(MPIR_Session * session, MPIR_Info ** psets)
{
    struct MPIR_Session_set set;
    struct listing listing = { 0 };
    int mpi_errno = MPIR_Session_check(session);
    uint32_t from_the_first = 0;

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Info_alloc(&listing.info);
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; MPIR_Session_nth_predefined(i, &set); i++) {
        /* SI2: a process of the launch is one whose list has mpi://WORLD */
        if (!MPIR_Session_is_joining() || strcmp(set.name, "mpi://WORLD"))
            add_listed(&listing, set.name, set.size);
    }
    if (MPIR_Session_check_manager() == MPI_SUCCESS)
        mpi_errno = MPIR_Session_list_made(&from_the_first, add_listed, &listing);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = listing.mpi_errno;
    MPIR_ERR_CHECK(mpi_errno);
    *psets = listing.info;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (listing.info)
        MPIR_Info_free_impl(listing.info);
    *psets = NULL;
    goto fn_exit;
}

int MPIR_Session_get_default_pset_impl(MPIR_Session * session, char *name, int *dynamic)
{
    *dynamic = MPIR_Session_is_joining();
    MPL_strncpy(name, *dynamic ? MPIR_Session_delta_name() : "mpi://WORLD", MPI_MAX_PSET_NAME_LEN);
    return MPIR_Session_check(session);
}

int MPIR_Session_get_primary_process_impl(MPIR_Session * session, const char *name, int *primary)
{
    struct MPIR_Session_set set = { 0 };
    int mpi_errno = MPIR_Session_check(session);

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_find_set(name, &set);
    MPIR_ERR_CHECK(mpi_errno);
    *primary = MPIR_Session_set_is_led_by_me(&set);

  fn_exit:
    MPIR_Session_release_set(&set);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_pset_included_impl(MPIR_Session * session, const char *name, int *included)
{
    struct MPIR_Session_set set = { 0 };
    int mpi_errno = MPIR_Session_check(session);

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_find_set(name, &set);
    MPIR_ERR_CHECK(mpi_errno);
    *included = MPIR_Session_set_holds_me(&set);

  fn_exit:
    MPIR_Session_release_set(&set);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* SI6: an unknown name is no error. */
int MPIR_Session_pset_exists_impl(MPIR_Session * session, const char *name, int *running,
                                  MPI_Info * info)
{
    struct MPIR_Session_set set = { 0 };
    MPIR_Info *described = NULL;
    int mpi_errno = MPIR_Session_check(session);

    MPIR_ERR_CHECK(mpi_errno);
    *running = 0;
    if (info)
        *info = MPI_INFO_NULL;
    mpi_errno = MPIR_Session_query_set(name, &set);
    if (MPIR_ERR_GET_CLASS(mpi_errno) == MPI_ERR_ARG) {
        mpi_errno = MPI_SUCCESS;
        goto fn_exit;
    }
    MPIR_ERR_CHECK(mpi_errno);
    *running = MPIR_Session_state_of(&set) == PMI_SET_RUNNING;
    if (info)
        mpi_errno = MPIR_Session_describe_set(&set, &described);
    MPIR_ERR_CHECK(mpi_errno);
    if (described)
        *info = described->handle;

  fn_exit:
    MPIR_Session_release_set(&set);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- data ------------------------------------------------------------------------------------ */

int MPIR_Session_set_pset_data_impl(MPIR_Session * session, const char *name, MPIR_Info * data)
{
    int mpi_errno = MPIR_Session_check(session);
    struct MPIR_Session_call call;
    struct MPIR_Session_name found;

    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(!data, mpi_errno, MPI_ERR_INFO, "**infonull");
    mpi_errno = MPIR_Session_find_name(name, &found);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_write_set_put(&call, found.text, data);
    mpi_errno = MPIR_Session_call_notify(&call);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_write_get(struct MPIR_Session_call *call, MPIR_Session * session,
                           const char *coll_pset, const char *name, const char *const keys[],
                           int nkeys, int wait)
{
    int mpi_errno = MPIR_Session_check(session);
    struct MPIR_Session_name found;

    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(nkeys < 0 || nkeys > PMI_SET_KEYS_MAX, mpi_errno, MPI_ERR_ARG, "**psetop");
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_find_name(name, &found);
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < nkeys; i++)
        MPIR_ERR_CHKANDJUMP(!keys[i], mpi_errno, MPI_ERR_ARG, "**infokeynull");
    MPIR_Session_write_set_get(call, coll_pset, found.text, wait != 0, keys, nkeys);
    call->waits = wait != 0;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_read_data(struct MPIR_Session_answer *answer, MPIR_Info ** data)
{
    MPIR_Info *info = NULL;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int mpi_errno = MPIR_Info_alloc(&info);

    MPIR_ERR_CHECK(mpi_errno);
    uint32_t n = MPIR_Session_answer_number(answer);
    for (uint32_t i = 0; i < n && !answer->bad; i++) {
        MPIR_Session_answer_text(answer, key, MPI_MAX_INFO_KEY);
        MPIR_Session_answer_text(answer, value, MPI_MAX_INFO_VAL);
        mpi_errno = MPIR_Info_set_impl(info, key, value);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIR_ERR_CHKANDJUMP(answer->bad, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    *data = info;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (info)
        MPIR_Info_free_impl(info);
    *data = NULL;
    goto fn_exit;
}

int MPIR_Session_get_pset_data_impl(MPIR_Session * session, const char *coll_pset, const char *name,
                                    const char *const keys[], int nkeys, int wait,
                                    MPIR_Info ** data)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };

    *data = NULL;
    mpi_errno = MPIR_Session_write_get(&call, session, coll_pset, name, keys, nkeys, wait);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_read_data(&answer, data);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
