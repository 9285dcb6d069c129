/* See device_memory.h. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "device_memory.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

/* Of cuda.h, whose numbers are its binary interface. */
enum { MEMORY_TYPE = 2, IS_MANAGED = 8, ON_DEVICE = 2 };

typedef int query_function(void *value, int attribute, unsigned long long address);

static query_function *find_query(void *driver)
{
    query_function *query = NULL;
    void *symbol = dlsym(driver, "cuPointerGetAttribute");

    memcpy(&query, &symbol, sizeof(query));
    return query;
}

const char *adapt_device_memory(const void *address)
{
    unsigned type = 0, is_managed = 0;
    void *driver = address ? dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;

    if (!driver)
        return NULL;
    query_function *query = find_query(driver);
    const unsigned long long number = (unsigned long long) (uintptr_t) address;
    const int is_device = query && query(&type, MEMORY_TYPE, number) == 0 && type == ON_DEVICE &&
        (query(&is_managed, IS_MANAGED, number) != 0 || !is_managed);
    dlclose(driver);
    return is_device ? "it is in the memory of a GPU, which this library does not move: copy it to the host first, or"
        " use managed memory" : NULL;
}
