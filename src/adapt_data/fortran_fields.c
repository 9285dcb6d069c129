/*
 * Fields of tiles for the module adapt_data: the program owns each tile's arrays, before and after
 * the move (new_parts of adapt_boxes.h).  A set lists the arrays of the old tiles, then those of
 * the new ones; the name identifies a field.  A function of the program defines the boxes; for
 * adapt_move_tiles each process passes those of its tiles.
 */

#include "adapt_boxes.h"

#include <inttypes.h>
#include <ISO_Fortran_binding.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agreement.h"
#include "box_fields.h"
#include "data.h"
#include "exchange.h"
#include "failure.h"

#define FIELDS_MAX 256
#define FIELD_NAME 64

struct array {
    void *address;              /* NULL: the array does not fit, or has no elements */
    int64_t lower[MPIX_BOX_AXES], extent[MPIX_BOX_AXES];
};

struct arrays {
    struct array *list;
    int count;
};

struct field {
    char name[FIELD_NAME];
    int rank, nodes[MPIX_BOX_AXES], ghost[MPIX_BOX_AXES];
    int bytes;                  /* of an element */
    struct arrays old, fresh;
};

struct set {
    struct field fields[FIELDS_MAX];
    int count;
    bool is_new;                /* the arrays that follow are those of new tiles */
    bool has_numbers;           /* lower bounds are cell numbers in the whole domain */
    char error[AGREEMENT_TEXT]; /* the first error; empty: none */
};

static void note_error(struct set *set, const char *name, const char *what)
{
    if (!*set->error)
        snprintf(set->error, sizeof(set->error), "field '%.63s' %s", name, what);
}

static struct field *find_field(struct set *set, const char *name, const CFI_cdesc_t *array,
                                const int nodes[], const int ghost[])
{
    for (int f = 0; f < set->count; f++)
        if (strcmp(set->fields[f].name, name) == 0)
            return &set->fields[f];
    if (set->count == FIELDS_MAX) {
        note_error(set, name, "is one of more than 256");
        return NULL;
    }
    struct field *field = &set->fields[set->count++];
    *field = (struct field) {.rank = array->rank,.bytes = (int) array->elem_len };
    snprintf(field->name, sizeof(field->name), "%s", name);
    memcpy(field->nodes, nodes, sizeof(field->nodes));
    memcpy(field->ghost, ghost, sizeof(field->ghost));
    return field;
}

static bool has_set(struct set **set)
{
    if (!*set)
        *set = calloc(1, sizeof(**set));
    return *set;
}

/* Lists one array.  *set is made if it is NULL.  lower, nodes and ghost have three numbers. */
void adapt_fortran_field(struct set **set, const char *name, CFI_cdesc_t *array,
                         const int64_t lower[], const int nodes[], const int ghost[])
{
    if (!has_set(set))
        return;
    struct field *field = find_field(*set, name, array, nodes, ghost);
    if (!field)
        return;
    struct arrays *arrays = (*set)->is_new ? &field->fresh : &field->old;
    struct array *longer = realloc(arrays->list, ((size_t) arrays->count + 1) * sizeof(*longer));
    if (!longer) {
        note_error(*set, name, "has no memory for its list");
        return;
    }
    arrays->list = longer;
    struct array *added = &longer[arrays->count++];
    *added = (struct array) {.address = array->base_addr };
    memcpy(added->lower, lower, sizeof(added->lower));
    if (array->rank != field->rank || array->rank < 1 || array->rank > MPIX_BOX_AXES ||
        (int) array->elem_len != field->bytes)
        note_error(*set, name,
                   "has arrays of several ranks or types, or of a rank that is not 1, 2 or 3");
    else if (!array->base_addr || !CFI_is_contiguous(array))
        note_error(*set, name, "has an array that is not allocated, or not in one piece");
    for (int axis = 0; axis < array->rank && axis < MPIX_BOX_AXES; axis++)
        added->extent[axis] = array->dim[axis].extent;
}

/* Called instead for an array that cannot be listed. */
void adapt_fortran_field_error(struct set **set, const char *name, const char *what)
{
    if (has_set(set))
        note_error(*set, name, what);
}

/* The arrays that are listed afterwards are those of new tiles. */
void adapt_fortran_fields_new(struct set **set)
{
    if (has_set(set))
        (*set)->is_new = true;
}

void adapt_fortran_fields_free(struct set **set)
{
    for (int f = 0; *set && f < (*set)->count; f++) {
        free((*set)->fields[f].old.list);
        free((*set)->fields[f].fresh.list);
    }
    free(*set);
    *set = NULL;
}

/* ---- moving ---------------------------------------------------------------------------------- */

struct boxes {
    MPIX_Boxes *list;
    void *state, *new_state;    /* for the old world and for the new one */
};

/* Checks the bounds, if they number the cells: they must be those of the box with the ghost layers.
 * An axis without elements has lost its bounds. */
static bool begins_well(const struct field *field, const struct array *array, const MPIX_Box *box,
                        int axis)
{
    return array->lower[axis] + field->ghost[axis] == box->low[axis] || array->extent[axis] == 0 ||
        box->low[axis] == box->high[axis];
}

static void check_array(struct set *set, const struct field *field, const MPIX_Field *moved,
                        const MPIX_Box *box, const struct array *array, const char *tile)
{
    int64_t extents[MPIX_BOX_AXES];
    char what[240];

    (void) MPIX_Field_extents(moved, box, extents);
    for (int axis = 0; axis < field->rank; axis++)
        if (array->extent[axis] != extents[axis]) {
            snprintf(what, sizeof(what),
                     "has %" PRId64 " elements along axis %d of %s, needed with nodes"
                     " and ghost layers are %" PRId64, array->extent[axis], axis + 1, tile,
                     extents[axis]);
            note_error(set, field->name, what);
            return;
        } else if (set->has_numbers && !begins_well(field, array, box, axis)) {
            snprintf(what, sizeof(what),
                     "begins at %" PRId64 " along axis %d of %s, needed with ghost layers is %"
                     PRId64, array->lower[axis], axis + 1, tile,
                     box->low[axis] - field->ghost[axis]);
            note_error(set, field->name, what);
            return;
        }
}

/* Checks that the arrays of one side fit the boxes of a rank. */
static void check_side(struct set *set, const struct field *field, const MPIX_Field *moved,
                       const struct boxes *boxes, const struct arrays *arrays, int rank, int size)
{
    const char *side = arrays == &field->old ? "old" : "new";
    void *state = arrays == &field->old ? boxes->state : boxes->new_state;
    const int count = rank < 0 ? 0 : boxes->list(rank, size, 0, NULL, state);
    MPIX_Box *found = calloc(count > 0 ? (size_t) count : 1, sizeof(*found));
    char what[200], tile[40];

    if (!found || count < 0 || boxes->list(rank < 0 ? 0 : rank, size, count, found, state) < 0) {
        note_error(set, field->name, "has no boxes: the function of boxes, or memory, failed");
    } else if (arrays->count != count) {
        snprintf(what, sizeof(what), "has %d %s arrays, but rank %d of %d has %d boxes",
                 arrays->count, side, rank, size, count);
        note_error(set, field->name, what);
    }
    for (int k = 0; found && !*set->error && k < count; k++) {
        snprintf(tile, sizeof(tile), "%.3s tile %d", side, k + 1);
        check_array(set, field, moved, &found[k], &arrays->list[k], tile);
    }
    free(found);
}

static void **addresses_of(const struct arrays *arrays, int others)
{
    const int count = arrays->count > others ? arrays->count : others;
    void **list = calloc(count > 0 ? (size_t) count : 1, sizeof(*list));

    for (int k = 0; list && k < arrays->count; k++)
        list[k] = arrays->list[k].address;
    return list;
}

/* Describes the fields; sets set->error. */
static int describe(struct set *set, const epop_window_t *window, const struct boxes *boxes,
                    MPIX_Field fields[])
{
    int code = MPI_SUCCESS;

    for (int f = 0; !code && f < set->count; f++) {
        struct field *field = &set->fields[f];
        fields[f] = (MPIX_Field) {
        .name = field->name,.order = MPI_ORDER_FORTRAN,.element = MPI_DATATYPE_NULL};
        if (field->rank != set->fields[0].rank)
            note_error(set, field->name, "has another rank than the first one");
        memcpy(fields[f].nodes, field->nodes, sizeof(field->nodes));
        memcpy(fields[f].ghost, field->ghost, sizeof(field->ghost));
        check_side(set, field, &fields[f], boxes, &field->old, window->old_rank, window->old_size);
        check_side(set, field, &fields[f], boxes, &field->fresh, window->new_rank,
                   window->new_size);
        fields[f].parts = addresses_of(&field->old, field->fresh.count);
        fields[f].new_parts = addresses_of(&field->fresh, field->old.count);
        code = fields[f].parts && fields[f].new_parts ? MPI_SUCCESS : MPI_ERR_NO_MEM;
        if (!code)
            code = MPI_Type_contiguous(field->bytes, MPI_BYTE, &fields[f].element);
    }
    return code;
}

/* A misfit on one process becomes an error of all: that process passes an invalid number of
 * axes. */
static int move(struct set *set, const epop_window_t *window, const struct boxes *boxes,
                MPIX_Field fields[])
{
    int code = describe(set, window, boxes, fields);

    if (code)
        return adapt_fail(code, "%s: there is no memory", adapt_called("adapt_move_fields"));
    if (*set->error)
        adapt_set_misfit(set->error);
    code =
        adapt_boxes_move(window, *set->error ? 0 : set->count ? set->fields[0].rank : 1,
                         boxes->list, boxes->state, boxes->new_state, set->count, fields);
    adapt_set_misfit(NULL);
    return code;
}

/* Frees the set, also with an error. */
static int move_and_free(struct set **set, const epop_window_t *window, const struct boxes *boxes)
{
    int code = MPI_SUCCESS;

    adapt_fortran_fields_new(set);
    MPIX_Field *fields = *set ? calloc((size_t) (*set)->count + 1, sizeof(*fields)) : NULL;
    if (!*set || !fields || !window)
        code = adapt_fail(*set && fields ? MPI_ERR_ARG : MPI_ERR_NO_MEM,
                          "%s: there is no memory, or no open window",
                          adapt_called("adapt_move_fields"));
    else
        code = move(*set, window, boxes, fields);
    for (int f = 0; fields && f < (*set)->count; f++) {
        free(fields[f].parts);
        free(fields[f].new_parts);
        if (fields[f].name && fields[f].element != MPI_DATATYPE_NULL)
            MPI_Type_free(&fields[f].element);
    }
    free(fields);
    adapt_fortran_fields_free(set);
    return code;
}

int adapt_fortran_fields_move(struct set **set, const epop_window_t *window, MPIX_Boxes *boxes)
{
    const struct boxes of_program = {.list = boxes };
    const char *former = adapt_call_as("adapt_move_fields");
    int code = move_and_free(set, window, &of_program);

    (void) adapt_call_as(former);
    return code;
}

/* ---- tiles with boxes from their own process ------------------------------------------------- */

/* max tiles of a process, for the numbers of its old and new boxes */
#define TILES_MAX (INT32_MAX / (4 * MPIX_BOX_AXES))

/* First and last cell of a tile, counted from 1, of a rank. */
typedef void fortran_tile(int tile, int rank, int size, int axes, int64_t first[], int64_t last[]);

/* The boxes of one world: tile k of rank r is boxes[process_of[r] * 2 * tiles + k]. */
struct gathered {
    const MPIX_Box *boxes;
    const int *process_of;      /* NULL: process r */
    int tiles;
};

static int boxes_of_tiles(int rank, int size, int max, MPIX_Box boxes[], void *state)
{
    const struct gathered *all = state;
    const int process = all->process_of ? all->process_of[rank] : rank;

    (void) size;
    if (max > 0)
        memcpy(boxes, &all->boxes[(int64_t) process * 2 * all->tiles],
               (size_t) (max < all->tiles ? max : all->tiles) * sizeof(*boxes));
    return all->tiles;
}

/* The cells of one tile, from the bounds of its first field. */
static MPIX_Box box_of_bounds(const struct field *field, const struct array *array)
{
    MPIX_Box box = MPIX_Box_of(0, NULL, NULL);

    for (int axis = 0; axis < field->rank && axis < MPIX_BOX_AXES; axis++) {
        box.low[axis] = array->lower[axis] + field->ghost[axis];
        box.high[axis] =
            array->lower[axis] + array->extent[axis] - field->ghost[axis] - field->nodes[axis];
    }
    return box;
}

/* The boxes of this process' tiles in one world. */
static void find_boxes(struct set *set, bool is_new, int tiles, int rank, int size,
                       fortran_tile *cells, MPIX_Box boxes[])
{
    const struct field *first = &set->fields[0];
    const struct arrays *arrays = is_new ? &first->fresh : &first->old;

    if (rank < 0 || *set->error)
        return;
    if (arrays->count != tiles) {
        note_error(set, first->name, "is not listed once for each tile");
        return;
    }
    for (int k = 0; k < tiles; k++)
        if (cells) {
            boxes[k] = MPIX_Box_of(0, NULL, NULL);
            cells(k + 1, rank, size, first->rank, boxes[k].low, boxes[k].high);
            for (int axis = 0; axis < first->rank; axis++)
                boxes[k].high[axis]++;
        } else {
            boxes[k] = box_of_bounds(first, &arrays->list[k]);
        }
}

static int agree_on_tiles(struct adapt_channel *channel, const char *error, int tiles,
                          bool has_cells)
{
    const char *function = adapt_called("adapt_move_tiles");
    const struct adapt_proposal mine = {.kind = ADAPT_CALL_FORTRAN_TILES,.function = function,
                                        .error = error,
        .error_class = error == ADAPT_NO_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_ARG,
            .terms = adapt_mix(tiles, has_cells), .chunk = adapt_exchange_chunk()
    };
    struct adapt_agreed agreed;
    char text[AGREEMENT_TEXT];

    int code = adapt_agree_on_call(channel, &mine, &agreed);
    if (code || !agreed.terms_differ)
        return code;
    snprintf(text, sizeof(text), "%d for each process, with%s a subroutine of their cells,", tiles,
             has_cells ? "" : "out");
    return adapt_refuse_difference(channel, function, "the tiles", text);
}

/* all: memory for the boxes of all processes; those of this process are at their positions. */
static int move_gathered(struct set **set, const epop_window_t *window,
                         struct adapt_channel *channel, int tiles, MPIX_Box *all)
{
    struct gathered old = {.boxes = all,.tiles = tiles },
        coming = {.boxes = all + tiles,.tiles = tiles };
    const struct boxes boxes = {.list = boxes_of_tiles,.state = &old,.new_state = &coming };
    const int numbers = 2 * tiles * (int) (sizeof(MPIX_Box) / sizeof(int64_t));
    struct adapt_roles roles;
    int *process_of_new;

    int code =
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, numbers, MPI_INT64_T, channel->all);
    const char *error = adapt_roles_of(window, &roles, &process_of_new);
    coming.process_of = process_of_new;
    if (!code && error)
        note_error(*set, (*set)->fields[0].name, error);
    if (!code)
        code = move_and_free(set, window, &boxes);
    free(process_of_new);
    return code;
}

static int move_tiles(struct set **set, const epop_window_t *window, int tiles, fortran_tile *cells)
{
    const char *error =
        !window ? "the window is not open (adapt_window_open)" : *set ? NULL : ADAPT_NO_MEMORY;
    struct adapt_channel *channel;
    MPIX_Box *all = NULL;
    int process, processes;

    int code = adapt_channel_open(window, &channel);
    if (code)
        return adapt_channel_failed(code, adapt_called("adapt_move_tiles"), error);
    MPI_Comm_rank(channel->all, &process);
    MPI_Comm_size(channel->all, &processes);
    if (!error && (tiles < 1 || tiles > TILES_MAX))
        error = "the number of tiles of a process is less than 1, or too large";
    else if (!error && (*set)->count < 1 && !*(*set)->error)
        error = "the subroutine `list` has listed no field";
    if (!error && !*(*set)->error) {
        all = adapt_reserve((int64_t) processes * 2 * tiles, sizeof(*all));
        error = all ? NULL : ADAPT_NO_MEMORY;
    }
    if (all) {
        MPIX_Box *mine = &all[(int64_t) process * 2 * tiles];
        (*set)->has_numbers = !cells;
        find_boxes(*set, false, tiles, window->old_rank, window->old_size, cells, mine);
        find_boxes(*set, true, tiles, window->new_rank, window->new_size, cells, mine + tiles);
    }
    if (!error && *(*set)->error)
        error = (*set)->error;
    code = agree_on_tiles(channel, error, tiles, cells);
    if (!code)
        code = move_gathered(set, window, channel, tiles, all);
    free(all);
    return code;
}

/* Moves the fields of `tiles` tiles of each process.  cells: their boxes; NULL: lower bounds are
 * cell numbers in the whole domain.  Frees the set, also after an error. */
int adapt_fortran_tiles_move(struct set **set, const epop_window_t *window, int tiles,
                             fortran_tile *cells)
{
    const char *former = adapt_call_as("adapt_move_tiles");

    adapt_fortran_fields_new(set);
    int code = move_tiles(set, window, tiles, cells);
    adapt_fortran_fields_free(set);
    (void) adapt_call_as(former);
    return code;
}

/* ---- rank, size, status ---------------------------------------------------------------------- */

void adapt_fortran_rank(int *rank, int *size)
{
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
}

int adapt_fortran_joining(void)
{
    return MPI_ADAPT_STATUS_JOINING;
}
