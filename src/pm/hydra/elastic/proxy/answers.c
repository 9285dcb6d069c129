/* See answers.h. */

#include "state.h"
#include <sys/socket.h>
#include "pmip_adapt.h"
#include "answers.h"
#include "demux.h"

struct waiting {
    int fd;
    int closes;                 /* closes the connection when all replies have been sent */
    struct HYD_queue queue;
    struct waiting *next;
};

static struct waiting *waiting;

/* The link to the record, or the final link if there is none. */
static struct waiting **find(int fd)
{
    struct waiting **slot = &waiting;

    while (*slot && (*slot)->fd != fd)
        slot = &(*slot)->next;
    return slot;
}

static void drop(struct waiting **slot)
{
    struct waiting *w = *slot;

    *slot = w->next;
    HYD_queue_clear(&w->queue);
    MPL_free(w);
}

static HYD_status read_cb(int fd, HYD_event_t events, void *userp)
{
    return HYD_pmcd_pmip_adapt_read_pmi(fd);
}

/* Drops data without a reader. */
static HYD_status space_cb(int fd, HYD_event_t events, void *userp)
{
    struct waiting **slot = find(fd);
    HYD_status status = HYD_SUCCESS;

    if (HYD_queue_send(&(*slot)->queue, fd, HYD_QUEUE_SOCKET) == 0 && (*slot)->queue.bytes > 0)
        goto fn_exit;
    int closes = (*slot)->closes;
    drop(slot);
    status = HYDT_dmx_deregister_fd(fd);
    HYDU_ERR_POP(status, "unable to deregister fd\n");
    if (closes)
        close(fd);
    else
        status = HYDT_dmx_register_fd(1, &fd, HYD_POLLIN, NULL, read_cb);
    HYDU_ERR_POP(status, "unable to read from a process again\n");

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* From now on the connection is only written to, not read. */
static HYD_status wait_for_space(struct waiting **slot, int fd)
{
    HYD_status status = HYD_SUCCESS;

    status = HYDT_dmx_deregister_fd(fd);
    HYDU_ERR_POP(status, "unable to deregister fd\n");
    status = HYDT_dmx_register_fd(1, &fd, HYD_POLLOUT, NULL, space_cb);
    HYDU_ERR_POP(status, "unable to wait for a process to read its replies\n");
    HYDU_MALLOC_OR_JUMP(*slot, struct waiting *, sizeof(**slot), status);
    **slot = (struct waiting) {.fd = fd };
    HYD_queue_init(&(*slot)->queue);

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* Whether the process has ended.  Its connection may be closed already, and the number may be in
 * use again. */
static int is_end(int error)
{
    return error == EPIPE || error == ECONNRESET || error == EBADF || error == ENOTSOCK;
}

HYD_status HYD_answer(int fd, const char *text, size_t bytes)
{
    struct waiting **slot = find(fd);
    ssize_t sent = 0;
    HYD_status status = HYD_SUCCESS;

    if (!*slot) {
        do
            sent = send(fd, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
        if (sent == (ssize_t) bytes || (sent < 0 && is_end(errno)))
            goto fn_exit;
        HYDU_ERR_CHKANDJUMP(status, sent < 0 && errno != EAGAIN, HYD_SOCK_ERROR,
                            "unable to send a reply to a process (%s)\n", MPL_strerror(errno));
        if (sent < 0)
            sent = 0;
        status = wait_for_space(slot, fd);
        HYDU_ERR_POP(status, "unable to send a reply to a process\n");
    }
    if (HYD_queue_add_bytes(&(*slot)->queue, text + sent, bytes - (size_t) sent) != 0)
        HYDU_ERR_SETANDJUMP(status, HYD_NO_MEM, "no memory for replies that are not read\n");

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

HYD_status HYD_answers_close(int fd)
{
    struct waiting *w = *find(fd);

    if (!w) {
        close(fd);
        return HYD_SUCCESS;
    }
    w->closes = 1;
    return HYDT_dmx_register_fd(1, &fd, HYD_POLLOUT, NULL, space_cb);
}

int HYD_answers_wait(int fd)
{
    if (*find(fd))
        (void) space_cb(fd, 0, NULL);    /* a later read reports the error again */
    return *find(fd) != NULL;
}
