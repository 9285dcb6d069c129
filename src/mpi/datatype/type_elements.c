/*
 * Elements and bytes of datatypes: how many basic elements a number of received bytes is
 * (MPI_Get_elements), and how many bytes a number of basic elements has (MPI_Status_set_elements).
 *
 * A datatype stands for a sequence of basic elements, which repeats with each copy of the type.
 * Both functions take whole copies at once, and descend into the constructor only where the last
 * copy ends.  They have no state, and any thread may call them.
 */

#include "type_members.h"

/* The amount taken, and its limit: bytes or elements. */
struct sequence {
    MPI_Count bytes, elements;
    MPI_Count bytes_left, elements_left;        /* -1: no limit */
    bool cut;                   /* the next basic element does not fit */
};

static MPI_Count size_of(MPI_Datatype type)
{
    MPI_Count size;

    MPIR_Datatype_get_size_macro(type, size);
    return size;
}

/* The two basic types of a pair, which is a struct to the user; false: the type is no pair. */
static bool pair_members(MPI_Datatype type, struct MPIR_Type_member members[2])
{
    static const struct {
        MPI_Datatype pair, first, second;
    } pairs[] = {
        {MPI_2INT, MPI_INT, MPI_INT},
        {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
        {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
        {MPI_LONG_INT, MPI_LONG, MPI_INT},
        {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
        {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
#ifdef HAVE_FORTRAN_BINDING
        {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
        {MPI_2REAL, MPI_REAL, MPI_REAL},
        {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
#endif
    };

    for (int i = 0; i < (int) (sizeof(pairs) / sizeof(pairs[0])); i++) {
        if (type == pairs[i].pair && type != MPI_DATATYPE_NULL) {
            members[0] = (struct MPIR_Type_member) {pairs[i].first, 1};
            members[1] = (struct MPIR_Type_member) {pairs[i].second, 1};
            return true;
        }
    }
    return false;
}

bool MPIR_Type_get_member(MPI_Datatype type, MPI_Aint index, struct MPIR_Type_member *member)
{
    MPIR_Datatype *ptr = NULL;
    MPIR_Datatype_contents *contents;
    struct MPIR_Type_member pair[2];
    MPI_Datatype *types;
    MPI_Aint *aints, *counts, members;
    int *ints;

    if (pair_members(type, pair)) {
        if (index < 2)
            *member = pair[index];
        return index < 2;
    }
    if (MPIR_DATATYPE_IS_PREDEFINED(type))
        return false;
    MPIR_Datatype_get_ptr(type, ptr);
    contents = ptr->contents;
    MPIR_Datatype_access_contents(contents, &ints, &aints, &counts, &types);
    if (contents->nr_types == 0)
        return false;           /* of MPI_Type_create_f90_real and the like: a basic type */
    if (contents->combiner == MPI_COMBINER_STRUCT) {
        members = contents->nr_counts ? counts[0] : ints[0];
        if (index >= members)
            return false;
        member->type = types[index];
        member->count = contents->nr_counts ? counts[index + 1] : ints[index + 1];
        return true;
    }
    /* all others repeat one type, as often as it fits */
    member->type = types[0];
    member->count = size_of(types[0]) ? size_of(type) / size_of(types[0]) : 0;
    return index == 0;
}

static MPI_Count elements_of(MPI_Datatype type)
{
    MPI_Count elements = 0;
    struct MPIR_Type_member member;

    if (size_of(type) == 0)
        return 0;
    if (!MPIR_Type_get_member(type, 0, &member))
        return 1;
    for (MPI_Aint i = 0; MPIR_Type_get_member(type, i, &member); i++)
        elements += member.count * elements_of(member.type);
    return elements;
}

/* Takes up to `count` copies of a type (-1: as many as the limit allows). */
static void take(struct sequence *s, MPI_Datatype type, MPI_Count count)
{
    MPI_Count size = size_of(type), elements, whole = count;
    struct MPIR_Type_member member;

    if (size == 0 || s->cut)
        return;
    elements = elements_of(type);
    if (s->bytes_left >= 0 && (whole < 0 || whole > s->bytes_left / size))
        whole = s->bytes_left / size;
    if (s->elements_left >= 0 && (whole < 0 || whole > s->elements_left / elements))
        whole = s->elements_left / elements;
    s->bytes += whole * size;
    s->elements += whole * elements;
    if (s->bytes_left >= 0)
        s->bytes_left -= whole * size;
    if (s->elements_left >= 0)
        s->elements_left -= whole * elements;
    if (whole == count)
        return;

    if (!MPIR_Type_get_member(type, 0, &member)) {
        s->cut = true;
        return;
    }
    for (MPI_Aint i = 0; !s->cut && MPIR_Type_get_member(type, i, &member); i++)
        take(s, member.type, member.count);
}

int MPIR_Get_elements_x_impl(MPI_Count * byte_count, MPI_Datatype datatype, MPI_Count * elements)
{
    struct sequence s = { 0, 0, *byte_count, -1, false };

    take(&s, datatype, -1);
    *byte_count = s.bytes_left;
    *elements = s.bytes_left ? MPI_UNDEFINED : s.elements;
    return MPI_SUCCESS;
}

int MPIR_Status_set_elements_x_impl(MPI_Status * status, MPI_Datatype datatype, MPI_Count count)
{
    struct sequence s = { 0, 0, -1, count, false };

    take(&s, datatype, -1);
    MPIR_Assert(s.bytes >= 0 && s.bytes < MPIR_COUNT_MAX);
    MPIR_STATUS_SET_COUNT(*status, s.bytes);
    return MPI_SUCCESS;
}
