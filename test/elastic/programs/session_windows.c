/*
 * SX9: windows and a file over a group of a session.  All four kinds of windows and the file do
 * what those over a communicator do; over a part of the processes; nothing is left over (context
 * ids would run out); errors go to the handler that is given.
 */

#include "elastic_test.h"
#include <stdbool.h>

#define MORE_THAN_IDS 2500      /* MPICH has 2048 context ids */

static MPI_Session session;

/* Every member puts its rank plus 1 into the next one's memory, which is `mine` here. */
static void check_put(MPI_Win win, MPI_Aint target_disp, const volatile int *mine, const char *what)
{
    MPI_Group group;
    int rank, size;

    ET_MPI(MPI_Win_get_group(win, &group));
    ET_MPI(MPI_Group_rank(group, &rank));
    ET_MPI(MPI_Group_size(group, &size));
    ET_MPI(MPI_Group_free(&group));
    int value = rank + 1;
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, target_disp, 1, MPI_INT, win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_CHECK(*mine == (rank + size - 1) % size + 1, "%s: rank %d of %d got %d", what, rank, size,
             *mine);
}

static void check_windows(MPI_Group group, bool one_host)
{
    MPI_Win win;
    int here = 0, *memory;
    MPI_Aint address, there;
    MPI_Comm comm;
    int rank, size;
    MPI_Status status;

    ET_MPI(MPIX_Win_create_from_group(group, "create", &here, sizeof(int), sizeof(int),
                                      MPI_INFO_NULL, MPI_ERRORS_RETURN, &win));
    check_put(win, 0, &here, "create");
    ET_MPI(MPI_Win_free(&win));

    ET_MPI(MPIX_Win_allocate_from_group(group, "allocate", sizeof(int), sizeof(int), MPI_INFO_NULL,
                                        MPI_ERRORS_RETURN, &memory, &win));
    check_put(win, 0, memory, "allocate");
    ET_MPI(MPI_Win_free(&win));

    if (one_host) {
        ET_MPI(MPIX_Win_allocate_shared_from_group(group, "shared", sizeof(int), sizeof(int),
                                                   MPI_INFO_NULL,
                                                   MPI_ERRORS_RETURN, &memory, &win));
        check_put(win, 0, memory, "allocate_shared");
        ET_MPI(MPI_Win_free(&win));
    }

    ET_MPI(MPIX_Win_create_dynamic_from_group(group, "dynamic", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                              &win));
    ET_MPI(MPI_Win_attach(win, &here, sizeof(here)));
    ET_MPI(MPI_Get_address(&here, &address));
    ET_MPI(MPI_Comm_create_from_group(group, "addresses", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_MPI(MPI_Sendrecv(&address, 1, MPI_AINT, (rank + size - 1) % size, 0, &there, 1, MPI_AINT,
                        (rank + 1) % size, 0, comm, &status));
    ET_MPI(MPI_Comm_free(&comm));
    check_put(win, there, &here, "create_dynamic");
    ET_MPI(MPI_Win_detach(win, &here));
    ET_MPI(MPI_Win_free(&win));
}

/* A process that knows nobody yet has a window of its own, and the messages of a lock with
 * itself. */
static void check_alone(MPI_Group self)
{
    int *memory, one = 1;
    MPI_Win win;

    ET_MPI(MPIX_Win_allocate_from_group(self, "alone", sizeof(int), sizeof(int), MPI_INFO_NULL,
                                        MPI_ERRORS_RETURN, &memory, &win));
    *memory = 41;
    ET_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    ET_MPI(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    ET_MPI(MPI_Win_unlock(0, win));
    ET_CHECK(*memory == 42, "alone: %d", *memory);
    ET_MPI(MPI_Win_free(&win));
}

static void check_file(MPI_Group group, const char *name)
{
    MPI_File file;
    int rank, size, value;
    MPI_Status status;

    ET_MPI(MPI_Group_rank(group, &rank));
    ET_MPI(MPI_Group_size(group, &size));
    ET_MPI(MPIX_File_open_from_group(group, "file", name,
                                     MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                                     MPI_INFO_NULL, MPI_ERRORS_RETURN, &file));
    ET_MPI(MPI_File_write_at_all(file, rank * sizeof(int), &rank, 1, MPI_INT, &status));
    ET_MPI(MPI_File_sync(file));
    ET_MPI(MPI_File_read_at_all(file, (size - 1 - rank) * sizeof(int), &value, 1, MPI_INT,
                                &status));
    ET_CHECK(value == size - 1 - rank, "rank %d of %d read %d", rank, size, value);
    ET_MPI(MPI_File_close(&file));
}

static void check_rest(MPI_Group self)
{
    for (int i = 0; i < MORE_THAN_IDS; i++) {
        MPI_Win win;
        MPI_File file;

        ET_MPI(MPIX_Win_create_dynamic_from_group(self, "again", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                                  &win));
        ET_MPI(MPI_Win_free(&win));
        ET_MPI(MPIX_File_open_from_group(self, "again", "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL,
                                         MPI_ERRORS_RETURN, &file));
        ET_MPI(MPI_File_close(&file));
    }
}

static void check_errors(MPI_Group self)
{
    MPI_File file;
    MPI_Win win;
    MPI_Errhandler handler;

    ET_ERROR(MPIX_File_open_from_group(self, "none", "no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL,
                                       MPI_ERRORS_RETURN, &file), MPI_ERR_NO_SUCH_FILE, NULL);
    ET_ERROR(MPIX_Win_create_dynamic_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL,
                                                MPI_ERRORS_RETURN, &win), MPI_ERR_GROUP, NULL);
    ET_CHECK(win == MPI_WIN_NULL, "a window after an error");
    ET_MPI(MPIX_Win_create_dynamic_from_group(self, "handler", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                              &win));
    ET_MPI(MPI_Win_get_errhandler(win, &handler));
    ET_CHECK(handler == MPI_ERRORS_RETURN, "another error handler than was given");
    ET_MPI(MPI_Win_free(&win));
}

/* A handle of nothing is an error as any other: of the handler that is given, or the session's.
 * SX3 */
static void check_handles(MPI_Group self)
{
    MPI_Comm comm;
    MPI_Win win;
    MPI_File file;
    MPI_Info answer;
    int here, *memory;

    ET_ERROR(MPI_Comm_create_from_group(MPI_GROUP_NULL, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                        &comm),
             MPI_ERR_GROUP, NULL);
    ET_ERROR(MPI_Intercomm_create_from_groups(self, 0, MPI_GROUP_NULL, 0, "none", MPI_INFO_NULL,
                                              MPI_ERRORS_RETURN, &comm), MPI_ERR_GROUP, NULL);
    ET_ERROR(MPIX_Win_create_from_group(MPI_GROUP_NULL, "none", &here, sizeof(here), 1,
                                        MPI_INFO_NULL,
                                        MPI_ERRORS_RETURN, &win), MPI_ERR_GROUP, NULL);
    ET_ERROR(MPIX_Win_allocate_from_group(MPI_GROUP_NULL, "none", sizeof(here), 1, MPI_INFO_NULL,
                                          MPI_ERRORS_RETURN, &memory, &win), MPI_ERR_GROUP, NULL);
    ET_ERROR(MPIX_Win_allocate_shared_from_group(MPI_GROUP_NULL, "none", sizeof(here), 1,
                                                 MPI_INFO_NULL,
                                                 MPI_ERRORS_RETURN, &memory, &win), MPI_ERR_GROUP,
                                                     NULL);
    ET_ERROR(MPIX_Win_create_dynamic_from_group(MPI_GROUP_NULL, "none", MPI_INFO_NULL,
                                                MPI_ERRORS_RETURN, &win),
             MPI_ERR_GROUP, NULL);
    ET_ERROR(MPIX_File_open_from_group(MPI_GROUP_NULL, "none", "/dev/null", MPI_MODE_RDWR,
                                       MPI_INFO_NULL,
                                       MPI_ERRORS_RETURN, &file), MPI_ERR_GROUP, NULL);
    ET_ERROR(MPIX_Session_add_scheduling_hints(session, (MPI_Info) MPI_GROUP_NULL, &answer),
             MPI_ERR_INFO, NULL);
}

int main(int argc, char **argv)
{
    MPI_Group all, self, part;
    const long with_world = et_number(argc, argv, "world", 0);
    int rank, first[2] = { 1, 0 };

    if (with_world)
        ET_MPI(MPI_Init(NULL, NULL));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://SELF", &self));
    ET_MPI(MPI_Group_rank(all, &rank));
    check_alone(self);
    check_windows(all, true);
    check_file(all, "all");
    ET_MPI(MPI_Group_incl(all, 2, first, &part));
    if (rank < 2) {
        check_windows(part, true);
        check_file(part, "part");
    }
    ET_MPI(MPI_Group_free(&part));
    check_rest(self);
    check_errors(self);
    check_handles(self);
    ET_MPI(MPI_Group_free(&all));
    ET_MPI(MPI_Group_free(&self));
    ET_MPI(MPI_Session_finalize(&session));
    if (with_world)
        ET_MPI(MPI_Finalize());
    if (rank == 0)
        et_log("PASS session_windows");
    return 0;
}
