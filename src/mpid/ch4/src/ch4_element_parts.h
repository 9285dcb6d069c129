/*
 * Messages that end within a basic element of the receiver's datatype: their sender has another
 * type.  yaksa copies parts of elements, so that the number of copied bytes does not show it.
 */

#ifndef CH4_ELEMENT_PARTS_H_INCLUDED
#define CH4_ELEMENT_PARTS_H_INCLUDED

static inline bool MPIDI_Ends_within_element(MPI_Aint bytes, MPI_Datatype type)
{
    MPI_Aint size;
    MPI_Count rest, elements;

    MPIR_Datatype_get_size_macro(type, size);
    if (likely(size == 0 || bytes % size == 0))
        return false;
    rest = bytes % size;
    return MPIR_Get_elements_x_impl(&rest, type, &elements) == MPI_SUCCESS && rest != 0;
}

#endif /* CH4_ELEMENT_PARTS_H_INCLUDED */
