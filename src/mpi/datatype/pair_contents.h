/*
 * Makes predefined pairs (such as MPI_DOUBLE_INT) structs for code that decodes datatypes: pairs
 * with gaps are datatype objects, and such code expects an object to have contents.
 */

#ifndef PAIR_CONTENTS_H_INCLUDED
#define PAIR_CONTENTS_H_INCLUDED

static inline int MPIR_Pairtype_set_contents(MPI_Datatype type, MPIR_Datatype * pair)
{
    const MPI_Aint displacements[] = { 0, pair->true_ub - (MPI_Aint) sizeof(int) };
    MPI_Datatype members[] = { MPI_FLOAT, MPI_INT };
    int count_and_lengths[] = { 2, 1, 1 };

    if (type == MPI_DOUBLE_INT)
        members[0] = MPI_DOUBLE;
    else if (type == MPI_LONG_INT)
        members[0] = MPI_LONG;
    else if (type == MPI_SHORT_INT)
        members[0] = MPI_SHORT;
    else if (type == MPI_LONG_DOUBLE_INT)
        members[0] = MPI_LONG_DOUBLE;
    return MPIR_Datatype_set_contents(pair, MPI_COMBINER_STRUCT, 3, 2, 0, 2, count_and_lengths,
                                      displacements, NULL, members);
}

#endif /* PAIR_CONTENTS_H_INCLUDED */
