/* See sets.h.  Malformed or excessive lines of a process are not passed on: only that process waits then. */

#include "state.h"
#include <sys/ioctl.h>
#include <sys/stat.h>
#include "agent.h"
#include "answers.h"
#include "exits.h"
#include "output.h"
#include "pmi_adapt_set.h"
#include "pmi_line.h"
#include "reports.h"
#include "sets.h"
#include "spawned.h"
#include "wire/event_loop.h"
#include "wire/kinds.h"
#include "wire/keepalive.h"

/* The head of REPORT_SET_CALL, STEP_SET_ANSWER and STEP_SET_SHARED. */
struct head {
    uint32_t who;               /* rank in the group; uid */
    uint32_t id;
};

struct call {
    int process;
    uint32_t id;
    int whole, answered;
    struct call *followers;        /* not passed on: it waits for the answer to this one, which is the same */
    uint32_t invalidations;           /* of the board when it was passed on */
    int by_board;               /* the process searches for the answer on the board first */
    unsigned char *bytes;       /* a head and the call; its answer */
    size_t used;
    struct call *next;
};

static struct call *calls;

/* Where it is, or where one more would be. */
static struct call **find(int process, uint32_t id)
{
    struct call **slot = &calls;

    while (*slot && ((*slot)->process != process || (*slot)->id != id))
        slot = &(*slot)->next;
    return slot;
}

static void drop(struct call **slot)
{
    struct call *c = *slot;

    *slot = c->next;
    MPL_free(c->bytes);
    MPL_free(c);
}

static int count_of(int process)
{
    int n = 0;

    for (const struct call * c = calls; c; c = c->next)
        n += c->process == process;
    return n;
}

static HYD_status append(struct call *c, const char *hex)
{
    size_t more = strlen(hex) / 2;
    HYD_status status = HYD_SUCCESS;

    HYDU_REALLOC_OR_JUMP(c->bytes, unsigned char *, c->used + more + 1, status);
    if (c->used + more > sizeof(struct head) + PMI_SET_CALL_MAX ||
        HYD_pmi_line_decode_hex(hex, c->bytes + c->used, more) < 0)
        c->used = 0;            /* for good */
    else
        c->used += more;

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

static HYD_status new_call(struct call **slot, int process, uint32_t id)
{
    struct head head = { (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[process], id };
    struct call *c = NULL;
    HYD_status status = HYD_SUCCESS;

    HYDU_MALLOC_OR_JUMP(c, struct call *, sizeof(*c), status);
    *c = (struct call) {.process = process,.id = id };
    *slot = c;
    HYDU_MALLOC_OR_JUMP(c->bytes, unsigned char *, sizeof(head), status);
    memcpy(c->bytes, &head, sizeof(head));
    c->used = sizeof(head);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* 0: it is none. */
static uint64_t inode_of(int fd)
{
    struct stat status;

    return fd >= 0 && fstat(fd, &status) == 0 ? (uint64_t) status.st_ino : 0;
}

void HYD_sets_connect(int fd)
{
    int i = HYD_agent.board.fd < 0 ? -1 : HYD_agent_process_of_fd(fd);

    if (i >= 0)
        HYD_agent.processes[i].socket = inode_of(fd);
}

int HYD_sets_connected(int process_id)
{
    uint64_t socket = HYD_agent.processes ? HYD_agent.processes[process_id].socket : 0;

    return socket && inode_of(HYD_pmcd_pmip.downstream.pmi_fd[process_id]) == socket;
}

/* The input of a process' connection, as long as it is the one on which it made calls before. */
static int bytes_of(int fd, uint64_t socket)
{
    int bytes = 0;

    return socket && inode_of(fd) == socket && ioctl(fd, FIONREAD, &bytes) == 0 ? bytes : 0;
}

/* Other input is read in the event loop: a process, or a child that has its connection, may never pause; and so is
 * the input of one that does not read its replies. */
HYD_status HYD_sets_read(int process_id)
{
    int fd = HYD_pmcd_pmip.downstream.pmi_fd[process_id];
    uint64_t socket = HYD_agent.processes ? HYD_agent.processes[process_id].socket : 0;
    HYD_status status = HYD_SUCCESS;

    for (int reads = bytes_of(fd, socket) / HYD_TMPBUF_SIZE + 1; reads > 0; reads--) {
        if (status != HYD_SUCCESS || HYD_answers_wait(fd) || bytes_of(fd, socket) == 0)
            break;
        HYD_loop_outdate();
        status = HYD_pmcd_pmip_adapt_read_pmi(fd);
    }
    return status;
}

/* Its number here, -1: it is not here. */
static int process_of(uint32_t uid)
{
    return uid < HYD_agent.join.first_uid ? -1 : HYD_agent_process_of_rank((int) (uid - HYD_agent.join.first_uid));
}

HYD_status HYD_sets_sync(uint32_t uid)
{
    int i = process_of(uid);

    return i < 0 ? HYD_SUCCESS : HYD_sets_read(i);
}

HYD_status HYD_sets_comes(uint64_t number, uint64_t creation, uint32_t uid)
{
    struct {
        uint64_t number;
        uint32_t comes;
    } answer = { number, 0 };
    int i = process_of(uid);

    answer.comes = i >= 0 && HYD_agent.board.fd >= 0 && HYD_board_makes(&HYD_agent.board, i, creation);
    return HYD_reports_send(REPORT_COMES, 0, 0, &answer, sizeof(answer.number) + sizeof(answer.comes));
}

/* ---- who has begun to use MPI (SR1) ------------------------------------------------------------------------ */

static int starts_matter;       /* to mpiexec */

static HYD_status report_starts(uint64_t number)
{
    size_t bytes = sizeof(number);
    char *payload = NULL;
    HYD_status status = HYD_SUCCESS;

    HYDU_MALLOC_OR_JUMP(payload, char *, bytes + (size_t) HYD_agent_process_count() * sizeof(uint32_t), status);
    memcpy(payload, &number, sizeof(number));
    for (int i = 0; HYD_agent.processes && i < HYD_agent_process_count(); i++) {
        struct HYD_agent_process *p = &HYD_agent.processes[i];
        uint32_t rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i];
        if (!p->begun || p->begin_reported)
            continue;
        p->begin_reported = 1;
        memcpy(payload + bytes, &rank, sizeof(rank));
        bytes += sizeof(rank);
    }
    if (number > 0 || bytes > sizeof(number))
        status = HYD_reports_send(REPORT_STARTED, 0, 0, payload, bytes);

  fn_exit:
    MPL_free(payload);
    return status;
  fn_fail:
    goto fn_exit;
}

void HYD_pmcd_pmip_adapt_began(int process_id)
{
    HYD_spawned_began(process_id);
    if (process_id < 0 || !HYD_agent.processes || HYD_agent.processes[process_id].begun)
        return;
    HYD_agent.processes[process_id].begun = 1;
    if (starts_matter)
        (void) report_starts(0);  /* if mpiexec has failed, the main loop finds out */
}

/* A process that has notified others that it is there has written to its connection before. */
HYD_status HYD_sets_starts(uint64_t number)
{
    for (int i = 0; HYD_agent.processes && i < HYD_agent_process_count(); i++) {
        int bytes = 0, fd = HYD_pmcd_pmip.downstream.pmi_fd[i];
        if (!HYD_agent.processes[i].begun && fd >= 0 && ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0)
            HYD_agent.processes[i].begun = 1;
    }
    starts_matter = 1;
    return report_starts(number);
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

/* One that is not answered has the number 0 further up. */
static HYD_status pass_on(struct call **slot, int one_way)
{
    struct head *head = (struct head *) (*slot)->bytes;

    (*slot)->followers = NULL;
    (*slot)->invalidations = HYD_board_invalidations(&HYD_agent.board);
    if (one_way)
        head->id = 0;
    HYD_status status = HYD_reports_send(REPORT_SET_CALL, 0, 0, (*slot)->bytes, (*slot)->used);
    if (one_way)
        drop(slot);
    return status;
}

static HYD_status give(struct call **slot, const char *answer, size_t bytes)
{
    struct call *c = *slot;
    int process = c->process;
    HYD_status status = HYD_SUCCESS;

    if (c->by_board && HYD_board_answer(&HYD_agent.board, process, c->id, answer, bytes)) {
        drop(slot);
    } else {
        HYDU_REALLOC_OR_JUMP(c->bytes, unsigned char *, bytes, status);
        memcpy(c->bytes, answer, bytes);
        c->used = bytes;
        c->followers = NULL;
        c->answered = 1;
    }
    HYD_board_answered(&HYD_agent.board, process);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* ---- the same question of several processes ------------------------------------------------------------------ */

/* A query whose reply goes to other processes, too, as long as `invalidations` is what it was when the query was sent:
 * they could cache it as well (session_cache.c), and mpiexec has all such replies invalidated (SA1). */

#define LATEST 32               /* answers that are stored, of at most so many bytes */
#define LATEST_BYTES_MAX 65536
#define UNSHARED 64

/* The content of STEP_SET_SHARED, after its head. */
struct shared {
    const char *others, *bcs; /* runs of uids, after their number; who may have it, and whose addresses are sent */
    uint32_t n_others, n_bcs;
    const char *answer;
    size_t bytes;
};

static struct latest {
    unsigned char *question;
    size_t question_bytes;
    uint32_t invalidations;
    char *payload;
    struct shared shared;       /* in there */
} latest[LATEST];

static uint32_t unshared[UNSHARED];     /* by hash: questions whose answer was for one process, the last time */

static const unsigned char *question_of(const struct call *c)
{
    return c->bytes + sizeof(struct head);
}

static size_t question_bytes(const struct call *c)
{
    return c->used - sizeof(struct head);
}

static int queries(const struct call *c, const unsigned char *question, size_t bytes)
{
    return question_bytes(c) == bytes && memcmp(question_of(c), question, bytes) == 0;
}

static int is_query(const struct call *c)
{
    uint32_t kind = 0;

    if (question_bytes(c) >= sizeof(kind))
        memcpy(&kind, question_of(c), sizeof(kind));
    return kind == PMI_SET_LOOK;
}

/* FNV-1a */
static uint32_t hash_of(const struct call *c)
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

static int read_shared(const char *bytes, size_t n, struct shared *shared)
{
    if (!take_runs(&bytes, &n, &shared->others, &shared->n_others) ||
        !take_runs(&bytes, &n, &shared->bcs, &shared->n_bcs))
        return 0;
    shared->answer = bytes;
    shared->bytes = n;
    return n > 0;
}

static int is_for(const struct shared *shared, int process)
{
    uint32_t uid = HYD_agent.join.first_uid + (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[process];

    for (uint32_t i = 0; i < shared->n_others; i++) {
        uint32_t run[2];
        memcpy(run, shared->others + i * sizeof(run), sizeof(run));
        if (uid >= run[0] && uid - run[0] < run[1])
            return 1;
    }
    return 0;
}

/* mpiexec does not send them these addresses again. */
static HYD_status report_given(const struct shared *shared, const uint32_t * ranks, size_t n)
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

static struct latest *find_latest(const struct call *c)
{
    for (int i = 0; i < LATEST; i++) {
        if (latest[i].payload && queries(c, latest[i].question, latest[i].question_bytes))
            return &latest[i];
    }
    return NULL;
}

/* The answer to this one.  That there is no memory for it changes nothing. */
static void keep_latest(const struct call *c, const char *payload, size_t bytes)
{
    static unsigned next;
    struct latest *l = find_latest(c);
    struct latest entry = {.question_bytes = question_bytes(c),.invalidations = c->invalidations };

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
    read_shared(entry.payload, bytes, &entry.shared);
    if (!l)
        l = &latest[next++ % LATEST];
    MPL_free(l->question);
    MPL_free(l->payload);
    *l = entry;
}

static struct call *find_queried(const struct call *c)
{
    for (struct call * other = calls; other; other = other->next) {
        if (other->whole && !other->followers && !other->answered && other->process != c->process &&
            other->invalidations == HYD_board_invalidations(&HYD_agent.board) &&
            queries(c, question_of(other), question_bytes(other)))
            return other;
    }
    return NULL;
}

/* It is whole. */
static HYD_status query(struct call **slot)
{
    struct call *c = *slot;
    struct latest *l = is_query(c) ? find_latest(c) : NULL;
    uint32_t rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[c->process];
    HYD_status status = HYD_SUCCESS;

    if (l && l->invalidations == HYD_board_invalidations(&HYD_agent.board) && is_for(&l->shared, c->process)) {
        status = give(slot, l->shared.answer, l->shared.bytes);
        HYDU_ERR_POP(status, "unable to give an answer\n");
        status = report_given(&l->shared, &rank, 1);
        goto fn_exit;
    }
    if (is_query(c) && unshared[hash_of(c) % UNSHARED] != hash_of(c))
        c->followers = find_queried(c);
    if (!c->followers)
        status = pass_on(slot, 0);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

static size_t count_followers(const struct call *c)
{
    size_t n = 0;

    for (const struct call * other = calls; other; other = other->next)
        n += other->followers == c;
    return n;
}

/* Queries that wait for the reply to this one get it, if they may have it (NULL: none may), or are passed on. */
static HYD_status answer_others(const struct call *c, const struct shared *shared)
{
    uint32_t *ranks = NULL;
    size_t n = 0, waiting = count_followers(c);
    HYD_status status = HYD_SUCCESS;

    if (waiting == 0)
        goto fn_exit;
    HYDU_MALLOC_OR_JUMP(ranks, uint32_t *, waiting * sizeof(*ranks), status);
    for (struct call ** slot = &calls; *slot;) {
        struct call *other = *slot;
        if (other->followers != c) {
            slot = &other->next;
            continue;
        }
        if (shared && is_for(shared, other->process)) {
            ranks[n++] = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[other->process];
            status = give(slot, shared->answer, shared->bytes);
        } else {
            status = pass_on(slot, 0);
        }
        HYDU_ERR_POP(status, "unable to answer a call on process sets\n");
    }
    status = shared ? report_given(shared, ranks, n) : HYD_SUCCESS;

  fn_exit:
    MPL_free(ranks);
    return status;
  fn_fail:
    goto fn_exit;
}

/* It will not be answered: the first of those that wait for it queries instead of it. */
static void replace(const struct call *c)
{
    struct call *first = NULL;

    for (struct call ** slot = &calls; *slot; slot = &(*slot)->next) {
        if ((*slot)->followers != c)
            continue;
        (*slot)->followers = first;
        if (!first) {
            first = *slot;
            (void) pass_on(slot, 0);   /* if mpiexec has failed, the main loop finds out */
        }
    }
}

/* ---- from the process, and from mpiexec ---------------------------------------------------------------------- */

/* A call comes in parts, each in a line: id=N more=0|1 [board=1|answer=0] call=HEX. */
HYD_status HYD_pmcd_pmip_adapt_fn_set_call(int fd, char *args[])
{
    const char *hex = HYD_pmi_line_argument(args, "call");
    int64_t id = HYD_pmi_line_number(args, "id", UINT32_MAX), more = HYD_pmi_line_number(args, "more", UINT32_MAX);
    int i = HYD_agent.board.fd < 0 ? -1 : HYD_agent_process_of_fd(fd);
    struct call **slot;
    HYD_status status = HYD_SUCCESS;

    if (i < 0 || id < 1 || !hex)
        goto fn_exit;
    slot = find(i, (uint32_t) id);
    if (!*slot && count_of(i) < PMI_SET_CALLS_MAX) {
        status = new_call(slot, i, (uint32_t) id);
        HYDU_ERR_POP(status, "no memory for a call on process sets\n");
    }
    if (!*slot || (*slot)->whole || (*slot)->used == 0)
        goto fn_exit;
    HYD_sets_connect(fd);
    (*slot)->by_board = HYD_pmi_line_number(args, "board", 1) == 1;
    status = append(*slot, hex);
    HYDU_ERR_POP(status, "no memory for a call on process sets\n");
    (*slot)->whole = more < 1 && (*slot)->used > 0;
    if ((*slot)->whole)
        status = HYD_pmi_line_number(args, "answer", 0) == 0 ? pass_on(slot, 1) : query(slot);
    HYDU_ERR_POP(status, "unable to pass on a call on process sets\n");

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

HYD_status HYD_pmcd_pmip_adapt_fn_set_fetch(int fd, char *args[])
{
    char line[2 * PMI_SET_PART_MAX + 128];
    int64_t id = HYD_pmi_line_number(args, "id", UINT32_MAX), from = HYD_pmi_line_number(args, "at", UINT32_MAX);
    int i = HYD_agent.board.fd < 0 ? -1 : HYD_agent_process_of_fd(fd);
    struct call **slot = find(i, id < 1 ? 0 : (uint32_t) id);
    size_t at = from < 0 ? 0 : (size_t) from;

    if (!*slot || !(*slot)->answered || at > (*slot)->used) {
        static const char nothing[] = "cmd=adapt_set_part bytes=0 data=\n";
        return HYD_answer(fd, nothing, strlen(nothing));
    }
    const struct call *c = *slot;
    size_t n = c->used - at < PMI_SET_PART_MAX ? c->used - at : PMI_SET_PART_MAX;
    int length = MPL_snprintf(line, sizeof(line), "cmd=adapt_set_part bytes=%zu data=", c->used);
    for (size_t k = 0; k < n; k++)
        length += MPL_snprintf(line + length, sizeof(line) - length, "%02x", c->bytes[at + k]);
    MPL_snprintf(line + length, sizeof(line) - length, "\n");
    if (at + n == c->used)
        drop(slot);
    return HYD_answer(fd, line, strlen(line));
}

/* As the first adaptive process: a daemon with ends to report must not wait for mpiexec. */
HYD_status HYD_sets_used(void)
{
    HYD_status status = HYD_pmcd_pmip_adapt_channel();

    HYDU_ERR_POP(status, "unable to open a channel to mpiexec\n");
    HYD_keepalive_watch(HYD_pmcd_pmip.upstream.control);
    status = HYD_reports_send(HYD_ADAPT_COUNTS_OUTPUT, 0, 0, NULL, 0);
    HYDU_ERR_POP(status, "unable to notify mpiexec that output is counted\n");
    HYD_pmcd_pmip_adapt_count_output();
    status = HYD_exits_watch();
    HYDU_ERR_POP(status, "unable to watch the processes\n");
    HYD_exits_report_earlier();
    status = HYD_sets_starts(0);
    HYDU_ERR_POP(status, "unable to notify mpiexec which processes have begun\n");

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* The call that this answers, and what follows its head; NULL: it has ended meanwhile. */
static HYD_status find_answered(const char **payload, size_t * bytes, struct call **c)
{
    struct head head;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, *bytes <= sizeof(head), HYD_INTERNAL_ERROR,
                        "the answer to a call on process sets has a wrong length\n");
    memcpy(&head, *payload, sizeof(head));
    *payload += sizeof(head);
    *bytes -= sizeof(head);
    int i = process_of(head.who);
    *c = i < 0 ? NULL : *find(i, head.id);
    if (*c && (!(*c)->whole || (*c)->followers || (*c)->answered))
        *c = NULL;

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

HYD_status HYD_sets_answered(const char *payload, size_t bytes)
{
    struct call *c;
    HYD_status status = find_answered(&payload, &bytes, &c);

    HYDU_ERR_POP(status, "unable to find who is answered\n");
    if (!c)
        goto fn_exit;
    if (is_query(c)) {
        unshared[hash_of(c) % UNSHARED] = hash_of(c);
        status = answer_others(c, NULL);
        HYDU_ERR_POP(status, "unable to pass on calls on process sets\n");
    }
    status = give(find(c->process, c->id), payload, bytes);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

HYD_status HYD_sets_shared(const char *payload, size_t bytes)
{
    struct call *c;
    struct shared shared;
    HYD_status status = find_answered(&payload, &bytes, &c);

    HYDU_ERR_POP(status, "unable to find who is answered\n");
    HYDU_ERR_CHKANDJUMP(status, !read_shared(payload, bytes, &shared), HYD_INTERNAL_ERROR,
                        "an answer that several processes may have is malformed\n");
    if (!c)
        goto fn_exit;
    if (unshared[hash_of(c) % UNSHARED] == hash_of(c))
        unshared[hash_of(c) % UNSHARED] = 0;
    keep_latest(c, payload, bytes);
    status = answer_others(c, &shared);
    HYDU_ERR_POP(status, "unable to answer others\n");
    status = give(find(c->process, c->id), shared.answer, shared.bytes);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

void HYD_sets_ended(int process_id)
{
    for (struct call ** slot = &calls; *slot;) {
        if ((*slot)->process == process_id) {
            replace(*slot);
            drop(slot);
        } else {
            slot = &(*slot)->next;
        }
    }
}
