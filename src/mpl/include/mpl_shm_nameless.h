/*
 * Shared segments that end with their processes, whatever ends these.  MPL's segments are files of
 * /dev/shm whose names are removed when all have attached; who is killed before that leaves the
 * file.  Where MPL_shm_nameless is set, a new segment is a memfd, and its handle the path of the
 * creator's descriptor and the file that it is, /proc/PID/fd/N:DEVICE:INODE, which others of the
 * same user open like any file.  In another pid namespace that path is somebody else's file, which
 * is refused.  The creator keeps the descriptor until MPL_shm_seg_remove.  Hooks of mpl_shm_mmap.c.
 */

#ifndef MPL_SHM_NAMELESS_H_INCLUDED
#define MPL_SHM_NAMELESS_H_INCLUDED

#include "mpl.h"

/* Set before the first segment is made; processes of both kinds can attach to each other's. */
extern int MPL_shm_nameless;

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Opens a regular file for reading and writing if it is the one with this device and inode; else -1
 * and ESTALE.  Nothing is opened before it has been checked. */
static inline int MPL_shm_open_identified(const char *path, unsigned long long device,
                                          unsigned long long inode)
{
    struct stat status;
    char self[40];
    int fd = -1;

    int path_fd = open(path, O_PATH | O_CLOEXEC);
    if (path_fd < 0)
        return -1;
    if (fstat(path_fd, &status) == 0) {
        if (S_ISREG(status.st_mode) && status.st_dev == device && status.st_ino == inode) {
            snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
            fd = open(self, O_RDWR | O_CLOEXEC);
        } else {
            errno = ESTALE;
        }
    }
    int why = errno;
    close(path_fd);
    errno = why;
    return fd;
}

#ifdef MPL_USE_MMAP_SHM

/* Pages of segments on a file system that is not larger are reserved when a segment is made. */
#define MPLI_SHM_RESERVED_MAX ((uintmax_t) 4 << 30)

/* Whether the file system of a new segment has space for it; else the first touch of a page that is
 * missing would be SIGBUS.  On a small one, as in a container, pages are reserved, so that segments
 * cannot exceed it together.  On a large one they are not: pages belong to the memory (NUMA node)
 * of the process that touches them first. */
static inline int MPLI_shm_has_space(int fd, intptr_t bytes)
{
    struct statvfs fs;
    uintmax_t left, all;
    int error = 0;

    if (fstatvfs(fd, &fs) != 0 || fs.f_blocks == 0)
        return 1;
    left = (uintmax_t) fs.f_bavail * fs.f_frsize;
    all = (uintmax_t) fs.f_blocks * fs.f_frsize;
    if (left >= (uintmax_t) bytes && all <= MPLI_SHM_RESERVED_MAX) {
        do {
            error = posix_fallocate(fd, 0, bytes);
        } while (error == EINTR);
    }
    if (left >= (uintmax_t) bytes && error != ENOSPC)
        return 1;
    fprintf(stderr,
            "shared memory: a segment needs %jd KiB, and /dev/shm has %ju KiB left: enlarge it "
            "(in a container: --shm-size)\n", (intmax_t) bytes / 1024, left / 1024);
    return 0;
}

/* In the flags of the creator's handle. */
#define MPLI_SHM_FLAG_NAMELESS 0x10000

/* Whether others find our descriptors, of which this is one's path: tested once, and again in a
 * forked process.  A process that has more privileges than its user shows them to nobody else. */
static inline int MPLI_shm_nameless_is_found(const char *path)
{
    static pid_t found;

    if (found != getpid())
        found = access(path, R_OK | W_OK) == 0 && prctl(PR_GET_DUMPABLE) == 1 ? getpid() : 0;
    return found != 0;
}

/* Makes a nameless segment.  Nonzero if it was made; else one with a name is wanted, or the best
 * that the system can do (no memfd, no /proc that shows us). */
static inline int MPLI_shm_nameless_create(MPL_shm_hnd_t hnd, intptr_t bytes)
{
    char path[MPLI_SHM_GHND_SZ];
    struct stat status;

    if (!MPL_shm_nameless)
        return 0;
    MPLI_shm_lhnd_close(hnd);   /* of a segment that not all could attach to */
    hnd->flag &= ~MPLI_SHM_FLAG_NAMELESS;
    int fd = memfd_create("mpich-shar", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) getpid(), fd);
    if (ftruncate(fd, bytes) || !MPLI_shm_nameless_is_found(path) || fstat(fd, &status) ||
        MPLI_shm_ghnd_alloc(hnd, MPL_MEM_SHM) != MPL_SUCCESS) {
        close(fd);
        return 0;
    }
    snprintf(path + strlen(path), sizeof(path) - strlen(path), ":%llx:%llx",
             (unsigned long long) status.st_dev, (unsigned long long) status.st_ino);
    MPLI_shm_ghnd_set_by_val(hnd, "%s", path);
    MPLI_shm_lhnd_set(hnd, fd);
    hnd->flag |= MPLI_SHM_FLAG_NAMELESS;
    return 1;
}

/* Whether opening can wait until the segment is attached.  Upstream opens it when the handle is
 * read, too, to see that it is there; through /proc that takes twice as long as by a name. */
static inline int MPLI_shm_nameless_waits(MPL_shm_hnd_t hnd, int flag)
{
    return !(flag & MPLI_SHM_FLAG_SHM_ATTACH) &&
           strncmp(MPLI_shm_ghnd_get_by_ref(hnd), "/proc/", 6) == 0;
}

/* Opens a segment of either kind by its handle. */
static inline int MPLI_shm_nameless_open(const char *handle)
{
    char path[MPLI_SHM_GHND_SZ];
    unsigned long long device, inode;

    /* the path's own characters are neither colons nor spaces */
    if (sscanf(handle, "%49[^:]:%llx:%llx", path, &device, &inode) != 3)
        return open(handle, O_RDWR);
    return MPL_shm_open_identified(path, device, inode);
}

/* Whether the handle's descriptor is what holds a segment. */
static inline int MPLI_shm_nameless_keeps(MPL_shm_hnd_t hnd)
{
    return hnd->flag & MPLI_SHM_FLAG_NAMELESS;
}

/* The creator has its page of a small segment, flags or a lock, before others attach.  When all
 * begin to use it at once, who finds the page locked by another one's fault sleeps; upstream's
 * creator is late then, as it removes a name. */
static inline void MPLI_shm_nameless_touch(MPL_shm_hnd_t hnd, const volatile char *segment,
                                           intptr_t bytes)
{
    if (MPLI_shm_nameless_keeps(hnd) && bytes <= sysconf(_SC_PAGESIZE))
        (void) *segment;
}

#endif /* MPL_USE_MMAP_SHM */

#endif /* MPL_SHM_NAMELESS_H_INCLUDED */
