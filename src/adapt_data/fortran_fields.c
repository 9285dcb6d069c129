/*
 * Fields of tiles for the module adapt_data: each tile's arrays are the program's, before and after (new_parts of
 * adapt_boxes.h).  A set lists the arrays of the old tiles, then those of the new ones; a field is known by its name.
 */

#include "adapt_boxes.h"

#include <inttypes.h>
#include <ISO_Fortran_binding.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agreement.h"
#include "failure.h"

#define FIELDS_MAX 256
#define FIELD_NAME 64

struct array {
    void *address;              /* NULL: it does not fit, or has no elements */
    int64_t extent[MPIX_BOX_AXES];
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
    bool is_new;                /* from now on arrays are those of new tiles */
    char error[AGREEMENT_TEXT]; /* the first; empty: none */
};

static void note_error(struct set *set, const char *name, const char *what)
{
    if (!*set->error)
        snprintf(set->error, sizeof(set->error), "field '%.63s' %s", name, what);
}

static struct field *find_field(struct set *set, const char *name, const CFI_cdesc_t *array, const int nodes[],
                                const int ghost[])
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

/* Lists one array.  *set is made if it is NULL.  nodes and ghost have three numbers. */
void adapt_fortran_field(struct set **set, const char *name, CFI_cdesc_t *array, const int nodes[], const int ghost[])
{
    if (!*set)
        *set = calloc(1, sizeof(**set));
    if (!*set)
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
    if (array->rank != field->rank || array->rank < 1 || array->rank > MPIX_BOX_AXES ||
        (int) array->elem_len != field->bytes)
        note_error(*set, name, "has arrays of several ranks or types, or of a rank that is not 1, 2 or 3");
    else if (!array->base_addr || !CFI_is_contiguous(array))
        note_error(*set, name, "has an array that is not allocated, or not in one piece");
    for (int axis = 0; axis < array->rank && axis < MPIX_BOX_AXES; axis++)
        added->extent[axis] = array->dim[axis].extent;
}

/* Arrays that are listed from now on are those of new tiles. */
void adapt_fortran_fields_new(struct set **set)
{
    if (!*set)
        *set = calloc(1, sizeof(**set));
    if (*set)
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

/* ---- moving ----------------------------------------------------------------------------------- */

/* The arrays of one side fit the boxes of a rank. */
static void check_side(struct set *set, const struct field *field, const MPIX_Field *moved, MPIX_Boxes *boxes,
                       const struct arrays *arrays, int rank, int size)
{
    const int count = rank < 0 ? 0 : boxes(rank, size, 0, NULL, NULL);
    MPIX_Box *found = calloc(count > 0 ? (size_t) count : 1, sizeof(*found));
    char what[200];

    if (!found || count < 0 || boxes(rank < 0 ? 0 : rank, size, count, found, NULL) < 0) {
        note_error(set, field->name, "has no boxes: the function of boxes, or memory, failed");
    } else if (arrays->count != count) {
        snprintf(what, sizeof(what), "has %d %s arrays, but rank %d of %d has %d boxes", arrays->count,
                 arrays == &field->old ? "old" : "new", rank, size, count);
        note_error(set, field->name, what);
    }
    for (int k = 0; found && !*set->error && k < count; k++) {
        int64_t extents[MPIX_BOX_AXES];
        const int64_t *has = arrays->list[k].extent;
        (void) MPIX_Field_extents(moved, &found[k], extents);
        for (int axis = 0; axis < field->rank; axis++)
            if (has[axis] != extents[axis]) {
                snprintf(what, sizeof(what), "has %" PRId64 " elements along axis %d of %s tile %d, needed with nodes"
                         " and ghost layers are %" PRId64, has[axis], axis + 1, arrays == &field->old ? "old" : "new",
                         k + 1, extents[axis]);
                note_error(set, field->name, what);
                break;
            }
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
static int describe(struct set *set, const epop_window_t *window, MPIX_Boxes *boxes, MPIX_Field fields[])
{
    int code = MPI_SUCCESS;

    for (int f = 0; !code && f < set->count; f++) {
        struct field *field = &set->fields[f];
        fields[f] = (MPIX_Field) {.name = field->name,.order = MPI_ORDER_FORTRAN,.element = MPI_DATATYPE_NULL};
        if (field->rank != set->fields[0].rank)
            note_error(set, field->name, "has another rank than the first one");
        memcpy(fields[f].nodes, field->nodes, sizeof(field->nodes));
        memcpy(fields[f].ghost, field->ghost, sizeof(field->ghost));
        check_side(set, field, &fields[f], boxes, &field->old, window->old_rank, window->old_size);
        check_side(set, field, &fields[f], boxes, &field->fresh, window->new_rank, window->new_size);
        fields[f].parts = addresses_of(&field->old, field->fresh.count);
        fields[f].new_parts = addresses_of(&field->fresh, field->old.count);
        code = fields[f].parts && fields[f].new_parts ? MPI_SUCCESS : MPI_ERR_NO_MEM;
        if (!code)
            code = MPI_Type_contiguous(field->bytes, MPI_BYTE, &fields[f].element);
    }
    return code;
}

/* The misfit of one process is an error of all: its call has an impossible number of axes. */
static int move(struct set *set, const epop_window_t *window, MPIX_Boxes *boxes, MPIX_Field fields[])
{
    int code = describe(set, window, boxes, fields);

    if (code)
        return adapt_fail(code, "adapt_move_fields: there is no memory");
    if (*set->error)
        adapt_set_misfit(set->error);
    code = MPIX_Adapt_boxes_move(window, *set->error ? 0 : set->count ? set->fields[0].rank : 1, boxes, NULL,
                                 set->count, fields);
    adapt_set_misfit(NULL);
    return code;
}

/* Of the fields that are listed; 3: there is none, or their rank is wrong. */
int adapt_fortran_fields_axes(struct set **set)
{
    const int rank = *set && (*set)->count > 0 ? (*set)->fields[0].rank : 0;

    return rank >= 1 && rank <= MPIX_BOX_AXES ? rank : MPIX_BOX_AXES;
}

/* Frees the set, also with an error. */
int adapt_fortran_fields_move(struct set **set, const epop_window_t *window, MPIX_Boxes *boxes)
{
    int code = MPI_SUCCESS;

    adapt_fortran_fields_new(set);
    MPIX_Field *fields = *set ? calloc((size_t) (*set)->count + 1, sizeof(*fields)) : NULL;
    const char *former = adapt_call_as("adapt_move_fields");
    if (!*set || !fields || !window)
        code = adapt_fail(*set && fields ? MPI_ERR_ARG : MPI_ERR_NO_MEM, "adapt_move_fields: there is no memory, or no"
                          " open window");
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
    (void) adapt_call_as(former);
    return code;
}

/* ---- rank, size, status ---------------------------------------------------------------------------- */

void adapt_fortran_rank(int *rank, int *size)
{
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
}

int adapt_fortran_joining(void)
{
    return MPI_ADAPT_STATUS_JOINING;
}
