/*
 * The processes of board_litmus_test.cpp: the library's side of the adapt board in src/mpi/adapt,
 * compiled once for each process with separate state.  So the processes can be threads, which a
 * thread sanitizer checks.
 */

#ifndef BOARD_LITMUS_H_INCLUDED
#define BOARD_LITMUS_H_INCLUDED

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#include "board.h"

#define LITMUS_PROCESSES 4

struct litmus_process {
    /* Takes a slot of a board, as MPI_Init_adapt does.  The process' uid is its rank, for ever. */
    void (*open)(struct HYD_board *board, int slot, int rank);
    /* MPI_Probe_adapt; whether it returned TRUE. */
    int (*probe)(void);
    uint64_t (*count)(void);
    /* The effect of MPI_Comm_adapt_commit on the board. */
    void (*commit)(void);
};

extern const struct litmus_process litmus_process_0, litmus_process_1, litmus_process_2,
    litmus_process_3;

/* Defined by the test: called with a plan that a process has read, and with a line to the proxy. */
void litmus_plan_read(const struct pmi_adapt_plan *plan);
void litmus_line_sent(const char *line);

#ifdef __cplusplus
}
#endif

#endif /* BOARD_LITMUS_H_INCLUDED */
