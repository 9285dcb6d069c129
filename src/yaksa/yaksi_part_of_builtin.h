/*
 * A message is split where its buffer is full, also within an element.  yaksa copied whole elements
 * only, and its callers sent, or left out, as many bytes as they had requested.
 */

#ifndef YAKSI_PART_OF_BUILTIN_H_INCLUDED
#define YAKSI_PART_OF_BUILTIN_H_INCLUDED

/* The bytes of a device are not copied here. */
#if defined(HAVE_CUDA) || defined(HAVE_HIP) || defined(HAVE_ZE)
#define YAKSI_COPIES_PARTS 0
#else
#define YAKSI_COPIES_PARTS 1
#endif

enum yaksi_direction { YAKSI_PACK, YAKSI_UNPACK };

/* Copies up to `bytes` of one element, from its packed byte `offset` on, between the element and a
 * packed buffer; how many.  The second member of a pair is an int, with a gap before it if the pair
 * has one. */
static inline uintptr_t yaksi_part_of_builtin(const yaksi_type_s * type, char *element,
                                              uintptr_t offset, char *packed, uintptr_t bytes,
                                              enum yaksi_direction direction)
{
    const uintptr_t second = type->size - sizeof(int), gap = (uintptr_t) type->true_ub - type->size;

    bytes = YAKSU_MIN(bytes, type->size - offset);
    for (uintptr_t i = 0; i < bytes; i++) {
        char *at = element + offset + i + (gap > 0 && offset + i >= second ? gap : 0);
        if (direction == YAKSI_PACK)
            packed[i] = *at;
        else
            *at = packed[i];
    }
    return bytes;
}

#endif /* YAKSI_PART_OF_BUILTIN_H_INCLUDED */
