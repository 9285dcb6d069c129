/*
 * SX7: objects know their session.  The end of one session leaves the others' objects and the
 * world's at work; what it has left itself is released locally and stale: a communicator, what is
 * derived from it, a window, a file and groups, but for one that a communicator of another session
 * has.  With --check (and MPIR_CVAR_SESSION_CHECK=1) objects of two sessions in one call are
 * MPI_ERR_SESSION.
 */

#include "elastic_test.h"
#include <unistd.h>

static long checks;

struct work {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
};

static void open_work(struct work *work, const char *tag)
{
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &work->session));
    ET_MPI(MPI_Group_from_session_pset(work->session, "mpi://WORLD", &work->group));
    ET_MPI(MPI_Comm_create_from_group(work->group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                      &work->comm));
}

static void close_work(struct work *work)
{
    ET_MPI(MPI_Comm_free(&work->comm));
    ET_MPI(MPI_Group_free(&work->group));
    ET_MPI(MPI_Session_finalize(&work->session));
}

/* Receives of a process from itself, in each session. */
static void check_mixed_requests(struct work *one, struct work *other)
{
    MPI_Request requests[2], again[2];
    int rank, index, flag, n, indices[2];

    ET_MPI(MPI_Comm_rank(one->comm, &rank));
    ET_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, rank, 1, one->comm, &requests[0]));
    ET_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, rank, 1, other->comm, &requests[1]));
    ET_ERROR(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_ERR_SESSION, "sessions");
    ET_ERROR(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE), MPI_ERR_SESSION, "sessions");
    ET_ERROR(MPI_Waitsome(2, requests, &n, indices, MPI_STATUSES_IGNORE), MPI_ERR_SESSION,
             "sessions");
    ET_ERROR(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE), MPI_ERR_SESSION, "sessions");
    ET_MPI(MPI_Send(NULL, 0, MPI_BYTE, rank, 1, one->comm));
    ET_MPI(MPI_Send(NULL, 0, MPI_BYTE, rank, 1, other->comm));
    for (int i = 0; i < 2; i++)
        ET_MPI(MPI_Waitall(1, &requests[i], MPI_STATUSES_IGNORE));

    ET_MPI(MPI_Recv_init(NULL, 0, MPI_BYTE, rank, 1, one->comm, &again[0]));
    ET_MPI(MPI_Recv_init(NULL, 0, MPI_BYTE, rank, 1, other->comm, &again[1]));
    ET_ERROR(MPI_Startall(2, again), MPI_ERR_SESSION, "sessions");
    ET_MPI(MPI_Request_free(&again[1]));
    ET_MPI(MPI_Startall(1, again));
    ET_MPI(MPI_Send(NULL, 0, MPI_BYTE, rank, 1, one->comm));
    /* MPI_REQUEST_NULL is of none */
    ET_MPI(MPI_Waitall(2, again, MPI_STATUSES_IGNORE));
    ET_MPI(MPI_Request_free(&again[0]));
}

/* One of a file of its group, and a receive in the other session: written in one piece, in parts,
 * and by all. */
static void check_mixed_file(struct work *one, struct work *other)
{
    MPI_Request requests[2];
    MPI_Datatype parts;
    MPI_File file;
    int rank, flag, numbers[4] = { 0 };

    ET_MPI(MPI_Comm_rank(one->comm, &rank));
    ET_MPI(MPIX_File_open_from_group(one->group, "mixed", "mixed", MPI_MODE_CREATE | MPI_MODE_RDWR |
                                     MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                     &file));
    ET_MPI(MPI_Type_vector(2, 1, 2, MPI_INT, &parts));
    ET_MPI(MPI_Type_commit(&parts));
    ET_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, rank, 1, other->comm, &requests[1]));
    for (int i = 0; i < 3; i++) {
        if (i == 0)
            ET_MPI(MPI_File_iwrite_at(file, 0, numbers, 4, MPI_INT, &requests[0]));
        else if (i == 1)
            ET_MPI(MPI_File_iwrite_at(file, 0, numbers, 1, parts, &requests[0]));
        else
            ET_MPI(MPI_File_iwrite_at_all(file, 0, numbers, 4, MPI_INT, &requests[0]));
        ET_ERROR(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_ERR_SESSION, "sessions");
        ET_ERROR(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE), MPI_ERR_SESSION, "sessions");
        ET_MPI(MPI_Waitall(1, requests, MPI_STATUSES_IGNORE));
    }
    ET_MPI(MPI_Send(NULL, 0, MPI_BYTE, rank, 1, other->comm));
    ET_MPI(MPI_Waitall(1, &requests[1], MPI_STATUSES_IGNORE));
    ET_MPI(MPI_Type_free(&parts));
    ET_MPI(MPI_File_close(&file));
}

static void check_mixed(struct work *one, struct work *other)
{
    MPI_Group group, part;
    MPI_Comm comm;
    int result, rank = 0, there;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    ET_ERROR(MPI_Group_union(one->group, other->group, &group), MPI_ERR_SESSION, "sessions");
    ET_ERROR(MPI_Comm_compare(one->comm, other->comm, &result), MPI_ERR_SESSION, "sessions");
    ET_MPI(MPI_Group_incl(other->group, 1, &rank, &part));
    ET_ERROR(MPI_Group_translate_ranks(one->group, 1, &rank, part, &there), MPI_ERR_SESSION,
             "sessions");
    ET_ERROR(MPI_Comm_create_group(one->comm, part, 0, &comm), MPI_ERR_SESSION, "sessions");
    ET_MPI(MPI_Group_free(&part));
    /* a group of a communicator is of its session, the empty group of none */
    ET_MPI(MPI_Comm_group(one->comm, &part));
    ET_ERROR(MPI_Group_compare(part, other->group, &result), MPI_ERR_SESSION, "sessions");
    ET_MPI(MPI_Group_compare(part, one->group, &result));
    ET_MPI(MPI_Group_free(&part));
    ET_MPI(MPI_Group_union(one->group, MPI_GROUP_EMPTY, &group));
    ET_MPI(MPI_Group_free(&group));
}

/* Of `work`, whose session is finalised while all of it is there. */
static void check_left(struct work *work, struct work *other)
{
    MPI_Comm derived, across = MPI_COMM_NULL, none, world_comm = other->comm;
    MPI_Group part, group, again;
    MPI_Win win;
    MPI_File file;
    int size, result, first = 0, *memory;
    MPI_Offset position;

    ET_MPI(MPI_Comm_dup(work->comm, &derived));
    ET_MPI(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, derived, &memory, &win));
    ET_MPI(MPIX_File_open_from_group(work->group, "file", "left", MPI_MODE_CREATE | MPI_MODE_RDWR,
                                     MPI_INFO_NULL, MPI_ERRORS_RETURN, &file));
    ET_MPI(MPI_Group_incl(work->group, 1, &first, &part));
    ET_MPI(MPI_Comm_group(work->comm, &group));
    if (!checks)                /* a communicator that goes on has a group of this session */
        ET_MPI(MPI_Comm_create(other->comm, work->group, &across));
    ET_MPI(MPI_Barrier(work->comm));
    ET_MPI(MPI_Session_finalize(&work->session));

    ET_ERROR(MPI_Comm_size(work->comm, &size), MPI_ERR_COMM, "MPI_Session_finalize");
    ET_ERROR(MPI_Comm_size(derived, &size), MPI_ERR_COMM, "MPI_Session_finalize");
    ET_ERROR(MPI_Win_fence(0, win), MPI_ERR_WIN, "MPI_Session_finalize");
    ET_ERROR(MPI_File_get_position(file, &position), MPI_ERR_FILE, "MPI_Session_finalize");
    et_exercise(world_comm, "the other session's");
    ET_ERROR(MPI_Group_size(part, &size), MPI_ERR_GROUP, "MPI_Session_finalize");
    ET_ERROR(MPI_Comm_create_from_group(part, "left", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none),
             MPI_ERR_GROUP, NULL);
    ET_MPI(MPI_Group_free(&part));
    if (checks) {
        ET_ERROR(MPI_Group_compare(group, other->group, &result), MPI_ERR_GROUP,
                 "MPI_Session_finalize");
        ET_MPI(MPI_Group_free(&group)); /* it may be the same one */
        ET_ERROR(MPI_Group_size(work->group, &size), MPI_ERR_GROUP, "MPI_Session_finalize");
    } else {
        ET_MPI(MPI_Group_free(&group));
        et_exercise(across, "a communicator of the other session's");
        ET_MPI(MPI_Comm_group(across, &again));
        ET_MPI(MPI_Group_compare(again, other->group, &result));
        ET_CHECK(result == MPI_IDENT, "SX7: another group, %d", result);
        ET_MPI(MPI_Group_free(&again));
        ET_MPI(MPI_Comm_free(&across));
    }
    ET_MPI(MPI_Comm_free(&work->comm));
    ET_MPI(MPI_Comm_free(&derived));
    ET_MPI(MPI_Win_free(&win));
    ET_MPI(MPI_File_close(&file));
    ET_MPI(MPI_Group_free(&work->group));
}

int main(int argc, char **argv)
{
    const long with_world = et_number(argc, argv, "world", 0);
    struct work one, other;

    checks = et_number(argc, argv, "check", 0);
    if (with_world) {
        ET_MPI(MPI_Init(NULL, NULL));
        ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    }
    open_work(&one, "one");
    open_work(&other, "other");
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    if (checks) {
        check_mixed(&one, &other);
        check_mixed_requests(&one, &other);
        check_mixed_file(&one, &other);
    }
    check_left(&one, &other);
    /* a session that comes later has objects of its own */
    open_work(&one, "again");
    et_exercise(one.comm, "again");
    close_work(&one);
    et_exercise(other.comm, "the other session's");
    close_work(&other);
    if (with_world) {
        et_exercise(MPI_COMM_WORLD, "MPI_COMM_WORLD");
        ET_MPI(MPI_Finalize());
    }
    if (!strcmp(getenv("PMI_RANK"), "0"))
        et_log("PASS session_owner");
    return 0;
}
