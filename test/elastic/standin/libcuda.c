/*
 * A stand-in for the driver of CUDA: the one call by which a library learns where an address lies, and memory of a
 * device that is memory of the process.
 */

#include <stdlib.h>

enum { MEMORY_TYPE = 2, IS_MANAGED = 8, ON_HOST = 1, ON_DEVICE = 2, INVALID = 1, MOST = 64 };

static struct {
    char *begin, *end;
    int is_managed;
} known[MOST];
static int count;

char *standin_memory(size_t bytes, int is_managed)
{
    char *memory = malloc(bytes);

    if (!memory || count == MOST)
        abort();
    known[count].begin = memory;
    known[count].end = memory + bytes;
    known[count++].is_managed = is_managed;
    return memory;
}

int cuPointerGetAttribute(void *value, int attribute, unsigned long long address)
{
    const char *at = (const char *) (size_t) address;

    for (int k = 0; k < count; k++) {
        if (at < known[k].begin || at >= known[k].end)
            continue;
        if (attribute != MEMORY_TYPE && attribute != IS_MANAGED)
            return INVALID;
        *(unsigned *) value = attribute == MEMORY_TYPE ? ON_DEVICE : (unsigned) known[k].is_managed;
        return 0;
    }
    return INVALID;     /* as the driver: memory of the host that it has not registered */
}
