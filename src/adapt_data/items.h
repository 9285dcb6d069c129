/* Moving items, for the functions that are built on it.  Private to adapt_data. */

#ifndef ITEMS_H_INCLUDED
#define ITEMS_H_INCLUDED

#include "adapt_items.h"

/* MPIX_Adapt_items_move without append.  function: the name in errors.  error: an earlier error of
 * this process, or NULL. */
int adapt_items_move(const epop_window_t *window, const char *function, const char *error,
                     int64_t *count, const int destination[], int columns,
                     const MPIX_Column column[]);

#endif /* ITEMS_H_INCLUDED */
