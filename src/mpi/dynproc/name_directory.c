/*
 * The user's private directory of this host, where the names of servers are sockets
 * (dynproc_names.h): its path, its lock, and the removal of files of killed processes.  No state.
 */

#include "dynproc_names.h"
#include "../../pm/hydra/elastic/wire/step_socket.h"
#include <dirent.h>
#include <sys/file.h>

#define SWEEP_MAX 1024          /* names that one server checks */

/* Hash of a name of any characters.  Each hello contains the name, so that two names with the same
 * hash are distinguished. */
uint64_t MPIR_Dynproc_name_sum(const char *name)
{
    uint64_t sum = 0xcbf29ce484222325u;

    for (; *name; name++)
        sum = (sum ^ (unsigned char) *name) * 0x100000001b3u;
    return sum;
}

bool MPIR_Dynproc_private_directory(char *path, size_t bytes, char *why)
{
    char error[STEP_SOCKET_ERROR_MAX];

    if (step_socket_directory(path, bytes, error, sizeof(error)) == 0 &&
        step_socket_make_directory(path, error, sizeof(error)) == 0)
        return true;
    snprintf(why, MPIR_DYNPROC_WHY, "%.*s", MPIR_DYNPROC_WHY - 1, error);
    return false;
}

bool MPIR_Dynproc_find_in_directory(struct MPIR_Dynproc_endpoint *endpoint, char *why)
{
    char directory[MPIR_DYNPROC_PATH];

    if (!MPIR_Dynproc_private_directory(directory, sizeof(directory), why))
        return false;
    int length = snprintf(endpoint->path, sizeof(endpoint->path), "%s/name-%016llx.sock", directory,
                          (unsigned long long) MPIR_Dynproc_name_sum(endpoint->name));
    if (length > 0 && length < (int) sizeof(endpoint->path))
        return true;
    snprintf(why, MPIR_DYNPROC_WHY, "set XDG_RUNTIME_DIR to a shorter path");
    return false;
}

/* ---- the lock -------------------------------------------------------------------------------- */

/* The lock is held only for a short time, so that waiting for it is acceptable. */
int MPIR_Dynproc_lock_directory(void)
{
    char directory[MPIR_DYNPROC_PATH], why[MPIR_DYNPROC_WHY];
    int fd = MPIR_Dynproc_private_directory(directory, sizeof(directory), why) ?
        open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR);
    return fd;
}

void MPIR_Dynproc_unlock_directory(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* ---- remaining files ------------------------------------------------------------------------- */

static bool name_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);

    return length >= strlen(end) && !strcmp(text + length - strlen(end), end);
}

/* A reservation is locked as long as its process lives. */
static bool is_reservation_held(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool held = fd < 0 || flock(fd, LOCK_SH | LOCK_NB) != 0;

    if (fd >= 0)
        close(fd);
    return held;
}

static bool is_leftover(const char *name, const char *path)
{
    if (strncmp(name, "name-", 5))
        return false;
    return (name_ends_with(name, ".sock") && step_socket_is_stale(path)) ||
        (name_ends_with(name, ".job") && !is_reservation_held(path));
}

/* Removes the names of killed processes.  The caller holds the lock, so that no name is being
 * made. */
void MPIR_Dynproc_sweep_directory(void)
{
    char directory[MPIR_DYNPROC_PATH - 28], path[MPIR_DYNPROC_PATH], why[MPIR_DYNPROC_WHY];
    DIR *names =
        MPIR_Dynproc_private_directory(directory, sizeof(directory),
                                       why) ? opendir(directory) : NULL;

    for (int i = 0; names && i < SWEEP_MAX; i++) {
        struct dirent *entry = readdir(names);
        if (!entry)
            break;
        snprintf(path, sizeof(path), "%s/%.26s", directory, entry->d_name);
        if (is_leftover(entry->d_name, path))
            unlink(path);
    }
    if (names)
        closedir(names);
}
