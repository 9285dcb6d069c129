/*
 * Texts that the primary process of a set sends to all its members, with the same agreement as a
 * probe.  A call that delivers nothing is a store, a fence and a load on the board
 * (pmi_adapt_set.h, doc/developer/decisions/agreement.md); the step manager is queried at the first
 * use of a set, for a call with a text, and before a closed gate.  SB1, SB2.
 *
 * The thread that holds the library's critical section owns the state.  Queries release that
 * section; meanwhile `busy` protects a part from other threads.
 */

#include "session.h"
#include "connect_board.h"
#include "mpir_adapt.h"

/* The meaning of a name in this process.  Part k counts in entry k of the board, unless its set had
 * another name before. */
struct part {
    char name[PMI_SET_NAME_MAX + 1];    /* "": free */
    int entry;
    unsigned epoch;             /* for mpi://..., whose meaning changes with an adaptation */
    bool predefined;
    bool busy;
};

/* State of an entry. */
struct counted {
    uint64_t done;              /* the call in which the last text was delivered */
    bool given;                 /* a text of this process is not delivered yet */
};

static struct part parts[PMI_SET_BCASTS_MAX], *last = parts;
static struct counted counted[PMI_SET_BCASTS_MAX];

static struct part *find_part(const char *name)
{
    if (likely(!strcmp(last->name, name)))
        return last;
    for (struct part * part = parts; part < parts + PMI_SET_BCASTS_MAX; part++)
        if (!strcmp(part->name, name))
            return last = part;
    return NULL;
}

static bool is_present(const struct part *part)
{
    return !part->predefined || part->epoch == MPIR_Adapt_epoch();
}

/* The entry is not used for counting any more. */
static void release_entry(int entry)
{
    for (struct part * part = parts; part < parts + PMI_SET_BCASTS_MAX; part++)
        if (part->name[0] && part->entry == entry)
            part->name[0] = '\0';
}

static bool is_used(int entry)
{
    for (const struct part * part = parts; part < parts + PMI_SET_BCASTS_MAX; part++)
        if ((part->name[0] || part->busy) && part->entry == entry)
            return true;
    return false;
}

/* Queries whether a text is delivered in call `number`, and the text. */
static int take_turn(int entry, uint64_t number, struct MPIR_Session_answer *answer)
{
    struct MPIR_Session_call call;

    MPIR_Session_write_set_turn(&call, entry, number);
    call.waits = true;
    return MPIR_Session_call_query(&call, answer);
}

/* Releases the entries of freed sets, whose gates are closed. */
static int release_entries(void)
{
    int mpi_errno = MPI_SUCCESS;
    struct pmi_adapt_bcast *board = MPIR_Board_bcasts();

    for (int entry = 0; board && entry < PMI_SET_BCASTS_MAX; entry++) {
        struct MPIR_Session_answer answer;
        if (!is_used(entry) ||
            __atomic_load_n(&board[entry].gate, __ATOMIC_ACQUIRE) != PMI_ADAPT_GATE_SHUT)
            continue;
        mpi_errno = take_turn(entry, 0, &answer);
        if (mpi_errno && answer.code == PMI_SET_UNKNOWN)
            release_entry(entry);
        else if (mpi_errno)
            break;
        else
            MPIR_Session_answer_free(&answer);
        mpi_errno = MPI_SUCCESS;
    }
    return mpi_errno;
}

/* Finds a free part whose entry is also free. */
static int take_part(const char *name, struct part **result)
{
    int mpi_errno = MPI_SUCCESS;
    struct part *part = NULL;

    for (int pass = 0; pass < 2 && !part; pass++) {
        if (pass == 1)
            mpi_errno = release_entries();
        MPIR_ERR_CHECK(mpi_errno);
        for (int i = 0; i < PMI_SET_BCASTS_MAX && !part; i++)
            if (!parts[i].name[0] && !parts[i].busy && !is_used(i))
                part = &parts[i];
    }
    MPIR_ERR_CHKANDJUMP(!part, mpi_errno, MPI_ERR_NO_MEM, "**psetbcasts");
    MPL_strncpy(part->name, name, sizeof(part->name));
    part->entry = (int) (part - parts);
    *result = part;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Counting begins: the gate is valid after the reply. */
static int query_join(struct part *part)
{
    int mpi_errno = MPIR_Session_call_prepare();
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    struct MPIR_Session_set set;

    MPIR_ERR_CHECK(mpi_errno);
    __atomic_store_n(&MPIR_Board_bcasts()[part->entry].count, 0, __ATOMIC_SEQ_CST);
    counted[part->entry] = (struct counted) { 0 };
    part->predefined = MPIR_Session_find_predefined(part->name, &set);
    part->epoch = MPIR_Adapt_epoch();
    MPIR_Session_write_set_join(&call, part->name, part->entry);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    uint32_t entry = MPIR_Session_answer_number(&answer);
    MPIR_ERR_CHKANDJUMP(answer.bad ||
                        entry >= PMI_SET_BCASTS_MAX, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    part->entry = (int) entry;

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Finds the part of this name; it is not busy and counts for the present meaning of the name. */
static int join(const char *name, struct part **result)
{
    int mpi_errno = MPI_SUCCESS;
    struct part *part = NULL;

    MPIR_ERR_CHKANDJUMP1(!*name ||
                         strlen(name) > PMI_SET_NAME_MAX, mpi_errno, MPI_ERR_ARG, "**psetunknown",
                         "**psetunknown %s", name);
    mpi_errno = MPIR_Session_check_manager();
    MPIR_ERR_CHECK(mpi_errno);
    uint32_t *answered = MPIR_Board_answered();
    MPIR_ERR_CHKANDJUMP(!answered, mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**psetmanager");
    while ((part = find_part(name)) != NULL && part->busy) {
        mpi_errno = MPIR_Board_await_answer(answered, __atomic_load_n(answered, __ATOMIC_ACQUIRE));
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (part && is_present(part))
        goto fn_exit;
    if (part) {
        int entry = part->entry;        /* the meaning of its other spellings has changed, too */
        release_entry(entry);
    }
    mpi_errno = take_part(name, &part);
    MPIR_ERR_CHECK(mpi_errno);
    part->busy = true;
    mpi_errno = query_join(part);
    part->busy = false;
    if (mpi_errno)
        part->name[0] = '\0';
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    *result = part;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- one call -------------------------------------------------------------------------------- */

/* Counts the call; returns its number.  `is_free`: no query is needed, and no text is delivered. */
static uint64_t count_call(struct pmi_adapt_bcast *entry, const struct counted *own, bool * is_free)
{
    uint64_t number = entry->count + 1;

    __atomic_store_n(&entry->count, number, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint64_t gate = __atomic_load_n(&entry->gate, __ATOMIC_ACQUIRE);
    *is_free = number < gate || (gate != PMI_ADAPT_GATE_SHUT && gate <= own->done);
    return number;
}

static int take_text(struct MPIR_Session_answer *answer, char *text, int len)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_answer whole = *answer;
    uint32_t bytes = MPIR_Session_answer_number(&whole);

    MPIR_Session_answer_text(answer, text, len - 1);
    MPIR_ERR_CHKANDJUMP(answer->bad, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    MPIR_ERR_CHKANDJUMP2(bytes >= (uint32_t) len, mpi_errno, MPI_ERR_TRUNCATE, "**psettruncated",
                         "**psettruncated %d %d", (int) bytes, len - 1);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Waits before the gate.  `replaced`: the name means another set, or none; the call does not
 * count. */
static int await_turn(int entry, uint64_t number, char *text, int len, bool * replaced)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_answer answer;

    mpi_errno = take_turn(entry, number, &answer);
    *replaced = mpi_errno && answer.code == PMI_SET_UNKNOWN;
    bool is_over =
        mpi_errno ? answer.code == PMI_SET_MEMBER_ENDED : MPIR_Session_answer_number(&answer) == 1;
    if (is_over) {
        counted[entry].done = number;
        counted[entry].given = false;
        if (!mpi_errno)
            mpi_errno = take_text(&answer, text, len);
    }
    MPIR_Session_answer_free(&answer);
    return *replaced ? MPI_SUCCESS : mpi_errno;
}

static int give(int entry, const char *text)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;

    MPIR_ERR_CHKANDJUMP(counted[entry].given, mpi_errno, MPI_ERR_PENDING, "**psetpending");
    MPIR_Session_write_set_give(&call, entry, text);
    mpi_errno = MPIR_Session_call_notify(&call);
    MPIR_ERR_CHECK(mpi_errno);
    counted[entry].given = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The slow path: all cases that need a query.  A set that has been freed may have been replaced by
 * another one of its name. */
static int call_slowly(const char *name, char *text, int len, const char *given)
{
    int mpi_errno = MPI_SUCCESS, result = MPI_SUCCESS;
    struct part *part;
    bool is_free, replaced = true;

    for (int attempt = 0; replaced && attempt < 2; attempt++) {
        mpi_errno = join(name, &part);
        MPIR_ERR_CHECK(mpi_errno);
        part->busy = true;
        replaced = false;
        uint64_t number =
            count_call(&MPIR_Board_bcasts()[part->entry], &counted[part->entry], &is_free);
        if (!is_free)
            result = await_turn(part->entry, number, text, len, &replaced);
        if (!replaced && given) {
            mpi_errno = give(part->entry, given);
            if (!result)
                result = mpi_errno;
        }
        part->busy = false;
        if (replaced)
            release_entry(part->entry);
    }
    mpi_errno = result;
    MPIR_ERR_CHKANDJUMP1(replaced, mpi_errno, MPI_ERR_ARG, "**psetunknown", "**psetunknown %s",
                         name);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static bool ends_within(const char *text, int len)
{
    return strnlen(text, len) < (size_t) len && strnlen(text, len) <= PMI_SET_TEXT_MAX;
}

int MPIR_Session_bcast_pset_info_impl(MPIR_Session * session, const char *name, char *text, int len,
                                      int primary)
{
    int mpi_errno = MPIR_Session_check(session);
    char *given = NULL;
    bool is_free;

    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(len < 1, mpi_errno, MPI_ERR_ARG, "**psettext");
    if (unlikely(primary && text[0])) {
        MPIR_ERR_CHKANDJUMP(!ends_within(text, len), mpi_errno, MPI_ERR_ARG, "**psettext");
        given = MPL_strdup(text);
        MPIR_ERR_CHKANDJUMP(!given, mpi_errno, MPI_ERR_OTHER, "**nomem");
    }
    text[0] = '\0';
    struct part *part = find_part(name);
    struct pmi_adapt_bcast *board = MPIR_Board_bcasts();
    if (likely(part && board && !given && !part->busy && is_present(part) && name[0])) {
        count_call(&board[part->entry], &counted[part->entry], &is_free);
        if (likely(is_free))
            goto fn_exit;
        board[part->entry].count--;     /* it is counted below */
    }
    mpi_errno = call_slowly(name, text, len, given);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(given);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
