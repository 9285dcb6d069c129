/*
 * What happens to the application's handles over an adaptation.  SPEC C4, C5, C6, W8.
 *
 * This file owns: the list of live communicators with their lineage, and the stale objects, that is
 * the slots of communicators and windows that ended with an adaptation while the application may
 * still hold their handles.  (Files: romio/mpi-io/glue/mpich/adapt_file.c, in the same manner.)
 *
 * A stale object has given everything back except its slot.  Its reference count is -epoch, which the
 * tests of validity, made anyway in each MPI call, already refuse; only their failing branch asks
 * here for a message.  A slot is reused when the application frees the handle, or when so many have
 * ended that the oldest must go (STALE_*_MAX): memory stays bounded if handles are never freed.
 *
 * All functions are called inside the library's critical section.  With per-VCI locks communicators
 * may be created concurrently, so the list has the lock of the handle pools.
 */

#include "adapt.h"
#include "utlist.h"

#define STALE_COMMS_MAX 1024    /* derived by the application */
#define STALE_BEGIN_COMMS_MAX 32        /* made by begin, two for each adaptation */
#define STALE_WINS_MAX 256

/* How long check_pending lets operations finish that are just about to. */
#define PENDING_GRACE_SECONDS 0.1

int MPIR_Adapt_leaving = 0;

static MPIR_Comm *live_comms;   /* doubly linked through adapt.next and adapt.prev */
static bool cleanup_registered;

/* The object whose slot is to be kept when its last reference goes, and by which epoch it ends. */
static MPIR_Comm *ending_comm;
static MPIR_Win *ending_win;
static unsigned ending_epoch;

/* ---- stale objects ---------------------------------------------------------------------------- */

/* The oldest first; `max` is the capacity of `slots`. */
struct stale_queue {
    MPIR_Object_alloc_t *pool;
    void **slots;
    int max;
    int count;
};

static void *stale_comm_slots[STALE_COMMS_MAX];
static void *stale_begin_comm_slots[STALE_BEGIN_COMMS_MAX];
static void *stale_win_slots[STALE_WINS_MAX];

static struct stale_queue stale_comms = { &MPIR_Comm_mem, stale_comm_slots, STALE_COMMS_MAX, 0 };

static struct stale_queue stale_begin_comms = {
    &MPIR_Comm_mem, stale_begin_comm_slots, STALE_BEGIN_COMMS_MAX, 0
};

static struct stale_queue stale_wins = { &MPIR_Win_mem, stale_win_slots, STALE_WINS_MAX, 0 };

static void stale_remove(struct stale_queue *queue, int index)
{
    MPIR_Handle_common *object = queue->slots[index];

    queue->count--;
    memmove(queue->slots + index, queue->slots + index + 1,
            (queue->count - index) * sizeof(queue->slots[0]));
    MPIR_Object_set_ref(object, 0);
    MPIR_Handle_obj_free(queue->pool, object);
}

static void stale_add(struct stale_queue *queue, void *object)
{
    if (queue->count == queue->max)
        stale_remove(queue, 0);
    MPIR_Object_set_ref((MPIR_Handle_common *) object, -(int) ending_epoch);
    queue->slots[queue->count++] = object;
}

static int stale_find(const struct stale_queue *queue, const void *object)
{
    /* recently ended objects are looked for most */
    for (int i = queue->count - 1; i >= 0; i--) {
        if (queue->slots[i] == object)
            return i;
    }
    return -1;
}

/* Returns whether the object was in the queue. */
static int stale_forget(struct stale_queue *queue, const void *object)
{
    int index = stale_find(queue, object);
    if (index >= 0)
        stale_remove(queue, index);
    return index >= 0;
}

/* The pools are freed as a whole when MPI is finalised; with sessions it may be initialised again. */
static int forget_all(void *unused)
{
    live_comms = NULL;
    stale_comms.count = 0;
    stale_begin_comms.count = 0;
    stale_wins.count = 0;
    cleanup_registered = false;
    return MPI_SUCCESS;
}

static bool is_stale(const struct stale_queue *queue, const void *object)
{
    return object && MPIR_Object_get_ref((const MPIR_Handle_common *) object) < 0 &&
        stale_find(queue, object) >= 0;
}

int MPIR_Adapt_comm_is_stale(const MPIR_Comm * comm)
{
    return is_stale(&stale_comms, comm) || is_stale(&stale_begin_comms, comm);
}

int MPIR_Adapt_win_is_stale(const MPIR_Win * win)
{
    return is_stale(&stale_wins, win);
}

int MPIR_Adapt_null_comm_error(const char *function, int line)
{
    if (MPIR_Adapt_leaving)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line,
                                    MPI_ERR_COMM, "**adaptleaving", 0);
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line, MPI_ERR_COMM,
                                "**commnull", 0);
}

int MPIR_Adapt_comm_error(const MPIR_Comm * comm, const char *function, int line)
{
    if (!MPIR_Adapt_comm_is_stale(comm))
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line,
                                    MPI_ERR_COMM, "**comm", 0);

    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line, MPI_ERR_COMM,
                                "**adaptcomm", "**adaptcomm %s %d",
                                comm->name[0] ? comm->name : "(without name)",
                                -MPIR_Object_get_ref(comm));
}

void MPIR_Adapt_describe_comm(const MPIR_Comm * comm, char *text, int size)
{
    if (comm == MPIR_Process.comm_world)
        snprintf(text, size, " (rank %d in comm 0)", comm->rank);
    else if (MPIR_Adapt.epoch == 0 && !comm->adapt.by_begin)
        snprintf(text, size, " (rank %d in comm %d)", comm->rank, (int) comm->context_id);
    else
        snprintf(text, size, " (rank %d in %s)", comm->rank,
                 comm->name[0] ? comm->name : "a communicator without name");
}

int MPIR_Adapt_win_error(const MPIR_Win * win, const char *function, int line)
{
    if (!MPIR_Adapt_win_is_stale(win))
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line,
                                    MPI_ERR_WIN, "**win", 0);

    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line, MPI_ERR_WIN,
                                "**adaptwin", "**adaptwin %s %d",
                                win->name[0] ? win->name : "(without name)",
                                -MPIR_Object_get_ref(win));
}

int MPIR_Adapt_file_check(MPI_File file, const char *function, int line)
{
#ifdef HAVE_ROMIO
    if (MPIR_ROMIO_Adapt_is_stale(file))
        return MPIR_ROMIO_Adapt_file_error(file, function, line);
#endif
    return MPI_SUCCESS;
}

int MPIR_Adapt_comm_forget(MPIR_Comm * comm)
{
    if (!comm || MPIR_Object_get_ref(comm) >= 0)
        return 0;
    return stale_forget(&stale_comms, comm) || stale_forget(&stale_begin_comms, comm);
}

int MPIR_Adapt_win_forget(MPIR_Win * win)
{
    return win && MPIR_Object_get_ref(win) < 0 && stale_forget(&stale_wins, win);
}

/* ---- live communicators and their lineage ----------------------------------------------------- */

/* Set while commit releases what a process has that will not return from it: all of it (C3). */
static bool everything_ends;

static bool ends(const MPIR_Comm * comm)
{
    return everything_ends || comm->adapt.lineage != MPIR_ADAPT_LINEAGE_SELF;
}

void MPIR_Adapt_comm_inherit(MPIR_Comm * comm)
{
    if (comm->adapt.lineage != MPIR_ADAPT_LINEAGE_UNKNOWN)
        return;

    bool self_only = (comm->handle == MPI_COMM_SELF) || (comm->mapper_head != NULL);
    for (MPIR_Comm_map_t * mapper = comm->mapper_head; mapper; mapper = mapper->next) {
        if (ends(mapper->src_comm))
            self_only = false;
    }
    comm->adapt.lineage = self_only ? MPIR_ADAPT_LINEAGE_SELF : MPIR_ADAPT_LINEAGE_WORLD;
}

void MPIR_Adapt_comm_derive(MPIR_Comm * comm, const MPIR_Comm * from, const MPIR_Comm * also)
{
    bool survives = !ends(from) && !(also && ends(also));
    comm->adapt.lineage = survives ? MPIR_ADAPT_LINEAGE_SELF : MPIR_ADAPT_LINEAGE_WORLD;
}

void MPIR_Adapt_comm_by_begin(MPIR_Comm * comm)
{
    comm->adapt.lineage = MPIR_ADAPT_LINEAGE_WORLD;
    comm->adapt.by_begin = 1;
}

int MPIR_Adapt_comm_survives(MPI_Comm handle)
{
    MPIR_Comm *comm;
    MPIR_Comm_get_ptr(handle, comm);
    return comm && !ends(comm);
}

void MPIR_Adapt_comm_created(MPIR_Comm * comm)
{
    /* the local communicator of an intercommunicator lives and ends with it */
    if (HANDLE_IS_BUILTIN(comm->handle) || MPIR_CONTEXT_READ_FIELD(IS_LOCALCOMM, comm->context_id))
        return;
    MPIR_Assert(!comm->adapt.prev);

    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_HANDLE_MUTEX);
    if (!cleanup_registered) {
        cleanup_registered = true;
        /* before the pools are freed, which has priority 0 */
        MPIR_Add_finalize(forget_all, NULL, 1);
    }
    DL_APPEND_NP(live_comms, comm, adapt.next, adapt.prev);
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_HANDLE_MUTEX);
}

static void unlist(MPIR_Comm * comm)
{
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_HANDLE_MUTEX);
    if (comm->adapt.prev) {
        DL_DELETE_NP(live_comms, comm, adapt.next, adapt.prev);
        comm->adapt.prev = NULL;
    }
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_HANDLE_MUTEX);
}

void MPIR_Adapt_comm_freed(MPIR_Comm * comm)
{
    unlist(comm);
    if (comm != ending_comm)
        MPIR_Handle_obj_free(&MPIR_Comm_mem, comm);
    else if (comm->adapt.by_begin)
        stale_add(&stale_begin_comms, comm);
    else
        stale_add(&stale_comms, comm);
}

void MPIR_Adapt_win_freed(MPIR_Win * win)
{
    if (win == ending_win) {
        stale_add(&stale_wins, win);
    } else {
        MPIR_Object_set_ref(win, 0);
        MPIR_Handle_obj_free(&MPIR_Win_mem, win);
    }
}

void MPIR_Adapt_foreach_comm(void (*function) (MPIR_Comm *, void *), void *context)
{
    MPIR_Comm *comm, *next;
    DL_FOREACH_SAFE_NP(live_comms, comm, next, adapt.next, adapt.prev) {
        function(comm, context);
    }
}

/* ---- objects of other kinds, found in their pools ----------------------------------------------- */

/* A slot is in use if its reference count is positive: unused ones are zero from the start or since
 * their last reference went, stale ones are negative. */
static void foreach_in_use(MPIR_Object_alloc_t * pool, int objects_per_block,
                           void (*function) (void *, void *), void *context)
{
    if (!pool->initialized)
        return;

    for (int block = -1; block < pool->indirect_size; block++) {
        char *object = block < 0 ? pool->direct : pool->indirect[block];
        int count = block < 0 ? pool->direct_size : objects_per_block;
        for (int i = 0; i < count; i++, object += pool->size) {
            if (MPIR_Object_get_ref((MPIR_Handle_common *) (void *) object) > 0)
                function(object, context);
        }
    }
}

struct group_visit {
    void (*function) (MPIR_Group *, void *);
    void *context;
};

static void visit_group(void *object, void *context)
{
    struct group_visit *visit = context;
    visit->function(object, visit->context);
}

void MPIR_Adapt_foreach_group(void (*function) (MPIR_Group *, void *), void *context)
{
    struct group_visit visit = { function, context };
    foreach_in_use(&MPIR_Group_mem, HANDLE_NUM_INDICES, visit_group, &visit);
}

static void foreach_request(void (*function) (void *, void *), void *context)
{
    for (int pool = 0; pool < MPIR_REQUEST_NUM_POOLS; pool++)
        foreach_in_use(&MPIR_Request_mem[pool], REQUEST_NUM_INDICES, function, context);
}

static void foreach_win(void (*function) (void *, void *), void *context)
{
    foreach_in_use(&MPIR_Win_mem, HANDLE_NUM_INDICES, function, context);
}

/* ---- C6: what is still pending ---------------------------------------------------------------------- */

struct pending {
    char text[256];             /* the first that was found */
    int count;
};

static const char *request_kind(const MPIR_Request * req)
{
    switch (req->kind) {
        case MPIR_REQUEST_KIND__SEND:
            return "send";
        case MPIR_REQUEST_KIND__RECV:
            return "receive";
        case MPIR_REQUEST_KIND__PREQUEST_SEND:
            return "started persistent send";
        case MPIR_REQUEST_KIND__PREQUEST_RECV:
            return "started persistent receive";
        case MPIR_REQUEST_KIND__PREQUEST_COLL:
            return "started persistent collective operation";
        case MPIR_REQUEST_KIND__PART_SEND:
            return "started partitioned send";
        case MPIR_REQUEST_KIND__PART_RECV:
            return "started partitioned receive";
        case MPIR_REQUEST_KIND__COLL:
            return "nonblocking collective operation";
        case MPIR_REQUEST_KIND__MPROBE:
            return "matched but unreceived message";
        case MPIR_REQUEST_KIND__RMA:
            return "one-sided operation";
        case MPIR_REQUEST_KIND__GREQUEST:
            return "nonblocking operation on a file";
        default:
            return "operation";
    }
}

static void describe_request(MPIR_Request * req, char *text, int size)
{
    int peer, tag;
    char peer_text[32] = "", tag_text[32] = "";

    MPIDI_Adapt_request_peer(req, &peer, &tag);
    if (peer == MPI_ANY_SOURCE)
        snprintf(peer_text, sizeof(peer_text), ", any peer");
    else if (peer != MPI_UNDEFINED)
        snprintf(peer_text, sizeof(peer_text), ", peer %d", peer);
    if (tag == MPI_ANY_TAG)
        snprintf(tag_text, sizeof(tag_text), ", any tag");
    else if (tag != MPI_UNDEFINED)
        snprintf(tag_text, sizeof(tag_text), ", tag %d", tag);
    snprintf(text, size, "%s on %s%s%s", request_kind(req),
             req->comm->name[0] ? req->comm->name : "a communicator without name", peer_text,
             tag_text);
}

static bool is_pending(MPIR_Request * req)
{
    if (!req->comm || !ends(req->comm))
        return false;
    return req->kind == MPIR_REQUEST_KIND__MPROBE || !MPIR_Request_is_complete(req);
}

/* The request that carries out a started persistent one. */
static MPIR_Request *carrier_of(MPIR_Request * req)
{
    if (req->kind == MPIR_REQUEST_KIND__PREQUEST_COLL)
        return req->u.persist_coll.real_request;
    return MPIR_Request_is_persistent(req) ? req->u.persist.real_request : NULL;
}

static void add_pending_request(void *object, void *context)
{
    MPIR_Request *req = object;
    struct pending *pending = context;

    if (!is_pending(req))
        return;
    /* what is told is the application's own request where several are involved */
    bool outer = MPIR_Request_is_persistent(req) || MPIR_Request_is_partitioned(req) ||
        req->kind == MPIR_REQUEST_KIND__COLL || req->kind == MPIR_REQUEST_KIND__GREQUEST;
    if (pending->count == 0 || outer)
        describe_request(req, pending->text, sizeof(pending->text));
    pending->count++;
}

/* A started persistent request counts once. */
static void subtract_carrier(void *object, void *context)
{
    MPIR_Request *carrier = carrier_of(object);
    struct pending *pending = context;

    if (carrier && is_pending(carrier))
        pending->count--;
}

static void add_pending_win(void *object, void *context)
{
    MPIR_Win *win = object;
    struct pending *pending = context;
    const char *why = ends(win->comm_ptr) ? MPIDI_Adapt_win_pending(win) : NULL;

    if (!why)
        return;
    if (pending->count == 0)
        snprintf(pending->text, sizeof(pending->text), "%s on window %s", why,
                 win->name[0] ? win->name : "without name");
    pending->count++;
}

void MPIR_Adapt_request_on(MPI_Request request, MPI_Comm comm)
{
    MPIR_Request *req;

    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF)
        return;
    MPIR_Request_get_ptr(request, req);
    MPIR_Comm_get_ptr(comm, req->comm);
    MPIR_Comm_add_ref(req->comm);
}

/* Operations on files complete only when somebody asks. */
static void poll_request(void *object, void *unused)
{
    MPIR_Request *req = object;
    MPI_Status status;

    if (is_pending(req) && MPIR_Request_has_poll_fn(req))
        (void) MPIR_Grequest_poll(req, &status);
}

static void find_pending(struct pending *pending)
{
    pending->count = 0;
    foreach_request(poll_request, NULL);
    foreach_request(add_pending_request, pending);
    if (pending->count > 0)
        foreach_request(subtract_carrier, pending);
    foreach_win(add_pending_win, pending);
#ifdef HAVE_ROMIO
    char text[sizeof(pending->text)];
    if (MPIR_ROMIO_Adapt_pending(text, sizeof(text))) {
        if (pending->count == 0)
            memcpy(pending->text, text, sizeof(text));
        pending->count++;
    }
#endif
}

int MPIR_Adapt_check_pending(void)
{
    int mpi_errno = MPI_SUCCESS;
    struct pending pending;
    MPL_time_t start, now;
    double waited;

    MPL_wtime(&start);
    find_pending(&pending);
    while (pending.count > 0) {
        /* a send that was freed with MPI_Request_free may need one more message to complete */
        mpi_errno = MPIDI_Adapt_progress();
        MPIR_ERR_CHECK(mpi_errno);
        find_pending(&pending);
        MPL_wtime(&now);
        MPL_wtime_diff(&start, &now, &waited);
        if (waited > PENDING_GRACE_SECONDS)
            break;
    }
    if (pending.count > 0)
        MPIR_ERR_SETANDJUMP2(mpi_errno, MPI_ERR_PENDING, "**adaptpending", "**adaptpending %s %d",
                             pending.text, pending.count - 1);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- C5: attributes --------------------------------------------------------------------------------- */

static MPIR_Comm *find_attributed_comm(void)
{
    MPIR_Comm *comm;
    DL_FOREACH_NP(live_comms, comm, adapt.next, adapt.prev) {
        if (ends(comm) && comm->attributes)
            return comm;
    }
    return NULL;
}

static void find_attributed_win(void *object, void *context)
{
    MPIR_Win *win = object, **found = context;
    if (!*found && win->attributes && ends(win->comm_ptr))
        *found = win;
}

static void keep_first(int *mpi_errno, int err)
{
    if (*mpi_errno == MPI_SUCCESS)
        *mpi_errno = err;
}

int MPIR_Adapt_delete_attributes(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *comm = MPIR_Process.comm_world;
    MPIR_Win *win;

    if (!MPIR_Process.attr_free)
        return MPI_SUCCESS;

    if (comm->attributes)
        keep_first(&mpi_errno, MPIR_Process.attr_free(comm->handle, &comm->attributes));
    /* Look anew each time: callbacks may create and free communicators and windows.  attr_free
     * empties the list in any case, so this ends. */
    while ((comm = find_attributed_comm()))
        keep_first(&mpi_errno, MPIR_Process.attr_free(comm->handle, &comm->attributes));
    while (win = NULL, foreach_win(find_attributed_win, &win), win)
        keep_first(&mpi_errno, MPIR_Process.attr_free(win->handle, &win->attributes));
    return mpi_errno;
}

int MPIR_Adapt_delete_self_attributes(void)
{
    MPIR_Comm *self = MPIR_Process.comm_self;

    if (!MPIR_Process.attr_free || !self || !self->attributes)
        return MPI_SUCCESS;
    return MPIR_Process.attr_free(self->handle, &self->attributes);
}

/* ---- the end of a leaving process ---------------------------------------------------------------------- */

static void free_typerep(void *object, void *unused)
{
    MPIR_Datatype *type = object;

    if (type->typerep.handle)
        MPIR_Typerep_free(type);
    type->typerep.handle = 0;
}

static int free_typereps(void *unused)
{
    foreach_in_use(&MPIR_Datatype_mem, HANDLE_NUM_INDICES, free_typerep, NULL);
    return MPI_SUCCESS;
}

void MPIR_Adapt_free_datatypes(void)
{
    /* after MPICH's own callbacks for datatypes, before the pools are freed */
    MPIR_Add_finalize(free_typereps, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 2);
}

/* ---- C4: release -------------------------------------------------------------------------------------- */

/* Requests that are complete or inactive remain the application's.  They lose their communicator:
 * a persistent one without can be completed and freed, not started. */
static void detach_request(void *object, void *unused)
{
    MPIR_Request *req = object;
    MPIR_Comm *comm = req->comm;

    if (!comm || !ends(comm))
        return;
    if (req->kind == MPIR_REQUEST_KIND__PREQUEST_COLL) {
        /* the schedule refers to the communicator and its children */
        MPIR_Persist_coll_free_cb(req);
        MPIDI_Adapt_request_disarm(req);
    }
    req->comm = NULL;
    MPIR_Comm_release(comm);
}

static void end_win(void *object, void *unused)
{
    MPIR_Win *win = object;

    if (!ends(win->comm_ptr))
        return;
    /* already done, unless the window is one over MPI_COMM_SELF of a process that ends */
    if (MPIR_Process.attr_free && win->attributes)
        MPIR_Process.attr_free(win->handle, &win->attributes);
    if (win->errhandler && !HANDLE_IS_BUILTIN(win->errhandler->handle)) {
        int in_use;
        MPIR_Errhandler_release_ref(win->errhandler, &in_use);
        if (!in_use)
            MPIR_Handle_obj_free(&MPIR_Errhandler_mem, win->errhandler);
    }
    win->errhandler = NULL;
    ending_win = win;
    MPIDI_Adapt_win_release(win);
    ending_win = NULL;
}

static void end_comm(MPIR_Comm * comm)
{
    ending_comm = comm;
    /* Whoever held a reference (requests, windows, files) has given it up above.  If deleting an
     * attribute fails the object remains; its list of attributes is then empty. */
    for (int attempt = 0; attempt < 2; attempt++) {
        MPIR_Object_set_ref(comm, 1);
        if (MPIR_Comm_release(comm) == MPI_SUCCESS)
            break;
    }
    ending_comm = NULL;
}

static void end_comms(void)
{
    MPIR_Comm *comm, *next, *ending = NULL;

    DL_FOREACH_SAFE_NP(live_comms, comm, next, adapt.next, adapt.prev) {
        if (ends(comm)) {
            unlist(comm);
            comm->adapt.next = ending;
            ending = comm;
        }
    }
    for (comm = ending; comm; comm = next) {
        next = comm->adapt.next;
        end_comm(comm);
    }
}

int MPIR_Adapt_release_handles(unsigned epoch)
{
    ending_epoch = epoch;
    foreach_request(detach_request, NULL);
    /* MPI_Finalize, which follows at once, wants windows freed and files closed; communicators and
     * requests on MPI_COMM_SELF are its own business */
    everything_ends = MPIR_Adapt_leaving && !MPIR_CVAR_ADAPT_LEAVERS_RETURN;
#ifdef HAVE_ROMIO
    /* ROMIO calls MPI functions */
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIR_ROMIO_Adapt_close_all(epoch);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
#endif
    foreach_win(end_win, NULL);
    everything_ends = false;
    end_comms();

    return MPI_SUCCESS;
}
