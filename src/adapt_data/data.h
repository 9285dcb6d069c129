/*
 * The registered arrays, and the state of each of them.  Private to adapt_data.
 */

#ifndef DATA_H_INCLUDED
#define DATA_H_INCLUDED

#include "agreement.h"
#include "transfer.h"

#define ADAPT_ARRAYS_MAX 1024   /* max for a program */

struct adapt_array {
    char *name;
    void **base;
    int64_t details;        /* hash of properties of a language's arrays (ghost slices); 0: none */
    struct adapt_element element;
    MPIX_Adapt_layout layout;
    MPIX_Adapt_memory memory;
    void *address, *shared_base;        /* shared: the variable; *base */
    struct adapt_distribution now;      /* in the present world; size 0: not computed yet */
    int rank;                   /* in the present world */
    /* number (adapt_channel_window) of the last window in which it has moved; 0: none */
    int moved_in;
    bool is_reported;           /* it was reported as not moved */

    /* in a window, from start to wait */
    bool is_started;
    struct adapt_distribution coming;
    int new_rank;
    struct adapt_schedule schedule;
    void *new_part;
    struct adapt_transfer transfer;
    struct adapt_debt debt;
};

/* Parts that are registered beside arrays, for MPIX_Adapt_window. */
enum adapt_part_kind { ADAPT_PART_BEFORE, ADAPT_PART_BOXES, ADAPT_PART_ITEMS, ADAPT_PART_CALL,
        ADAPT_PART_KINDS };

struct adapt_part {
    enum adapt_part_kind kind;
    char name[81];
    int (*move) (struct adapt_part * part, const epop_window_t * window);
    /* Called in the new world, on its processes; may be NULL. renew: called before the function
     * `after`; put: after it. */
    int (*renew) (struct adapt_part * part);
    int (*put) (struct adapt_part * part);
    /* Whether the part moves the target of the pointer at this address; may be NULL. */
    bool (*has) (const struct adapt_part * part, const void *address);
    void (*release) (struct adapt_part * part); /* frees the part */
    struct adapt_part *next;
};

/* The arrays that "all" refers to at present. */
enum adapt_meant { ADAPT_MEANT_ALL, ADAPT_MEANT_SHARED, ADAPT_MEANT_OTHERS };

struct MPIX_Adapt_data_s {
    enum adapt_meant meant;
    /* the next start is the first agreement of MPIX_Adapt_window, also for parts */
    bool begins_window;
    struct adapt_array **arrays;
    int count, started;
    struct adapt_part *parts;   /* in the order of registration */
    struct MPIX_Adapt_data_s *next;     /* in the list of all sets */
    struct adapt_channel *channel;      /* the window's channel, while an array is started */
};

/* Whether an array is not started and "all" refers to it. */
static inline bool adapt_array_is_meant(const struct MPIX_Adapt_data_s *data, int k)
{
    const bool is_shared = data->arrays[k]->layout.kind == ADAPT_LAYOUT_SHARED;

    return !data->arrays[k]->is_started && (data->meant == ADAPT_MEANT_ALL ||
                                            is_shared == (data->meant == ADAPT_MEANT_SHARED));
}

/* The memory of an array's parts. */
void *adapt_array_grow(const struct adapt_array *array, int64_t count);
void adapt_array_release(const struct adapt_array *array, void *part);
/* Shortens a part to its first `count` elements; returns its address, which may be a new one. */
void *adapt_array_shorten(const struct adapt_array *array, void *part, int64_t count);

/* ---- registration.c -------------------------------------------------------------------------- */

/* Registers `part`, the first member of an object that its owner has allocated (NULL: no memory).
 * After MPI_ERR_ARG or MPI_ERR_NO_MEM it is released. */
int adapt_data_take(MPIX_Adapt_data data, struct adapt_part *part, const char *name,
                    const char *function);
/* The name under which the pointer at this address is registered already; NULL: it is not. */
const char *adapt_data_registered(const struct MPIX_Adapt_data_s *data, const void *address);
/* At the end of a window: prints the arrays with data on this process that have not moved, of all
 * sets, and announced ones of a language whose sets begin with the first move. */
void adapt_data_report_unmoved(int new_size);
struct adapt_announced {
    const char *name;           /* NULL: the array has moved, or was reported */
    struct adapt_announced *next;
};
void adapt_announce(struct adapt_announced *announced, const char *name);
void adapt_announce_end(struct adapt_announced *announced);
/* Frees the arrays' datatypes on a leaving process: there MPI ends before the program can free
 * them. */
void adapt_data_free_types(MPIX_Adapt_data data);
/* The same for MPIX_Adapt_bytes. */
void adapt_free_bytes_types(void);

/* ---- data.c ---------------------------------------------------------------------------------- */

/* MPIX_Adapt_data_move for the arrays alone. */
int adapt_arrays_move(MPIX_Adapt_data data, const epop_window_t *window);

/* ---- whole_window.c -------------------------------------------------------------------------- */

/* For objects that are registered beside arrays: moves them and the arrays, as MPIX_Adapt_window
 * does; computes a hash of them, and a text for an error. */
int adapt_parts_move(MPIX_Adapt_data data, const epop_window_t *window);
int64_t adapt_parts_terms(const struct MPIX_Adapt_data_s *data);
void adapt_parts_describe(const struct MPIX_Adapt_data_s *data, char text[AGREEMENT_TEXT]);

/* ---- agree.c: the collective first part of start --------------------------------------------- */

/* Sets the new distribution and schedule of the arrays `first` to `end` - 1 that are not started;
 * for ADAPT_CALL_ARRAYS and ADAPT_CALL_WINDOW their new parts, too.  For ADAPT_CALL_WINDOW the
 * processes also agree on the objects that are registered beside arrays.  Collective: it succeeds
 * on all processes or fails on all without effect.  After success data's channel is set. error: the
 * error of this process' call, or NULL; with an error data may be NULL.  `caller` is the function's
 * name in errors. */
int adapt_agree(MPIX_Adapt_data data, const epop_window_t *window, int first, int end,
                enum adapt_call_kind kind, const char *error, const char *caller);
/* The roles of all processes in a window.  The caller frees *process_of_new, also after an
 * error. */
const char *adapt_roles_of(const epop_window_t *window, struct adapt_roles *roles,
                           int **process_of_new);
/* Releases all that adapt_agree has set. */
void adapt_undo_agree(MPIX_Adapt_data data, int first, int end);

#endif /* DATA_H_INCLUDED */
