/*
 * Taking an attribute out of its list.
 */

#ifndef MPIR_ATTR_REMOVE_H_INCLUDED
#define MPIR_ATTR_REMOVE_H_INCLUDED

/* Its position is determined after its delete function has been called, which may have changed the
 * list. */
static inline void MPIR_Attr_remove(MPIR_Attribute ** list, MPIR_Attribute * attr)
{
    while (*list && *list != attr)
        list = &(*list)->next;
    if (*list)
        *list = attr->next;
}

#endif /* MPIR_ATTR_REMOVE_H_INCLUDED */
