/*
 * The terms of a call that moves registered arrays (agree.c): the values that must be the same on
 * all processes, and the error if they differ.  Private to adapt_data.
 */

#ifndef AGREE_TERMS_H_INCLUDED
#define AGREE_TERMS_H_INCLUDED

#include "data.h"

/* One call of adapt_agree. */
struct adapt_agree_call {
    MPIX_Adapt_data data;       /* NULL: only with an error */
    const epop_window_t *window;
    struct adapt_channel *channel;
    enum adapt_call_kind kind;
    const char *function;
    int first, end;
    struct adapt_roles roles;
    int *process_of_new;
    int64_t **facts;       /* by array; NULL: no array has facts; entry NULL: this array has none */
    bool has_reported;              /* the facts */
    int64_t chunk_bytes;        /* this process' value; after the agreement the smallest one */
};

static inline bool adapt_is_concerned(const struct adapt_agree_call *call, int array)
{
    return array >= call->first && array < call->end && adapt_array_is_meant(call->data, array);
}

/* A hash of the arrays to move: their number, range and kinds.  It is the same on all processes if
 * these are. */
int64_t adapt_arrays_terms(const struct adapt_agree_call *call);
/* The error of processes whose hashes differ.  Collective over the channel. */
int adapt_arrays_refuse(const struct adapt_agree_call *call);

#endif /* AGREE_TERMS_H_INCLUDED */
