/*
 * Moving the fields of adapt_boxes.h.  First all processes check boxes and fields, allocate memory
 * and exchange the result; then each sends its pieces directly from the old arrays to the new ones.
 * The communicator of all processes has the processes' numbers as ranks.
 */

#include "adapt_boxes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agreement.h"
#include "allocated.h"
#include "box_fields.h"
#include "box_terms.h"
#include "data.h"
#include "device_memory.h"
#include "failure.h"
#include "motion.h"

_Static_assert(sizeof(MPIX_Box) == sizeof(struct adapt_box) && MPIX_BOX_AXES == BOX_AXES,
               "the same boxes");

/* State of a move, from start to wait. */
struct call {
    struct MPIX_Adapt_motion_s motion;
    const char *function;       /* the called function */
    const epop_window_t *window;
    int axes, count;
    MPIX_Boxes *boxes;
    void *state, *new_state;    /* states of `boxes`, for the old world and for the new one */
    const MPIX_Field *fields;
    MPIX_Field *copies;         /* memory of `fields`, after its allocation */
    struct adapt_roles roles;
    int *process_of_new;
    struct adapt_boxes old, coming;
    bool is_unchanged;          /* this process' boxes are unchanged */
    char error[AGREEMENT_TEXT]; /* for formatted texts */
    int64_t chunk;              /* bytes */

    /* [count] by field */
    struct adapt_box_schedule *schedules;
    void ***fresh;              /* by new box of this process */
};

static int own_count(const struct adapt_boxes *boxes, int rank)
{
    return rank < 0 ? 0 : (int) (boxes->first[rank + 1] - boxes->first[rank]);
}

static const struct adapt_box *own_box(const struct adapt_boxes *boxes, int rank, int k)
{
    return &boxes->boxes[boxes->first[rank] + k];
}

/* ---- preparation ----------------------------------------------------------------------------- */

/* Writes the error with the name of the field into call->error. */
static const char *name_field(struct call *call, int f, const char *error)
{
    char text[AGREEMENT_TEXT];

    snprintf(text, sizeof(text), "field '%.80s': %.220s",
             call->fields[f].name ? call->fields[f].name : "NULL", error);
    memcpy(call->error, text, sizeof(text));
    return call->error;
}

/* Called when all processes are known to have the same boxes. */
static const char *check_memory(struct call *call, int f)
{
    const MPIX_Field *field = &call->fields[f];
    const int old_rank = call->window->old_rank;
    const char *error = NULL;
    int64_t extents[BOX_AXES];

    for (int k = 0; !error && k < own_count(&call->old, old_rank); k++) {
        const struct adapt_box *box = own_box(&call->old, old_rank, k);
        if (adapt_channel_is_moved(field->parts[k], field->name))
            error = "it has moved in this window already";
        else if (!field->memory && !field->new_parts)
            error =
                adapt_allocated(field->parts[k],
                                MPIX_Field_extents(field, (const MPIX_Box *) box, extents),
                                field->element);
    }
    return error;
}

static const char *check_field(struct call *call, int f)
{
    const MPIX_Field *field = &call->fields[f];
    const int old_rank = call->window->old_rank;
    char text[2 * AGREEMENT_TEXT], box[160];

    const char *error = adapt_field_check(field, call->axes);
    for (int k = 0; !error && k < own_count(&call->old, old_rank); k++)
        if (!field->parts[k] && adapt_box_values(own_box(&call->old, old_rank, k)) > 0) {
            adapt_write_box(own_box(&call->old, old_rank, k), call->axes, box, sizeof(box));
            snprintf(text, sizeof(text), "part %d, of box %s, %.150s", k, box,
                     adapt_misfit("is NULL"));
            error = text;
        }
    for (int k = 0; !error && k < own_count(&call->old, old_rank); k++)
        error = adapt_device_memory(field->parts[k]);
    for (int g = 0; !error && g < f; g++)
        if (call->fields[g].parts == field->parts)
            error = "its parts are listed twice";
    return error ? name_field(call, f, error) : NULL;
}

static const char *check_boxes(const struct call *call)
{
    const int old_rank = call->window->old_rank, new_rank = call->window->new_rank;
    const char *error = old_rank < 0 ? NULL : adapt_boxes_check(&call->old, old_rank);

    if (!error && new_rank >= 0)
        error = adapt_boxes_check(&call->coming, new_rank);
    if (!error && adapt_boxes_cells(&call->old) != adapt_boxes_cells(&call->coming))
        error = "the new boxes have a different number of cells than the old boxes";
    if (!error && adapt_boxes_cells(&call->old) == 0 && call->old.first[call->old.size] > 0)
        error = "there are boxes, but none of them has a cell";
    return error;
}

static bool is_unchanged(const struct call *call)
{
    const int old_rank = call->window->old_rank, new_rank = call->window->new_rank;
    const int count = own_count(&call->old, old_rank);

    if (old_rank < 0 || new_rank < 0 || own_count(&call->coming, new_rank) != count)
        return false;
    for (int f = 0; f < call->count; f++)
        if (call->fields[f].new_parts)
            return false;
    return count == 0 || memcmp(own_box(&call->old, old_rank, 0),
                                own_box(&call->coming, new_rank, 0),
                                (size_t) count * sizeof(struct adapt_box)) == 0;
}

static const char *make_parts(struct call *call, int f)
{
    const int count = own_count(&call->coming, call->window->new_rank);
    int64_t extents[BOX_AXES];

    call->fresh[f] = adapt_reserve(count, sizeof(void *));
    if (!call->fresh[f])
        return ADAPT_NO_MEMORY;
    for (int k = 0; k < count && call->fields[f].new_parts; k++) {
        call->fresh[f][k] = call->fields[f].new_parts[k];
        if (!call->fresh[f][k] &&
            adapt_box_values(own_box(&call->coming, call->window->new_rank, k)) > 0)
            return name_field(call, f, "new_parts of a box is NULL");
    }
    for (int k = 0; k < count && !call->is_unchanged && !call->fields[f].new_parts; k++) {
        const struct adapt_box *box = own_box(&call->coming, call->window->new_rank, k);
        int64_t values = MPIX_Field_extents(&call->fields[f], (const MPIX_Box *) box, extents);
        for (int axis = 0; axis < BOX_AXES; axis++)
            if (extents[axis] > INT32_MAX)
                return "a box is longer than 2147483647 elements";
        call->fresh[f][k] = values > 0 ? adapt_field_grow(&call->fields[f], values) : NULL;
        if (values > 0 && !call->fresh[f][k])
            return ADAPT_NO_MEMORY;
    }
    for (int k = 0; k < count; k++)
        if (adapt_device_memory(call->fresh[f][k]))
            return name_field(call, f, adapt_device_memory(call->fresh[f][k]));
    return NULL;
}

/* The program's own fields may be out of scope at the wait. */
static const char *copy_fields(struct call *call)
{
    call->copies = adapt_reserve(call->count, sizeof(*call->copies));
    if (!call->copies)
        return ADAPT_NO_MEMORY;
    if (call->count > 0)
        memcpy(call->copies, call->fields, (size_t) call->count * sizeof(*call->copies));
    call->fields = call->copies;
    return NULL;
}

/* Everything that does not need the size of messages. */
static const char *read_boxes(struct call *call)
{
    const char *error = copy_fields(call);

    if (!error)
        error = adapt_list_boxes(&call->old, call->window->old_size, call->boxes, call->state);
    if (!error)
        error =
            adapt_list_boxes(&call->coming, call->window->new_size, call->boxes, call->new_state);
    for (int f = 0; !error && f < call->count; f++)
        error = check_field(call, f);
    if (!error)
        error = adapt_roles_of(call->window, &call->roles, &call->process_of_new);
    return error;
}

static const char *prepare(struct call *call)
{
    const char *error = check_boxes(call);

    if (error)
        return error;
    call->is_unchanged = is_unchanged(call);
    call->schedules = adapt_reserve(call->count, sizeof(*call->schedules));
    call->fresh = adapt_reserve(call->count, sizeof(*call->fresh));
    if (!call->schedules || !call->fresh)
        return ADAPT_NO_MEMORY;
    for (int f = 0; !error && f < call->count; f++) {
        int size;
        MPI_Type_size(call->fields[f].element, &size);
        error = check_memory(call, f);
        if (!error)
            error =
                adapt_box_schedule_make(&call->schedules[f], &call->old, &call->coming,
                                        &call->roles, call->fields[f].nodes,
                                        size > 0 ? call->chunk / size : call->chunk);
        if (!error)
            error = make_parts(call, f);
        if (error && error != ADAPT_NO_MEMORY)
            error = name_field(call, f, error);
    }
    return error;
}

/* ---- agreement ------------------------------------------------------------------------------- */

/* Succeeds on all processes or on none. */
static int agree(struct call *call, const char *error)
{
    const struct adapt_box_terms terms = {.channel = call->motion.channel,
                                          .function = call->function,.axes = call->axes,
        .count = call->count,.fields = call->copies ? call->fields : NULL,.old = &call->old,
            .coming = &call->coming
    };
    const struct adapt_proposal mine = {.kind = ADAPT_CALL_BOXES,.function = call->function,
        .object = call->copies && call->count > 0 ? call->fields[0].name : NULL,.error = error,
        .error_class = error == ADAPT_NO_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_ARG,
        .terms = adapt_box_terms_hash(&terms),.chunk = adapt_exchange_chunk()
    };
    struct adapt_agreed agreed;

    int code = adapt_agree_on_call(call->motion.channel, &mine, &agreed);
    if (!code && agreed.terms_differ)
        code = adapt_box_terms_refuse(&terms);
    call->chunk = code ? 0 : agreed.chunk;
    return code;
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* A type for a region of a box as the field stores it. */
static int make_type(const struct call *call, const MPIX_Field *field, const struct adapt_box *box,
                     const struct adapt_box *region, MPI_Datatype *type)
{
    int sizes[BOX_AXES], values[BOX_AXES], starts[BOX_AXES];
    int64_t extents[BOX_AXES];

    (void) MPIX_Field_extents(field, (const MPIX_Box *) box, extents);
    for (int axis = 0; axis < call->axes; axis++) {
        sizes[axis] = (int) extents[axis];
        values[axis] = (int) (region->high[axis] - region->low[axis]);
        starts[axis] = (int) (region->low[axis] - box->low[axis]) + field->ghost[axis];
    }
    int code = MPI_Type_create_subarray(call->axes, sizes, values, starts,
                                        field->order ? field->order : MPI_ORDER_C,
                                        field->element, type);
    return code ? code : MPI_Type_commit(type);
}

static int keep(const struct call *call, int f, const struct adapt_box_piece *piece)
{
    const MPIX_Field *field = &call->fields[f];
    MPI_Datatype from, to;

    int code = make_type(call, field, own_box(&call->old, call->window->old_rank, piece->old_box),
                         &piece->region, &from);
    if (!code)
        code = make_type(call, field, own_box(&call->coming, call->window->new_rank,
                                              piece->new_box), &piece->region, &to);
    if (!code)
        code = MPI_Sendrecv(field->parts[piece->old_box], 1, from, 0, 0,
                            call->fresh[f][piece->new_box], 1, to, 0, 0, MPI_COMM_SELF,
                            MPI_STATUS_IGNORE);
    if (!code)
        code = MPI_Type_free(&from);
    return code ? code : MPI_Type_free(&to);
}

static const struct adapt_box_list *list_of(const struct call *call, int f, bool sends)
{
    return sends ? &call->schedules[f].send : &call->schedules[f].receive;
}

static int post(void *state, bool sends, int64_t k, MPI_Request * request)
{
    const struct call *call = state;
    const struct adapt_exchange *exchange = &call->motion.exchange;
    MPI_Datatype type;
    int f = 0;

    for (; k >= list_of(call, f, sends)->count; f++)
        k -= list_of(call, f, sends)->count;
    const MPIX_Field *field = &call->fields[f];
    const struct adapt_box_piece *piece = &list_of(call, f, sends)->pieces[k];
    const struct adapt_box *box = sends ?
        own_box(&call->old, call->window->old_rank, piece->old_box) :
        own_box(&call->coming, call->window->new_rank, piece->new_box);
    int code = make_type(call, field, box, &piece->region, &type);
    if (code)
        return code;
    if (sends)
        code = MPI_Isend(field->parts[piece->old_box], 1, type, piece->process, exchange->tag,
                         exchange->all, request);
    else
        code = MPI_Irecv(call->fresh[f][piece->new_box], 1, type, piece->process, exchange->tag,
                         exchange->all, request);
    int free_code = MPI_Type_free(&type);
    return code ? code : free_code;
}

/* Copies the staying values while messages are in transit. */
static int begin(struct call *call)
{
    struct adapt_exchange *exchange = &call->motion.exchange;

    *exchange = (struct adapt_exchange) {.all = call->motion.channel->all,.tag =
            adapt_channel_tag(call->motion.channel),.state = call,.post = post
    };
    for (int f = 0; f < call->count; f++) {
        exchange->sends += call->schedules[f].send.count;
        exchange->receives += call->schedules[f].receive.count;
    }
    int code = adapt_exchange_begin(exchange);
    for (int f = 0; f < call->count; f++)
        for (int64_t k = 0; !code && !call->is_unchanged && k < call->schedules[f].keep.count; k++)
            code = keep(call, f, &call->schedules[f].keep.pieces[k]);
    if (code)
        adapt_exchange_abandon(exchange, code);
    return code;
}

/* The new parts replace the old ones. */
static void replace_parts(struct call *call)
{
    const int old_count = own_count(&call->old, call->window->old_rank);
    const int new_count = own_count(&call->coming, call->window->new_rank);

    for (int f = 0; f < call->count && !call->is_unchanged; f++) {
        const MPIX_Field *field = &call->fields[f];
        if (field->new_parts)
            continue;
        for (int k = 0; k < old_count; k++) {
            adapt_field_release(field, field->parts[k]);
            field->parts[k] = NULL;
        }
        for (int k = 0; k < new_count; k++) {
            field->parts[k] = call->fresh[f][k];
            call->fresh[f][k] = NULL;
        }
    }
}

static void clear(struct call *call)
{
    for (int f = 0; f < call->count; f++) {
        for (int k = 0; call->fresh && call->fresh[f] && !call->fields[f].new_parts &&
             k < own_count(&call->coming, call->window->new_rank); k++)
            adapt_field_release(&call->fields[f], call->fresh[f][k]);
        if (call->fresh)
            free(call->fresh[f]);
        if (call->schedules)
            adapt_box_schedule_clear(&call->schedules[f]);
    }
    free(call->fresh);
    free(call->schedules);
    free(call->old.boxes);
    free(call->old.first);
    free(call->coming.boxes);
    free(call->coming.first);
    free(call->process_of_new);
    free(call->copies);
}

static void set_moved(const struct call *call)
{
    for (int f = 0; f < call->count; f++) {
        const MPIX_Field *field = &call->fields[f];
        for (int k = 0; k < own_count(&call->coming, call->window->new_rank); k++)
            adapt_channel_set_moved(field->new_parts ? field->new_parts[k] : field->parts[k],
                                    field->name);
    }
}

static int finish(struct MPIX_Adapt_motion_s *motion, int code)
{
    struct call *call = (struct call *) motion;

    if (!code) {
        replace_parts(call);
        set_moved(call);
    }
    clear(call);
    return code;
}

static const char *check_call(const struct call *call)
{
    if (!call->window || !call->window->new_rank_of)
        return "the window is NULL or not open (MPIX_Adapt_window_open)";
    if (!call->boxes || (call->count > 0 && !call->fields))
        return "boxes or fields is NULL";
    if (call->count < 0 || call->axes < 1 || call->axes > BOX_AXES)
        return adapt_misfit("the number of fields is negative, or that of axes is not 1, 2 or 3");
    return NULL;
}

/* Everything except the messages; succeeds on all processes or on none.  `call` is NULL if there
 * was no memory for it. */
static int start(struct call *call, const struct call *described, const char *error)
{
    struct call alone, *here = call ? call : &alone;

    *here = *described;
    here->motion.finish = finish;
    int code = adapt_channel_open(here->window, &here->motion.channel);
    if (code)
        return adapt_channel_failed(code, here->function, error);
    error = error ? error : check_call(here);
    if (!error)
        error = call ? read_boxes(here) : ADAPT_NO_MEMORY;
    code = agree(here, error);
    if (!code)
        code = agree(here, prepare(here));
    if (!code)
        code = begin(here);
    if (code)
        clear(here);
    return code;
}

static int start_or_refuse(const struct call *described, MPIX_Adapt_motion * motion)
{
    struct call *call = malloc(sizeof(*call));

    int code = start(call, described, motion ? NULL : "motion is NULL");
    if (motion)
        *motion = code ? NULL : &call->motion;
    if (code)
        free(call);
    return code;
}

int MPIX_Adapt_boxes_start(const epop_window_t *window, int axes, MPIX_Boxes *boxes, void *state,
                           int count, const MPIX_Field fields[], MPIX_Adapt_motion *motion)
{
    const struct call described = {.function = "MPIX_Adapt_boxes_start",.window = window,
        .axes = axes,.boxes = boxes,.state = state,.new_state = state,.count = count,
            .fields = fields
    };

    int code = start_or_refuse(&described, motion);
    return code ? code : adapt_channel_owe((*motion)->channel, &(*motion)->debt, "boxes",
                                           count > 0 ? fields[0].name : "");
}

int adapt_boxes_move(const epop_window_t *window, int axes, MPIX_Boxes *boxes, void *old_state,
                     void *new_state, int count, const MPIX_Field fields[])
{
    const struct call described = {.function = "MPIX_Adapt_boxes_move",.window = window,
        .axes = axes,.boxes = boxes,.state = old_state,.new_state = new_state,.count = count,
            .fields = fields
    };
    MPIX_Adapt_motion motion;

    int code = start_or_refuse(&described, &motion);
    return code ? code : MPIX_Adapt_motion_wait(&motion);
}

int MPIX_Adapt_boxes_move(const epop_window_t *window, int axes, MPIX_Boxes *boxes, void *state,
                          int count, const MPIX_Field fields[])
{
    return adapt_boxes_move(window, axes, boxes, state, state, count, fields);
}
