/*
 * E4 and C9, shared segments without names: each process searches for each of them once.  If one
 * process cannot, because it has no descriptor left, all take memory of their own, the window
 * works, and the next one is shared again; no descriptor is left over.  libmpi opens files through
 * functions of this program.
 */

#include "resources.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int made, searched;        /* segments, here; those of others that were searched for */

int memfd_create(const char *name, unsigned flags)
{
    made++;
    return (int) syscall(SYS_memfd_create, name, flags);
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    int pid;

    searched += sscanf(path, "/proc/%d/fd/", &pid) == 1;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return (int) syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static bool is_shared(const void *memory)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long first, end, address = (unsigned long) memory;
    char line[1024];
    bool found = false;

    ET_CHECK(maps, "cannot read /proc/self/maps");
    while (!found && fgets(line, sizeof(line), maps))
        found = sscanf(line, "%lx-%lx", &first, &end) == 2 && first <= address && address < end &&
            strstr(line, "/memfd:mpich-shar");
    fclose(maps);
    return found;
}

/* As make it, put and free it; with all descriptors, or, on rank 1, none. */
static void use_window(bool refused)
{
    struct rlimit usual, limit;
    long *memory, value = et.rank + 1;
    long before = measure().descriptors, after;
    MPI_Win win;

    ET_CHECK(getrlimit(RLIMIT_NOFILE, &usual) == 0, "getrlimit");
    limit = usual;
    if (refused && et.rank == 1)
        limit.rlim_cur = 0;
    made = searched = 0;
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    ET_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
    ET_MPI(MPI_Win_allocate(sizeof(value), sizeof(value), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                            &win));
    ET_CHECK(setrlimit(RLIMIT_NOFILE, &usual) == 0, "setrlimit");

    int made_here = made, made_first = made, opened_here = searched;
    ET_MPI(MPI_Bcast(&made_first, 1, MPI_INT, 0, MPI_COMM_WORLD));
    ET_CHECK(made_first > 0, "rank 0 made no segment");
    ET_CHECK(opened_here + made_here == made_first,
             "made %d segments, searched %d times for others of %d", made_here, opened_here,
             made_first);
    ET_CHECK(is_shared(memory) != refused, "the memory is %sshared", refused ? "" : "not ");

    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Put(&value, 1, MPI_LONG, (et.rank + 1) % et.size, 0, 1, MPI_LONG, win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_CHECK(*memory == (et.rank + et.size - 1) % et.size + 1, "got %ld", *memory);
    ET_MPI(MPI_Win_free(&win));
    after = measure().descriptors;
    ET_CHECK(after == before, "%ld descriptors, before %ld", after, before);
}

static void after(void)
{
    use_window(false);
    use_window(true);
    use_window(false);
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.after = after;
    return et_run();
}
