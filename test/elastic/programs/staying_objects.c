/*
 * C5: what survives the commit: MPI_COMM_SELF and what derives from it alone with its messages,
 * datatypes, operations, info objects, keyvals, error handlers, the error handler and the name of
 * MPI_COMM_WORLD.  These do not: attributes cached on MPI_COMM_WORLD, deleted through their
 * callbacks, once.
 */

#include "elastic_test.h"

static MPI_Comm self_copy;
static MPI_Datatype pair_type;
static MPI_Op greatest;
static MPI_Info info;
static int keyval, type_keyval, deleted, deleted_on_self, called;
static MPI_Errhandler handler;
static MPI_Win self_win;
static int cell;
static long on_world = 111, on_self = 222;
static MPI_T_cvar_handle cvar;
static int have_cvar;
static MPI_Request partitioned = MPI_REQUEST_NULL;
static int sent;

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void) comm;
    (void) extra;
    ET_CHECK(key == keyval, "the callback gets key %d", key);
    if (value == &on_world)
        deleted++;
    else
        deleted_on_self++;
    return MPI_SUCCESS;
}

static void on_error(MPI_Comm * comm, int *error, ...)
{
    (void) comm;
    (void) error;
    called++;
}

static void reduce_greatest(void *in, void *inout, int *count, MPI_Datatype * type)
{
    int *a = in, *b = inout;

    (void) type;
    for (int i = 0; i < 2 * *count; i++)
        b[i] = a[i] > b[i] ? a[i] : b[i];
}

static void make(void)
{
    ET_MPI(MPI_Comm_dup(MPI_COMM_SELF, &self_copy));
    ET_MPI(MPI_Type_contiguous(2, MPI_INT, &pair_type));
    ET_MPI(MPI_Type_commit(&pair_type));
    ET_MPI(MPI_Op_create(reduce_greatest, 1, &greatest));
    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "word", "stays"));
    ET_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL));
    ET_MPI(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_keyval,
                                  NULL));
    ET_MPI(MPI_Type_set_attr(pair_type, type_keyval, &on_self));
    ET_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &on_self));
    ET_MPI(MPI_Comm_set_attr(self_copy, keyval, &on_self));
    ET_MPI(MPI_Comm_create_errhandler(on_error, &handler));
    ET_MPI(MPI_Win_create(&cell, sizeof(cell), sizeof(cell), MPI_INFO_NULL, MPI_COMM_SELF,
                          &self_win));
    int provided, index = -1, count;
    ET_MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    if (MPI_T_cvar_get_index("MPIR_CVAR_ADAPT_LEAVERS_RETURN", &index) == MPI_SUCCESS) {
        ET_MPI(MPI_T_cvar_handle_alloc(index, NULL, &cvar, &count));
        have_cvar = 1;
    }
    ET_CHECK(have_cvar, "no control variable MPIR_CVAR_ADAPT_LEAVERS_RETURN");
}

static void put_on_world(void)
{
    ET_MPI(MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &on_world));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    ET_MPI(MPI_Comm_set_name(MPI_COMM_WORLD, "my world"));
}

static void window(void)
{
    deleted = 0;
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        ET_MPI(MPI_Win_free(&self_win));        /* MPI is finalised in commit */
    else        /* of which the receiver learns after the commit */
        ET_MPI(MPI_Psend_init(&sent, 1, 1, MPI_INT, 0, 7, self_copy, MPI_INFO_NULL, &partitioned));
}

static void message_lives(void)
{
    MPI_Request both[2];
    int got = 0;

    if (partitioned == MPI_REQUEST_NULL)
        return;
    ET_MPI(MPI_Precv_init(&got, 1, 1, MPI_INT, 0, 7, self_copy, MPI_INFO_NULL, &both[0]));
    both[1] = partitioned;
    sent = 77;
    ET_MPI(MPI_Startall(2, both));
    ET_MPI(MPI_Pready(0, both[1]));
    ET_MPI(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    ET_CHECK(got == 77, "a message on a copy of MPI_COMM_SELF brings %d", got);
    ET_MPI(MPI_Request_free(&both[0]));
    ET_MPI(MPI_Request_free(&both[1]));
    partitioned = MPI_REQUEST_NULL;
}

static void self_lives(void)
{
    int flag, got = 0, size;
    long *value;

    et_exercise(self_copy, "a copy of MPI_COMM_SELF");
    et_exercise(MPI_COMM_SELF, "MPI_COMM_SELF");
    ET_MPI(MPI_Comm_size(self_copy, &size));
    ET_CHECK(size == 1, "the copy of MPI_COMM_SELF has %d", size);
    ET_MPI(MPI_Comm_get_attr(MPI_COMM_SELF, keyval, &value, &flag));
    ET_CHECK(flag && value == &on_self, "the attribute of MPI_COMM_SELF is missing");
    ET_MPI(MPI_Comm_get_attr(self_copy, keyval, &value, &flag));
    ET_CHECK(flag && value == &on_self, "the attribute of its copy is missing");
    ET_CHECK(deleted_on_self == 0, "attributes of MPI_COMM_SELF were deleted");
    cell = 5;
    ET_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, self_win));
    ET_MPI(MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, self_win));
    ET_MPI(MPI_Win_unlock(0, self_win));
    ET_CHECK(got == 5, "the window on MPI_COMM_SELF gives %d", got);
}

static void objects_live(void)
{
    int mine[2] = { et.rank, -et.rank }, most[2] = { -1, -1 }, flag;
    long *value;
    char word[16] = "";

    ET_MPI(MPI_Allreduce(mine, most, 1, pair_type, greatest, MPI_COMM_WORLD));
    ET_CHECK(most[0] == et.size - 1 && most[1] == 0, "the operation gives %d %d", most[0], most[1]);
    ET_MPI(MPI_Info_get(info, "word", 15, word, &flag));
    ET_CHECK(flag && strcmp(word, "stays") == 0, "the info object has '%s'", word);
    ET_MPI(MPI_Type_get_attr(pair_type, type_keyval, &value, &flag));
    ET_CHECK(flag && value == &on_self, "the attribute of a datatype is missing");
    int setting = -1;
    ET_MPI(MPI_T_cvar_read(cvar, &setting));
    ET_CHECK(setting == 0, "MPIR_CVAR_ADAPT_LEAVERS_RETURN is %d", setting);
}

static void world_survives(void)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length, flag, before = called;
    MPI_Errhandler now;
    long *value;

    ET_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &flag));
    ET_CHECK(!flag, "an attribute of the old world lives on");
    ET_CHECK(deleted == 1, "the delete callback was called %d times", deleted);
    ET_MPI(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    ET_CHECK(strcmp(name, "my world") == 0, "the name is '%s'", name);
    ET_MPI(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &now));
    ET_CHECK(now == handler, "another error handler");
    ET_MPI(MPI_Errhandler_free(&now));
    MPI_Send(NULL, 0, MPI_INT, et.size + 5, 0, MPI_COMM_WORLD);
    ET_CHECK(called == before + 1, "the error handler was called %d times", called - before);
}

static void after(void)
{
    self_lives();
    message_lives();
    objects_live();
    world_survives();
    put_on_world();
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    make();
    put_on_world();
    et.window = window;
    et.after = after;
    et_loop();
    ET_MPI(MPI_T_cvar_handle_free(&cvar));
    ET_MPI(MPI_T_finalize());
    ET_MPI(MPI_Win_free(&self_win));
    ET_MPI(MPI_Comm_free(&self_copy));
    ET_MPI(MPI_Type_free(&pair_type));
    ET_MPI(MPI_Op_free(&greatest));
    ET_MPI(MPI_Info_free(&info));
    return et_finish();
}
