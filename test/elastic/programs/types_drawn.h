/*
 * Drawn datatypes, each with a list of the basic elements that its constructors stand for.
 */

#ifndef TYPES_DRAWN_H_INCLUDED
#define TYPES_DRAWN_H_INCLUDED

#include "elastic_test.h"

enum { MOST = 600 };

/* The basic elements of a type, in order. */
struct model {
    int count;
    MPI_Aint at[MOST];
    int bytes[MOST];
    MPI_Datatype basic[MOST];
};

static unsigned state;          /* of the generator */

static int draw(int low, int high)
{
    return low + (int) (et_random(&state) % (unsigned) (high - low + 1));
}

static MPI_Datatype draw_basic(struct model *model)
{
    static const struct {
        MPI_Datatype type, first;
        int first_bytes, second_at;     /* of an int; 0: there is none */
    } basics[] = {
        {MPI_CHAR, MPI_CHAR, 1, 0}, {MPI_SHORT, MPI_SHORT, 2, 0}, {MPI_INT, MPI_INT, 4, 0},
        {MPI_DOUBLE, MPI_DOUBLE, 8, 0}, {MPI_C_DOUBLE_COMPLEX, MPI_C_DOUBLE_COMPLEX, 16, 0},
        {MPIX_C_FLOAT16, MPIX_C_FLOAT16, 2, 0}, {MPI_2INT, MPI_INT, 4, 4},
        {MPI_SHORT_INT, MPI_SHORT, 2, 4},
        {MPI_DOUBLE_INT, MPI_DOUBLE, 8, 8}, {MPI_LONG_INT, MPI_LONG, 8, 8},
        {MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG, 8, 0}, {MPI_WCHAR, MPI_WCHAR, 4, 0}
    };
    const int which = draw(0, (int) (sizeof(basics) / sizeof(basics[0])) - 1);

    model->count = basics[which].second_at ? 2 : 1;
    model->at[0] = 0;
    model->bytes[0] = basics[which].first_bytes;
    model->basic[0] = basics[which].first;
    model->at[1] = basics[which].second_at;
    model->bytes[1] = sizeof(int);
    model->basic[1] = MPI_INT;
    return basics[which].type;
}

static void append(struct model *model, const struct model *more, MPI_Aint displacement)
{
    for (int i = 0; i < more->count && model->count < MOST; i++) {
        model->at[model->count] = more->at[i] + displacement;
        model->bytes[model->count] = more->bytes[i];
        model->basic[model->count++] = more->basic[i];
    }
}

/* From the first byte of an element to the end of the last. */
static MPI_Aint span_of(const struct model *model, MPI_Aint *begin)
{
    MPI_Aint end = 0;

    *begin = 0;
    for (int i = 0; i < model->count; i++) {
        *begin = i == 0 || model->at[i] < *begin ? model->at[i] : *begin;
        end = i == 0 || model->at[i] + model->bytes[i] > end ? model->at[i] + model->bytes[i] : end;
    }
    return end - *begin;
}

static void free_derived(MPI_Datatype * type)
{
    int ints, addresses, types, combiner;

    ET_MPI(MPI_Type_get_envelope(*type, &ints, &addresses, &types, &combiner));
    if (combiner != MPI_COMBINER_NAMED)
        ET_MPI(MPI_Type_free(type));
}

/* The elements of one process of a distribution over several, in one dimension. */
static MPI_Datatype draw_darray(struct model *model, const struct model *inner, MPI_Datatype old,
                                MPI_Aint extent)
{
    const int all = draw(1, 7), processes = draw(1, 3), rank = draw(0, processes - 1), cyclic =
        draw(0, 1);
    const int block = cyclic ? draw(1, 3) : (all + processes - 1) / processes;
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_darray(processes, rank, 1, &all,
                                  (int[]) { cyclic ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK },
                                  &block, &processes,
                                  draw(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, old, &type));
    for (int i = 0; i < all; i++)
        if (i / block % processes == rank)
            append(model, inner, i * extent);
    return type;
}

/* A type of others, `depth` constructors deep, whose elements do not overlap. */
static MPI_Datatype draw_type(struct model *model, int depth)
{
    static struct model inners[8];
    struct model *inner = &inners[depth];
    MPI_Datatype old, type;
    MPI_Aint lb, extent, begin, stride, displacements[3];
    int lengths[3], blocks = draw(1, 3), kind = draw(0, 5);

    if (depth == 0)
        return draw_basic(model);
    old = draw_type(inner, depth - 1);
    ET_MPI(MPI_Type_get_extent(old, &lb, &extent));
    stride = span_of(inner, &begin);
    stride = extent > stride ? extent : stride;
    model->count = 0;
    if (kind == 0 && extent == stride) {
        ET_MPI(MPI_Type_contiguous(blocks, old, &type));
        for (int i = 0; i < blocks; i++)
            append(model, inner, i * extent);
    } else if (kind == 1) {
        stride += draw(0, 9);
        stride *= draw(0, 3) ? 1 : -1;
        ET_MPI(MPI_Type_create_hvector(blocks, 1, stride, old, &type));
        for (int i = 0; i < blocks; i++)
            append(model, inner, i * stride);
    } else if (kind == 2) {
        ET_MPI(MPI_Type_create_resized(old, draw(0, 2) ? 0 : draw(-9, 9),
                                       begin + stride + draw(0, 20), &type));
        append(model, inner, 0);
    } else if (kind == 5 && extent == stride) {
        type = draw_darray(model, inner, old, extent);
    } else {
        MPI_Datatype olds[3], empty;
        MPI_Aint next = draw(0, 20);
        ET_MPI(MPI_Type_contiguous(0, MPI_DOUBLE, &empty));
        for (int i = 0; i < blocks; i++) {
            olds[i] = old;
            lengths[i] = draw(0, extent == stride ? 3 : 1);
            displacements[i] = next;
            next += lengths[i] * stride + draw(0, 7);
            for (int k = 0; k < lengths[i]; k++)
                append(model, inner, displacements[i] + k * extent);
            if (kind != 3 && lengths[i] == 0 && draw(0, 1)) {
                olds[i] = empty;
                lengths[i] = draw(1, 3);
            }
        }
        if (kind == 3)
            ET_MPI(MPI_Type_create_hindexed(blocks, lengths, displacements, old, &type));
        else
            ET_MPI(MPI_Type_create_struct(blocks, lengths, displacements, olds, &type));
        ET_MPI(MPI_Type_free(&empty));
    }
    free_derived(&old);
    return type;
}

#endif /* TYPES_DRAWN_H_INCLUDED */
