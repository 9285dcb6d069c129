/*
 * Where the step protocol's sockets are: one definition for mpiexec, which makes them, and the
 * `elastic` command, which finds them.
 *
 *   ${XDG_RUNTIME_DIR:-/tmp}/elastic-mpich-<uid>/step-<pid>.sock
 *
 * The directory belongs to the user alone (mode 0700); one that does not (anybody may make a name
 * in /tmp) is refused, never repaired.  Plain C, also C++; no state.
 */

#ifndef STEP_SOCKET_H_INCLUDED
#define STEP_SOCKET_H_INCLUDED

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* What fits into sockaddr_un.sun_path on Linux, with the zero byte. */
#define STEP_SOCKET_PATH_MAX 108
/* Enough for every message below. */
#define STEP_SOCKET_ERROR_MAX 1024
#define STEP_SOCKET_PREFIX "step-"
#define STEP_SOCKET_SUFFIX ".sock"

/* 0, or -1 with a message. */
static inline int step_socket_directory(char *path, size_t bytes, char *error, size_t error_bytes)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    /* Batch systems hand on the variable of the login node, where the directory may be the only one. */
    if (!base || base[0] != '/' || access(base, W_OK | X_OK) != 0)
        base = "/tmp";
    int length = snprintf(path, bytes, "%s/elastic-mpich-%lu", base, (unsigned long) geteuid());
    if (length >= 0 && (size_t) length < bytes)
        return 0;
    snprintf(error, error_bytes, "the path of XDG_RUNTIME_DIR is too long for a socket: "
             "set it to a shorter one");
    return -1;
}

/* 0, or -1 with a message: whether `path` is a directory of ours that nobody else may enter.
 * errno is ENOENT when there is none. */
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
    snprintf(error, error_bytes, "%s is not a directory of yours with mode 0700, so that others "
             "could meddle with it: remove it, or set XDG_RUNTIME_DIR to a directory of yours",
             path);
    return -1;
}

/* Makes the directory where it is missing.  0, or -1 with a message. */
static inline int step_socket_make_directory(const char *path, char *error, size_t error_bytes)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        snprintf(error, error_bytes, "cannot make %s: %s", path, strerror(errno));
        return -1;
    }
    return step_socket_check_directory(path, error, error_bytes);
}

/* The socket of the step whose mpiexec has this pid.  0, or -1 with a message. */
static inline int step_socket_path(const char *directory, long pid, char *path, size_t bytes,
                                   char *error, size_t error_bytes)
{
    int length = snprintf(path, bytes, "%s/" STEP_SOCKET_PREFIX "%ld" STEP_SOCKET_SUFFIX,
                          directory, pid);
    if (length >= 0 && (size_t) length < bytes && length < STEP_SOCKET_PATH_MAX)
        return 0;
    snprintf(error, error_bytes, "%s is too long for a socket: set XDG_RUNTIME_DIR to a shorter "
             "path", directory);
    return -1;
}

#endif /* STEP_SOCKET_H_INCLUDED */
