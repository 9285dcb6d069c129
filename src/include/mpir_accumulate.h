/*
 * Datatypes of accumulate operations: both sides consist of the same predefined datatype, to which
 * the operator must apply.
 */

#ifndef MPIR_ACCUMULATE_H_INCLUDED
#define MPIR_ACCUMULATE_H_INCLUDED

/* The only predefined datatype that a type consists of; MPI_DATATYPE_NULL: there are several, or
 * none. */
static inline MPI_Datatype MPIR_Accumulate_basic_type(MPI_Datatype type)
{
    MPIR_Datatype *ptr = NULL;

    if (MPIR_DATATYPE_IS_PREDEFINED(type))
        return type;
    MPIR_Datatype_get_ptr(type, ptr);
    return ptr->size == 0 ? MPI_DATATYPE_NULL : ptr->basic_type;
}

/* Types of several predefined datatypes, or of none, are not checked here. */
static inline bool MPIR_Accumulate_types_differ(MPI_Count count, MPI_Datatype type,
                                                MPI_Count other_count, MPI_Datatype other_type)
{
    MPI_Datatype basic, other_basic;

    if (count == 0 || other_count == 0 || type == other_type)
        return false;
    basic = MPIR_Accumulate_basic_type(type);
    other_basic = MPIR_Accumulate_basic_type(other_type);
    return basic != other_basic && basic != MPI_DATATYPE_NULL && other_basic != MPI_DATATYPE_NULL;
}

/* Returns MPI_ERR_OP, as reductions do: otherwise a target would compute with bytes that are no
 * number, or end the job. */
static inline int MPIR_Accumulate_check_op(MPI_Op op, MPI_Count count, MPI_Datatype type)
{
    MPI_Datatype basic = MPIR_Accumulate_basic_type(type);

    return count == 0 ||
        basic == MPI_DATATYPE_NULL ? MPI_SUCCESS : (*MPIR_OP_HDL_TO_DTYPE_FN(op)) (basic);
}

#endif /* MPIR_ACCUMULATE_H_INCLUDED */
