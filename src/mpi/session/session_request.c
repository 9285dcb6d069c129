/*
 * Operations on process sets that add or remove processes on request of the program: the step
 * manager replies when they are complete, or that they are not granted.  Also the query for the
 * open operation.  SC5, SC6, SE1.
 */

#include "session.h"

#define REASON_KEY "mpix_reason"

/* For REPLACE: removed, added, new. */
#define NAMES_MAX 3

static bool is_resource_op(int op)
{
    return op >= MPIX_PSETOP_ADD && op <= MPIX_PSETOP_SHRINK;
}

static int names_of(int op)
{
    return op == MPIX_PSETOP_REPLACE ? NAMES_MAX : op == MPIX_PSETOP_ADD ||
        op == MPIX_PSETOP_SUB ? 1 : 2;
}

/* ---- the query ------------------------------------------------------------------------------- */

/* Reads the number of a key; with `must` the key is required. */
static int get_number(MPIR_Info * info, const char *key, bool must, uint32_t * number)
{
    int mpi_errno = MPI_SUCCESS, flag = 0;
    char value[MPI_MAX_INFO_VAL + 1], *end;

    *number = 0;
    if (info)
        mpi_errno = MPIR_Info_get_impl(info, key, MPI_MAX_INFO_VAL, value, &flag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP1(!flag &&
                         must, mpi_errno, MPI_ERR_INFO_NOKEY, "**psetnumber", "**psetnumber %s",
                         key);
    if (!flag)
        goto fn_exit;
    long n = strtol(value, &end, 10);
    MPIR_ERR_CHKANDJUMP2(*value < '0' || *value > '9' || *end ||
                         n > MPID_SESSION_LPIDS_MAX, mpi_errno, MPI_ERR_INFO_VALUE, "**psetnumber",
                         "**psetnumber %s %s", key, value);
    *number = (uint32_t) n;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The first set is bound.  For REPLACE one number is enough. */
static int write_request(struct MPIR_Session_call *call, int op, const char *const input[],
                         int ninput, MPIR_Info * info)
{
    int mpi_errno = MPI_SUCCESS;
    bool adds = op == MPIX_PSETOP_ADD || op == MPIX_PSETOP_GROW;
    bool removes = op == MPIX_PSETOP_SUB || op == MPIX_PSETOP_SHRINK;
    uint32_t add, remove;
    struct MPIR_Session_name bound;

    MPIR_ERR_CHKANDJUMP(ninput < 1 || !input[0], mpi_errno, MPI_ERR_ARG, "**psetunknown");
    mpi_errno = get_number(info, "mpi_num_procs_add", adds, &add);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = get_number(info, "mpi_num_procs_sub", removes ||
                           (op == MPIX_PSETOP_REPLACE && !add), &remove);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_find_bound(input[0], &bound);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_write_set_request(call, bound.text, op, add, remove);
    call->waits = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int write_query(struct MPIR_Session_call *call, const char *coll_pset, const char *name)
{
    int mpi_errno = MPIR_Session_call_prepare();
    struct MPIR_Session_name bound;

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_find_bound(name, &bound);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_write_set_query(call, coll_pset, bound.text);
    call->waits = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- the reply ------------------------------------------------------------------------------- */

struct done {
    int op, n;
    char names[NAMES_MAX][MPI_MAX_PSET_NAME_LEN];
    char why_not[MPI_MAX_INFO_VAL];     /* reason why there is no operation */
};

static int read_done(struct MPIR_Session_answer *answer, struct done *done)
{
    int mpi_errno = MPI_SUCCESS;

    done->op = (int) MPIR_Session_answer_number(answer);
    uint32_t n = MPIR_Session_answer_number(answer);
    MPIR_ERR_CHKANDJUMP(answer->bad || n > NAMES_MAX, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    done->n = (int) n;
    for (int i = 0; i < done->n; i++)
        MPIR_Session_answer_text(answer, done->names[i], MPI_MAX_PSET_NAME_LEN - 1);
    MPIR_Session_answer_text(answer, done->why_not, sizeof(done->why_not) - 1);
    MPIR_ERR_CHKANDJUMP(answer->bad, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int query_op(struct MPIR_Session_call *call, struct done *done)
{
    struct MPIR_Session_answer answer = { 0 };
    int mpi_errno = MPIR_Session_call_query(call, &answer);

    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_note_dynamic();
    mpi_errno = read_done(&answer, done);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int check_capacity(int capacity, int needed)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP2(capacity < needed, mpi_errno, MPI_ERR_ARG, "**psetoproom",
                         "**psetoproom %d %d", capacity, needed);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void give(const struct done *done, char output[][MPI_MAX_PSET_NAME_LEN], int *noutput)
{
    for (int i = 0; i < done->n; i++)
        MPL_strncpy(output[i], done->names[i], MPI_MAX_PSET_NAME_LEN);
    *noutput = done->n;
}

/* Stores the reason of a refusal in the caller's info; removes that of an earlier call. */
static int give_reason(const struct done *done, MPIR_Info * info)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int mpi_errno = MPI_SUCCESS, is_there = 0;

    if (!info)
        goto fn_exit;
    if (done->why_not[0])
        mpi_errno = MPIR_Info_set_impl(info, REASON_KEY, done->why_not);
    else
        mpi_errno = MPIR_Info_get_impl(info, REASON_KEY, MPI_MAX_INFO_VAL, value, &is_there);
    MPIR_ERR_CHECK(mpi_errno);
    if (is_there)
        mpi_errno = MPIR_Info_delete_impl(info, REASON_KEY);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_request_op(int op, const char *const input[], int ninput, MPIR_Info * info,
                            char output[][MPI_MAX_PSET_NAME_LEN], int *noutput)
{
    int mpi_errno = check_capacity(*noutput, names_of(op));
    struct MPIR_Session_call call = { 0 };
    struct done done = { 0 };

    MPIR_ERR_CHECK(mpi_errno);
    if (MPIR_Session_has_proxy()) {
        mpi_errno = write_request(&call, op, input, ninput, info);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = query_op(&call, &done);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = give_reason(&done, info);
        MPIR_ERR_CHECK(mpi_errno);
    }
    give(&done, output, noutput);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_get_pset_op_impl(MPIR_Session * session, const char *coll_pset, const char *name,
                                  int *op, char output[][MPI_MAX_PSET_NAME_LEN], int *noutput)
{
    int mpi_errno = MPIR_Session_check(session);
    struct MPIR_Session_call call = { 0 };
    struct done done = { 0 };

    *op = MPIX_PSETOP_NULL;
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP1(!output, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s", "output");
    if (MPIR_Session_has_proxy()) {
        mpi_errno = write_query(&call, coll_pset, name);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = query_op(&call, &done);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = check_capacity(*noutput, done.n);
    MPIR_ERR_CHECK(mpi_errno);
    *op = done.op;
    give(&done, output, noutput);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_finish_pset_op_impl(MPIR_Session * session, const char *name)
{
    int mpi_errno = MPIR_Session_check(session);
    struct MPIR_Session_call call;
    struct MPIR_Session_name bound;

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_find_bound(name, &bound);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_write_set_close(&call, bound.text);
    mpi_errno = MPIR_Session_call_notify(&call);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- nonblocking operations ------------------------------------------------------------------ */

/* Output arguments of the call. */
struct output_args {
    int *op, *noutput;
    /* allocated names, and their array; the caller frees them */
    char ***output;
};

static int put(const struct output_args *output_args, int op, int n,
               char names[][MPI_MAX_PSET_NAME_LEN])
{
    int mpi_errno = MPI_SUCCESS, made = 0;
    char **output = n > 0 ? MPL_direct_malloc(n * sizeof(char *)) : NULL;

    MPIR_ERR_CHKANDJUMP(n > 0 && !output, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    for (; made < n; made++) {
        output[made] = MPL_direct_malloc(MPI_MAX_PSET_NAME_LEN);
        MPIR_ERR_CHKANDJUMP(!output[made], mpi_errno, MPI_ERR_NO_MEM, "**nomem");
        MPL_strncpy(output[made], names[made], MPI_MAX_PSET_NAME_LEN);
    }
    *output_args->op = op;
    *output_args->output = output;
    *output_args->noutput = n;

  fn_exit:
    return mpi_errno;
  fn_fail:
    while (made-- > 0)
        MPL_direct_free(output[made]);
    MPL_direct_free(output);
    goto fn_exit;
}

/* The completed operation determines the requested one. */
static int take_done(struct MPIR_Session_answer *answer, void *state)
{
    struct done done = { 0 };
    int mpi_errno = read_done(answer, &done);

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = put(state, done.op, done.n, done.names);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int send_later(struct MPIR_Session_call *call, int *op, char ***output, int *noutput,
                      MPIR_Request ** request)
{
    struct output_args *output_args = MPL_malloc(sizeof(*output_args), MPL_MEM_OTHER);

    if (output_args)
        *output_args = (struct output_args) {.op = op,.noutput = noutput,.output = output };
    return MPIR_Session_call_start(call, take_done, output_args, request);
}

static int complete_at_once(MPIR_Request ** request)
{
    *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__COLL);
    return *request ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* Operations that only make sets need only one query. */
static int make_sets(MPIR_Session * session, int *op, const char *const input[], int ninput,
                     MPIR_Info * info, char ***output, int *noutput)
{
    int mpi_errno = MPI_SUCCESS, n = *op == MPIX_PSETOP_SPLIT ? PMI_SET_OPERANDS_MAX : 1;
    const struct output_args output_args = {.op = op,.noutput = noutput,.output = output };
    char (*names)[MPI_MAX_PSET_NAME_LEN];
    MPIR_CHKLMEM_DECL(1);

    MPIR_CHKLMEM_MALLOC(names, void *, n * sizeof(*names), mpi_errno, "names", MPL_MEM_OTHER);
    mpi_errno = MPIR_Session_pset_op_impl(session, *op, input, ninput, info, names, &n);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = put(&output_args, *op, n, names);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_ipset_op_impl(MPIR_Session * session, int *op, const char *const input[],
                               int ninput, MPIR_Info * info, char ***output, int *noutput,
                               MPIR_Request ** request)
{
    int mpi_errno = MPIR_Session_check(session);
    struct MPIR_Session_call call = { 0 };

    *output = NULL;
    *noutput = 0;
    MPIR_ERR_CHECK(mpi_errno);
    if (is_resource_op(*op) && MPIR_Session_has_proxy()) {
        mpi_errno = write_request(&call, *op, input, ninput, info);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = send_later(&call, op, output, noutput, request);
    } else {
        if (is_resource_op(*op))
            *op = MPIX_PSETOP_NULL;
        else
            mpi_errno = make_sets(session, op, input, ninput, info, output, noutput);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = complete_at_once(request);
    }
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_iget_pset_op_impl(MPIR_Session * session, const char *coll_pset, const char *name,
                                   int *op, char ***output, int *noutput, MPIR_Request ** request)
{
    int mpi_errno = MPIR_Session_check(session);
    struct MPIR_Session_call call = { 0 };

    *op = MPIX_PSETOP_NULL;
    *output = NULL;
    *noutput = 0;
    MPIR_ERR_CHECK(mpi_errno);
    if (MPIR_Session_has_proxy()) {
        mpi_errno = write_query(&call, coll_pset, name);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = send_later(&call, op, output, noutput, request);
    } else {
        mpi_errno = complete_at_once(request);
    }
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
