/* See dynproc_events.h. */

#include "dynproc_events.h"

#define CHILDREN 2
#define INTS ((int) (sizeof(struct MPIR_Dynproc_event) / sizeof(int)))

/* An event that is being sent to the children. */
struct sent {
    struct MPIR_Dynproc_event event;
    MPIR_Request *requests[CHILDREN];
    struct sent *next;
};

struct MPIR_Dynproc_events {
    MPIR_Comm *comm;
    int tag, left;
    MPIR_Dynproc_apply *apply;
    void *owner;
    MPIR_Request *receive;      /* of `event` */
    struct MPIR_Dynproc_event event;
    struct sent *sent;
    struct MPIR_Dynproc_events *next;
};

static struct MPIR_Dynproc_events *all;

static bool await(struct MPIR_Dynproc_events *events)
{
    return MPIC_Irecv(&events->event, INTS, MPI_INT, (events->comm->rank - 1) / CHILDREN,
                      events->tag, events->comm, &events->receive) == MPI_SUCCESS;
}

int MPIR_Dynproc_events_open(MPIR_Comm * comm, int tag, int n, MPIR_Dynproc_apply * apply,
                             void *owner, struct MPIR_Dynproc_events **opened)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Dynproc_events *events = MPL_calloc(1, sizeof(*events), MPL_MEM_OTHER);

    MPIR_ERR_CHKANDJUMP(!events, mpi_errno, MPI_ERR_OTHER, "**nomem");
    events->comm = comm;
    events->tag = tag;
    events->left = n;
    events->apply = apply;
    events->owner = owner;
    if (comm->rank != 0 && !await(events)) {
        MPL_free(events);
        MPIR_ERR_SETANDJUMP(mpi_errno, MPI_ERR_OTHER, "**fail");
    }
    MPIR_Comm_add_ref(comm);
    events->next = all;
    all = events;
    *opened = events;
    MPIR_Dynproc_start_polling();

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* If a child has ended, its job ends, so messages that cannot be sent are not needed. */
static void pass_on(struct MPIR_Dynproc_events *events, const struct MPIR_Dynproc_event *event)
{
    struct sent *sent = MPL_calloc(1, sizeof(*sent), MPL_MEM_OTHER);
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    MPIR_Assertp(sent);
    sent->event = *event;
    for (int i = 0; i < CHILDREN; i++) {
        int child = CHILDREN * events->comm->rank + 1 + i;
        if (child < events->comm->local_size &&
            MPIC_Isend(&sent->event, INTS, MPI_INT, child, events->tag, events->comm,
                       &sent->requests[i], &errflag) != MPI_SUCCESS)
            sent->requests[i] = NULL;
    }
    sent->next = events->sent;
    events->sent = sent;
    events->left--;
}

void MPIR_Dynproc_events_send(struct MPIR_Dynproc_events *events, int index,
                              enum MPIR_Dynproc_state state, int error)
{
    const struct MPIR_Dynproc_event event = { index, state, MPIR_ERR_GET_CLASS(error) };

    pass_on(events, &event);
    MPIR_Dynproc_start_polling();
}

int MPIR_Dynproc_event_error(const struct MPIR_Dynproc_event *event)
{
    if (!event)
        return MPIR_Dynproc_error_elsewhere(MPI_ERR_OTHER);
    return event->state == MPIR_DYNPROC_FAILED ? MPIR_Dynproc_error_elsewhere(event->error_class)
        : MPI_SUCCESS;
}

static bool is_under_way(struct sent *sent)
{
    bool waits = false;

    for (int i = 0; i < CHILDREN; i++) {
        if (sent->requests[i] && MPIR_Request_is_complete(sent->requests[i])) {
            MPIR_Request_free(sent->requests[i]);
            sent->requests[i] = NULL;
        }
        waits = waits || sent->requests[i];
    }
    return waits;
}

static void release_sent(struct MPIR_Dynproc_events *events)
{
    for (struct sent ** cursor = &events->sent; *cursor;) {
        struct sent *sent = *cursor;
        if (is_under_way(sent)) {
            cursor = &sent->next;
            continue;
        }
        *cursor = sent->next;
        MPL_free(sent);
    }
}

static void receive(struct MPIR_Dynproc_events *events)
{
    while (events->receive && MPIR_Request_is_complete(events->receive)) {
        struct MPIR_Dynproc_event event = events->event;
        bool failed = events->receive->status.MPI_ERROR != MPI_SUCCESS;
        MPIR_Request_free(events->receive);
        events->receive = NULL;
        if (!failed)
            pass_on(events, &event);
        if (!failed && events->left > 0)
            failed = !await(events);
        events->apply(events->owner, failed ? NULL : &event);
        if (failed)
            events->left = 0;
    }
}

bool MPIR_Dynproc_poll_events(void)
{
    for (struct MPIR_Dynproc_events ** cursor = &all; *cursor;) {
        struct MPIR_Dynproc_events *events = *cursor;
        receive(events);
        release_sent(events);
        if (events->left > 0 || events->sent) {
            cursor = &events->next;
            continue;
        }
        *cursor = events->next;
        MPIR_Comm_release(events->comm);
        MPL_free(events);
    }
    return all != NULL;
}
