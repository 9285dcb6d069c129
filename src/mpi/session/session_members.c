/*
 * Members of sets: uids in calls and replies, ranks of the present world in this process.  For
 * processes of the launch these are equal until the world changes; then the step manager is queried
 * once for its members.  SA1, SW2.
 */

#include "session.h"

#define MEMBERS_MAX (1 << 20)   /* of a set */

struct member {
    uint32_t uid;
    int rank;
};

static struct {
    unsigned epoch;             /* 0: uids are ranks */
    int size;
    uint32_t *uids;             /* by rank */
    struct member *members;     /* by uid */
} world;

static uint32_t uid_of(int rank)
{
    return world.epoch == 0 ? (uint32_t) rank : world.uids[rank];
}

static int compare_members(const void *a, const void *b)
{
    uint32_t left = ((const struct member *) a)->uid, right = ((const struct member *) b)->uid;

    return (left > right) - (left < right);
}

/* -1: the process is not in the world. */
int MPIR_Session_rank_of_uid(uint32_t uid)
{
    const struct member wanted = {.uid = uid };
    const struct member *found;

    /* a job that changes through sets has no windows */
    uint32_t n_lpids = !MPIR_Adapt_is_on() ?
        MPID_SESSION_LPIDS_MAX : (uint32_t) MPIR_Process.size;
    if (world.epoch == 0)
        return uid < n_lpids ? (int) uid : -1;
    found = bsearch(&wanted, world.members, world.size, sizeof(wanted), compare_members);
    return found ? found->rank : -1;
}

static void take_world(unsigned epoch, uint32_t * uids, struct member *members, int size)
{
    for (int rank = 0; rank < size; rank++)
        members[rank] = (struct member) {
            uids[rank], rank
        };
    qsort(members, size, sizeof(*members), compare_members);
    MPL_free(world.uids);
    MPL_free(world.members);
    world.epoch = epoch;
    world.size = size;
    world.uids = uids;
    world.members = members;
}

/* Another thread may send the same query meanwhile; this is harmless. */
static int learn_world(unsigned epoch)
{
    int mpi_errno = MPI_SUCCESS, n = 0;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    uint32_t *uids = NULL;
    struct member *members = NULL;
    char text[PMI_SET_NAME_MAX + 1];

    snprintf(text, sizeof(text), "mpix://WORLD/%u", epoch);
    MPIR_Session_write_set_look(&call, text, false);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    uids = MPL_malloc(MPIR_Process.size * sizeof(*uids), MPL_MEM_OTHER);
    members = MPL_malloc(MPIR_Process.size * sizeof(*members), MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!uids || !members, mpi_errno, MPI_ERR_OTHER, "**nomem");
    MPIR_Session_answer_text(&answer, text, PMI_SET_NAME_MAX);
    for (int i = 0; i < 4; i++)
        MPIR_Session_answer_number(&answer);    /* state, serial, primary, op */
    for (uint32_t i = MPIR_Session_answer_number(&answer); i > 0 && !answer.bad; i--)
        MPIR_Session_answer_text(&answer, text, PMI_SET_NAME_MAX);
    for (uint32_t i = MPIR_Session_answer_number(&answer); i > 0 && !answer.bad; i--) {
        uint32_t first = MPIR_Session_answer_number(&answer);
        uint32_t count = MPIR_Session_answer_number(&answer);
        answer.bad = answer.bad || count > (uint32_t) (MPIR_Process.size - n);
        while (!answer.bad && count-- > 0)
            uids[n++] = first++;
    }
    MPIR_ERR_CHKANDJUMP(answer.bad ||
                        n != MPIR_Process.size, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    take_world(epoch, uids, members, n);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    MPL_free(uids);
    MPL_free(members);
    goto fn_exit;
}

static int know_world(void)
{
    unsigned epoch = MPIR_Adapt_epoch();

    return epoch == world.epoch ? MPI_SUCCESS : learn_world(epoch);
}

int MPIR_Session_call_prepare(void)
{
    int mpi_errno = MPIR_Session_check_manager();

    return mpi_errno ? mpi_errno : know_world();
}

/* ---- members in calls and replies ------------------------------------------------------------ */

void MPIR_Session_call_members(struct MPIR_Session_call *call, const int *ranks, int n)
{
    int runs = 0;

    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            MPIR_Session_call_number(call, runs);
        for (int i = 0, count; i < n; i += count) {
            uint32_t first = uid_of(ranks ? ranks[i] : i);
            for (count = 1;
                 i + count < n && uid_of(ranks ? ranks[i + count] : i + count) == first + count;
                 count++);
            runs++;
            if (pass == 1) {
                MPIR_Session_call_number(call, first);
                MPIR_Session_call_number(call, count);
            }
        }
    }
}

int *MPIR_Session_answer_members(struct MPIR_Session_answer *answer, int *n)
{
    uint32_t runs = MPIR_Session_answer_number(answer);
    struct MPIR_Session_answer counting = *answer;
    uint64_t size = 0;
    int *ranks, *next;

    for (uint32_t i = 0; i < runs && !counting.bad; i++) {
        MPIR_Session_answer_number(&counting);
        size += MPIR_Session_answer_number(&counting);
        counting.bad = counting.bad || size > MEMBERS_MAX;
    }
    answer->bad = counting.bad;
    ranks = next = answer->bad ? NULL : MPL_malloc(MPL_MAX(size, 1) * sizeof(int), MPL_MEM_OTHER);
    for (uint32_t i = 0; i < runs && ranks; i++) {
        uint32_t first = MPIR_Session_answer_number(answer);
        for (uint32_t k = MPIR_Session_answer_number(answer); k > 0; k--)
            *next++ = MPIR_Session_rank_of_uid(first++);
    }
    *n = (int) size;
    return ranks;
}
