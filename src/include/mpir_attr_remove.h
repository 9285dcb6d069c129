/*
 * Removes an attribute from its list.
 */

#ifndef MPIR_ATTR_REMOVE_H_INCLUDED
#define MPIR_ATTR_REMOVE_H_INCLUDED

/* Called after the delete function of the attribute, which may have changed the list: so its
 * position is determined here. */
static inline void MPIR_Attr_remove(MPIR_Attribute ** list, MPIR_Attribute * attr)
{
    while (*list && *list != attr)
        list = &(*list)->next;
    if (*list)
        *list = attr->next;
}

#endif /* MPIR_ATTR_REMOVE_H_INCLUDED */
