/*
 * The step protocol's socket: lines of JSON between clients of the same user (the command elastic,
 * a resource manager) and the core.  This file moves lines; the core interprets them.
 *
 * The socket (path: wire/step_socket.h) is made when the first adaptive process has registered, so
 * other jobs make none.  It is removed at exit.  The next mpiexec removes the socket of a killed
 * mpiexec.
 *
 * In a step of a resource manager it is made at once, and its path is sent to the address in the
 * variable ELASTIC_STEP_REGISTER: an abstract Unix datagram socket, its name in hexadecimal.
 *
 * Bounds: CLIENTS_MAX clients, HYD_CORE_LINE_MAX bytes of a line, OUTPUT_MAX bytes that a client
 * has not read; a client that exceeds them is disconnected.  No function blocks: data that a client
 * does not accept at once are sent later.
 */

#include "state.h"
#include "core.h"
#include "socket.h"
#include <dirent.h>
#include <stddef.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "wire/accept.h"
#include "demux.h"
#include "wire/step_socket.h"

#define CLIENTS_MAX 64
#define OUTPUT_MAX (4 * 1024 * 1024)
#define REGISTER_VARIABLE "ELASTIC_STEP_REGISTER"
#define NEW_SOCKET_PREFIX "new-"         /* a name for which no client searches */
/* if mpiexec does not listen within this time, it has failed */
#define NEW_SOCKET_S 60
#define READ_MAX 16384          /* of one client at a time, so that other clients are served */
#define IN_ROOM 65536           /* initial input buffer; it grows for longer lines */

struct client {
    int id;
    int fd;
    int waits_to_write;         /* registered for POLLOUT too */
    char *in;
    size_t in_bytes, in_capacity;   /* in_capacity: at most HYD_CORE_LINE_MAX + 1 */
    char *out;
    size_t out_bytes, out_capacity;
    struct client *next;
};

static struct client *clients = NULL;
static int next_client = 1;
static int listen_fd = -1;
static struct sockaddr_un address = {.sun_family = AF_UNIX };
static char step_id[STEP_ID_MAX] = "";
static pid_t owner = 0;         /* children that call exit() must not remove the socket */

static HYD_status client_cb(int fd, HYD_event_t events, void *userp);

/* ---- clients --------------------------------------------------------------------------------- */

static struct client *find_client(int id)
{
    struct client *c;

    for (c = clients; c && c->id != id; c = c->next);
    return c;
}

static void drop(struct client *c)
{
    struct client **link;

    for (link = &clients; *link != c; link = &(*link)->next);
    *link = c->next;
    HYDT_dmx_deregister_fd(c->fd);
    close(c->fd);
    MPL_free(c->in);
    MPL_free(c->out);
    MPL_free(c);
}

static HYD_status watch(struct client *c, int write_too)
{
    HYD_event_t events = write_too ? HYD_POLLIN | HYD_POLLOUT : HYD_POLLIN;

    c->waits_to_write = write_too;
    return HYDT_dmx_register_fd(1, &c->fd, events, (void *) (size_t) c->id, client_cb);
}

/* Sends what can be sent.  0, or -1 if the client has disconnected. */
static int flush_output(struct client *c)
{
    size_t done = 0;

    while (done < c->out_bytes) {
        ssize_t n = send(c->fd, c->out + done, c->out_bytes - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            return -1;
        if (n < 0)
            break;
        done += (size_t) n;
    }
    memmove(c->out, c->out + done, c->out_bytes - done);
    c->out_bytes -= done;
    if ((c->out_bytes > 0) != c->waits_to_write) {
        HYDT_dmx_deregister_fd(c->fd);
        if (watch(c, c->out_bytes > 0) != HYD_SUCCESS)
            return -1;
    }
    return 0;
}

static int append_line(struct client *c, const char *line)
{
    size_t length = strlen(line), need = c->out_bytes + length + 1;

    if (need > OUTPUT_MAX)
        return -1;
    if (need > c->out_capacity) {
        char *out = MPL_realloc(c->out, need * 2, MPL_MEM_PM);
        if (!out)
            return -1;
        c->out = out;
        c->out_capacity = need * 2;
    }
    memcpy(c->out + c->out_bytes, line, length);
    c->out[c->out_bytes + length] = '\n';
    c->out_bytes = need;
    return 0;
}

/* The next event of a disconnected client detects that; here the core must not be called. */
void HYD_step_reply(int client, const char *line)
{
    struct client *c = find_client(client);

    if (c && (append_line(c, line) < 0 || flush_output(c) < 0))
        shutdown(c->fd, SHUT_RDWR);
}

static void disconnected(int id)
{
    struct client *c = find_client(id);

    if (c)
        drop(c);
    HYD_core_client_disconnected(id);
}

/* Gives complete lines to the core.  The client may have ended after any of them. */
static void take_lines(int id)
{
    struct client *c;
    char *end;

    while ((c = find_client(id)) && (end = memchr(c->in, '\n', c->in_bytes))) {
        char *line = MPL_malloc((size_t) (end - c->in) + 1, MPL_MEM_PM);
        if (!line)
            return;
        memcpy(line, c->in, (size_t) (end - c->in));
        line[end - c->in] = '\0';
        c->in_bytes -= (size_t) (end + 1 - c->in);
        memmove(c->in, end + 1, c->in_bytes);
        HYD_core_client_line(id, line);
        MPL_free(line);
    }
}

/* Whether there is space for more of a line. */
static int grow_input(struct client *c)
{
    size_t capacity =
        c->in_capacity * 2 < HYD_CORE_LINE_MAX + 1 ? c->in_capacity * 2 : HYD_CORE_LINE_MAX + 1;
    char *in;

    if (c->in_bytes < c->in_capacity)
        return 1;
    in = MPL_realloc(c->in, capacity, MPL_MEM_PM);
    if (!in)
        return 0;
    c->in = in;
    c->in_capacity = capacity;
    return 1;
}

static HYD_status client_cb(int fd, HYD_event_t events, void *userp)
{
    int id = (int) (size_t) userp;
    struct client *c = find_client(id);
    size_t capacity;
    ssize_t n;

    if (!c)
        return HYD_SUCCESS;
    if ((events & HYD_POLLOUT) && flush_output(c) < 0)
        goto fn_disconnected;
    if (!(events & (HYD_POLLIN | HYD_POLLHUP)))
        return HYD_SUCCESS;
    if (!grow_input(c))
        goto fn_disconnected;
    capacity = c->in_capacity - c->in_bytes;
    n = recv(c->fd, c->in + c->in_bytes, capacity < READ_MAX ? capacity : READ_MAX, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return HYD_SUCCESS;
    if (n <= 0)
        goto fn_disconnected;
    c->in_bytes += (size_t) n;
    take_lines(id);
    c = find_client(id);
    if (c && c->in_bytes > HYD_CORE_LINE_MAX) {
        HYD_step_reply(id, "{\"type\":\"error\",\"error\":\"line is longer than 4 MiB\"}");
        goto fn_disconnected;
    }
    return HYD_SUCCESS;

  fn_disconnected:
    disconnected(id);
    return HYD_SUCCESS;
}

static int count_clients(void)
{
    int n = 0;

    for (struct client * c = clients; c; c = c->next)
        n++;
    return n;
}

static HYD_status listen_cb(int fd, HYD_event_t events, void *userp)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    int client_fd = HYD_accept(fd, "a client of this step");

    if (client_fd < 0)
        return HYD_SUCCESS;
    struct client *c = MPL_calloc(1, sizeof(*c), MPL_MEM_PM);
    if (!c || count_clients() >= CLIENTS_MAX ||
        getsockopt(client_fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 ||
        (peer.uid != geteuid() && peer.uid != 0) ||
        !(c->in = MPL_malloc(IN_ROOM, MPL_MEM_PM))) {
        close(client_fd);
        MPL_free(c);
        return HYD_SUCCESS;
    }
    c->in_capacity = IN_ROOM;
    c->id = next_client++;
    c->fd = client_fd;
    c->next = clients;
    clients = c;
    if (watch(c, 0) != HYD_SUCCESS)
        drop(c);
    return HYD_SUCCESS;
}

/* ---- the folder and the socket --------------------------------------------------------------- */

/* A new socket refuses connections until its mpiexec listens. */
static int may_be_stale(int folder, const char *name)
{
    char id[STEP_ID_MAX];
    struct stat status;

    if (strncmp(name, NEW_SOCKET_PREFIX, strlen(NEW_SOCKET_PREFIX)) != 0)
        return step_socket_id_of(name, id, sizeof(id));
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_mtime < time(NULL) - NEW_SOCKET_S;
}

static void remove_stale(const char *folder)
{
    char path[STEP_SOCKET_PATH_MAX + sizeof(((struct dirent *) 0)->d_name)];
    struct dirent *entry;
    DIR *dir = opendir(folder);

    while (dir && (entry = readdir(dir))) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (may_be_stale(dirfd(dir), entry->d_name))
            step_socket_remove_stale(path);
    }
    if (dir)
        closedir(dir);
}

static void remove_socket(void)
{
    if (owner && owner == getpid())
        unlink(address.sun_path);
    owner = 0;
}

/* Makes a listening socket with a temporary name.  So a socket with the name of a step accepts
 * connections, or its mpiexec has failed. */
static int listen_aside(const char *folder, struct sockaddr_un *aside)
{
    uint64_t number = 0;
    int fd = -1;

    *aside = (struct sockaddr_un) {.sun_family = AF_UNIX };
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return -1;
    if (snprintf(aside->sun_path, sizeof(aside->sun_path), "%s/" NEW_SOCKET_PREFIX "%08x", folder,
                 (unsigned) number) >= (int) sizeof(aside->sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *) aside, sizeof(*aside)) == 0 &&
        listen(fd, CLIENTS_MAX) == 0)
        return fd;
    int error = errno;
    if (fd >= 0)
        close(fd);
    unlink(aside->sun_path);
    errno = error;
    return -1;
}

/* Renames it to the first name that is free or belongs to an ended mpiexec. */
static int take_name(const char *folder, const char *aside, char *error, size_t error_bytes)
{
    for (int n = 1; n <= STEP_IDS_OF_A_PID; n++) {
        step_socket_id(getpid(), n, step_id, sizeof(step_id));
        if (step_socket_path(folder, step_id, address.sun_path, sizeof(address.sun_path), error,
                             error_bytes) < 0)
            return -1;
        if (link(aside, address.sun_path) == 0 ||
            (errno == EEXIST && step_socket_remove_stale(address.sun_path) &&
             link(aside, address.sun_path) == 0))
            return 0;
        if (errno != EEXIST)
            break;
    }
    MPL_snprintf(error, error_bytes, "unable to name a socket %s (%s)", address.sun_path,
                 MPL_strerror(errno));
    return -1;
}

static int open_socket(char *error, size_t error_bytes)
{
    char folder[STEP_SOCKET_PATH_MAX];
    struct sockaddr_un aside;

    if (step_socket_directory(folder, sizeof(folder), error, error_bytes) < 0 ||
        step_socket_make_directory(folder, error, error_bytes) < 0)
        return -1;
    remove_stale(folder);
    listen_fd = listen_aside(folder, &aside);
    if (listen_fd < 0) {
        MPL_snprintf(error, error_bytes, "unable to listen on a socket in %s (%s)", folder,
                     MPL_strerror(errno));
        return -1;
    }
    int named = take_name(folder, aside.sun_path, error, error_bytes);
    unlink(aside.sun_path);
    if (named < 0)
        return -1;
    owner = getpid();
    atexit(remove_socket);
    return 0;
}

/* Before the socket is made: the id that it will get, unless another mpiexec takes it meanwhile. */
const char *HYD_step_id(void)
{
    char folder[STEP_SOCKET_PATH_MAX], path[STEP_SOCKET_PATH_MAX], error[STEP_SOCKET_ERROR_MAX];

    for (int n = 1; !step_id[0] && n <= STEP_IDS_OF_A_PID; n++) {
        char id[STEP_ID_MAX];
        step_socket_id(getpid(), n, id, sizeof(id));
        if (step_socket_directory(folder, sizeof(folder), error, sizeof(error)) < 0 ||
            step_socket_path(folder, id, path, sizeof(path), error, sizeof(error)) < 0 ||
            access(path, F_OK) < 0 || step_socket_is_stale(path))
            MPL_snprintf(step_id, sizeof(step_id), "%s", id);
    }
    return step_id;
}

int HYD_step_managed(void)
{
    const char *name;

    return MPL_env2str(REGISTER_VARIABLE, &name) && name[0];
}

static int hexadecimal(char digit)
{
    const char *digits = "0123456789abcdef", *found = digit ? strchr(digits, digit) : NULL;

    return found ? (int) (found - digits) : -1;
}

/* The receiving process may have ended: then no process will resize this step, which is no
 * error. */
static void notify_supervisor(void)
{
    struct sockaddr_un supervisor = {.sun_family = AF_UNIX };
    size_t bytes = 1;           /* the zero byte that makes it abstract */
    const char *name;

    if (!HYD_step_managed())
        return;
    MPL_env2str(REGISTER_VARIABLE, &name);
    for (; name[0] && name[1] && bytes < sizeof(supervisor.sun_path); name += 2) {
        int high = hexadecimal(name[0]), low = hexadecimal(name[1]);
        if (high < 0 || low < 0)
            return;
        supervisor.sun_path[bytes++] = (char) (high << 4 | low);
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (sendto(fd, address.sun_path, strlen(address.sun_path), MSG_NOSIGNAL,
               (const struct sockaddr *) &supervisor,
               (socklen_t) (offsetof(struct sockaddr_un, sun_path) + bytes)) < 0 &&
        HYD_server_info.user_global.debug)
        HYDU_dump_noprefix(stdout, "no supervisor to register with: %s\n", MPL_strerror(errno));
    close(fd);
}

void HYD_step_socket_open(void)
{
    static int tried = 0;
    char error[STEP_SOCKET_ERROR_MAX] = "";

    if (tried)
        return;
    tried = 1;
    if (open_socket(error, sizeof(error)) < 0 ||
        HYDT_dmx_register_fd(1, &listen_fd, HYD_POLLIN, NULL, listen_cb) != HYD_SUCCESS) {
        fprintf(stderr, "mpiexec: this step cannot be resized from outside: %s\n", error);
        if (listen_fd >= 0)
            close(listen_fd);
        listen_fd = -1;
        remove_socket();
        return;
    }
    HYD_core_id(step_id);
    notify_supervisor();
}

void HYD_step_socket_close(void)
{
    while (clients)
        drop(clients);
    if (listen_fd >= 0) {
        HYDT_dmx_deregister_fd(listen_fd);
        close(listen_fd);
        listen_fd = -1;
    }
    remove_socket();
}
