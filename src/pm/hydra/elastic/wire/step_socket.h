/*
 * Paths of the step protocol's sockets: one definition for mpiexec, which makes them, and the
 * `elastic` command, which finds them.
 *
 *   ${XDG_RUNTIME_DIR:-/tmp}/elastic-mpich-<uid>/step-<id>.sock
 *
 * The id is mpiexec's process id; if that is in use, because the directory is shared by several pid
 * namespaces (containers), it is <pid>-2, <pid>-3, ...
 *
 * The directory belongs to the user alone (mode 0700).  Any other one is refused, never repaired,
 * because any user may make a name in /tmp.
 *
 * A socket that refuses connections belongs to an ended mpiexec, because sockets get these names
 * only when they listen.  Only the holder of the directory's lock removes such a socket, so that a
 * new socket with the same name is never removed.  Without the lock it remains.  Plain C, also C++;
 * no state.
 */

#ifndef STEP_SOCKET_H_INCLUDED
#define STEP_SOCKET_H_INCLUDED

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

/* The capacity of sockaddr_un.sun_path on Linux, with the zero byte. */
#define STEP_SOCKET_PATH_MAX 108
/* Enough for every message below. */
#define STEP_SOCKET_ERROR_MAX 1024
#define STEP_SOCKET_PREFIX "step-"
#define STEP_SOCKET_SUFFIX ".sock"

/* 0, or -1 with a message. */
static inline int step_socket_directory(char *path, size_t bytes, char *error, size_t error_bytes)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    /* Batch systems pass on the variable of the login node; its directory may exist only there. */
    if (!base || base[0] != '/' || access(base, W_OK | X_OK) != 0)
        base = "/tmp";
    int length = snprintf(path, bytes, "%s/elastic-mpich-%lu", base, (unsigned long) geteuid());
    if (length >= 0 && (size_t) length < bytes)
        return 0;
    snprintf(error, error_bytes, "the path of XDG_RUNTIME_DIR is too long for a socket: "
             "set it to a shorter one");
    return -1;
}

/* Checks that `path` is a directory of this user that no other user may enter. 0, or -1 with a
 * message; errno is ENOENT if there is none. */
static inline int step_socket_check_directory(const char *path, char *error, size_t error_bytes)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        int saved = errno;
        snprintf(error, error_bytes, "%s: %s", path, strerror(saved));
        errno = saved;
        return -1;
    }
    errno = EPERM;
    if (S_ISDIR(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & 077) == 0)
        return 0;
    snprintf(error, error_bytes, "%s is not a directory that you own with mode 0700, so that "
             "others could change it: remove it, or set XDG_RUNTIME_DIR to a directory that you "
             "own",
             path);
    return -1;
}

/* Makes the directory if it is missing.  0, or -1 with a message. */
static inline int step_socket_make_directory(const char *path, char *error, size_t error_bytes)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        snprintf(error, error_bytes, "cannot create %s: %s", path, strerror(errno));
        return -1;
    }
    return step_socket_check_directory(path, error, error_bytes);
}

#define STEP_ID_MAX 32
#define STEP_IDS_OF_A_PID 1000

/* The n-th id that an mpiexec with this pid may have, from 1. */
static inline void step_socket_id(long pid, int n, char *id, size_t bytes)
{
    if (n == 1)
        snprintf(id, bytes, "%ld", pid);
    else
        snprintf(id, bytes, "%ld-%d", pid, n);
}

/* Whether this is the name of a step's socket; sets its id if so. */
static inline int step_socket_id_of(const char *name, char *id, size_t bytes)
{
    size_t prefix = strlen(STEP_SOCKET_PREFIX), suffix = strlen(STEP_SOCKET_SUFFIX),
           length = strlen(name);
    long pid = 0;
    int n = 1;

    if (length <= prefix + suffix || length - prefix - suffix >= bytes ||
        strncmp(name, STEP_SOCKET_PREFIX, prefix) != 0 ||
        strcmp(name + length - suffix, STEP_SOCKET_SUFFIX) != 0)
        return 0;
    snprintf(id, bytes, "%.*s", (int) (length - prefix - suffix), name + prefix);
    char again[STEP_ID_MAX];
    if (sscanf(id, "%ld-%d", &pid, &n) < 1 || pid < 1 || n < 1)
        return 0;
    step_socket_id(pid, n, again, sizeof(again));
    return strcmp(id, again) == 0;
}

/* The socket of the step with this id.  0, or -1 with a message. */
static inline int step_socket_path(const char *directory, const char *id, char *path, size_t bytes,
                                   char *error, size_t error_bytes)
{
    int length = snprintf(path, bytes, "%s/" STEP_SOCKET_PREFIX "%s" STEP_SOCKET_SUFFIX,
                          directory, id);
    if (length >= 0 && (size_t) length < bytes && length < STEP_SOCKET_PATH_MAX)
        return 0;
    snprintf(error, error_bytes, "%s is too long for a socket: set XDG_RUNTIME_DIR to a shorter "
             "path", directory);
    return -1;
}

/* Whether no process listens there any more.  Does not block; false when unknown. */
static inline int step_socket_is_stale(const char *path)
{
    struct sockaddr_un address;
    memset(&address, 0, sizeof(address));
    address.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof(address.sun_path))
        return 0;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return 0;
    int stale = connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0 &&
                errno == ECONNREFUSED;
    close(fd);
    return stale;
}

/* Removes the socket of an ended mpiexec. 1: the socket does not exist any more; else 0. */
static inline int step_socket_remove_stale(const char *path)
{
    char directory[STEP_SOCKET_PATH_MAX];
    const char *slash = strrchr(path, '/');
    int removed = 0;

    if (!slash || (size_t) (slash - path) >= sizeof(directory))
        return 0;
    snprintf(directory, sizeof(directory), "%.*s", (int) (slash - path), path);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        removed = step_socket_is_stale(path) && unlink(path) == 0;
    if (fd >= 0)
        close(fd);
    return removed;
}

#endif /* STEP_SOCKET_H_INCLUDED */
