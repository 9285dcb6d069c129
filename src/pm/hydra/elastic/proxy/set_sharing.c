/*
 * Equal queries of several processes (set_calls.h).  The reply is passed to other processes too, as
 * long as `invalidations` has the value of when the query was sent: these processes could cache it
 * as well (session_cache.c), and mpiexec invalidates all such replies (SA1).
 */

#include "state.h"
#include "pmip_adapt.h"
#include "pmi_adapt_set.h"
#include "reports.h"
#include "set_calls.h"
#include "wire/kinds.h"

#define LATEST 32               /* number of stored replies, and their max bytes */
#define LATEST_BYTES_MAX 65536
#define UNSHARED 64

static struct latest {
    unsigned char *question;
    size_t question_bytes;
    uint32_t invalidations;
    char *payload;
    struct HYD_set_shared shared;       /* points into the payload */
} latest[LATEST];

/* by hash: queries whose last reply was for one process only */
static uint32_t unshared[UNSHARED];

static const unsigned char *question_of(const struct HYD_set_call *c)
{
    return c->bytes + sizeof(struct HYD_set_head);
}

static size_t question_bytes(const struct HYD_set_call *c)
{
    return c->used - sizeof(struct HYD_set_head);
}

static int queries(const struct HYD_set_call *c, const unsigned char *question, size_t bytes)
{
    return question_bytes(c) == bytes && memcmp(question_of(c), question, bytes) == 0;
}

int HYD_set_call_is_query(const struct HYD_set_call *c)
{
    uint32_t kind = 0;

    if (question_bytes(c) >= sizeof(kind))
        memcpy(&kind, question_of(c), sizeof(kind));
    return kind == PMI_SET_LOOK;
}

/* FNV-1a */
static uint32_t hash_of(const struct HYD_set_call *c)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < question_bytes(c); i++)
        hash = (hash ^ question_of(c)[i]) * 16777619u;
    return hash;
}

static int take_runs(const char **at, size_t *left, const char **runs, uint32_t *n)
{
    size_t bytes;

    if (*left < sizeof(*n))
        return 0;
    memcpy(n, *at, sizeof(*n));
    *runs = *at + sizeof(*n);
    bytes = sizeof(*n) + (size_t) *n * 2 * sizeof(uint32_t);
    if (*left < bytes)
        return 0;
    *at += bytes;
    *left -= bytes;
    return 1;
}

int HYD_set_shared_read(const char *bytes, size_t n, struct HYD_set_shared *shared)
{
    if (!take_runs(&bytes, &n, &shared->others, &shared->n_others) ||
        !take_runs(&bytes, &n, &shared->bcs, &shared->n_bcs))
        return 0;
    shared->answer = bytes;
    shared->bytes = n;
    return n > 0;
}

static int is_for(const struct HYD_set_shared *shared, int process)
{
    uint32_t uid =
        HYD_proxy_state.join.first_uid + (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[process];

    for (uint32_t i = 0; i < shared->n_others; i++) {
        uint32_t run[2];
        memcpy(run, shared->others + i * sizeof(run), sizeof(run));
        if (uid >= run[0] && uid - run[0] < run[1])
            return 1;
    }
    return 0;
}

/* Reports the addresses that these processes received, so that mpiexec does not send them again. */
static HYD_status report_given(const struct HYD_set_shared *shared, const uint32_t * ranks,
                               size_t n)
{
    size_t bcs = sizeof(uint32_t) + (size_t) shared->n_bcs * 2 * sizeof(uint32_t);
    char *payload = NULL;
    HYD_status status = HYD_SUCCESS;

    if (n == 0 || shared->n_bcs == 0)
        goto fn_exit;
    HYDU_MALLOC_OR_JUMP(payload, char *, bcs + n * sizeof(*ranks), status);
    memcpy(payload, shared->bcs - sizeof(uint32_t), bcs);
    memcpy(payload + bcs, ranks, n * sizeof(*ranks));
    status = HYD_reports_send(REPORT_SET_SHARED, 0, 0, payload, bcs + n * sizeof(*ranks));

  fn_exit:
    MPL_free(payload);
    return status;
  fn_fail:
    goto fn_exit;
}

static struct latest *find_latest(const struct HYD_set_call *c)
{
    for (int i = 0; i < LATEST; i++) {
        if (latest[i].payload && queries(c, latest[i].question, latest[i].question_bytes))
            return &latest[i];
    }
    return NULL;
}

void HYD_set_call_note_unshared(const struct HYD_set_call *c)
{
    unshared[hash_of(c) % UNSHARED] = hash_of(c);
}

/* Stores the reply to this call; without memory it is not stored. */
void HYD_set_call_keep_latest(const struct HYD_set_call *c, const char *payload, size_t bytes)
{
    static unsigned next;
    struct latest *l = find_latest(c);
    struct latest entry = {.question_bytes = question_bytes(c),.invalidations = c->invalidations };

    if (unshared[hash_of(c) % UNSHARED] == hash_of(c))
        unshared[hash_of(c) % UNSHARED] = 0;
    if (bytes > LATEST_BYTES_MAX)
        return;
    entry.question = MPL_malloc(question_bytes(c), MPL_MEM_PM);
    entry.payload = MPL_malloc(bytes, MPL_MEM_PM);
    if (!entry.question || !entry.payload) {
        MPL_free(entry.question);
        MPL_free(entry.payload);
        return;
    }
    memcpy(entry.question, question_of(c), question_bytes(c));
    memcpy(entry.payload, payload, bytes);
    HYD_set_shared_read(entry.payload, bytes, &entry.shared);
    if (!l)
        l = &latest[next++ % LATEST];
    MPL_free(l->question);
    MPL_free(l->payload);
    *l = entry;
}

static struct HYD_set_call *find_queried(const struct HYD_set_call *c)
{
    for (struct HYD_set_call * other = HYD_set_calls; other; other = other->next) {
        if (other->whole && !other->followers && !other->answered && other->process != c->process &&
            other->invalidations == HYD_board_invalidations(&HYD_proxy_state.board) &&
            queries(c, question_of(other), question_bytes(other)))
            return other;
    }
    return NULL;
}

/* The call is complete. */
HYD_status HYD_set_call_query(struct HYD_set_call **slot)
{
    struct HYD_set_call *c = *slot;
    struct latest *l = HYD_set_call_is_query(c) ? find_latest(c) : NULL;
    uint32_t rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[c->process];
    HYD_status status = HYD_SUCCESS;

    if (l && l->invalidations == HYD_board_invalidations(&HYD_proxy_state.board) &&
        is_for(&l->shared, c->process)) {
        status = HYD_set_call_give(slot, l->shared.answer, l->shared.bytes);
        HYDU_ERR_POP(status, "unable to send a reply\n");
        status = report_given(&l->shared, &rank, 1);
        goto fn_exit;
    }
    if (HYD_set_call_is_query(c) && unshared[hash_of(c) % UNSHARED] != hash_of(c))
        c->followers = find_queried(c);
    if (!c->followers)
        status = HYD_set_call_pass_on(slot, 0);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

static size_t count_followers(const struct HYD_set_call *c)
{
    size_t n = 0;

    for (const struct HYD_set_call * other = HYD_set_calls; other; other = other->next)
        n += other->followers == c;
    return n;
}

/* Queries that wait for the reply to this one get it, if they may have it (NULL: none may), or are
 * passed on. */
HYD_status HYD_set_call_answer_others(const struct HYD_set_call *c,
                                      const struct HYD_set_shared *shared)
{
    uint32_t *ranks = NULL;
    size_t n = 0, waiting = count_followers(c);
    HYD_status status = HYD_SUCCESS;

    if (waiting == 0)
        goto fn_exit;
    HYDU_MALLOC_OR_JUMP(ranks, uint32_t *, waiting * sizeof(*ranks), status);
    for (struct HYD_set_call ** slot = &HYD_set_calls; *slot;) {
        struct HYD_set_call *other = *slot;
        if (other->followers != c) {
            slot = &other->next;
            continue;
        }
        if (shared && is_for(shared, other->process)) {
            ranks[n++] = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[other->process];
            status = HYD_set_call_give(slot, shared->answer, shared->bytes);
        } else {
            status = HYD_set_call_pass_on(slot, 0);
        }
        HYDU_ERR_POP(status, "unable to reply to a call on process sets\n");
    }
    status = shared ? report_given(shared, ranks, n) : HYD_SUCCESS;

  fn_exit:
    MPL_free(ranks);
    return status;
  fn_fail:
    goto fn_exit;
}

/* This call gets no reply: the first call that waits for it is passed on instead. */
void HYD_set_call_replace(const struct HYD_set_call *c)
{
    struct HYD_set_call *first = NULL;

    for (struct HYD_set_call ** slot = &HYD_set_calls; *slot; slot = &(*slot)->next) {
        if ((*slot)->followers != c)
            continue;
        (*slot)->followers = first;
        if (!first) {
            first = *slot;
            /* if mpiexec has failed, the main loop detects that */
            (void) HYD_set_call_pass_on(slot, 0);
        }
    }
}
