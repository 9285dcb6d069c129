/*
 * One allocatable array of the module adapt_data while it moves, and the common part of arrays,
 * boxes and items of Fortran.  Private to adapt_data.
 */

#ifndef FORTRAN_ARRAY_H_INCLUDED
#define FORTRAN_ARRAY_H_INCLUDED

#include "agreement.h"
#include "data.h"

#define RANK_MAX 3

enum kind { REAL4 = 1, REAL8, INTEGER4, INTEGER8, COMPLEX4, COMPLEX8 };

/* The description of an allocatable at a start: [0, rank). */
struct fortran_part {
    int kind, rank, is_allocated;
    int64_t lower[RANK_MAX], extent[RANK_MAX];
    void *first;                /* its first element after the ghost slices */
};

/* The result for an array at the wait. */
enum outcome { OUTCOME_KEEP, OUTCOME_REPLACE, OUTCOME_EMPTY, OUTCOME_LEAVE };

struct fortran_array {
    struct adapt_announced announced;
    MPIX_Adapt_data data;       /* NULL: before the first start */
    MPIX_Adapt_layout layout;
    char *name;
    int ghost, is_global;       /* slices; the last bound is the number of an element */
    int kind, rank;             /* 0: not known yet */
    /* of all dimensions but the last; lower also of the last */
    int64_t lower[RANK_MAX], extent[RANK_MAX];
    void *base, *former;
    int new_rank;
    void *slot;                 /* owned by the module, from start to wait */
};

MPI_Datatype adapt_fortran_type(int kind);
/* A slice along the last dimension. */
int adapt_fortran_slice_type(const struct fortran_array *array, MPI_Datatype * type);
/* Agrees on the call, the type and the bounds of slices, which joining processes receive.  why: the
 * error of this process, or NULL. */
int adapt_fortran_agree(struct fortran_array *array, const epop_window_t *window,
                        const struct fortran_part *part, enum adapt_call_kind kind,
                        const char *function, const char *why);

#endif /* FORTRAN_ARRAY_H_INCLUDED */
