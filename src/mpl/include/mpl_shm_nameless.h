/*
 * Shared segments that end with their processes, whatever ends these.  MPL's segments are files of /dev/shm
 * whose names are removed when all have attached; who is killed before that leaves the file.  Where
 * MPL_shm_nameless is set, a new segment is a memfd, and its handle the path of the creator's descriptor,
 * /proc/PID/fd/N, which others of the same user open like any file.  The creator keeps the descriptor until
 * MPL_shm_seg_remove.  Hooks of mpl_shm_mmap.c.
 */

#ifndef MPL_SHM_NAMELESS_H_INCLUDED
#define MPL_SHM_NAMELESS_H_INCLUDED

#include "mpl.h"

/* Set before the first segment is made; processes of both kinds can attach to each other's. */
extern int MPL_shm_nameless;

#ifdef MPL_USE_MMAP_SHM

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* In the flags of the creator's handle. */
#define MPLI_SHM_FLAG_NAMELESS 0x10000

/* Makes a nameless segment.  Nonzero if it was made; else one with a name is wanted, or the best that the
 * system can do (no memfd, no /proc that shows us). */
static inline int MPLI_shm_nameless_create(MPL_shm_hnd_t hnd, intptr_t bytes)
{
    char path[MPLI_SHM_GHND_SZ];

    if (!MPL_shm_nameless)
        return 0;
    MPLI_shm_lhnd_close(hnd);   /* of a segment that not all could attach to */
    hnd->flag &= ~MPLI_SHM_FLAG_NAMELESS;
    int fd = memfd_create("mpich-shar", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) getpid(), fd);
    if (ftruncate(fd, bytes) || access(path, R_OK | W_OK) ||
        MPLI_shm_ghnd_alloc(hnd, MPL_MEM_SHM) != MPL_SUCCESS) {
        close(fd);
        return 0;
    }
    MPLI_shm_ghnd_set_by_val(hnd, "%s", path);
    MPLI_shm_lhnd_set(hnd, fd);
    hnd->flag |= MPLI_SHM_FLAG_NAMELESS;
    return 1;
}

/* Whether the handle's descriptor is what holds a segment. */
static inline int MPLI_shm_nameless_keeps(MPL_shm_hnd_t hnd)
{
    return hnd->flag & MPLI_SHM_FLAG_NAMELESS;
}

#endif /* MPL_USE_MMAP_SHM */

#endif /* MPL_SHM_NAMELESS_H_INCLUDED */
