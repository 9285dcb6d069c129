/*
 * State of this process in the adaptations of its job (adapt.h): the object itself, its phase on
 * the board, and waiting on the board.  SPEC P1.
 */

#include "adapt.h"
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The longest sleep between two rounds of progress; while connections between hosts may be made */
#define BOARD_WAIT_MS 20
#define CONNECTING_WAIT_MS 1

MPIR_Adapt_t MPIR_Adapt;

uint64_t MPIR_Adapt_pid_namespace(void)
{
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

int MPIR_Adapt_board_wait(uint32_t seen)
{
    bool connecting = MPIR_Adapt.plan && MPIR_Adapt.plan->n_hosts > 1;
    struct timespec limit = {
        .tv_nsec = (connecting ? CONNECTING_WAIT_MS : BOARD_WAIT_MS) * 1000000L
    };
    int err;

    /* other threads of this process continue meanwhile */
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    syscall(SYS_futex, &MPIR_Board.control->wake, FUTEX_WAIT, seen, &limit, NULL, 0);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);

    err = MPID_Progress_test(NULL);
    return err;
}

void MPIR_Adapt_set_phase(enum pmi_adapt_phase phase)
{
    struct timespec now;

    if (!MPIR_Board.slot)
        return;
    if (phase >= PMI_ADAPT_PHASE_TOLD && clock_gettime(CLOCK_MONOTONIC, &now) == 0)
        __atomic_store_n(&MPIR_Board.slot->since_ms,
                         (uint64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000, __ATOMIC_RELAXED);
    __atomic_store_n(&MPIR_Board.slot->phase, phase, __ATOMIC_RELEASE);
}
