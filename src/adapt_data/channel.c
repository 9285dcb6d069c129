/* See channel.h. */

#include "channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "data.h"
#include "failure.h"

#define TAG_REMINDER 32767      /* the tag that every MPI supports */

static struct adapt_channel the_channel;        /* there is one window at a time */
static bool is_open, is_watched;        /* is_watched: the attribute is set */
static epop_window_t the_window;        /* new_rank_of NULL: no window is known */
/* of an attribute of the old world, which detects the commit */
static int key = MPI_KEYVAL_INVALID;
static int windows = 1;         /* the number of the present one */

/* Parts that have moved in the present window. */
struct moved {
    const void *part;
    struct moved *next;
    char name[];
};

static struct moved *all_moved;

void adapt_channel_set_moved(const void *part, const char *name)
{
    struct moved *made = part ? malloc(sizeof(*made) + strlen(name) + 1) : NULL;

    if (!made)
        return;                 /* a second move of the part will not be detected */
    made->part = part;
    strcpy(made->name, name);
    made->next = all_moved;
    all_moved = made;
}

bool adapt_channel_is_moved(const void *part, const char *name)
{
    for (const struct moved *known = all_moved; part && known; known = known->next)
        if (known->part == part && strcmp(known->name, name) == 0)
            return true;
    return false;
}

int adapt_channel_window(void)
{
    return windows;
}

static void end_window(void)
{
    const bool is_lowest =
        the_window.staying > 0 ? the_window.new_rank == 0 : the_window.old_rank == 0;

    if (is_lowest)
        adapt_data_report_unmoved(the_window.new_size);
    while (all_moved) {
        struct moved *next = all_moved->next;
        free(all_moved);
        all_moved = next;
    }
    windows++;
}

/* Commit ends the communicator itself. */
static int release_attribute(MPI_Comm comm, int of_key, void *value, void *state)
{
    (void) comm;
    (void) of_key;
    (void) value;
    (void) state;
    is_open = is_watched = false;
    the_window.new_rank_of = NULL;
    end_window();
    return MPI_SUCCESS;
}

static int watch_commit(const epop_window_t *window)
{
    int code = MPI_SUCCESS;

    if (is_watched)
        return code;
    if (key == MPI_KEYVAL_INVALID)
        code = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, release_attribute, &key, NULL);
    if (!code)
        code = MPI_Comm_set_attr(window->old_world, key, &the_channel);
    is_watched = !code;
    return code;
}

int adapt_channel_note(const epop_window_t *window)
{
    int code = watch_commit(window);

    the_window = *window;
    return code;
}

void adapt_channel_discard(const epop_window_t *window)
{
    if (the_window.new_rank_of == window->new_rank_of)
        the_window.new_rank_of = NULL;
}

bool adapt_channel_has_window(void)
{
    return the_window.new_rank_of;
}

int adapt_channel_open(const epop_window_t *window, struct adapt_channel **channel)
{
    int code;

    *channel = &the_channel;
    if (is_open)
        return MPI_SUCCESS;
    window = window && window->new_rank_of ? window : &the_window;
    if (!window->new_rank_of)
        return MPI_ERR_ARG;
    the_channel = (struct adapt_channel) {.reminder = MPI_REQUEST_NULL,
                                          .old_size = window->old_size };
    code = MPIX_Adapt_window_all(window, &the_channel.all);
    if (!code)
        code = watch_commit(window);
    is_open = !code;
    return code;
}

int adapt_channel_failed(int code, const char *function, const char *error)
{
    if (!error)
        error = "the window is not open (MPIX_Adapt_window_open)";
    return code != MPI_ERR_ARG ? code : adapt_fail(MPI_ERR_ARG, "%s: %s", function, error);
}

bool adapt_channel_in_window(void)
{
    return is_watched;
}

int adapt_channel_tag(struct adapt_channel *channel)
{
    return channel->tags++ % TAG_REMINDER;
}

/* ---- debts ----------------------------------------------------------------------------------- */

/* The communicator has the name of the debt that has been pending for the longest time. */
static int send_debt(struct adapt_channel *channel)
{
    const struct adapt_debt *debt = channel->pending;
    char text[MPI_MAX_OBJECT_NAME + 100];

    snprintf(text, sizeof(text), "%s '%.80s' (not waited for)", debt->kind, debt->name);
    text[MPI_MAX_OBJECT_NAME - 1] = '\0';       /* another MPI may have a shorter max */
    return MPI_Comm_set_name(channel->all, text);
}

int adapt_channel_owe(struct adapt_channel *channel, struct adapt_debt *debt, const char *kind,
                      const char *name)
{
    struct adapt_debt **end = &channel->pending;
    int rank;

    debt->kind = kind;
    snprintf(debt->name, sizeof(debt->name), "%s", name);
    debt->next = NULL;
    while (*end)
        end = &(*end)->next;
    *end = debt;
    if (channel->pending != debt)
        return MPI_SUCCESS;
    MPI_Comm_rank(channel->all, &rank);
    int code = send_debt(channel);
    return code ? code : MPI_Irecv(NULL, 0, MPI_BYTE, rank, TAG_REMINDER, channel->all,
                                   &channel->reminder);
}

int adapt_channel_finish(struct adapt_channel *channel, struct adapt_debt *debt)
{
    struct adapt_debt **link = &channel->pending;

    while (*link && *link != debt)
        link = &(*link)->next;
    if (!*link)
        return MPI_SUCCESS;
    *link = debt->next;
    if (channel->pending)
        return send_debt(channel);
    int code = MPI_Cancel(&channel->reminder);
    return code ? code : MPI_Wait(&channel->reminder, MPI_STATUS_IGNORE);
}
