/*
 * See adapt_handles.h.  A stale object has released everything except its slot.  Its reference
 * count is -epoch, which the existing validity tests of each MPI call already refuse; only their
 * failing branch calls this file, for a message.  A slot is reused when the application frees the
 * handle, or when it is the oldest of more than STALE_*_MAX: memory stays bounded if handles are
 * never freed.
 */

#include "adapt_handles.h"
#include "mpir_adapt_session.h"

#define STALE_COMMS_MAX 1024    /* derived by the application */
#define STALE_BEGIN_COMMS_MAX 32        /* made by begin, two for each adaptation */
#define STALE_WINS_MAX 256
#define STALE_GROUPS_MAX 1024

int MPIR_Adapt_leaving = 0;

struct MPIR_Adapt_ending MPIR_Adapt_ending;

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
static void *stale_group_slots[STALE_GROUPS_MAX];

static struct stale_queue stale_comms = { &MPIR_Comm_mem, stale_comm_slots, STALE_COMMS_MAX, 0 };

static struct stale_queue stale_begin_comms = {
    &MPIR_Comm_mem, stale_begin_comm_slots, STALE_BEGIN_COMMS_MAX, 0
};

static struct stale_queue stale_wins = { &MPIR_Win_mem, stale_win_slots, STALE_WINS_MAX, 0 };

static struct stale_queue stale_groups =
    { &MPIR_Group_mem, stale_group_slots, STALE_GROUPS_MAX, 0 };

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
    MPIR_Object_set_ref((MPIR_Handle_common *) object, -(int) MPIR_Adapt_ending.epoch);
    queue->slots[queue->count++] = object;
}

static int stale_find(const struct stale_queue *queue, const void *object)
{
    /* recently ended objects are searched for most often */
    for (int i = queue->count - 1; i >= 0; i--) {
        if (queue->slots[i] == object)
            return i;
    }
    return -1;
}

/* Returns whether the object was in the queue. */
static int stale_release(struct stale_queue *queue, const void *object)
{
    int index = stale_find(queue, object);
    if (index >= 0)
        stale_remove(queue, index);
    return index >= 0;
}

void MPIR_Adapt_release_stale(void)
{
    stale_comms.count = 0;
    stale_begin_comms.count = 0;
    stale_wins.count = 0;
    stale_groups.count = 0;
}

void MPIR_Adapt_comm_end(MPIR_Comm * comm)
{
    stale_add(comm->adapt.by_begin ? &stale_begin_comms : &stale_comms, comm);
}

void MPIR_Adapt_group_end(MPIR_Group * group)
{
    stale_add(&stale_groups, group);
}

void MPIR_Adapt_win_freed(MPIR_Win * win)
{
    if (win == MPIR_Adapt_ending.win) {
        stale_add(&stale_wins, win);
    } else {
        MPIR_Object_set_ref(win, 0);
        MPIR_Handle_obj_free(&MPIR_Win_mem, win);
    }
}

static bool is_stale(const struct stale_queue *queue, const void *object)
{
    return object && MPIR_Object_get_ref((const MPIR_Handle_common *) object) < 0 &&
        stale_find(queue, object) >= 0;
}

static bool ended_with_session(const void *object)
{
    return MPIR_Object_get_ref((const MPIR_Handle_common *) object) == -(int) MPIR_ADAPT_BY_SESSION;
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

int MPIR_Adapt_stale_comm_error(const MPIR_Comm * comm, const char *function, int line)
{
    if (!MPIR_Adapt_comm_is_stale(comm))
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line,
                                    MPI_ERR_COMM, "**comm", 0);

    if (ended_with_session(comm))
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line, MPI_ERR_COMM,
                                    "**sessioncomm", "**sessioncomm %s",
                                    comm->name[0] ? comm->name : "(without name)");
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

    if (ended_with_session(win))
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line, MPI_ERR_WIN,
                                    "**sessionwin", "**sessionwin %s",
                                    win->name[0] ? win->name : "(without name)");
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

int MPIR_Adapt_comm_release_stale(MPIR_Comm * comm)
{
    if (!comm || MPIR_Object_get_ref(comm) >= 0)
        return 0;
    return stale_release(&stale_comms, comm) || stale_release(&stale_begin_comms, comm);
}

bool MPIR_Adapt_group_is_stale(const MPIR_Group * group)
{
    return is_stale(&stale_groups, group);
}

/* There may be several handles: MPI_Comm_group returns the same group each time. */
bool MPIR_Adapt_group_release_stale(MPIR_Group * group)
{
    if (!is_stale(&stale_groups, group))
        return false;
    if (--group->size == 0)
        stale_release(&stale_groups, group);
    return true;
}

int MPIR_Adapt_win_release_stale(MPIR_Win * win)
{
    return win && MPIR_Object_get_ref(win) < 0 && stale_release(&stale_wins, win);
}
