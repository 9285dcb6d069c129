/*
 * Sets that a process makes by itself.  A process that was notified of a change may make sets until
 * it accepts or declines (PMI_SET_MADE): it knows the operands, the notification contains numbers
 * that no other process uses, and its messages precede the accept and get no reply.  A process that
 * receives the name meanwhile, and queries it, gets its reply after the step manager has received
 * the set.  SO1, SO3, SO5, SA1.
 *
 * All operands are cached, so that the result is valid until the board invalidates it; none of them
 * has ended, and names mpi://... are queried.
 */

#include "session.h"

/* The lpids in an operation's operands, without duplicates. */
struct lpid_set {
    uint64_t in[MPID_SESSION_LPIDS_MAX / 64];
};

static bool has(const struct lpid_set *lpid_set, int lpid)
{
    return lpid_set->in[lpid / 64] >> (lpid % 64) & 1;
}

static void add(struct lpid_set *lpid_set, const struct MPIR_Session_made *set)
{
    for (int i = 0; i < set->size; i++)
        lpid_set->in[set->ranks[i] / 64] |= UINT64_C(1) << (set->ranks[i] % 64);
}

static void keep_common(struct lpid_set *lpid_set, const struct MPIR_Session_made *set)
{
    struct lpid_set of_set = { {0} };

    add(&of_set, set);
    for (int i = 0; i < MPID_SESSION_LPIDS_MAX / 64; i++)
        lpid_set->in[i] &= of_set.in[i];
}

/* The union of all, in order of first appearance, as MPI_Group_union. */
static int unite(struct MPIR_Session_made *const of[], int n, int *ranks)
{
    struct lpid_set seen = { {0} };
    int size = 0;

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < of[i]->size; k++) {
            if (!has(&seen, of[i]->ranks[k]))
                ranks[size++] = of[i]->ranks[k];
        }
        add(&seen, of[i]);
    }
    return size;
}

/* Members of the first set that are, or are not, in all or any of the others. */
static int choose(struct MPIR_Session_made *const of[], int n, bool common, int *ranks)
{
    struct lpid_set others = { {0} };
    int size = 0;

    if (common)
        add(&others, of[0]);
    for (int i = 1; i < n; i++) {
        if (common)
            keep_common(&others, of[i]);
        else
            add(&others, of[i]);
    }
    for (int k = 0; k < of[0]->size; k++) {
        if (has(&others, of[0]->ranks[k]) == common)
            ranks[size++] = of[0]->ranks[k];
    }
    return size;
}

static int count_runs(const int *ranks, int n)
{
    int runs = n > 0;

    for (int i = 1; i < n; i++)
        runs += ranks[i] != ranks[i - 1] + 1;
    return runs;
}

/* The result that MPIR_Session_lookup would return for the new set. */
static struct MPIR_Session_made *new_made(uint32_t number, int op,
                                          struct MPIR_Session_made *const of[], int n)
{
    struct MPIR_Session_made *made = MPL_calloc(1, sizeof(*made), MPL_MEM_OTHER);
    size_t capacity = 0;

    for (int i = 0; i < n; i++)
        capacity += of[i]->size;
    if (made)
        made->ranks = MPL_malloc(MPL_MAX(capacity, 1) * sizeof(int), MPL_MEM_OTHER);
    if (!made || !made->ranks) {
        MPL_free(made);
        return NULL;
    }
    made->references = 1;
    made->state = PMI_SET_PROPOSED;     /* not exact; it only means "not ended" */
    made->op = (enum pmi_set_op) op;
    snprintf(made->name, sizeof(made->name), "mpix://op/%d.%u", MPIR_Session_lpid(), number);
    for (int i = 0; i < MPL_MIN(n, 2); i++)
        MPL_strncpy(made->operands[i], of[i]->name, sizeof(made->operands[i]));
    made->size = op == MPIX_PSETOP_UNION ? unite(of, n, made->ranks) :
        choose(of, n, op == MPIX_PSETOP_INTERSECTION, made->ranks);
    made->primary = made->size > 0 ? made->ranks[0] : -1;
    for (int i = 0; i < made->size; i++)
        made->holds_me = made->holds_me || made->ranks[i] == MPIR_Session_lpid();
    return made;
}

static int post_made(const struct MPIR_Session_made *made, uint32_t number,
                     struct MPIR_Session_made *const of[], int n)
{
    struct MPIR_Session_call call;
    const char *names[PMI_SET_GRANT_OPERANDS];

    for (int i = 0; i < n; i++)
        names[i] = of[i]->name;
    MPIR_Session_write_set_made(&call, number, made->op, names, n, made->ranks, made->size);
    return MPIR_Session_call_post(&call);
}

/* The number of operands that are cached and have not ended; the caller releases them. */
static int recall(const char *const input[], int n, struct MPIR_Session_made *of[])
{
    int known = 0;

    while (known < n && input[known]) {
        of[known] = MPIR_Session_cache_find(input[known], false);
        if (!of[known])
            break;
        if (of[known++]->state == PMI_SET_ENDED)
            return 0;
    }
    return known;
}

int MPIR_Session_make_by_itself(int op, const char *const input[], int ninput,
                                char output[MPI_MAX_PSET_NAME_LEN], bool *done)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_stamp stamp = MPIR_Session_stamp();
    struct MPIR_Session_made *of[PMI_SET_GRANT_OPERANDS] = { 0 }, *made = NULL;
    uint32_t number = MPIR_Session_granted_number();

    *done = false;
    if (!number || ninput > PMI_SET_GRANT_OPERANDS || recall(input, ninput, of) < ninput)
        goto fn_exit;
    made = new_made(number, op, of, ninput);
    MPIR_ERR_CHKANDJUMP(!made, mpi_errno, MPI_ERR_OTHER, "**nomem");
    if (made->size > 0 && count_runs(made->ranks, made->size) <= PMI_SET_GRANT_RUNS) {
        MPIR_Session_granted_used();
        mpi_errno = post_made(made, number, of, ninput);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_Session_cache_store(made->name, made, stamp);
        MPL_strncpy(output, made->name, MPI_MAX_PSET_NAME_LEN);
        *done = true;
    }

  fn_exit:
    for (int i = 0; i < PMI_SET_GRANT_OPERANDS; i++)
        MPIR_Session_made_release(of[i]);
    MPIR_Session_made_release(made);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
