/*
 * The members of a datatype's constructor, which are the parts of its type signature.
 */

#ifndef TYPE_MEMBERS_H_INCLUDED
#define TYPE_MEMBERS_H_INCLUDED

#include "mpiimpl.h"

/* Successive copies of a type in the signature. */
struct MPIR_Type_member {
    MPI_Datatype type;
    MPI_Count count;
};

/* Member `index` of a type, in the order of its data; false: there is none.  A basic type has no
 * members; all others but structs and pairs have one. */
bool MPIR_Type_get_member(MPI_Datatype type, MPI_Aint index, struct MPIR_Type_member *member);

#endif /* TYPE_MEMBERS_H_INCLUDED */
