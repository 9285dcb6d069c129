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
    int old_size;               /* the first old_size ranks are old */
    /* all processes are in MPIX_Adapt_window_close, or at the end of MPIX_Adapt_window */
    bool is_closing;

    /* private */
    int tags;                   /* number of tags used */
    struct adapt_debt *pending;
    MPI_Request reminder;       /* pending while a wait is outstanding */
};

/* Stores the window that is open in this process, for calls that do not pass it; until clear or
 * commit. */
int adapt_channel_note(const epop_window_t *window);
void adapt_channel_discard(const epop_window_t *window);
bool adapt_channel_has_window(void);

/* Collective over the processes of the window. *channel is valid until commit.  Returns an MPI
 * error, as do the functions below.  A window that is NULL or not filled means the open one;
 * MPI_ERR_ARG (without a call of the error handler): no window is open. */
int adapt_channel_open(const epop_window_t *window, struct adapt_channel **channel);
/* The error of a function that cannot open the channel; error: another error of its call, or
 * NULL. */
int adapt_channel_failed(int code, const char *function, const char *error);
/* True from the first use of a window to its commit. */
bool adapt_channel_in_window(void);
/* The number of the present window in this process, from 1. */
int adapt_channel_window(void);
/* Stores that this part of a field with this name has moved in the present window; queries it. */
void adapt_channel_set_moved(const void *part, const char *name);
bool adapt_channel_is_moved(const void *part, const char *name);
/* The tag for the next start: all processes start in the same order. */
int adapt_channel_tag(struct adapt_channel *channel);

/* debt: must keep its address until it is completed. */
int adapt_channel_owe(struct adapt_channel *channel, struct adapt_debt *debt, const char *kind,
                      const char *name);
/* No effect if `debt` is not pending. */
int adapt_channel_finish(struct adapt_channel *channel, struct adapt_debt *debt);

#endif /* CHANNEL_H_INCLUDED */
