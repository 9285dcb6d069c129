/* See program.h. */

#include "program.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 32

int epop_alloc_phases(program_t ** program, int count)
{
    if (!program || count <= 0)
        return 1;
    program_element_t *elements = calloc((size_t) count, sizeof(*elements));
    program_t *made = *program ? *program : malloc(sizeof(*made));
    if (!elements || !made) {
        free(elements);
        if (made != *program)
            free(made);
        return 1;
    }
    *made = (program_t) {.size = count,.elements = elements };
    *program = made;
    return 0;
}

const char *epop_type_name(int type)
{
    static const char *const names[] = { "INIT", "EP", "RP", "BRANCH" };

    return type < EPOP_INIT || type > EPOP_BRANCH ? "unknown" : names[type - EPOP_INIT];
}

const char *epop_element_name(const program_t * program, int pc, char *buffer, size_t size)
{
    if (program->elements[pc].name)
        return program->elements[pc].name;
    snprintf(buffer, size, "element %d", pc);
    return buffer;
}

/* ---- P1 ------------------------------------------------------------------------------------- */

/* The text of what an element lacks, or NULL. */
static const char *what_lacks(const program_element_t * element)
{
    switch (element->type) {
        case EPOP_INIT:
            return element->init || element->phase_exec ? NULL : "init";
        case EPOP_EP:
            return !element->phase_exec ? "phase_exec" :
                !element->loop_condition ? "loop_condition" :
                !element->phase_adapt && !element->phase_redistribute ?
                "phase_redistribute (or phase_adapt)" : NULL;
        case EPOP_RP:
            return element->phase_exec ? NULL : "phase_exec";
        default:
            return element->branch_condition ? NULL : "branch_condition";
    }
}

static bool element_is_whole(const program_t * program, int pc, char *why, size_t size)
{
    const program_element_t *element = &program->elements[pc];
    char buffer[TEXT_BYTES];
    const char *name = epop_element_name(program, pc, buffer, sizeof(buffer));

    if (element->type < EPOP_INIT || element->type > EPOP_BRANCH) {
        snprintf(why, size, "element %d (%s): type is %d, which is none of INIT, EP, RP and BRANCH",
                 pc, name, element->type);
        return false;
    }
    if ((element->type == EPOP_INIT) != (pc == 0)) {
        snprintf(why, size, "element %d (%s): type is %s; element 0, and no other, is INIT", pc,
                 name, epop_type_name(element->type));
        return false;
    }
    const char *lacking = what_lacks(element);
    if (lacking)
        snprintf(why, size, "element %d (%s): type is %s, but %s is NULL", pc, name,
                 epop_type_name(element->type), lacking);
    return !lacking;
}

bool epop_program_is_whole(const program_t * program, char *why, size_t size)
{
    if (!program)
        snprintf(why, size, "get_program has returned NULL");
    else if (program->size < 1)
        snprintf(why, size, "size is %d; a program has at least the element INIT", program->size);
    else if (!program->elements)
        snprintf(why, size, "elements is NULL");
    else {
        for (int pc = 0; pc < program->size; pc++)
            if (!element_is_whole(program, pc, why, size))
                return false;
        return true;
    }
    return false;
}

int epop_program_init(const program_t * program, int *argn, char ***argc, void **data)
{
    const program_element_t *element = &program->elements[0];
    int (*init) (int *, char ***, void **) = element->init;

    if (!init)  /* it is in phase_exec: converts to its real type */
        memcpy(&init, &element->phase_exec, sizeof(init));
    return init(argn, argc, data);
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* FNV-1a. */
static uint64_t add_bytes(uint64_t sum, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ ((const unsigned char *) bytes)[i]) * 1099511628211u;
    return sum;
}

static const uint64_t first_sum = 14695981039346656037u;

uint64_t epop_structure_hash(const program_t * program)
{
    uint64_t sum = add_bytes(first_sum, &program->size, sizeof(program->size));

    for (int pc = 0; pc < program->size; pc++) {
        char buffer[TEXT_BYTES];
        const char *name = epop_element_name(program, pc, buffer, sizeof(buffer));
        sum = add_bytes(sum, &program->elements[pc].type, sizeof(int));
        sum = add_bytes(sum, name, strlen(name) + 1);
    }
    return sum;
}

uint64_t epop_elements_sum(const program_t * program)
{
    uint64_t sum = add_bytes(first_sum, &program->elements, sizeof(program->elements));

    sum = add_bytes(sum, &program->size, sizeof(program->size));
    return add_bytes(sum, program->elements, (size_t) program->size * sizeof(program_element_t));
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void print_text(FILE * out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char) *text;
        if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fprintf(out, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    putc('"', out);
}

static void print_element(FILE * out, const program_t * program, int pc)
{
    const program_element_t *element = &program->elements[pc];
    char buffer[TEXT_BYTES];

    fprintf(out, "    {\"pc\": %d, \"type\": \"%s\", \"name\": ", pc,
            epop_type_name(element->type));
    print_text(out, epop_element_name(program, pc, buffer, sizeof(buffer)));
    if (element->type == EPOP_EP)
        fprintf(out, ", \"window\": \"%s\"",
                element->phase_redistribute ? "phase_redistribute" : "phase_adapt");
    if (element->type == EPOP_EP || element->type == EPOP_RP)
        fprintf(out, ", \"loop\": %s, \"total\": %s", element->loop_condition ? "true" : "false",
                element->loop_total ? "true" : "false");
    fprintf(out, "}%s\n", pc + 1 < program->size ? "," : "");
}

void epop_program_print(FILE * out, const program_t * program, const char *name)
{
    fprintf(out, "{\n  \"program\": ");
    print_text(out, name);
    fprintf(out, ",\n  \"structure\": \"%016" PRIx64 "\",\n  \"elements\": [\n",
            epop_structure_hash(program));
    for (int pc = 0; pc < program->size; pc++)
        print_element(out, program, pc);
    fprintf(out, "  ]\n}\n");
}
