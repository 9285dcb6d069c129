/*
 * Gaussian elimination with partial pivoting, for dense systems in blocks of rows.  Nothing here
 * depends on the program that leads it: gauss_plain.c probes and opens windows itself, gauss_epop.c
 * has the driver epop do that.
 *
 * The operations on a row do not depend on its owner, so the solution has the same bits on any
 * number of processes, however often that changes.
 */

#ifndef GAUSS_H_INCLUDED
#define GAUSS_H_INCLUDED

#include <adapt_data.h>
#include <stdint.h>

/* The same in all processes. */
struct gauss_progress {
    int64_t column;             /* that is eliminated next */
    int64_t row;                /* that back substitution has reached; n: not begun */
    int64_t solved;             /* systems */
    int64_t adaptations;        /* that have been seen */
    int64_t moved;              /* rows that have been sent in windows */
    uint64_t sum;               /* of all bits of all solutions */
    /* the first row of those that are split evenly: 0 but with --balance */
    int64_t split;
};

/* Rows that this process has finished, with --balance. */
struct gauss_finished {
    double *rows;
    int64_t *numbers;           /* which these are */
    int64_t count;
    int *owner;                 /* in back substitution: whose each row before `split` is */
    int array, numbers_array;   /* as the library knows them */
};

struct gauss {
    int64_t n;                  /* equations */
    int64_t systems;            /* at least */
    int64_t adaptations;        /* at least: --adaptations */
    /* --root: rank 0 collects all rows and deals them out, to compare */
    int by_root;
    /* --balance: what is left to eliminate is split evenly in each window */
    int balance;
    double sleep_ms;            /* a column takes so much longer, divided by the processes */
    /* adaptations when the number of processes was printed; -1: never */
    int64_t reported;
    MPIX_Adapt_layout blocks, everywhere;
    MPI_Datatype row_type, progress_type;
    /* rows and progress move by themselves; with --root progress alone */
    MPIX_Adapt_data data;
    int rows_array;             /* as the library knows it */
    double *rows;               /* this process': n coefficients and the right-hand side, each */
    struct gauss_finished finished;
    const epop_window_t *window;        /* while it is open */
    double *x;                  /* the solution, while it is made */
    struct gauss_progress *progress;
};

/* After MPI_Init_adapt: reads the options; a launched process has an empty system then, a joining
 * one (`joins`) gets everything in the window.  Returns 0, or 1 after a message. */
int gauss_setup(struct gauss *gauss, int argc, char **argv, int joins);

/* In the window. */
int gauss_move(struct gauss *gauss, const epop_window_t * window);
/* The same with --root (root.c): rank 0 of the old world holds all rows for a while.  Returns how
 * many rows this process has sent to others; -1: no memory. */
int64_t gauss_move_by_root(struct gauss *gauss, const epop_window_t * window);

/* With --balance (balance.c).  Registers rows and finished rows; 0, or an error.  Then, each
 * returning 0, or something else if there is no memory: this process will have `count` rows of a
 * new system; in the window, before anything moves, finished ones of its rows [first, first +
 * count) are set aside; and, collectively, which ranks have the finished rows. */
int gauss_balance_setup(struct gauss *gauss);
int gauss_balance_refill(struct gauss *gauss, int64_t count);
int gauss_balance_set_aside(struct gauss *gauss, int64_t first, int64_t count);
int gauss_balance_find_owners(struct gauss *gauss);
/* A finished row that this process has. */
double *gauss_balance_row(const struct gauss *gauss, int64_t row);

/* The next system. */
int gauss_refill(struct gauss *gauss);

/* One column. */
int gauss_eliminate(struct gauss *gauss);
int gauss_has_columns(const struct gauss *gauss);

/* One row of back substitution.  With the last one the solution is checked, and after the last
 * system rank 0 prints what came out. */
int gauss_substitute(struct gauss *gauss);
int gauss_has_rows(const struct gauss *gauss);

/* Whether another system follows. */
int gauss_goes_on(const struct gauss *gauss);

void gauss_free(struct gauss *gauss);

#endif /* GAUSS_H_INCLUDED */
