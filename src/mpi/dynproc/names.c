/* See dynproc_names.h.  State: the names that this process has reserved. */

#include "dynproc_names.h"
#include "dynproc.h"
#include "../../pm/hydra/elastic/wire/step_socket.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/random.h>

#define SECRET_DIGITS 64
#define SECRET_VARIABLE "MPIEXEC_SECRET_FILE"
#define BACKLOG 4096
#define TRIES 100
#define RESERVED_MAX 1024
#define SWEEP_MAX 1024          /* names that one server checks */

struct reserved {
    char name[MPIR_DYNPROC_NAME + 1];   /* elasticd knows it; else empty: */
    char path[MPIR_DYNPROC_PATH];       /* of the locked file */
    int lock_fd;
    struct reserved *next;
};

static struct reserved *reserved;
static int n_reserved;

/* ---- what is in a name ---------------------------------------------------------------------------------------- */

static bool is_well_formed(const char *name)
{
    size_t length = strnlen(name, MPIR_DYNPROC_NAME + 1);

    for (size_t i = 0; i < length; i++) {
        if ((unsigned char) name[i] < ' ' || name[i] == 0x7f)
            return false;
    }
    return length >= 1 && length <= MPIR_DYNPROC_NAME;
}

/* HOST:PORT: a number of at most 65535 follows the last colon, the name of a host precedes it. */
static bool has_port(struct MPIR_Dynproc_endpoint *endpoint)
{
    const char *colon = strrchr(endpoint->name, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    char *host = endpoint->host;

    if (!colon || colon == endpoint->name || digits < 1 || digits > 5 || colon[1 + digits])
        return false;
    snprintf(host, sizeof(endpoint->host), "%.*s", (int) (colon - endpoint->name), endpoint->name);
    if (host[0] == '[' && host[strlen(host) - 1] == ']') {
        memmove(host, host + 1, strlen(host));
        host[strlen(host) - 1] = '\0';
    }
    endpoint->port = atoi(colon + 1);
    return endpoint->port <= 65535 && host[0] && !host[strspn(host, "0123456789abcdefghijklmnopqrstuvwxyz"
                                                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-_:%")];
}

/* ---- the user's private directory ------------------------------------------------------------------------------ */

/* Of a name of any characters; the name itself goes into each hello, so that two of the same sum are distinguished. */
static uint64_t sum_of(const char *name)
{
    uint64_t sum = 0xcbf29ce484222325u;

    for (; *name; name++)
        sum = (sum ^ (unsigned char) *name) * 0x100000001b3u;
    return sum;
}

static bool private_directory(char *path, size_t bytes, char *why)
{
    char error[STEP_SOCKET_ERROR_MAX];

    if (step_socket_directory(path, bytes, error, sizeof(error)) == 0 &&
        step_socket_make_directory(path, error, sizeof(error)) == 0)
        return true;
    snprintf(why, MPIR_DYNPROC_WHY, "%.*s", MPIR_DYNPROC_WHY - 1, error);
    return false;
}

static bool find_in_directory(struct MPIR_Dynproc_endpoint *endpoint, char *why)
{
    char directory[MPIR_DYNPROC_PATH];

    if (!private_directory(directory, sizeof(directory), why))
        return false;
    int length = snprintf(endpoint->path, sizeof(endpoint->path), "%s/name-%016llx.sock", directory,
                          (unsigned long long) sum_of(endpoint->name));
    if (length > 0 && length < (int) sizeof(endpoint->path))
        return true;
    snprintf(why, MPIR_DYNPROC_WHY, "set XDG_RUNTIME_DIR to a shorter path");
    return false;
}

/* ---- the user's secret ----------------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The key used here is derived from the secret, which mpiexec and the node daemons may have as well. */
static bool parse_secret(const char *text, ssize_t length, unsigned char secret[MPIR_DYNPROC_SEAL])
{
    unsigned char bytes[SECRET_DIGITS / 2];

    if (length < SECRET_DIGITS)
        return false;
    for (int i = 0; i < SECRET_DIGITS / 2; i++) {
        int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (unsigned char) (high * 16 + low);
    }
    MPIR_Dynproc_seal(bytes, bytes + MPIR_DYNPROC_SEAL, MPIR_DYNPROC_SEAL, secret);
    return true;
}

static bool read_secret(const char *path, unsigned char secret[MPIR_DYNPROC_SEAL], char *why)
{
    struct stat status;
    char text[SECRET_DIGITS];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool is_read = false;

    if (fd < 0) {
        snprintf(why, MPIR_DYNPROC_WHY, "%.150s: %.80s", path, strerror(errno));
        return false;
    }
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077))
        snprintf(why, MPIR_DYNPROC_WHY, "%.150s is not a file of yours that nobody else may read (chmod 600)", path);
    else if (!(is_read = parse_secret(text, read(fd, text, sizeof(text)), secret)))
        snprintf(why, MPIR_DYNPROC_WHY, "%.150s does not begin with %d hexadecimal digits in small letters", path,
                 SECRET_DIGITS);
    close(fd);
    return is_read;
}

/* Made whole under another name, then linked: who comes second finds the first one's.  0 or an error. */
static int make_secret(const char *path)
{
    unsigned char bytes[SECRET_DIGITS / 2];
    char text[SECRET_DIGITS + 2], fresh[MPIR_DYNPROC_PATH + 32];
    int error = 0;

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return errno;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    text[SECRET_DIGITS] = '\n';
    snprintf(fresh, sizeof(fresh), "%s.%ld", path, (long) getpid());
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    ssize_t written = write(fd, text, SECRET_DIGITS + 1);
    if (written != SECRET_DIGITS + 1)
        error = written < 0 ? errno : ENOSPC;
    else if (link(fresh, path) != 0 && errno != EEXIST)
        error = errno;
    close(fd);
    unlink(fresh);
    return error;
}

static bool get_secret(unsigned char secret[MPIR_DYNPROC_SEAL], char *why)
{
    const char *given = getenv(SECRET_VARIABLE);
    char path[MPIR_DYNPROC_PATH], directory[MPIR_DYNPROC_PATH - 16];

    if (given && given[0])
        return read_secret(given, secret, why);
    if (!private_directory(directory, sizeof(directory), why))
        return false;
    snprintf(path, sizeof(path), "%s/secret", directory);
    int error = access(path, F_OK) != 0 ? make_secret(path) : 0;
    if (error) {
        snprintf(why, MPIR_DYNPROC_WHY, "%.150s cannot be made: %.80s", path, strerror(error));
        return false;
    }
    return read_secret(path, secret, why);
}

/* ---- where a name is ------------------------------------------------------------------------------------------- */

static void set_port(struct MPIR_Dynproc_endpoint *endpoint, int port)
{
    endpoint->port = port;
    if (endpoint->address.ss_family == AF_INET6)
        ((struct sockaddr_in6 *) &endpoint->address)->sin6_port = htons((uint16_t) port);
    else
        ((struct sockaddr_in *) &endpoint->address)->sin_port = htons((uint16_t) port);
}

static bool resolve_host(struct MPIR_Dynproc_endpoint *endpoint, char *why)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,.ai_socktype = SOCK_STREAM }, *found = NULL;
    int failed = getaddrinfo(endpoint->host, NULL, &hints, &found);

    if (failed || !found || found->ai_addrlen > sizeof(endpoint->address)) {
        snprintf(why, MPIR_DYNPROC_WHY, "host %.100s: %.100s", endpoint->host,
                 failed ? gai_strerror(failed) : "no address");
        if (found)
            freeaddrinfo(found);
        return false;
    }
    memcpy(&endpoint->address, found->ai_addr, found->ai_addrlen);
    endpoint->address_bytes = found->ai_addrlen;
    freeaddrinfo(found);
    set_port(endpoint, endpoint->port);
    return true;
}

static void set_path(struct MPIR_Dynproc_endpoint *endpoint)
{
    struct sockaddr_un *address = (struct sockaddr_un *) &endpoint->address;

    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, endpoint->path, sizeof(endpoint->path));
    endpoint->address_bytes = sizeof(*address);
}

int MPIR_Dynproc_find(const char *name, struct MPIR_Dynproc_endpoint *endpoint)
{
    int mpi_errno = MPI_SUCCESS;
    char why[MPIR_DYNPROC_WHY] = "";

    MPIR_Assert(sizeof(endpoint->path) == sizeof(((struct sockaddr_un *) 0)->sun_path));
    memset(endpoint, 0, sizeof(*endpoint));
    MPIR_ERR_CHKANDJUMP(!name || !is_well_formed(name), mpi_errno, MPI_ERR_ARG, "**dynprocname");
    snprintf(endpoint->name, sizeof(endpoint->name), "%s", name);
    endpoint->on_network = has_port(endpoint);
    if (endpoint->on_network) {
        MPIR_ERR_CHKANDJUMP1(!get_secret(endpoint->secret, why), mpi_errno, MPI_ERR_PORT, "**dynprocsecret",
                             "**dynprocsecret %s", why);
        MPIR_ERR_CHKANDJUMP2(!resolve_host(endpoint, why), mpi_errno, MPI_ERR_PORT, "**dynprocserver",
                             "**dynprocserver %s %s", endpoint->name, why);
    } else if (MPIR_Dynproc_has_name_service()) {
        endpoint->on_network = endpoint->by_service = true;
    } else {
        MPIR_ERR_CHKANDJUMP2(!find_in_directory(endpoint, why), mpi_errno, MPI_ERR_NAME, "**dynprocserver",
                             "**dynprocserver %s %s", endpoint->name, why);
        set_path(endpoint);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- reservations ---------------------------------------------------------------------------------------------- */

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

    if (!private_directory(directory, sizeof(directory), why))
        return false;
    return snprintf(path, bytes, "%s/name-%016llx.job", directory,
                    (unsigned long long) sum_of(endpoint->name)) < (int) bytes;
}

/* Whether a process of another job, which lives, has reserved the name. */
static bool is_reserved(const struct MPIR_Dynproc_endpoint *endpoint)
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

/* 0 or an error; EWOULDBLOCK: it is somebody else's. */
static int write_reservation(int fd)
{
    char job[256];

    write_job(job, sizeof(job));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || ftruncate(fd, 0) != 0)
        return errno;
    ssize_t written = write(fd, job, strlen(job));
    return written == (ssize_t) strlen(job) ? 0 : written < 0 ? errno : ENOSPC;
}

static void remember(struct reserved *entry)
{
    entry->next = reserved;
    reserved = entry;
    n_reserved++;
}

static bool reserve_by_service(const struct MPIR_Dynproc_endpoint *endpoint)
{
    struct reserved *entry = n_reserved < RESERVED_MAX ? MPL_calloc(1, sizeof(*entry), MPL_MEM_OTHER) : NULL;

    if (!entry || !MPIR_Dynproc_reserve(endpoint->name)) {
        MPL_free(entry);
        return false;
    }
    entry->lock_fd = -1;
    snprintf(entry->name, sizeof(entry->name), "%s", endpoint->name);
    remember(entry);
    return true;
}

/* The directory is locked by the caller: nobody makes or removes a reservation meanwhile. */
static bool reserve(const struct MPIR_Dynproc_endpoint *endpoint, char *why)
{
    struct reserved *entry = n_reserved < RESERVED_MAX ? MPL_calloc(1, sizeof(*entry), MPL_MEM_OTHER) : NULL;
    int error = ENAMETOOLONG;

    if (!entry)
        return false;
    entry->lock_fd = -1;
    if (reservation_path(endpoint, entry->path, sizeof(entry->path))) {
        entry->lock_fd = open(entry->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        error = entry->lock_fd < 0 ? errno : write_reservation(entry->lock_fd);
    }
    if (!error) {
        remember(entry);
        return true;
    }
    if (error != EWOULDBLOCK)
        snprintf(why, MPIR_DYNPROC_WHY, "%.150s cannot be written: %.80s", entry->path, strerror(error));
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
    while (reserved) {
        struct reserved *entry = reserved;
        reserved = entry->next;
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

/* ---- listening ------------------------------------------------------------------------------------------------- */

/* Taken for moments only, so to wait for it is no wait. */
static int lock_directory(void)
{
    char directory[MPIR_DYNPROC_PATH], why[MPIR_DYNPROC_WHY];
    int fd = private_directory(directory, sizeof(directory), why) ?
        open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR);
    return fd;
}

static void unlock_directory(int fd)
{
    if (fd >= 0)
        close(fd);
}

static bool is_local(const struct MPIR_Dynproc_endpoint *endpoint)
{
    struct MPIR_Dynproc_endpoint any_port = *endpoint;
    int fd = socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    set_port(&any_port, 0);
    bool local = fd >= 0 && bind(fd, (struct sockaddr *) &any_port.address, any_port.address_bytes) == 0;
    if (fd >= 0)
        close(fd);
    return local;
}

/* The name of a host may lead to an address that only this host knows (127.0.1.1): then clients elsewhere could not
 * come, so a server listens on all addresses unless its name has a particular one. */
static void widen(struct MPIR_Dynproc_endpoint *endpoint)
{
    unsigned char numeric[sizeof(struct in6_addr)];

    if (!strcmp(endpoint->host, "localhost") || inet_pton(endpoint->address.ss_family, endpoint->host, numeric) == 1)
        return;
    if (endpoint->address.ss_family == AF_INET6)
        ((struct sockaddr_in6 *) &endpoint->address)->sin6_addr = in6addr_any;
    else
        ((struct sockaddr_in *) &endpoint->address)->sin_addr.s_addr = htonl(INADDR_ANY);
}

static void read_port(struct MPIR_Dynproc_endpoint *endpoint, int fd)
{
    struct sockaddr_storage got;
    socklen_t bytes = sizeof(got);

    if (getsockname(fd, (struct sockaddr *) &got, &bytes) == 0)
        set_port(endpoint, ntohs(got.ss_family == AF_INET6 ? ((struct sockaddr_in6 *) &got)->sin6_port :
                                 ((struct sockaddr_in *) &got)->sin_port));
}

/* 0, or errno. */
static int listen_on_network(struct MPIR_Dynproc_endpoint *endpoint, int *fd)
{
    int yes = 1;

    if (!is_local(endpoint))
        return EADDRNOTAVAIL;
    widen(endpoint);
    *fd = socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0)
        return errno;
    setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(*fd, (struct sockaddr *) &endpoint->address, endpoint->address_bytes) == 0 && listen(*fd, BACKLOG) == 0) {
        read_port(endpoint, *fd);
        return 0;
    }
    int failed = errno;
    close(*fd);
    return failed;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);

    return length >= strlen(end) && !strcmp(text + length - strlen(end), end);
}

/* A reservation is locked as long as its process lives. */
static bool is_held(const char *path)
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
    return (ends_with(name, ".sock") && step_socket_is_stale(path)) || (ends_with(name, ".job") && !is_held(path));
}

/* Processes that were killed have left their names.  The lock is held: nobody is making one. */
static void sweep_directory(void)
{
    char directory[MPIR_DYNPROC_PATH - 28], path[MPIR_DYNPROC_PATH], why[MPIR_DYNPROC_WHY];
    DIR *names = private_directory(directory, sizeof(directory), why) ? opendir(directory) : NULL;

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

static int listen_in_directory(struct MPIR_Dynproc_endpoint *endpoint, int *fd)
{
    sweep_directory();
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0)
        return errno;
    if (bind(*fd, (struct sockaddr *) &endpoint->address, endpoint->address_bytes) == 0 && listen(*fd, BACKLOG) == 0)
        return 0;
    int failed = errno;
    close(*fd);
    return failed;
}

int MPIR_Dynproc_listen(struct MPIR_Dynproc_endpoint *endpoint, int *fd)
{
    int mpi_errno = MPI_SUCCESS, failed, lock_fd = lock_directory();
    const char *why;

    if (is_reserved(endpoint))
        failed = EADDRINUSE;
    else
        failed = endpoint->on_network ? listen_on_network(endpoint, fd) : listen_in_directory(endpoint, fd);
    unlock_directory(lock_fd);
    if (failed == EADDRNOTAVAIL)
        why = "this host has another name; HOST is where the server's rank 0 runs";
    else
        why = failed == EADDRINUSE ? "another server has it" : strerror(failed);
    MPIR_ERR_CHKANDJUMP2(failed == EADDRINUSE, mpi_errno, MPI_ERR_SERVICE, "**dynprocserver",
                         "**dynprocserver %s %s", endpoint->name, why);
    MPIR_ERR_CHKANDJUMP2(failed, mpi_errno, MPI_ERR_PORT, "**dynprocserver", "**dynprocserver %s %s", endpoint->name,
                         why);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Dynproc_close(const struct MPIR_Dynproc_endpoint *endpoint, int fd)
{
    int lock_fd = endpoint->on_network ? -1 : lock_directory();

    close(fd);
    /* not one that somebody has put there since */
    if (!endpoint->on_network && step_socket_is_stale(endpoint->path))
        unlink(endpoint->path);
    unlock_directory(lock_fd);
}

/* ---- MPIX_Get_server_name -------------------------------------------------------------------------------------- */

/* `why` is written if that does not depend on the name. */
static bool try_name(const char *name, char given[], char *why)
{
    struct MPIR_Dynproc_endpoint endpoint;
    int fd = -1;

    if (MPIR_Dynproc_find(name, &endpoint) != MPI_SUCCESS)
        return false;
    if (endpoint.by_service) {
        bool is_reserved_now = reserve_by_service(&endpoint);
        if (is_reserved_now)
            snprintf(given, MPI_MAX_PORT_NAME, "%s", endpoint.name);
        return is_reserved_now;
    }
    if (MPIR_Dynproc_listen(&endpoint, &fd) != MPI_SUCCESS)
        return false;
    if (endpoint.on_network)
        snprintf(endpoint.name, sizeof(endpoint.name), strchr(endpoint.host, ':') ? "[%.190s]:%d" : "%.190s:%d",
                 endpoint.host,
                 endpoint.port);
    int lock_fd = lock_directory();
    close(fd);
    if (!endpoint.on_network)
        unlink(endpoint.path);
    bool is_given = reserve(&endpoint, why);
    unlock_directory(lock_fd);
    if (is_given)
        snprintf(given, MPI_MAX_PORT_NAME, "%s", endpoint.name);
    return is_given;
}

int MPIR_Get_server_name_impl(const char *requested, char given[])
{
    int mpi_errno = MPI_SUCCESS;
    char name[MPIR_DYNPROC_NAME + 1], why[MPIR_DYNPROC_WHY] = "there is no other name, either";

    MPIR_ERR_CHKANDJUMP1(!requested, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s", "requested_name");
    MPIR_ERR_CHKANDJUMP1(!given, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s", "given_name");
    MPIR_Dynproc_at_finalize();
    if (try_name(requested, given, why))
        goto fn_exit;
    for (int i = 1; i <= TRIES; i++) {
        snprintf(name, sizeof(name), "%.160s-%ld-%d", is_well_formed(requested) ? requested : "server",
                 (long) getpid(), i);
        if (try_name(name, given, why))
            goto fn_exit;
    }
    MPIR_ERR_SETANDJUMP2(mpi_errno, MPI_ERR_SERVICE, "**dynprocserver", "**dynprocserver %s %s", name, why);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
