/* See allocated.h. */

#include "allocated.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static char too_short[300];
static const char no_address[] =
    "its address was not returned by malloc, but the library has to free it: give the address of "
    "the whole memory, or own memory functions (MPIX_Adapt_memory)";

bool adapt_allocated_is_reason(const char *text)
{
    return text == too_short || text == no_address;
}

const char *adapt_allocated(const void *address, int64_t count, MPI_Datatype element)
{
#ifdef __GLIBC__
    MPI_Aint lb, extent, true_lb, true_extent;

    if (!address || count < 1)
        return NULL;
    if ((uintptr_t) address % _Alignof(max_align_t))
        return no_address;
    if (MPI_Type_get_extent(element, &lb, &extent) ||
        MPI_Type_get_true_extent(element, &true_lb, &true_extent))
        return NULL;
    /* the last element may end before its extent does */
    const int64_t there = (int64_t) malloc_usable_size((void *) address), last =
        true_lb + true_extent;
    if (extent <= 0 || last <= 0 || (there >= last && (there - last) / extent >= count - 1))
        return NULL;
    snprintf(too_short, sizeof(too_short),
             "its memory has %" PRId64 " bytes, but %" PRId64 " elements of %lld bytes lie in it: "
             "their number, their type, or the ghost layers differ from those that the program has "
             "allocated", there, count, (long long) extent);
    return too_short;
#else
    (void) address, (void) count, (void) element;
    return NULL;
#endif
}
