/* Files and sums that are registered for MPIX_Adapt_window (adapt_items.h). */

#include "adapt_items.h"

#include <stdlib.h>
#include <string.h>
#include "data.h"
#include "failure.h"

struct registered {
    struct adapt_part part;
    FILE **file;                /* NULL: sums */
    int count;
    double *values;
    char path[];
};

static int move_file(struct adapt_part *part, const epop_window_t *window)
{
    const struct registered *it = (struct registered *) part;

    return MPIX_Adapt_file(window, 0, it->path, it->file);
}

static int move_sums(struct adapt_part *part, const epop_window_t *window)
{
    const struct registered *it = (struct registered *) part;

    return MPIX_Adapt_sums(window, it->count, it->values);
}

static void release_registered(struct adapt_part *part)
{
    free(part);
}

int MPIX_Adapt_data_file(MPIX_Adapt_data data, const char *path, FILE **file)
{
    static const char function[] = "MPIX_Adapt_data_file";

    if (!path || !file)
        return adapt_fail(MPI_ERR_ARG, "%s: path or file is NULL", function);
    struct registered *made = calloc(1, sizeof(*made) + strlen(path) + 1);
    if (made) {
        made->part = (struct adapt_part) {.kind = ADAPT_PART_CALL,.move = move_file,
                                          .release = release_registered};
        made->file = file;
        strcpy(made->path, path);
    }
    return adapt_data_take(data, made ? &made->part : NULL, path, function);
}

int MPIX_Adapt_data_sums(MPIX_Adapt_data data, const char *name, int count, double values[])
{
    static const char function[] = "MPIX_Adapt_data_sums";

    if (count < 0 || (count > 0 && !values))
        return adapt_fail(MPI_ERR_ARG, "%s: the number of values is negative, or values is NULL",
                          function);
    struct registered *made = calloc(1, sizeof(*made));
    if (made) {
        made->part = (struct adapt_part) {.kind = ADAPT_PART_CALL,.move = move_sums,
                                          .release = release_registered};
        made->count = count;
        made->values = values;
    }
    return adapt_data_take(data, made ? &made->part : NULL, name, function);
}
