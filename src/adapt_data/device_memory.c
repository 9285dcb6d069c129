/* See device_memory.h. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "device_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Constants of the binary interfaces: attributes are the same in CUDA's driver and in HIP's
 * runtime; device memory is 2, and 1 before version 6 of HIP. */
enum { MEMORY_TYPE = 2, IS_MANAGED = 8, ON_DEVICE = 2, ON_DEVICE_OLD = 1, HIP_6 = 60000000 };

typedef int cuda_query(void *value, int attribute, unsigned long long address);
typedef int hip_query(void *value, int attribute, void *address);
typedef int hip_version(int *version);

static unsigned long long adds; /* number of loaded libraries at the last search */
static bool is_loaded;          /* one of the libraries below was loaded */

static int check_name(struct dl_phdr_info *info, size_t size, void *begins)
{
    static const char *const beginnings[] = { "libcuda.so", "libamdhip64.so", "libze_loader.so" };
    const char *slash = strrchr(info->dlpi_name, '/');

    (void) size;
    if (*(bool *) begins) {
        if (info->dlpi_adds == adds)
            return 1;
        adds = info->dlpi_adds;
        is_loaded = false;
        *(bool *) begins = false;
    }
    for (size_t k = 0; k < sizeof(beginnings) / sizeof(*beginnings); k++)
        if (strncmp(slash ? slash + 1 : info->dlpi_name, beginnings[k], strlen(beginnings[k])) == 0)
            is_loaded = true;
    return 0;
}

/* Whether one of the libraries may be loaded.  dlopen would search all folders for each of them,
 * which takes longer than the move of a small array. */
static bool may_be_loaded(void)
{
    bool begins = true;

    (void) dl_iterate_phdr(check_name, &begins);
    return is_loaded;
}

/* Finds a library that the program has loaded; loads none. */
static void *find_loaded(const char *const names[])
{
    void *library = NULL;

    for (int k = 0; !library && names[k]; k++)
        library = dlopen(names[k], RTLD_LAZY | RTLD_NOLOAD);
    return library;
}

static bool is_of_cuda(void *driver, const void *address)
{
    const unsigned long long number = (unsigned long long) (uintptr_t) address;
    void *symbol = dlsym(driver, "cuPointerGetAttribute");
    unsigned type = 0, is_managed = 0;
    cuda_query *query = NULL;

    memcpy(&query, &symbol, sizeof(query));
    return query && query(&type, MEMORY_TYPE, number) == 0 && type == ON_DEVICE &&
        (query(&is_managed, IS_MANAGED, number) != 0 || !is_managed);
}

static bool is_of_hip(void *runtime, const void *address)
{
    void *symbol = dlsym(runtime, "hipPointerGetAttribute"), *of_version =
        dlsym(runtime, "hipRuntimeGetVersion");
    unsigned type = 0, is_managed = 0;
    hip_version *get_version = NULL;
    hip_query *query = NULL;
    int version = HIP_6;

    memcpy(&query, &symbol, sizeof(query));
    memcpy(&get_version, &of_version, sizeof(get_version));
    if (!query || (get_version && get_version(&version) != 0))
        return false;
    return query(&type, MEMORY_TYPE, (void *) (uintptr_t) address) == 0 &&
        type == (version >= HIP_6 ? ON_DEVICE : ON_DEVICE_OLD) &&
        (query(&is_managed, IS_MANAGED, (void *) (uintptr_t) address) != 0 || !is_managed);
}

/* A query of Level Zero needs the program's context.  But the host cannot read memory of its
 * devices; all memory that it can read, including shared memory, can be moved. */
static bool is_of_level_zero(const void *address)
{
    char byte;
    const struct iovec here = {.iov_base = &byte,.iov_len = 1 };
    const struct iovec there = {.iov_base = (void *) (uintptr_t) address,.iov_len = 1 };

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0 && errno == EFAULT;
}

const char *adapt_device_memory(const void *address)
{
    static const char *const level_zero[] = { "libze_loader.so.1", NULL };
    static const char *const cuda[] = { "libcuda.so.1", NULL };
    static const char *const hip[] =
        { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so", NULL
    };
    bool is_device = false;
    void *library;

    if (!address || !may_be_loaded())
        return NULL;
    if ((library = find_loaded(cuda))) {
        is_device = is_of_cuda(library, address);
        dlclose(library);
    }
    if (!is_device && (library = find_loaded(hip))) {
        is_device = is_of_hip(library, address);
        dlclose(library);
    }
    if (!is_device && (library = find_loaded(level_zero))) {
        is_device = is_of_level_zero(address);
        dlclose(library);
    }
    return is_device ?
        "it is in the memory of a GPU, which this library does not move: copy it to the host "
        "first, or"
        " use managed memory" : NULL;
}
