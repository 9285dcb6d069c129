/*
 * Queries for the data of sets that were made, which may be cached (session_cache.c), and for their
 * names.  SA1.
 */

#include "session.h"

#define POLLS_PER_PROGRESS 8

void MPIR_Session_made_release(struct MPIR_Session_made *made)
{
    if (!made || --made->references > 0)
        return;
    MPL_free(made->ranks);
    MPL_free(made);
}

/* The data of a set; `lasts`: it may be cached. */
static int read_made(struct MPIR_Session_answer *answer, struct MPIR_Session_made *made,
                     bool *lasts)
{
    int mpi_errno = MPI_SUCCESS;
    char rest[PMI_SET_NAME_MAX + 1];

    MPIR_Session_answer_text(answer, made->name, PMI_SET_NAME_MAX);
    made->state = (enum pmi_set_state) MPIR_Session_answer_number(answer);
    made->serial = MPIR_Session_answer_number(answer);
    made->primary = MPIR_Session_rank_of_uid(MPIR_Session_answer_number(answer));
    made->op = (enum pmi_set_op) MPIR_Session_answer_number(answer);
    uint32_t n = MPIR_Session_answer_number(answer);
    for (uint32_t i = 0; i < n && !answer->bad; i++)
        MPIR_Session_answer_text(answer, i < 2 ? made->operands[i] : rest, PMI_SET_NAME_MAX);
    made->ranks = MPIR_Session_answer_members(answer, &made->size);
    MPIR_ERR_CHKANDJUMP(answer->bad || !made->ranks, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    mpi_errno = MPIR_Session_insert_bcs(answer);
    MPIR_ERR_CHECK(mpi_errno);
    uint32_t how_long = MPIR_Session_answer_number(answer);
    *lasts = how_long != PMI_SET_LASTS_NOT;
    made->state_lasts = how_long == PMI_SET_LASTS;
    MPIR_ERR_CHKANDJUMP(answer->bad, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    for (int i = 0; i < made->size; i++) {
        made->holds_me = made->holds_me || made->ranks[i] == MPIR_Session_lpid();
        if (made->ranks[i] < 0)
            made->state = PMI_SET_ENDED;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* `name`: as in the query; NULL: as in the reply. */
static int read_lookup(struct MPIR_Session_answer *answer, const char *name,
                       struct MPIR_Session_stamp stamp, struct MPIR_Session_made **result)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_made *made = MPL_calloc(1, sizeof(*made), MPL_MEM_OTHER);
    bool lasts;

    MPIR_ERR_CHKANDJUMP(!made, mpi_errno, MPI_ERR_OTHER, "**nomem");
    made->references = 1;
    mpi_errno = read_made(answer, made, &lasts);
    MPIR_ERR_CHECK(mpi_errno);
    if (lasts)
        MPIR_Session_cache_store(name ? name : made->name, made, stamp);

  fn_exit:
    *result = made;
    return mpi_errno;
  fn_fail:
    MPIR_Session_made_release(made);
    made = NULL;
    goto fn_exit;
}

int MPIR_Session_cache_lookups(struct MPIR_Session_answer *answer, uint32_t n,
                               struct MPIR_Session_stamp stamp)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_made *made;

    MPIR_ERR_CHKANDJUMP(answer->bad, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    for (; n > 0; n--) {
        mpi_errno = read_lookup(answer, NULL, stamp, &made);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_Session_made_release(made);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int query_lookup(const char *name, bool state_matters, struct MPIR_Session_made **result)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    struct MPIR_Session_stamp stamp;

    *result = NULL;
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    stamp = MPIR_Session_stamp();
    MPIR_Session_write_set_look(&call, name, state_matters);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = read_lookup(&answer, name, stamp, result);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A polling caller makes progress at intervals: other processes may need that to cause the state
 * that it polls for.  A query makes progress itself. */
int MPIR_Session_lookup(const char *name, bool state_matters, struct MPIR_Session_made **result)
{
    static unsigned polls;
    int mpi_errno = MPI_SUCCESS;

    if (++polls % POLLS_PER_PROGRESS == 0)
        mpi_errno = MPID_Progress_test(NULL);
    *result = mpi_errno ? NULL : MPIR_Session_cache_find(name, state_matters);
    MPIR_ERR_CHECK(mpi_errno);
    if (!*result)
        mpi_errno = query_lookup(name, state_matters, result);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_list_made(uint32_t * serial,
                           void (*take_name)(void *state, const char *name, int size), void *state)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    char name[PMI_SET_NAME_MAX + 1];

    MPIR_Session_write_set_list(&call, *serial);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    *serial = MPIR_Session_answer_number(&answer);
    uint32_t n = MPIR_Session_answer_number(&answer);
    for (uint32_t i = 0; i < n && !answer.bad; i++) {
        MPIR_Session_answer_text(&answer, name, PMI_SET_NAME_MAX);
        int size = (int) MPIR_Session_answer_number(&answer);
        if (!answer.bad)
            take_name(state, name, size);
    }
    MPIR_ERR_CHKANDJUMP(answer.bad, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
