/*
 * Sets of registered data (adapt_data.h): registration, and the end of sets.  Errors: SPEC-epop F3.
 *
 * State: the list of all sets, and of the datatypes of MPIX_Adapt_bytes; one thread.
 */

#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "failure.h"

/* ---- memory ---------------------------------------------------------------------------------- */

/* Bytes of malloc's memory; 0: too many. */
static size_t bytes_of(const struct adapt_array *array, int64_t count)
{
    const MPI_Aint extent = array->element.extent;

    if (extent > 0 && count > (INT64_MAX - array->element.true_extent) / extent)
        return 0;
    /* the last element may reach beyond its extent */
    int64_t bytes = (count - 1) * extent + array->element.true_lb + array->element.true_extent;
    bytes = bytes < count * extent ? count * extent : bytes;
    return bytes > 0 ? (size_t) bytes : 1;
}

void *adapt_array_grow(const struct adapt_array *array, int64_t count)
{
    if (array->memory.grow)
        return array->memory.grow(count, array->memory.state);
    const size_t bytes = bytes_of(array, count);
    return bytes > 0 ? malloc(bytes) : NULL;
}

void *adapt_array_shorten(const struct adapt_array *array, void *part, int64_t count)
{
    void *shorter = array->memory.grow ? NULL : realloc(part, bytes_of(array, count));

    return shorter ? shorter : part;
}

void adapt_array_release(const struct adapt_array *array, void *part)
{
    if (!part)
        return;
    if (array->memory.release)
        array->memory.release(part, array->memory.state);
    else
        free(part);
}

static int wrong(const char *function, const char *what)
{
    return adapt_fail(MPI_ERR_ARG, "%s: %s", function, what);
}

/* ---- datatypes of bytes ---------------------------------------------------------------------- */

struct bytes_type {
    int64_t bytes;
    MPI_Datatype type;
    struct bytes_type *next;
};

static struct bytes_type *bytes_types;

static void watch_end(void);

MPI_Datatype MPIX_Adapt_bytes(int64_t bytes)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    for (const struct bytes_type * known = bytes_types; known; known = known->next)
        if (known->bytes == bytes)
            return known->type;
    struct bytes_type *made = bytes < 1 ? NULL : malloc(sizeof(*made));
    if (!made || MPI_Type_contiguous_c(bytes, MPI_BYTE, &type) || MPI_Type_commit(&type)) {
        free(made);
        (void) adapt_fail(bytes < 1 ? MPI_ERR_ARG : MPI_ERR_NO_MEM, "MPIX_Adapt_bytes: %s",
                          bytes < 1 ? "the number of bytes is not positive" : "there is no memory");
        return MPI_DATATYPE_NULL;
    }
    *made = (struct bytes_type) {bytes, type, bytes_types};
    bytes_types = made;
    watch_end();
    return type;
}

void adapt_free_bytes_types(void)
{
    while (bytes_types) {
        struct bytes_type *next = bytes_types->next;
        MPI_Type_free(&bytes_types->type);
        free(bytes_types);
        bytes_types = next;
    }
}

/* ---- sets ------------------------------------------------------------------------------------ */

static struct MPIX_Adapt_data_s *all_sets;
static struct MPIX_Adapt_data_s *default_set;

static void release_parts(MPIX_Adapt_data data)
{
    for (struct adapt_part * part = data->parts, *next; part; part = next) {
        next = part->next;
        part->release(part);
    }
    data->parts = NULL;
}

/* Called in MPI_Finalize: frees the datatypes of sets that the program does not free.  Also called
 * in the commit of a leaving process, even if that is refused: then the sets are still needed. */
static int free_at_end(MPI_Comm comm, int key, void *value, void *state)
{
    (void) comm;
    (void) key;
    (void) value;
    (void) state;
    for (struct MPIX_Adapt_data_s * data = all_sets; data && !adapt_channel_in_window();
         data = data->next) {
        adapt_data_free_types(data);
        release_parts(data);
    }
    if (!adapt_channel_in_window())
        adapt_free_bytes_types();
    return MPI_SUCCESS;
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first. */
static void watch_end(void)
{
    static int key = MPI_KEYVAL_INVALID;
    int is_up = 0, has_ended = 0;

    MPI_Initialized(&is_up);
    MPI_Finalized(&has_ended);
    if (key == MPI_KEYVAL_INVALID && is_up && !has_ended &&
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_at_end, &key, NULL) == MPI_SUCCESS)
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
}

static void insert_set(MPIX_Adapt_data data)
{
    watch_end();
    data->next = all_sets;
    all_sets = data;
}

static void remove_set(const struct MPIX_Adapt_data_s *data)
{
    struct MPIX_Adapt_data_s **link = &all_sets;

    while (*link && *link != data)
        link = &(*link)->next;
    if (*link)
        *link = data->next;
}

int MPIX_Adapt_data_create(MPIX_Adapt_data *data)
{
    if (!data)
        return wrong("MPIX_Adapt_data_create", "data is NULL");
    *data = calloc(1, sizeof(**data));
    if (!*data)
        return adapt_fail(MPI_ERR_NO_MEM, "MPIX_Adapt_data_create: there is no memory");
    insert_set(*data);
    return MPI_SUCCESS;
}

MPIX_Adapt_data MPIX_Adapt_data_default(void)
{
    if (!default_set)
        (void) MPIX_Adapt_data_create(&default_set);
    return default_set;
}

static void release_array(struct adapt_array *array)
{
    adapt_distribution_clear(&array->now);
    if (array->element.type != MPI_DATATYPE_NULL)
        MPI_Type_free(&array->element.type);
    free(array->name);
    free(array);
}

int MPIX_Adapt_data_free(MPIX_Adapt_data *data)
{
    if (!data || !*data)
        return wrong("MPIX_Adapt_data_free", "data is NULL");
    if ((*data)->started > 0)
        return wrong("MPIX_Adapt_data_free", "an array has been started and not waited for");
    for (int k = 0; k < (*data)->count; k++)
        release_array((*data)->arrays[k]);
    release_parts(*data);
    remove_set(*data);
    if (*data == default_set)
        default_set = NULL;
    free((*data)->arrays);
    free(*data);
    *data = NULL;
    return MPI_SUCCESS;
}

const char *adapt_data_registered(const struct MPIX_Adapt_data_s *data, const void *address)
{
    if (!data || !address)
        return NULL;
    for (int k = 0; k < data->count; k++)
        if (data->arrays[k]->base == address && !data->arrays[k]->address)
            return data->arrays[k]->name;
    for (const struct adapt_part * part = data->parts; part; part = part->next)
        if (part->has && part->has(part, address))
            return part->name;
    return NULL;
}

static struct adapt_announced *all_announced;

void adapt_announce(struct adapt_announced *announced, const char *name)
{
    *announced = (struct adapt_announced) {name, all_announced};
    all_announced = announced;
}

void adapt_announce_end(struct adapt_announced *announced)
{
    struct adapt_announced **link = &all_announced;

    while (*link && *link != announced)
        link = &(*link)->next;
    if (*link)
        *link = announced->next;
}

static void report_unmoved(const char *name, int new_size)
{
    fprintf(stderr,
            "libadapt_data: '%s' is registered, but was not moved in the window to %d processes\n",
            name, new_size);
}

/* Reports arrays that have never moved, each once.  Others may belong to a phase that has ended, or
 * a later move detects the error. */
void adapt_data_report_unmoved(int new_size)
{
    for (const struct MPIX_Adapt_data_s * data = all_sets; data; data = data->next)
        for (int k = 0; k < data->count; k++) {
            struct adapt_array *array = data->arrays[k];
            if (array->moved_in > 0 || array->is_reported || (!array->address && !*array->base))
                continue;
            array->is_reported = true;
            report_unmoved(array->name, new_size);
        }
    for (struct adapt_announced * announced = all_announced; announced; announced = announced->next)
        if (announced->name) {
            report_unmoved(announced->name, new_size);
            announced->name = NULL;
        }
}

int adapt_data_take(MPIX_Adapt_data data, struct adapt_part *part, const char *name,
                    const char *function)
{
    struct adapt_part **end = data ? &data->parts : NULL;

    if (part && data && name && data->started == 0) {
        snprintf(part->name, sizeof(part->name), "%s", name);
        part->next = NULL;
        while (*end)
            end = &(*end)->next;
        *end = part;
        return MPI_SUCCESS;
    }
    const bool has_memory = part;
    if (part)
        part->release(part);
    return !data || !name ? wrong(function, "data or name is NULL") : !has_memory ?
        adapt_fail(MPI_ERR_NO_MEM, "%s: there is no memory", function) :
        wrong(function, "not allowed while arrays are moved");
}

void adapt_data_free_types(MPIX_Adapt_data data)
{
    for (int k = 0; k < data->count; k++)
        if (data->arrays[k]->element.type != MPI_DATATYPE_NULL)
            MPI_Type_free(&data->arrays[k]->element.type);
}

static const char *is_layout(const MPIX_Adapt_layout *layout)
{
    struct adapt_distribution alone;

    if (layout->kind == ADAPT_LAYOUT_IRREGULAR)
        return layout->split && layout->mine >= 0 ? NULL :
            "the layout's length is negative, or its split is NULL";
    if (layout->kind == ADAPT_LAYOUT_USER)
        return layout->pieces ? NULL : "the layout's function of pieces is NULL";
    const char *error = adapt_distribution_make(&alone, layout, 1, NULL, NULL);
    adapt_distribution_clear(&alone);
    return error ? "the layout is invalid: a negative number, or none of MPIX_Layout_..." : NULL;
}

/* Sets a private datatype, because the caller may free its own. */
static int set_element(struct adapt_array *array, MPI_Datatype element)
{
    MPI_Aint lb;
    int code = MPI_Type_dup(element, &array->element.type);

    if (!code)
        code = MPI_Type_commit(&array->element.type);
    if (!code)
        code = MPI_Type_size(element, &array->element.size);
    if (!code)
        code = MPI_Type_get_extent(element, &lb, &array->element.extent);
    if (!code)
        code = MPI_Type_get_true_extent(element, &array->element.true_lb,
                                        &array->element.true_extent);
    return code;
}

/* The address from malloc is that of the first element. */
static const char *check_element(const struct adapt_array *array)
{
    if (!array->memory.grow && (array->element.true_lb < 0 || array->element.extent < 0))
        return "an element has data before its address, or a negative extent: give own memory "
               "functions (MPIX_Adapt_memory), or a resized datatype";
    return NULL;
}

static int append(MPIX_Adapt_data data, struct adapt_array *array)
{
    void *more = realloc(data->arrays, ((size_t) data->count + 1) * sizeof(*data->arrays));

    if (!more || !array->name)
        return MPI_ERR_NO_MEM;
    data->arrays = more;
    data->arrays[data->count++] = array;
    return MPI_SUCCESS;
}

int MPIX_Adapt_data_add(MPIX_Adapt_data data, const char *name, void **base, MPI_Datatype element,
                        const MPIX_Adapt_layout *layout, const MPIX_Adapt_memory *memory,
                        int *array)
{
    static const char function[] = "MPIX_Adapt_data_add";

    if (!data || !name || !base || !layout || element == MPI_DATATYPE_NULL)
        return wrong(function, "data, name, base, layout or element is NULL");
    if (memory && (!memory->grow || !memory->release))
        return wrong(function, "memory needs both grow and release");
    if (data->started > 0)
        return wrong(function, "not allowed while arrays are moved");
    if (data->count == ADAPT_ARRAYS_MAX)
        return wrong(function, "there are 1024 arrays already");
    const char *why = is_layout(layout);
    if (why)
        return adapt_fail(MPI_ERR_ARG, "%s: array '%s': %s", function, name, why);
    const char *other = adapt_data_registered(data, base);
    if (other)
        return adapt_fail(MPI_ERR_ARG, "%s: array '%s': its pointer is registered already, as '%s'",
                          function, name, other);
    struct adapt_array *made = calloc(1, sizeof(*made));
    if (!made)
        return adapt_fail(MPI_ERR_NO_MEM, "%s: there is no memory", function);
    made->element.type = MPI_DATATYPE_NULL;
    made->name = strdup(name);
    made->base = base;
    made->layout = *layout;
    if (memory)
        made->memory = *memory;
    int code = set_element(made, element);
    why = code ? NULL : check_element(made);
    if (why) {
        release_array(made);
        return adapt_fail(MPI_ERR_ARG, "%s: array '%s': %s", function, name, why);
    }
    if (!code && append(data, made))
        code = adapt_fail(MPI_ERR_NO_MEM, "%s: there is no memory", function);
    if (code) {
        release_array(made);
        return code;
    }
    if (array)
        *array = data->count - 1;
    return MPI_SUCCESS;
}

static void *take_address(int64_t count, void *address)
{
    (void) count;
    return address;
}

static void leave_address(void *part, void *address)
{
    (void) part;
    (void) address;
}

int MPIX_Adapt_data_share(MPIX_Adapt_data data, const char *name, void *address, int64_t count,
                          MPI_Datatype element, int *array)
{
    const MPIX_Adapt_layout layout = {.kind = ADAPT_LAYOUT_SHARED,.n = count };
    const MPIX_Adapt_memory memory = {.grow = take_address,.release = leave_address,
                                      .state = address };

    if (!address)
        return wrong("MPIX_Adapt_data_share", "address is NULL");
    int code = MPIX_Adapt_data_add(data, name, &address, element, &layout, &memory, array);
    if (!code) {
        struct adapt_array *made = data->arrays[data->count - 1];
        made->address = address;
        made->base = &made->shared_base;
    }
    return code;
}
