/*
 * The first step of every collective function of the library.  One reduction of fixed size carries
 * the function that each process has called, the worst error that a process has found in its
 * arguments, and a hash of all that must be the same everywhere.  So each function works on all
 * processes or fails on all, also where processes call different functions.  SPEC-epop D3, F1.
 *
 * Errors name processes by their role: old rank 3, joining process 0.  Their memory has a fixed
 * size, so that no allocation can fail.
 *
 * State: none of its own; collective over the processes of the channel.
 */

#ifndef AGREEMENT_H_INCLUDED
#define AGREEMENT_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>
#include "channel.h"

#define AGREEMENT_TEXT 320      /* of one process, with its terminator */

/* Functions that may be called together on different processes have the same number. */
enum adapt_call_kind {
    ADAPT_CALL_ARRAYS = 1,      /* MPIX_Adapt_data_start, MPIX_Adapt_data_move */
    ADAPT_CALL_VOLUME,
    ADAPT_CALL_BOXES,
    ADAPT_CALL_ITEMS,
    ADAPT_CALL_SHARE,
    ADAPT_CALL_BROADCAST,       /* share of C++ and Python */
    ADAPT_CALL_SUMS,
    ADAPT_CALL_FILE,
    ADAPT_CALL_FORTRAN_ARRAY,   /* bounds of an allocatable */
    ADAPT_CALL_FORTRAN_ITEMS,
    ADAPT_CALL_FORTRAN_CELLS,
    ADAPT_CALL_FORTRAN_TILES,
    ADAPT_CALL_WINDOW,          /* MPIX_Adapt_window */
    ADAPT_CALL_ROWS,
    ADAPT_CALL_FUNCTION,        /* MPIX_Adapt_data_call, MPIX_Adapt_data_before */
    ADAPT_CALL_CLOSE            /* MPIX_Adapt_window_close */
};

/* The proposal of this process. */
struct adapt_proposal {
    enum adapt_call_kind kind;
    const char *function;       /* as errors name it */
    const char *object;         /* the array or field by its name; NULL: none */
    const char *error;          /* NULL: none */
    int error_class;
    bool is_weak;    /* different terms may cause the error, and are reported in preference to it */
    const char *moved;          /* replaces "nothing has moved" in errors; NULL: not replaced */
    int order;                  /* of several errors the lowest is reported */
    int64_t terms;              /* a hash */
    int64_t chunk;              /* bytes of a message */
};

struct adapt_agreed {
    int64_t chunk;              /* the smallest */
    bool terms_differ;
};

/* Returns an MPI error, or the class of the agreed error.  The caller reports different terms. */
int adapt_agree_on_call(struct adapt_channel *channel, const struct adapt_proposal *mine,
                        struct adapt_agreed *agreed);

/* Fails: "FUNCTION: processes differ in WHAT: ... on old rank 0 and 2 more, ... on joining process
 * 0".  text: the value of this process. */
int adapt_refuse_difference(struct adapt_channel *channel, const char *function, const char *what,
                            const char *text);

/* The first index where a list differs from that of process 0 on some process; -1: nowhere.  The
 * same on all processes.  An MPI error. */
int adapt_find_difference(struct adapt_channel *channel, const int64_t numbers[], int64_t count,
                          int64_t *index);

/* A hash of `hash` and another number, or of `hash` and a text. */
int64_t adapt_mix(int64_t hash, int64_t number);
int64_t adapt_mix_all(int64_t hash, const int64_t numbers[], int64_t count);
int64_t adapt_mix_text(int64_t hash, const char *text);

#endif /* AGREEMENT_H_INCLUDED */
