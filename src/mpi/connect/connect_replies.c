/*
 * Waiting for replies of the proxy (pmi_adapt_set.h), also in programs that do not adapt: these
 * unmap the board except for the part with the count of replies, which stays mapped from the first
 * query on.
 */

#include "connect_board.h"
#include "pmi_adapt_set.h"
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Other processes may need this one before the reply arrives: the max time between two rounds of
 * progress. */
#define WAIT_MS 5
/* For a reply two processes of the process manager need a processor; a caller that sleeps at once
 * costs one more wake-up. */
#define SPIN_US 200

/* The part of the board that stays mapped in a program that does not adapt. */
static struct {
    uint32_t *answered;
    struct pmi_adapt_answer *answers;
    struct pmi_adapt_bcast *bcasts;
    uint64_t *creations;
    const struct pmi_adapt_control *control;
} retained;

static size_t own_slot(void)
{
    char *board = (char *) MPIR_Board.control;

    return MPIR_Board.slot - (struct pmi_adapt_slot *) (board + MPIR_Board.control->slots_offset);
}

static struct pmi_adapt_bcast *own_bcasts(void)
{
    char *board = (char *) MPIR_Board.control;

    return (struct pmi_adapt_bcast *) (board + MPIR_Board.control->bcasts_offset) +
        own_slot() * PMI_SET_BCASTS_MAX;
}

static struct pmi_adapt_answer *own_answers(void)
{
    char *board = (char *) MPIR_Board.control;

    return (struct pmi_adapt_answer *) (board + MPIR_Board.control->answers_offset) +
        own_slot() * PMI_SET_ANSWERS;
}

static uint64_t *own_creations(void)
{
    char *board = (char *) MPIR_Board.control;

    return (uint64_t *) (board + MPIR_Board.control->creations_offset) +
        own_slot() * PMI_SET_CREATIONS_MAX;
}

uint32_t *MPIR_Board_answered(void)
{
    if (MPIR_Board.slot)
        return &MPIR_Board.slot->answered;
    if (!retained.answered) {
        MPIR_Board_open();
        if (!MPIR_Board_is_ours()) {
            MPIR_Board_close();
            return NULL;
        }
        retained.bcasts = own_bcasts();
        retained.answers = own_answers();
        retained.creations = own_creations();
        retained.control = MPIR_Board.control;
        retained.answered = &MPIR_Board.slot->answered;
        MPIR_Board.control = NULL;
        MPIR_Board.slot = NULL;
    }
    return retained.answered;
}

struct pmi_adapt_answer *MPIR_Board_answers(void)
{
    return MPIR_Board.slot ? own_answers() : retained.answers;
}

struct pmi_adapt_bcast *MPIR_Board_bcasts(void)
{
    return MPIR_Board.slot ? own_bcasts() : retained.bcasts;
}

uint64_t *MPIR_Board_creations(void)
{
    if (!MPIR_Board_answered())
        return NULL;
    return MPIR_Board.slot ? own_creations() : retained.creations;
}

const struct pmi_adapt_control *MPIR_Board_words(void)
{
    return MPIR_Board.slot ? MPIR_Board.control : retained.control;
}

int MPIR_Board_spin_for_answer(const uint32_t * answered, uint32_t seen)
{
    MPL_time_t start, now;
    double spun_s = 0;

    MPL_wtime(&start);
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    while (__atomic_load_n(answered, __ATOMIC_ACQUIRE) == seen && spun_s < SPIN_US * 1e-6) {
        sched_yield();
        MPL_wtime(&now);
        MPL_wtime_diff(&start, &now, &spun_s);
    }
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return MPID_Progress_test(NULL);
}

int MPIR_Board_await_answer(const uint32_t * answered, uint32_t seen)
{
    const struct timespec limit = {.tv_nsec = WAIT_MS * 1000000L };

    /* other threads of this process continue meanwhile */
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    syscall(SYS_futex, answered, FUTEX_WAIT, seen, &limit, NULL, 0);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return MPID_Progress_test(NULL);
}
