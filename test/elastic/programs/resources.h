/* Resources that a process holds, for programs that check whether they grow. */

#ifndef RESOURCES_H_INCLUDED
#define RESOURCES_H_INCLUDED

#include "elastic_test.h"
#include <dirent.h>
#include <malloc.h>

struct usage {
    long descriptors, mappings, threads, heap;
};

static long entries(const char *path)
{
    DIR *folder = opendir(path);
    long n = 0;

    ET_CHECK(folder, "cannot read %s", path);
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

static long lines(const char *path)
{
    FILE *file = fopen(path, "r");
    long n = 0;

    ET_CHECK(file, "cannot read %s", path);
    for (int c = getc(file); c != EOF; c = getc(file))
        n += c == '\n';
    fclose(file);
    return n;
}

static struct usage measure(void)
{
    struct usage usage = { entries("/proc/self/fd"), lines("/proc/self/maps"),
        entries("/proc/self/task"), (long) mallinfo2().uordblks
    };
    return usage;
}

#endif /* RESOURCES_H_INCLUDED */
