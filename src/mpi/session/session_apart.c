/*
 * How processes that were not started together exchange their addresses.  SI8.
 *
 * They receive each other's addresses from mpiexec: with the data of sets that hold them, and where
 * that was not enough, at a rendezvous in mpiexec.  A rendezvous is complete when all have inserted
 * the addresses of all, for the reason in session_rendezvous.c.  No process waits there for an
 * exited one.  Processes that had a rendezvous need no other one if mpiexec reports that they are a
 * full mesh (pset_meshes.h); it replies at once to those that do not know it yet.
 */

#include "session_contact.h"
#include "mpir_adapt_session.h"

bool MPIR_Session_is_apart(const MPIR_Group * group)
{
    bool apart = MPIR_Session_is_joining();

    for (int i = 0; i < group->size && !apart; i++)
        apart = group->lrank_to_lpid[i].lpid >= (uint64_t) MPIR_Process.size;
    return apart && !MPIR_Adapt_is_on();
}

static unsigned long long rendezvous_count;

unsigned long long *MPIR_Session_rendezvous_count(void)
{
    return &rendezvous_count;
}

static int insert_missing(struct MPIR_Session_answer *answer, const int *lpids, int n)
{
    int mpi_errno = MPI_SUCCESS;
    char text[PMI_SET_CARD_MAX + 1];

    for (int i = 0; i < n && !mpi_errno; i++) {
        MPIR_Session_answer_text(answer, text, PMI_SET_CARD_MAX);
        mpi_errno = MPIR_Session_insert_bc(lpids[i], text);
    }
    return mpi_errno;
}

/* All of them take part.  `complete`: all know all addresses; else missing ones have been inserted,
 * and another rendezvous follows.  `is_needless`: the processes are a full mesh, so that they need
 * not take part. */
static int rendezvous_round(const int *lpids, int n, const char *stringtag, int round,
                            const char *bc, bool knows_all, bool *complete, bool *is_needless)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    char tag[PMI_SET_TAG_MAX];

    snprintf(tag, sizeof(tag), "%d %.900s", round, stringtag);
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_write_set_meet(&call, tag, bc, lpids, n, knows_all);
    call.waits = true;
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    if (mpi_errno)
        /* adds no line to the error stack: the reason is its end, and would be truncated */
        goto fn_fail;
    MPIR_Session_bc_given();
    rendezvous_count++;
    uint32_t bcs = MPIR_Session_answer_number(&answer);
    MPIR_ERR_CHKANDJUMP(answer.bad || (bcs != 0 &&
                         bcs != (uint32_t) n), mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    *complete = bcs == 0;
    MPL_initlock_lock(&MPIR_Session_contact_lock);
    mpi_errno = insert_missing(&answer, lpids, (int) bcs);
    if (!mpi_errno)
        MPIR_Session_offer_channels(lpids, n);
    *is_needless = MPIR_Session_answer_number(&answer) == 1;
    if (!mpi_errno && *is_needless)
        mpi_errno = MPIR_Session_note_contact(lpids, n, MPIR_SESSION_CONNECTED);
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_rendezvous_apart(const MPIR_Group * group, const char *stringtag, int first_round,
                                  bool *has_met)
{
    int mpi_errno = MPI_SUCCESS, *lpids = NULL;
    char bc[PMI_SET_CARD_MAX];
    bool knows_all = true, complete, is_needless, is_new;
    MPIR_CHKLMEM_DECL(1);

    MPL_initlock_lock(&MPIR_Session_contact_lock);
    *has_met = !MPIR_Session_needs_no_rendezvous(group);
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
    if (!*has_met) {
        mpi_errno = MPIR_Session_decide_all(group, has_met);
        MPIR_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    MPIR_CHKLMEM_MALLOC(lpids, int *, group->size * sizeof(int), mpi_errno, "lpids", MPL_MEM_OTHER);
    for (int i = 0; i < group->size; i++) {
        MPIR_ERR_CHKANDJUMP(group->lrank_to_lpid[i].lpid >= MPID_SESSION_LPIDS_MAX, mpi_errno,
                            MPI_ERR_GROUP, "**sessiongroup");
        lpids[i] = (int) group->lrank_to_lpid[i].lpid;
    }
    MPL_initlock_lock(&MPIR_Session_contact_lock);
    mpi_errno = MPID_Session_reserve_lpids(0);
    if (!mpi_errno)
        mpi_errno = MPIR_Session_insert_own_bc(bc, sizeof(bc));
    for (int i = 0; i < group->size && !mpi_errno; i++)
        knows_all = knows_all && MPIR_Session_knows(lpids[i]);
    if (!mpi_errno)
        MPIR_Session_offer_channels(lpids, group->size);
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno =
        rendezvous_round(lpids, group->size, stringtag, first_round,
                         MPIR_Session_bc_is_given()? "" : bc, knows_all, &complete, &is_needless);
    MPIR_ERR_CHECK(mpi_errno);
    if (!complete)
        mpi_errno =
            rendezvous_round(lpids, group->size, stringtag, first_round + 1, "", true, &complete,
                             &is_needless);
    MPIR_ERR_CHECK(mpi_errno);
    if (is_needless)
        mpi_errno = MPIR_Session_decide_all(group, &is_new);
    else
        MPIR_Session_decide_channels(group);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
