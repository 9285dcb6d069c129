/*
 * The library's own communicator in a window: of all its processes, the old ones by old rank, then
 * the joining ones, so that ranks in it are the processes' numbers (schedule.h).  No other code
 * sends on it.
 *
 * It is made by the first call of a window that needs it, and ends with the commit.  A debt is a
 * start whose wait is pending.  It keeps a request pending on this communicator, which gets the
 * name of the start: commit refuses a window with pending requests, and its error has the name of
 * their communicator.  SPEC-epop V8, X1, X2.
 *
 * State: one channel of the process; one thread.
 */

#ifndef CHANNEL_H_INCLUDED
#define CHANNEL_H_INCLUDED

#include <stdbool.h>
#include "adapt_window.h"

struct adapt_debt {
    const char *kind;           /* "array" */
    char name[81];
    struct adapt_debt *next;
};

struct adapt_channel {
    MPI_Comm all;
    int old_size;               /* the first so many of its ranks are old */
    /* all processes are in MPIX_Adapt_window_close, or at the end of MPIX_Adapt_window */
    bool is_closing;

    /* private */
    int tags;                   /* that have been given out */
    struct adapt_debt *pending;
    MPI_Request reminder;       /* pending while a wait is outstanding */
};

/* The window that is open in this process, to be found where a call does not give it; until clear
 * or commit. */
int adapt_channel_note(const epop_window_t *window);
void adapt_channel_discard(const epop_window_t *window);
bool adapt_channel_has_window(void);

/* Collective over the processes of the window.  *channel is valid until commit.  An MPI error, also
 * below.  A window that is NULL or not filled is the one that is open; MPI_ERR_ARG (no error
 * handler is called): there is none. */
int adapt_channel_open(const epop_window_t *window, struct adapt_channel **channel);
/* The error of a function that cannot open it; error: what else is wrong with its call, or NULL. */
int adapt_channel_failed(int code, const char *function, const char *error);
/* From the first use of a window to its commit. */
bool adapt_channel_in_window(void);
/* The number of the present window in this process, from 1. */
int adapt_channel_window(void);
/* This part of a field with this name has moved in the present window; whether it has. */
void adapt_channel_set_moved(const void *part, const char *name);
bool adapt_channel_is_moved(const void *part, const char *name);
/* For what is started next: all processes start in the same order. */
int adapt_channel_tag(struct adapt_channel *channel);

/* debt: stays where it is until it is completed. */
int adapt_channel_owe(struct adapt_channel *channel, struct adapt_debt *debt, const char *kind,
                      const char *name);
/* No effect if it is not pending. */
int adapt_channel_finish(struct adapt_channel *channel, struct adapt_debt *debt);

#endif /* CHANNEL_H_INCLUDED */
