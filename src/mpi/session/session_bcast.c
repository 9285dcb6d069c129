/*
 * Texts that the primary process of a set gives to all its members, agreed on as a probe.  A call that delivers
 * nothing is a store, a fence and a load on the board (pmi_adapt_set.h, doc/developer/decisions/agreement.md); the
 * step manager is asked when a set is called for the first time, when a text is given, and in front of a gate.  SB1,
 * SB2.
 *
 * Owned by whichever thread holds the library's critical section, which questions give up: `busy` keeps others from a
 * part meanwhile.
 */

#include "session.h"
#include "mpir_adapt.h"
#include "adapt.h"

/* What a name means here.  Number k counts in place k of the board, unless its set was known by another name before. */
struct part {
    char name[PMI_SET_NAME_MAX + 1];    /* "": free */
    int place;
    unsigned epoch;             /* of mpi://..., which mean something else after an adaptation */
    bool predefined;
    bool busy;
};

/* Of a place. */
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

/* Nobody counts in that place any more. */
static void forget_place(int place)
{
    for (struct part * part = parts; part < parts + PMI_SET_BCASTS_MAX; part++)
        if (part->name[0] && part->place == place)
            part->name[0] = '\0';
}

static bool is_used(int place)
{
    for (const struct part * part = parts; part < parts + PMI_SET_BCASTS_MAX; part++)
        if ((part->name[0] || part->busy) && part->place == place)
            return true;
    return false;
}

/* Whether a text is delivered in call `number`, and which. */
static int take_turn(int place, uint64_t number, struct MPIR_Session_answer *answer)
{
    struct MPIR_Session_call call;

    MPIR_Session_call_begin(&call, PMI_SET_TURN);
    call.waits = true;
    MPIR_Session_call_number(&call, place);
    MPIR_Session_call_number(&call, (uint32_t) number);
    MPIR_Session_call_number(&call, (uint32_t) (number >> 32));
    return MPIR_Session_call_ask(&call, answer);
}

/* Those of sets that have been freed: their gates are shut. */
static int give_back_places(void)
{
    int mpi_errno = MPI_SUCCESS;
    struct pmi_adapt_bcast *board = MPIR_Adapt_board_bcasts();

    for (int place = 0; board && place < PMI_SET_BCASTS_MAX; place++) {
        struct MPIR_Session_answer answer;
        if (!is_used(place) || __atomic_load_n(&board[place].gate, __ATOMIC_ACQUIRE) != PMI_ADAPT_GATE_SHUT)
            continue;
        mpi_errno = take_turn(place, 0, &answer);
        if (mpi_errno && answer.code == PMI_SET_UNKNOWN)
            forget_place(place);
        else if (mpi_errno)
            break;
        else
            MPIR_Session_answer_free(&answer);
        mpi_errno = MPI_SUCCESS;
    }
    return mpi_errno;
}

/* A part that is free, and whose place is, too. */
static int take_part(const char *name, struct part **result)
{
    int mpi_errno = MPI_SUCCESS;
    struct part *part = NULL;

    for (int pass = 0; pass < 2 && !part; pass++) {
        if (pass == 1)
            mpi_errno = give_back_places();
        MPIR_ERR_CHECK(mpi_errno);
        for (int i = 0; i < PMI_SET_BCASTS_MAX && !part; i++)
            if (!parts[i].name[0] && !parts[i].busy && !is_used(i))
                part = &parts[i];
    }
    MPIR_ERR_CHKANDJUMP(!part, mpi_errno, MPI_ERR_NO_MEM, "**psetbcasts");
    MPL_strncpy(part->name, name, sizeof(part->name));
    part->place = (int) (part - parts);
    *result = part;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Counting begins: the gate is true once this has been answered. */
static int ask_to_join(struct part *part)
{
    int mpi_errno = MPIR_Session_call_prepare();
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    struct MPIR_Session_set set;

    MPIR_ERR_CHECK(mpi_errno);
    __atomic_store_n(&MPIR_Adapt_board_bcasts()[part->place].count, 0, __ATOMIC_SEQ_CST);
    counted[part->place] = (struct counted) { 0 };
    part->predefined = MPIR_Session_find_predefined(part->name, &set);
    part->epoch = MPIR_Adapt_epoch();
    MPIR_Session_call_begin(&call, PMI_SET_JOIN);
    MPIR_Session_call_operand(&call, part->name);
    MPIR_Session_call_number(&call, part->place);
    mpi_errno = MPIR_Session_call_ask(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    uint32_t place = MPIR_Session_answer_number(&answer);
    MPIR_ERR_CHKANDJUMP(answer.bad || place >= PMI_SET_BCASTS_MAX, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    part->place = (int) place;

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The part of this name, which is not busy and counts for what the name means now. */
static int join(const char *name, struct part **result)
{
    int mpi_errno = MPI_SUCCESS;
    struct part *part = NULL;

    MPIR_ERR_CHKANDJUMP1(!*name || strlen(name) > PMI_SET_NAME_MAX, mpi_errno, MPI_ERR_ARG, "**psetunknown",
                         "**psetunknown %s", name);
    mpi_errno = MPIR_Session_check_manager();
    MPIR_ERR_CHECK(mpi_errno);
    uint32_t *answered = MPIR_Adapt_board_answered();
    MPIR_ERR_CHKANDJUMP(!answered, mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**psetmanager");
    while ((part = find_part(name)) != NULL && part->busy) {
        mpi_errno = MPIR_Adapt_board_await_answer(answered, __atomic_load_n(answered, __ATOMIC_ACQUIRE));
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (part && is_present(part))
        goto fn_exit;
    if (part) {
        int place = part->place;        /* its spellings, too, have another meaning */
        forget_place(place);
    }
    mpi_errno = take_part(name, &part);
    MPIR_ERR_CHECK(mpi_errno);
    part->busy = true;
    mpi_errno = ask_to_join(part);
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

/* ---- one call --------------------------------------------------------------------------------------------- */

/* Counts it; its number.  `is_free`: nothing is to be asked, and nothing delivered. */
static uint64_t count_call(struct pmi_adapt_bcast *place, const struct counted *own, bool * is_free)
{
    uint64_t number = place->count + 1;

    __atomic_store_n(&place->count, number, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint64_t gate = __atomic_load_n(&place->gate, __ATOMIC_ACQUIRE);
    *is_free = number < gate || (gate != PMI_ADAPT_GATE_SHUT && gate <= own->done);
    return number;
}

static int take_text(struct MPIR_Session_answer *answer, char *text, int len)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_answer whole = *answer;
    uint32_t bytes = MPIR_Session_answer_number(&whole);

    MPIR_Session_answer_text(answer, text, len - 1);
    MPIR_ERR_CHKANDJUMP(answer->bad, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    MPIR_ERR_CHKANDJUMP2(bytes >= (uint32_t) len, mpi_errno, MPI_ERR_TRUNCATE, "**psettruncated",
                         "**psettruncated %d %d", (int) bytes, len - 1);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* In front of the gate.  `replaced`: the name means another set, or none; the call has not been. */
static int await_turn(int place, uint64_t number, char *text, int len, bool * replaced)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_answer answer;

    mpi_errno = take_turn(place, number, &answer);
    *replaced = mpi_errno && answer.code == PMI_SET_UNKNOWN;
    bool is_over = mpi_errno ? answer.code == PMI_SET_MEMBER_ENDED : MPIR_Session_answer_number(&answer) == 1;
    if (is_over) {
        counted[place].done = number;
        counted[place].given = false;
        if (!mpi_errno)
            mpi_errno = take_text(&answer, text, len);
    }
    MPIR_Session_answer_free(&answer);
    return *replaced ? MPI_SUCCESS : mpi_errno;
}

static int give(int place, const char *text)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;

    MPIR_ERR_CHKANDJUMP(counted[place].given, mpi_errno, MPI_ERR_PENDING, "**psetpending");
    MPIR_Session_call_begin(&call, PMI_SET_GIVE);
    MPIR_Session_call_number(&call, place);
    MPIR_Session_call_text(&call, text);
    mpi_errno = MPIR_Session_call_tell(&call);
    MPIR_ERR_CHECK(mpi_errno);
    counted[place].given = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whatever takes a question.  A set that has been freed may have been replaced by another one of its name. */
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
        uint64_t number = count_call(&MPIR_Adapt_board_bcasts()[part->place], &counted[part->place], &is_free);
        if (!is_free)
            result = await_turn(part->place, number, text, len, &replaced);
        if (!replaced && given) {
            mpi_errno = give(part->place, given);
            if (!result)
                result = mpi_errno;
        }
        part->busy = false;
        if (replaced)
            forget_place(part->place);
    }
    mpi_errno = result;
    MPIR_ERR_CHKANDJUMP1(replaced, mpi_errno, MPI_ERR_ARG, "**psetunknown", "**psetunknown %s", name);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static bool ends_within(const char *text, int len)
{
    return strnlen(text, len) < (size_t) len && strnlen(text, len) <= PMI_SET_TEXT_MAX;
}

int MPIR_Session_bcast_pset_info_impl(MPIR_Session * session, const char *name, char *text, int len, int primary)
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
    struct pmi_adapt_bcast *board = MPIR_Adapt_board_bcasts();
    if (likely(part && board && !given && !part->busy && is_present(part) && name[0])) {
        count_call(&board[part->place], &counted[part->place], &is_free);
        if (likely(is_free))
            goto fn_exit;
        board[part->place].count--;     /* it is counted below */
    }
    mpi_errno = call_slowly(name, text, len, given);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(given);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
