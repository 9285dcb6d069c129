/*
 * Entries of an error stack as lines of a text of limited length.  A longer text is truncated.
 */

#ifndef MPIR_ERROR_LINES_H_INCLUDED
#define MPIR_ERROR_LINES_H_INCLUDED

enum { MPIR_ERR_LEAST_WIDTH = 20 };     /* of a message, also in narrower lines */

/* Appends to `*text`, in which `*left` bytes are free, with its terminator. */
static inline void MPIR_Err_append(char **text, int *left, const char *what, int length)
{
    if (length > *left - 1)
        length = *left - 1;
    if (length <= 0)
        return;
    memcpy(*text, what, (size_t) length);
    *text += length;
    **text = '\0';
    *left -= length;
}

static inline void MPIR_Err_append_repeated(char **text, int *left, char what, int times)
{
    for (int i = 0; i < times; i++)
        MPIR_Err_append(text, left, &what, 1);
}

/* "LOCATION....: MESSAGE", whose message begins in column `indentation`; with a `width`, in lines
 * of at most that. */
static inline void MPIR_Err_append_entry(char **text, int *left, const char *location,
                                         const char *message, int indentation, int width)
{
    int length = (int) strlen(message), part = length;

    MPIR_Err_append(text, left, location, (int) strlen(location));
    MPIR_Err_append_repeated(text, left, '.', indentation - 2 - (int) strlen(location));
    MPIR_Err_append(text, left, ": ", 2);
    if (width > 0)
        part = MPL_MAX(width - indentation, MPIR_ERR_LEAST_WIDTH);
    while (length > part) {
        MPIR_Err_append(text, left, message, part);
        MPIR_Err_append(text, left, "\n", 1);
        MPIR_Err_append_repeated(text, left, ' ', indentation);
        message += part;
        length -= part;
    }
    MPIR_Err_append(text, left, message, length);
    MPIR_Err_append(text, left, "\n", 1);
}

#endif /* MPIR_ERROR_LINES_H_INCLUDED */
