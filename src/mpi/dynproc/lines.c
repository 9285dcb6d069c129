/* See dynproc_lines.h. */

#include "dynproc_lines.h"
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>

#define KEY_BYTES (MPIR_DYNPROC_NUMBER + 4) /* the number, and the rank of the connecting process */
#define REFUSED_SECONDS 2.0     /* after a refusal on one way; another way may be accepted */
#define LOST_SECONDS 5.0        /* after the last contact with a process */
#define ABSENT_SECONDS 30.0     /* if no process was ever reached */
#define EVENTS 64               /* of one poll */

enum line_state {
    COMING,                     /* to the listening process */
    AWAITED,                    /* by the listening process */
    OPEN
};

struct MPIR_Dynproc_line {
    enum line_state state;
    struct MPIR_Dynproc_lines *all;
    unsigned char key[KEY_BYTES];
    struct MPIR_Dynproc_ways ways;      /* COMING */
    double since;
    int fd;
    struct MPIR_Dynproc_line *next, *next_awaited;
};

static struct MPIR_Dynproc_line *awaited;
static char where[MPIR_DYNPROC_PARENT]; /* addresses of the listener */
static int epoll_fd = -1;

/* ---- each line ------------------------------------------------------------------------------- */

struct MPIR_Dynproc_lines *MPIR_Dynproc_lines_new(void)
{
    return MPL_calloc(1, sizeof(struct MPIR_Dynproc_lines), MPL_MEM_OTHER);
}

static struct MPIR_Dynproc_line *new_line(struct MPIR_Dynproc_lines *all, enum line_state state)
{
    struct MPIR_Dynproc_line *line = MPL_calloc(1, sizeof(*line), MPL_MEM_OTHER);

    if (!line)
        return NULL;
    line->state = state;
    line->all = all;
    line->since = MPIR_Dynproc_now();
    line->fd = -1;
    line->next = all->first;
    all->first = line;
    all->making += state != OPEN;
    if (state == AWAITED) {
        line->next_awaited = awaited;
        awaited = line;
    }
    return line;
}

static void await_no_more(struct MPIR_Dynproc_line *line)
{
    for (struct MPIR_Dynproc_line ** cursor = &awaited; *cursor;
         cursor = &(*cursor)->next_awaited) {
        if (*cursor == line) {
            *cursor = line->next_awaited;
            break;
        }
    }
}

static void drop(struct MPIR_Dynproc_line *line, bool with_farewell)
{
    for (struct MPIR_Dynproc_line ** cursor = &line->all->first; *cursor;
         cursor = &(*cursor)->next) {
        if (*cursor == line) {
            *cursor = line->next;
            break;
        }
    }
    line->all->making -= line->state != OPEN;
    if (line->state == AWAITED)
        await_no_more(line);
    MPIR_Dynproc_free_ways(&line->ways);
    if (line->fd >= 0 && with_farewell)
        (void) !send(line->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (line->fd >= 0)
        close(line->fd);
    MPL_free(line);
}

/* Descriptors are given from the lowest on. */
static bool is_affordable(int fd)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) || (rlim_t) fd < limit.rlim_cur / 2;
}

static void open_line(struct MPIR_Dynproc_line *line, int fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP,.data.ptr = line };

    line->all->making -= line->state != OPEN;
    if (line->state == AWAITED)
        await_no_more(line);
    line->state = OPEN;
    line->fd = fd;
    MPIR_Dynproc_free_ways(&line->ways);
    if (epoll_fd < 0)
        epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    /* a process that cannot watch the line sends a farewell, otherwise the other side would assume
     * that this process has ended */
    if (fd >= 0 && (!is_affordable(fd) || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0))
        drop(line, true);
}

/* The line then owns the connection. */
static void open_link(struct MPIR_Dynproc_line *line, struct MPIR_Dynproc_link *link)
{
    open_line(line, MPIR_Dynproc_link_leave(link));
}

void MPIR_Dynproc_lines_add(struct MPIR_Dynproc_lines *lines, int fd)
{
    struct MPIR_Dynproc_line *line = new_line(lines, OPEN);

    if (line)
        open_line(line, fd);
    else
        close(fd);
}

void MPIR_Dynproc_lines_end(struct MPIR_Dynproc_lines *lines, bool with_farewell)
{
    while (lines->first)
        drop(lines->first, with_farewell);
}

void MPIR_Dynproc_lines_free(struct MPIR_Dynproc_lines *lines, bool with_farewell)
{
    if (lines)
        MPIR_Dynproc_lines_end(lines, with_farewell);
    MPL_free(lines);
}

/* The line that a hello belongs to, at the listening process. */
static void write_key(unsigned char key[KEY_BYTES], const unsigned char number[MPIR_DYNPROC_NUMBER],
                      int rank)
{
    memcpy(key, number, MPIR_DYNPROC_NUMBER);
    for (int i = 0; i < 4; i++)
        key[MPIR_DYNPROC_NUMBER + i] = (unsigned char) ((unsigned) rank >> (24 - 8 * i));
}

/* ---- the listening process ------------------------------------------------------------------- */

/* NULL: there is none, or it ended in MPI_Finalize. */
static struct MPIR_Dynproc_service *listener(void)
{
    struct MPIR_Dynproc_service *service = MPIR_Dynproc_services;

    while (service && !service->takes_exited)
        service = service->next;
    return service;
}

int MPIR_Dynproc_lines_listen_fd(void)
{
    struct MPIR_Dynproc_service *service = awaited ? listener() : NULL;

    return service ? service->fd : -1;
}

static bool can_listen(void)
{
    struct MPIR_Dynproc_service *service = listener();

    if (!service && MPIR_Dynproc_parent_listen(&service, where) != MPI_SUCCESS)
        return false;
    service->takes_exited = true;
    return true;
}

void MPIR_Dynproc_lines_listen(struct MPIR_Dynproc_lines *lines, struct MPIR_Dynproc_bc *bc)
{
    memset(bc, 0, sizeof(*bc));
    if (!can_listen() ||
        getrandom(lines->number, sizeof(lines->number), 0) != sizeof(lines->number))
        return;
    memcpy(bc->where, where, sizeof(where));
    memcpy(bc->number, lines->number, sizeof(lines->number));
}

/* Stores the number of the line, because the hello is not retained after the connection was
 * accepted. */
static int is_awaited(const void *key, int key_bytes, void *found)
{
    struct MPIR_Dynproc_line * *line = found;

    *line = key_bytes == KEY_BYTES ? awaited : NULL;
    while (*line && memcmp((*line)->key, key, KEY_BYTES) != 0)
        *line = (*line)->next_awaited;
    return *line != NULL;
}

static void let_in(void)
{
    struct MPIR_Dynproc_service *service = awaited ? listener() : NULL;
    struct MPIR_Dynproc_line *line = NULL;
    struct MPIR_Dynproc_link *link;

    if (!service)
        return;
    MPIR_Dynproc_service_poll(service);
    while (awaited && (link = MPIR_Dynproc_service_take(service, is_awaited, &line)))
        open_link(line, link);
}

static void await(struct MPIR_Dynproc_lines *lines, int peer)
{
    struct MPIR_Dynproc_line *line = listener() ? new_line(lines, AWAITED) : NULL;

    if (line)
        write_key(line->key, lines->number, peer);
}

/* ---- the connecting process ------------------------------------------------------------------ */

static void come(struct MPIR_Dynproc_lines *lines, int rank, const struct MPIR_Dynproc_bc *bc)
{
    struct MPIR_Dynproc_line *line = new_line(lines, COMING);
    char text[MPIR_DYNPROC_PARENT];

    if (!line)
        return;
    memcpy(text, bc->where, sizeof(text));
    text[sizeof(text) - 1] = '\0';
    if (!MPIR_Dynproc_read_ways(text, &line->ways)) {
        drop(line, true);
        return;
    }
    write_key(line->key, bc->number, rank);
    line->ways.hello = (struct MPIR_Dynproc_hello) {
        .name = "line",.key = line->key,.key_bytes = KEY_BYTES
    };
}

/* A process that has been reached and does not listen any more has ended; a process that was never
 * reached is not notified. */
static void arrive(struct MPIR_Dynproc_line *line)
{
    struct MPIR_Dynproc_link *link = MPIR_Dynproc_take_way(&line->ways);
    double now = MPIR_Dynproc_now(), lived_at = line->ways.lived_at;

    if (link) {
        open_link(line, link);
    } else if (line->ways.refused_at > 0) {
        if (now - line->ways.refused_at > REFUSED_SECONDS)
            drop(line, true);
    } else if (now - (lived_at > 0 ? lived_at : line->since) >
               (lived_at > 0 ? LOST_SECONDS : ABSENT_SECONDS)) {
        line->all->is_broken = line->all->is_broken || lived_at > 0;
        drop(line, true);
    }
}

int MPIR_Dynproc_lines_fd(const struct MPIR_Dynproc_lines *lines)
{
    for (const struct MPIR_Dynproc_line * line = lines->first; line; line = line->next) {
        for (int i = 0; i < line->ways.n; i++) {
            if (line->ways.ways[i].link)
                return line->ways.ways[i].link->fd;
        }
    }
    return -1;
}

void MPIR_Dynproc_lines_go_on(struct MPIR_Dynproc_lines *lines)
{
    for (struct MPIR_Dynproc_line * line = lines->making ? lines->first : NULL, *next; line;
         line = next) {
        next = line->next;
        if (line->state == COMING)
            arrive(line);
    }
}

/* ---- both ------------------------------------------------------------------------------------ */

void MPIR_Dynproc_lines_make(struct MPIR_Dynproc_lines *lines, const MPIR_Comm * comm,
                             bool have_first, const struct MPIR_Dynproc_bc bcs[])
{
    const int here = comm->local_size, there = comm->remote_size;
    const int larger = MPL_MAX(here, there), smaller = MPL_MIN(here, there);
    const bool is_larger = here > there || (here == there && !bcs);

    for (int k = 0; k < larger; k++) {
        for (int more = 0; more < MPL_MIN(smaller, 2); more++) {
            int other = (k + more) % smaller, own = is_larger ? k : other, peer =
                is_larger ? other : k;
            if (own != comm->rank || (have_first && own == 0 && peer == 0))
                continue;
            if (bcs)
                come(lines, comm->rank, &bcs[peer]);
            else
                await(lines, peer);
        }
    }
    MPIR_Dynproc_lines_go_on(lines);
}

void MPIR_Dynproc_lines_poll(void)
{
    struct epoll_event events[EVENTS];

    let_in();
    int n = epoll_fd >= 0 ? epoll_wait(epoll_fd, events, EVENTS, 0) : 0;
    for (int i = 0; i < n; i++) {
        struct MPIR_Dynproc_line *line = events[i].data.ptr;
        char farewell;
        ssize_t bytes = recv(line->fd, &farewell, 1, MSG_DONTWAIT);
        if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (bytes <= 0)
            line->all->is_broken = true;
        drop(line, true);
    }
}
