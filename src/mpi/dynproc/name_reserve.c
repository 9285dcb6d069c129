/*
 * Names that are reserved for this job (MPIX_Get_server_name): in a locked file of the user's
 * private directory, or by elasticd.  State: those that this process has reserved.
 */

#include "dynproc_names.h"
#include <sys/file.h>

#define RESERVED_MAX 1024

struct reserved_name {
    char name[MPIR_DYNPROC_NAME + 1];   /* reserved by elasticd; else empty: */
    char path[MPIR_DYNPROC_PATH];       /* of the locked file */
    int lock_fd;
    struct reserved_name *next;
};

static struct reserved_name *reserved_names;
static int n_reserved;

/* A value that all processes of this job have, and no other process. */
static void write_job(char *job, size_t bytes)
{
    if (getenv("PMI_FD") || getenv("PMI_PORT"))
        snprintf(job, bytes, "%s", MPIR_pmi_job_id());
    else
        snprintf(job, bytes, "process %ld", (long) getpid());
}

static bool reservation_path(const struct MPIR_Dynproc_endpoint *endpoint, char *path, size_t bytes)
{
    char directory[MPIR_DYNPROC_PATH], why[MPIR_DYNPROC_WHY];

    if (!MPIR_Dynproc_private_directory(directory, sizeof(directory), why))
        return false;
    return snprintf(path, bytes, "%s/name-%016llx.job", directory,
                    (unsigned long long) MPIR_Dynproc_name_sum(endpoint->name)) < (int) bytes;
}

/* Whether a living process of another job has reserved the name. */
bool MPIR_Dynproc_is_reserved(const struct MPIR_Dynproc_endpoint *endpoint)
{
    char path[MPIR_DYNPROC_PATH], job[256] = "", owner[256] = "";
    int fd = reservation_path(endpoint, path, sizeof(path)) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool held = false;

    if (fd < 0)
        return false;
    if (flock(fd, LOCK_SH | LOCK_NB) != 0) {
        ssize_t length = read(fd, owner, sizeof(owner) - 1);
        write_job(job, sizeof(job));
        held = length <= 0 || strcmp(owner, job) != 0;
    }
    close(fd);
    return held;
}

/* Returns 0 or an error; EWOULDBLOCK: another process has it. */
static int write_reserved_file(int fd)
{
    char job[256];

    write_job(job, sizeof(job));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || ftruncate(fd, 0) != 0)
        return errno;
    ssize_t written = write(fd, job, strlen(job));
    return written == (ssize_t) strlen(job) ? 0 : written < 0 ? errno : ENOSPC;
}

static void note_reserved(struct reserved_name *entry)
{
    entry->next = reserved_names;
    reserved_names = entry;
    n_reserved++;
}

bool MPIR_Dynproc_reserve_by_service(const struct MPIR_Dynproc_endpoint *endpoint)
{
    struct reserved_name *entry =
        n_reserved < RESERVED_MAX ? MPL_calloc(1, sizeof(*entry), MPL_MEM_OTHER) : NULL;

    if (!entry || !MPIR_Dynproc_reserve(endpoint->name)) {
        MPL_free(entry);
        return false;
    }
    entry->lock_fd = -1;
    snprintf(entry->name, sizeof(entry->name), "%s", endpoint->name);
    note_reserved(entry);
    return true;
}

/* The caller has locked the directory: no reservation is made or removed meanwhile. */
bool MPIR_Dynproc_reserve_here(const struct MPIR_Dynproc_endpoint *endpoint, char *why)
{
    struct reserved_name *entry =
        n_reserved < RESERVED_MAX ? MPL_calloc(1, sizeof(*entry), MPL_MEM_OTHER) : NULL;
    int error = ENAMETOOLONG;

    if (!entry)
        return false;
    entry->lock_fd = -1;
    if (reservation_path(endpoint, entry->path, sizeof(entry->path))) {
        entry->lock_fd = open(entry->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        error = entry->lock_fd < 0 ? errno : write_reserved_file(entry->lock_fd);
    }
    if (!error) {
        note_reserved(entry);
        return true;
    }
    if (error != EWOULDBLOCK)
        snprintf(why, MPIR_DYNPROC_WHY, "%.150s cannot be written: %.80s", entry->path,
                 strerror(error));
    if (entry->lock_fd >= 0) {
        if (error != EWOULDBLOCK)
            unlink(entry->path);
        close(entry->lock_fd);
    }
    MPL_free(entry);
    return false;
}

void MPIR_Dynproc_release_names(void)
{
    while (reserved_names) {
        struct reserved_name *entry = reserved_names;
        reserved_names = entry->next;
        if (entry->name[0]) {
            MPIR_Dynproc_end_reservation(entry->name);
        } else {
            unlink(entry->path);
            close(entry->lock_fd);
        }
        MPL_free(entry);
    }
    n_reserved = 0;
}
