/*
 * A stand-in for the driver of CUDA, or for the runtime of HIP (STANDIN_HIP is its version): the
 * one call by which a library learns where an address lies, and memory of a device that is memory
 * of the process.  For Level Zero (STANDIN_ZE) there is no such call, and the process cannot read
 * memory of the device.
 */

#include <stdlib.h>
#include <sys/mman.h>

#ifdef STANDIN_ZE
char *standin_memory(size_t bytes, int is_managed)
{
    const int access = is_managed ? PROT_READ | PROT_WRITE : PROT_NONE;
    void *memory = mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        abort();
    return memory;
}
#else

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

static int query(void *value, int attribute, const char *at, unsigned on_device)
{
    for (int k = 0; k < count; k++) {
        if (at < known[k].begin || at >= known[k].end)
            continue;
        if (attribute != MEMORY_TYPE && attribute != IS_MANAGED)
            return INVALID;
        *(unsigned *) value = attribute == MEMORY_TYPE ? on_device : (unsigned) known[k].is_managed;
        return 0;
    }
    return INVALID;     /* as the driver: memory of the host that it has not registered */
}

/* The version of HIP: the number of the device's memory depends on it. */
#ifdef STANDIN_HIP
int hipRuntimeGetVersion(int *version)
{
    *version = STANDIN_HIP * 10000000;
    return 0;
}

int hipPointerGetAttribute(void *value, int attribute, void *address)
{
    return query(value, attribute, address, STANDIN_HIP < 6 ? ON_HOST : ON_DEVICE);
}
#else
int cuPointerGetAttribute(void *value, int attribute, unsigned long long address)
{
    return query(value, attribute, (const char *) (size_t) address, ON_DEVICE);
}
#endif
#endif                          /* STANDIN_ZE */
