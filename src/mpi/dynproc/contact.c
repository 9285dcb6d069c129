/*
 * Contact requests, and MPIX_Client_connect. DN2, DN3, DN5.
 *
 * Rank 0 connects and sends its hello at once; then it waits for the server's verdict.  If the
 * connection ends before, or no process listens, it tries again until the timeout.
 */

#include "dynproc_events.h"
#include "dynproc_service.h"

#define AGAIN_FIRST 0.001       /* seconds */
#define AGAIN_MOST 0.1
#define AGAIN_MOST_BY_SERVICE 1.0       /* limits the queries to elasticd */
#define WAY_SECONDS 1.0         /* then the next address of the server is tried */

struct contact {
    struct MPIR_Dynproc_endpoint endpoint;
    unsigned char key[MPIR_DYNPROC_KEY];
    int key_bytes;
    struct MPIR_Dynproc_link *link;
    double since, again_at, again_after;
    int way;                    /* index of the next address of the server */
    double way_since;           /* start of the attempt with the present address */
    bool is_patient;            /* a living server may take any time */
    bool nobody;                /* at the last attempt no process had the name */
    char why[MPIR_DYNPROC_WHY];
    struct MPIR_Dynproc_request *request;       /* of MPIX_Icontact */
    struct MPIR_Dynproc_events *events;
    struct contact *next;
};

static struct contact *contacts;        /* pending contacts of rank 0 */

static void free_contact(struct contact *contact)
{
    MPIR_Dynproc_link_free(contact->link);
    if (contact->endpoint.by_service)
        MPIR_Dynproc_forget_lookup(contact);
    MPL_free(contact);
}

static int copy_key(struct contact *contact, const struct MPIR_Dynproc_key *key)
{
    int mpi_errno = MPI_SUCCESS, n = key->bytes;

    MPIR_ERR_CHKANDJUMP1(n < 0, mpi_errno, MPI_ERR_COUNT, "**countneg", "**countneg %d", n);
    MPIR_ERR_CHKANDJUMP1(n > MPIR_DYNPROC_KEY, mpi_errno, MPI_ERR_ARG, "**dynprockeylength",
                         "**dynprockeylength %d", n);
    MPIR_ERR_CHKANDJUMP1(n > 0 &&
                         !key->is, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s", "key");
    contact->key_bytes = n;
    if (n > 0)
        memcpy(contact->key, key->is, (size_t) n);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Without `key` the contact has no key, which differs from a key of 0 bytes. */
static int new_contact(const char *name, const struct MPIR_Dynproc_key *key, struct contact **made)
{
    int mpi_errno = MPI_SUCCESS;
    struct contact *contact = MPL_calloc(1, sizeof(*contact), MPL_MEM_OTHER);

    MPIR_ERR_CHKANDJUMP(!contact, mpi_errno, MPI_ERR_OTHER, "**nomem");
    contact->key_bytes = -1;
    if (key) {
        mpi_errno = copy_key(contact, key);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIR_Dynproc_find(name, &contact->endpoint);
    MPIR_ERR_CHECK(mpi_errno);
    contact->since = MPIR_Dynproc_now();
    contact->again_after = AGAIN_FIRST;
    *made = contact;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(contact);
    goto fn_exit;
}

/* ---- one step -------------------------------------------------------------------------------- */

static void try_later(struct contact *contact, const char *why)
{
    MPIR_Dynproc_link_free(contact->link);
    contact->link = NULL;
    contact->again_at = MPIR_Dynproc_now() + contact->again_after;
    contact->again_after = MPL_MIN(2 * contact->again_after,
                                   contact->endpoint.
                                   by_service ? AGAIN_MOST_BY_SERVICE : AGAIN_MOST);
    if (why)
        snprintf(contact->why, sizeof(contact->why), "%s", why);
}

/* The server may have changed its address and its secret. */
static enum MPIR_Dynproc_found find_way(struct contact *contact)
{
    char text[MPI_MAX_PORT_NAME];
    enum MPIR_Dynproc_found found = MPIR_Dynproc_step_lookup(contact, contact->endpoint.name, text);

    if (found == MPIR_DYNPROC_LOOKS)
        return found;
    contact->way_since = MPIR_Dynproc_now();
    if (found == MPIR_DYNPROC_FOUND &&
        !MPIR_Dynproc_read_way(text, contact->way++, &contact->endpoint))
        found = MPIR_DYNPROC_NOBODY;
    return found;
}

/* Whether no process listens at the present address. */
static bool is_no_way(const struct contact *contact)
{
    struct sockaddr_storage other;
    socklen_t bytes = sizeof(other);

    return contact->endpoint.by_service && MPIR_Dynproc_now() - contact->way_since > WAY_SECONDS &&
        getpeername(contact->link->fd, (struct sockaddr *) &other, &bytes) != 0;
}

static void try_now(struct contact *contact)
{
    struct MPIR_Dynproc_hello hello = { contact->endpoint.name, contact->key, contact->key_bytes };

    enum MPIR_Dynproc_found found =
        contact->endpoint.by_service ? find_way(contact) : MPIR_DYNPROC_FOUND;

    if (found == MPIR_DYNPROC_LOOKS)
        return;
    if (found == MPIR_DYNPROC_NOBODY) {
        contact->nobody = true;
        try_later(contact, NULL);
        return;
    }
    int fd =
        socket(contact->endpoint.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        try_later(contact, strerror(errno));
        return;
    }
    bool failed =
        connect(fd, (struct sockaddr *) &contact->endpoint.address,
                contact->endpoint.address_bytes) != 0 && errno != EINPROGRESS;
    /* a full queue (EAGAIN) means that a server listens */
    contact->nobody = failed && !contact->endpoint.on_network && (errno == ENOENT ||
                                                                  errno == ECONNREFUSED);
    if (failed) {
        try_later(contact, strerror(errno));
        close(fd);
        return;
    }
    contact->link = MPIR_Dynproc_link_new(fd, contact->endpoint.secret);
    if (!contact->link)
        close(fd);
    else if (!MPIR_Dynproc_send_hello(contact->link, &hello))
        try_later(contact, "it cannot be reached");
}

static bool is_over(struct contact *contact)
{
    int seconds = MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT;

    if (contact->link && contact->is_patient)
        contact->since = MPIR_Dynproc_now();
    return seconds > 0 && MPIR_Dynproc_now() - contact->since > seconds;
}

static int too_late(const struct contact *contact)
{
    int mpi_errno = MPI_SUCCESS;

    if (contact->nobody)
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_NAME, "**dynprocnobody", "**dynprocnobody %s",
                      contact->endpoint.name);
    else
        MPIR_ERR_SET2(mpi_errno, MPI_ERR_PORT, "**dynprocaway", "**dynprocaway %s %s",
                      contact->endpoint.name, contact->link ||
                      !contact->why[0] ? "it is busy" : contact->why);
    return mpi_errno;
}

/* Whether the contact is complete, with an error or a connection. */
static bool step(struct contact *contact, int *error)
{
    enum MPIR_Dynproc_verdict verdict;
    enum MPIR_Dynproc_link_state state = MPIR_DYNPROC_MORE;

    *error = MPI_SUCCESS;
    if (!contact->link && MPIR_Dynproc_now() >= contact->again_at)
        try_now(contact);
    if (contact->link)
        state = MPIR_Dynproc_read_verdict(contact->link, &verdict);
    if (state == MPIR_DYNPROC_DONE) {
        if (verdict != MPIR_DYNPROC_WELCOME)
            MPIR_ERR_SET(*error, MPIX_ERR_KEY, "**dynprockey");
        return true;
    }
    if (state == MPIR_DYNPROC_MORE && contact->link && is_no_way(contact))
        try_later(contact, "none of its addresses can be reached");
    if (state == MPIR_DYNPROC_BROKEN)
        try_later(contact, contact->endpoint.on_network ?
                  "it does not exist, has ended, or has another secret (MPIEXEC_SECRET_FILE)" :
                  "it has ended");
    if (is_over(contact))
        *error = too_late(contact);
    return *error != MPI_SUCCESS;
}

/* ---- MPIX_Client_connect --------------------------------------------------------------------- */

static int connect_one(const char *name, struct MPIR_Dynproc_attach *attach)
{
    int mpi_errno = MPI_SUCCESS, error = MPI_SUCCESS;
    struct contact *contact = NULL;

    mpi_errno = new_contact(name, NULL, &contact);
    MPIR_ERR_CHECK(mpi_errno);
    struct MPIR_Dynproc_wait wait = {.fd = -1 };
    while (!step(contact, &error)) {
        wait.fd = contact->link ? contact->link->fd : -1;
        mpi_errno = MPIR_Dynproc_pause(&wait);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = error;
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Dynproc_attach_exchange(attach, contact->link);
    contact->link = NULL;
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    if (contact)
        free_contact(contact);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Client_connect_impl(MPIR_Comm * comm, const char *name, MPIR_Comm ** newcomm)
{
    return MPIR_Dynproc_attach(comm, MPIR_DYNPROC_CLIENT, connect_one, name, newcomm);
}

/* ---- MPIX_Icontact --------------------------------------------------------------------------- */

/* On rank 0. */
static void decide(struct contact *contact, enum MPIR_Dynproc_state state, int error)
{
    struct contact **cursor = &contacts;

    while (*cursor && *cursor != contact)
        cursor = &(*cursor)->next;
    if (*cursor)
        *cursor = contact->next;
    MPIR_Dynproc_events_send(contact->events, 0, state, error);
    if (state == MPIR_DYNPROC_TAKEN) {
        contact->request->link = contact->link;
        contact->link = NULL;
    }
    MPIR_Dynproc_request_end(contact->request, state, error);
    free_contact(contact);
}

static void cancel(struct MPIR_Dynproc_request *request)
{
    decide(request->owner, MPIR_DYNPROC_CANCELLED, MPI_SUCCESS);
}

bool MPIR_Dynproc_poll_contacts(void)
{
    int error;

    for (struct contact * contact = contacts, *next; contact; contact = next) {
        next = contact->next;
        if (step(contact, &error))
            decide(contact, error ? MPIR_DYNPROC_FAILED : MPIR_DYNPROC_TAKEN, error);
    }
    return contacts != NULL;
}

/* On the other ranks. */
static void apply(void *owner, const struct MPIR_Dynproc_event *event)
{
    enum MPIR_Dynproc_state state =
        event ? (enum MPIR_Dynproc_state) event->state : MPIR_DYNPROC_FAILED;

    MPIR_Dynproc_request_end(owner, state, MPIR_Dynproc_event_error(event));
}

static int start_contact(const char *name, const struct MPIR_Dynproc_key *key,
                         struct MPIR_Dynproc_request *request, struct MPIR_Dynproc_events *events)
{
    int mpi_errno = MPI_SUCCESS;
    struct contact *contact;

    mpi_errno = new_contact(name, key, &contact);
    MPIR_ERR_CHECK(mpi_errno);
    contact->is_patient = true;
    contact->request = request;
    contact->events = events;
    request->cancel = cancel;
    request->owner = contact;
    contact->next = contacts;
    contacts = contact;
    try_now(contact);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Icontact_impl(MPIR_Comm * comm, const char *name, const struct MPIR_Dynproc_key *key,
                       MPI_Request * handle)
{
    int mpi_errno = MPI_SUCCESS, tag;
    struct MPIR_Dynproc_request *request = NULL;
    struct MPIR_Dynproc_events *events = NULL;

    MPIR_ERR_CHKANDJUMP1(!handle, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s", "request");
    mpi_errno = MPIR_Sched_next_tag(comm, &tag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Dynproc_request_make(comm, false, tag, 0, &request);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Dynproc_events_open(comm, tag, 1, apply, request, &events);
    MPIR_ERR_CHECK(mpi_errno);
    if (comm->rank == 0) {
        mpi_errno = start_contact(name, key, request, events);
        MPIR_ERR_CHECK(mpi_errno);
    }
    *handle = request->handle->handle;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (events)
        MPIR_Dynproc_events_send(events, 0, MPIR_DYNPROC_FAILED, mpi_errno);
    if (request) {
        MPIR_Dynproc_request_end(request, MPIR_DYNPROC_FAILED, mpi_errno);
        MPIR_Dynproc_request_drop(request);
    }
    goto fn_exit;
}
