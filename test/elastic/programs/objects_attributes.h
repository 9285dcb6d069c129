/*
 * Attributes of MPI objects: callbacks that change the list, replaced attributes, errors that a
 * callback returns.
 */

#ifndef OBJECTS_ATTRIBUTES_H_INCLUDED
#define OBJECTS_ATTRIBUTES_H_INCLUDED

#include "elastic_test.h"

/* ---- attributes: a delete callback that changes the list it is called from ------------------- */

static int other_key = MPI_KEYVAL_INVALID, deleted;

static int delete_other(MPI_Comm comm, int key, void *value, void *extra)
{
    int flag;
    void *other;

    (void) key;
    (void) value;
    (void) extra;
    deleted++;
    ET_MPI(MPI_Comm_get_attr(comm, other_key, &other, &flag));
    if (flag)
        ET_MPI(MPI_Comm_delete_attr(comm, other_key));
    return MPI_SUCCESS;
}

static int count_deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void) comm;
    (void) key;
    (void) value;
    (void) extra;
    deleted++;
    return MPI_SUCCESS;
}

/* Sets an attribute of another key while it is deleted itself. */
static int set_other(MPI_Comm comm, int key, void *value, void *extra)
{
    (void) key;
    (void) value;
    (void) extra;
    deleted++;
    ET_MPI(MPI_Comm_set_attr(comm, other_key, &deleted));
    return MPI_SUCCESS;
}

static void attributes(void)
{
    MPI_Comm comm;
    int keys[4];

    for (int order = 0; order < 4; order++)
        for (int sets = 0; sets < 2; sets++) {
            deleted = 0;
            ET_MPI(MPI_Comm_dup(MPI_COMM_SELF, &comm));
            for (int i = 0; i < 4; i++) {
                ET_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN,
                                              i == order ? sets ? set_other : delete_other :
                                              count_deleted, &keys[i], NULL));
                ET_MPI(MPI_Comm_set_attr(comm, keys[i], &keys[i]));
            }
            other_key = keys[(order + 1 + sets) % 4];
            ET_MPI(MPI_Comm_delete_attr(comm, keys[order]));
            for (int i = 0; i < 4; i++) {
                int flag;
                void *value;
                ET_MPI(MPI_Comm_get_attr(comm, keys[i], &value, &flag));
                ET_CHECK(flag == (i != order && (sets || keys[i] != other_key)),
                         "attribute %d of order %d: %d", i, order, flag);
            }
            ET_MPI(MPI_Comm_set_attr(comm, keys[order], &keys[order]));
            ET_MPI(MPI_Comm_set_attr(comm, other_key, &keys[order]));
            deleted = 0;
            ET_MPI(MPI_Comm_free(&comm));
            ET_CHECK(deleted >= 4, "%d attributes were deleted", deleted);
            for (int i = 0; i < 4; i++)
                ET_MPI(MPI_Comm_free_keyval(&keys[i]));
        }
}

/* ---- attributes of types and windows: one of a key that is there is replaced ----------------- */

static int type_deleted(MPI_Datatype type, int key, void *value, void *extra)
{
    (void) type;
    (void) key;
    (void) extra;
    *(int *) value = 1;
    return MPI_SUCCESS;
}

static int win_deleted(MPI_Win win, int key, void *value, void *extra)
{
    (void) win;
    (void) key;
    (void) extra;
    *(int *) value = 1;
    return MPI_SUCCESS;
}

static void replaced(void)
{
    MPI_Datatype type;
    MPI_Win win;
    int *memory, ended[3][2], keys[2][3], flag;
    void *value;

    ET_MPI(MPI_Type_contiguous(2, MPI_INT, &type));
    ET_MPI(MPI_Win_allocate(4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    for (int i = 0; i < 3; i++) {
        ET_MPI(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, type_deleted, &keys[0][i], NULL));
        ET_MPI(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, win_deleted, &keys[1][i], NULL));
    }
    for (int first = 0; first < 3; first++)
        for (int kind = 0; kind < 2; kind++) {
            memset(ended, 0, sizeof(ended));
            /* the keys in all orders, each twice */
            for (int i = 0; i < 6; i++) {
                int key = (first + 2 * i) % 3;
                if (kind == 0)
                    ET_MPI(MPI_Type_set_attr(type, keys[0][key], &ended[key][i / 3]));
                else
                    ET_MPI(MPI_Win_set_attr(win, keys[1][key], &ended[key][i / 3]));
            }
            for (int key = 0; key < 3; key++) {
                ET_CHECK(ended[key][0] &&
                         !ended[key][1], "attribute %d: %d, %d", key, ended[key][0], ended[key][1]);
                if (kind == 0)
                    ET_MPI(MPI_Type_delete_attr(type, keys[0][key]));
                else
                    ET_MPI(MPI_Win_delete_attr(win, keys[1][key]));
                ET_CHECK(ended[key][1], "attribute %d is not deleted", key);
                if (kind == 0)
                    ET_MPI(MPI_Type_get_attr(type, keys[0][key], &value, &flag));
                else
                    ET_MPI(MPI_Win_get_attr(win, keys[1][key], &value, &flag));
                ET_CHECK(!flag, "attribute %d is left", key);
            }
        }
    for (int i = 0; i < 3; i++) {
        ET_MPI(MPI_Type_free_keyval(&keys[0][i]));
        ET_MPI(MPI_Win_free_keyval(&keys[1][i]));
    }
    ET_MPI(MPI_Win_free(&win));
    ET_MPI(MPI_Type_free(&type));
}

/* ---- errors that a callback returns, and those that come later ------------------------------- */

static int fail_to_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void) comm;
    (void) key;
    (void) value;
    return *(int *) extra;
}

static void callback_errors(void)
{
    int key, error, code;
    MPI_Comm comm;

    ET_MPI(MPI_Add_error_class(&code));
    ET_MPI(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    ET_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, fail_to_delete, &key, &code));
    ET_MPI(MPI_Comm_set_attr(comm, key, NULL));
    error = MPI_Comm_delete_attr(comm, key);
    ET_CHECK(error == code, "error %d, not %d", error, code);
    for (int i = 0; i < 300; i++)
        ET_ERROR(MPI_Send(NULL, 0, MPI_INT, 77, 0, comm), MPI_ERR_RANK, NULL);
    code = MPI_SUCCESS;
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Comm_free_keyval(&key));
}

#endif /* OBJECTS_ATTRIBUTES_H_INCLUDED */
