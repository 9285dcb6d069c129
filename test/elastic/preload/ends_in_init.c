/*
 * Preloaded into the processes of a job, ends rank 1 when it maps the shared segment of its node in
 * MPI_Init, before it comes to the barriers in that segment.  With -disable-auto-cleanup it has
 * mapped its proxy's board before, unless it is a process of MPI_Comm_spawn.  With ENDS_SPAWNED
 * only those end.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void end_at_segment(int flags, int fd)
{
    static int maps;
    const char *rank = getenv("PMI_RANK");
    const int is_spawned = getenv("PMI_SPAWNED") != NULL;

    if (getenv("ENDS_SPAWNED") && !is_spawned)
        return;
    if (rank && !strcmp(rank, "1") && (flags & MAP_SHARED) && fd >= 0 &&
        ++maps == (is_spawned ? 1 : 2))
        _exit(3);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    static void *(*next) (void *, size_t, int, int, int, off_t);

    if (!next)
        *(void **) &next = dlsym(RTLD_NEXT, "mmap");
    end_at_segment(flags, fd);
    return next(address, bytes, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off64_t offset)
{
    return mmap(address, bytes, protection, flags, fd, offset);
}
