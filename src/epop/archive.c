/* See archive.h. */

#include "archive.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool epop_archive_find(const char *name, char *path, size_t size)
{
    static const char *const endings[] = { "", ".epop", ".so" };
    struct stat file;

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        /* with a slash, so that dlopen does not look into the folders of libraries */
        int length = snprintf(path, size, "%s%s%s", strchr(name, '/') ? "" : "./", name,
                              endings[i]);
        if (length >= 0 && (size_t) length < size && stat(path, &file) == 0 &&
            S_ISREG(file.st_mode))
            return true;
    }
    return false;
}

program_t *(*epop_archive_open(const char *path, char *why, size_t size)) (void)
{
    program_t *(*get) (void) = NULL;
    void *archive = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!archive) {
        snprintf(why, size, "it cannot be loaded as an archive (mpicc -shared -fPIC): %s",
                 dlerror());
        return NULL;
    }
    void *entry = dlsym(archive, "get_program");
    const int *abi = dlsym(archive, "epop_archive_abi");
    if (!entry)
        snprintf(why, size, "it has no function get_program");
    else if (!abi)
        snprintf(why, size, "its get_program was not compiled with epop.h");
    else if (*abi != EPOP_ABI)
        snprintf(why, size, "it was compiled with an epop.h of version %d, and this driver is of"
                 " version %d: compile it again", *abi, EPOP_ABI);
    else
        memcpy(&get, &entry, sizeof(get));
    return get;
}
