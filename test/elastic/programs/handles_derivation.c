/*
 * C4, C5: what derives from MPI_COMM_SELF alone survives, however it was made; what has anything of
 * the world in it does not, even if it holds this process alone.  Groups survive with their
 * processes.  Attributes of what ends are deleted once, while the old world still works; those of
 * what survives are stored.
 */

#include "elastic_test.h"

enum { DUP, SPLIT, SPLIT_SHARED, CREATE, CREATE_GROUP, CART, OF_DUP, FROM_PSET, N_SURVIVING };
static MPI_Comm surviving[N_SURVIVING];
enum { WORLD_DUP, ALONE, ALONE_CREATE, OF_INTER, INTER, N_ENDING };
static MPI_Comm ending[N_ENDING];
static MPI_Session session = MPI_SESSION_NULL;
static MPI_Group self_group, staying_group;
static int keyval, deleted, saved = 1, ended = 2, finishing;

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    int size;

    (void) extra;
    ET_CHECK(key == keyval, "the callback gets key %d", key);
    ET_CHECK(value == &ended || finishing, "an attribute of what survives was deleted");
    ET_MPI(MPI_Comm_size(comm, &size));
    if (comm == ending[WORLD_DUP]) {
        ET_CHECK(size == et.size, "the old world has %d in a callback", size);
        ET_MPI(MPI_Barrier(comm));
    }
    deleted++;
    return MPI_SUCCESS;
}

static void make_surviving(void)
{
    int dims[1] = { 1 }, periods[1] = { 0 };
    MPI_Group group;

    ET_MPI(MPI_Comm_group(MPI_COMM_SELF, &self_group));
    ET_MPI(MPI_Comm_dup(MPI_COMM_SELF, &surviving[DUP]));
    ET_MPI(MPI_Comm_split(MPI_COMM_SELF, 3, 0, &surviving[SPLIT]));
    ET_MPI(MPI_Comm_split_type(MPI_COMM_SELF, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                               &surviving[SPLIT_SHARED]));
    ET_MPI(MPI_Comm_create(MPI_COMM_SELF, self_group, &surviving[CREATE]));
    ET_MPI(MPI_Comm_create_group(MPI_COMM_SELF, self_group, 0, &surviving[CREATE_GROUP]));
    ET_MPI(MPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &surviving[CART]));
    ET_MPI(MPI_Comm_dup(surviving[SPLIT], &surviving[OF_DUP]));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
    ET_MPI(MPI_Comm_create_from_group(group, "self", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                      &surviving[FROM_PSET]));
    ET_MPI(MPI_Group_free(&group));
    for (int i = 0; i < N_SURVIVING; i++)
        ET_MPI(MPI_Comm_set_attr(surviving[i], keyval, &saved));
}

static void make_ending(void)
{
    MPI_Comm half;

    for (int i = 0; i < N_ENDING; i++)
        ending[i] = MPI_COMM_NULL;
    ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &ending[WORLD_DUP]));
    ET_MPI(MPI_Comm_split(MPI_COMM_WORLD, et.rank, 0, &ending[ALONE]));
    ET_MPI(MPI_Comm_create_group(MPI_COMM_WORLD, self_group, 0, &ending[ALONE_CREATE]));
    if (et.size > 1) {
        ET_MPI(MPI_Comm_split(MPI_COMM_WORLD, et.rank == 0, 0, &half));
        ET_MPI(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, et.rank == 0, 0, &ending[INTER]));
        ET_MPI(MPI_Comm_free(&half));
        ET_MPI(MPI_Intercomm_merge(ending[INTER], 0, &ending[OF_INTER]));
    }
    if (et.size == 2) {
        /* the local side is MPI_COMM_SELF, the bridge is not */
        ET_MPI(MPI_Comm_free(&ending[INTER]));
        ET_MPI(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - et.rank, 0,
                                    &ending[INTER]));
    }
    for (int i = 0; i < N_ENDING; i++) {
        if (ending[i] != MPI_COMM_NULL)
            ET_MPI(MPI_Comm_set_attr(ending[i], keyval, &ended));
    }
}

static void window(void)
{
    deleted = 0;
    if (et.next != MPI_COMM_NULL) {
        ET_MPI(MPI_Comm_group(et.next, &staying_group));
    } else {
        /* a process must not end with a session */
        finishing = 1;
        ET_MPI(MPI_Comm_free(&surviving[FROM_PSET]));
        ET_MPI(MPI_Session_finalize(&session));
    }
}

static void check_surviving(void)
{
    int flag, size, *value;

    for (int i = 0; i < N_SURVIVING; i++) {
        ET_MPI(MPI_Comm_size(surviving[i], &size));
        ET_CHECK(size == 1, "surviving communicator %d has %d", i, size);
        ET_MPI(MPI_Comm_get_attr(surviving[i], keyval, &value, &flag));
        ET_CHECK(flag && value == &saved, "surviving communicator %d has no attribute", i);
        et_exercise(surviving[i], "a surviving communicator");
    }
}

static void check_groups(void)
{
    MPI_Group world;
    int result, zero = 0, rank;

    ET_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    ET_MPI(MPI_Group_compare(world, staying_group, &result));
    ET_CHECK(result == MPI_IDENT, "the group of new_comm_world is not that of the world");
    ET_MPI(MPI_Group_translate_ranks(self_group, 1, &zero, world, &rank));
    ET_CHECK(rank == et.rank, "this process is rank %d by its group, %d by the world", rank,
             et.rank);
    ET_MPI(MPI_Group_free(&world));
    ET_MPI(MPI_Group_free(&staying_group));
}

static void after(void)
{
    int count = 0, size;

    check_surviving();
    check_groups();
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int i = 0; i < N_ENDING; i++) {
        if (ending[i] == MPI_COMM_NULL)
            continue;
        count++;
        ET_ERROR(MPI_Comm_size(ending[i], &size), MPI_ERR_COMM, "adaptation");
        ET_MPI(MPI_Comm_free(&ending[i]));
    }
    ET_CHECK(deleted == count, "%d of %d attributes were deleted", deleted, count);
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    make_ending();
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    ET_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL));
    make_surviving();
    make_ending();
    et.window = window;
    et.after = after;
    et_loop();
    for (int i = 0; i < N_ENDING; i++) {
        if (ending[i] != MPI_COMM_NULL)
            ET_MPI(MPI_Comm_free(&ending[i]));
    }
    finishing = 1;
    for (int i = 0; i < N_SURVIVING; i++)
        ET_MPI(MPI_Comm_free(&surviving[i]));
    ET_MPI(MPI_Group_free(&self_group));
    ET_MPI(MPI_Session_finalize(&session));
    return et_finish();
}
