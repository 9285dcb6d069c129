/*
 * SX11: two threads, each with a FUNNELED session of its own, communicate at once and undisturbed:
 * each makes its own communicator over all processes, again and again, while the other does the
 * same.  SX10: meanwhile a third thread makes and frees info objects, error handlers and attribute
 * keys, as two do before anything is initialised and when all has been ended; a handler and a key
 * from before are used, and freed after the end.
 */

#include "elastic_test.h"
#include <pthread.h>

static int errors;

static void handler(MPI_Session * session, int *error, ...)
{
    errors++;
}

static int keep(MPI_Comm comm, int keyval, void *extra, void *value, void *copy, int *flag)
{
    *flag = 0;
    return MPI_SUCCESS;
}

/* Of SX10. */
static void *objects(void *unused)
{
    MPI_Info info;
    MPI_Errhandler errhandler;
    int key;

    for (int i = 0; i < 1000; i++) {
        ET_MPI(MPI_Info_create(&info));
        ET_MPI(MPI_Info_set(info, "key", "value"));
        ET_MPI(MPI_Info_free(&info));
        ET_MPI(MPI_Session_create_errhandler(handler, &errhandler));
        ET_MPI(MPI_Errhandler_free(&errhandler));
        ET_MPI(MPI_Comm_create_keyval(keep, MPI_COMM_NULL_DELETE_FN, &key, NULL));
        ET_MPI(MPI_Comm_free_keyval(&key));
    }
    return unused;
}

static void in_threads(int n, void *(*function) (void *))
{
    pthread_t threads[2];

    for (int i = 0; i < n; i++)
        ET_CHECK(!pthread_create(&threads[i], NULL, function, NULL), "no thread");
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

/* A handler and a key from before the first session. */
static void use(MPI_Session session, int key)
{
    MPI_Comm comm, copy;
    MPI_Group group;
    void *value;
    int flag, was = errors;

    ET_ERROR(MPI_Group_from_session_pset(session, "app://none", &group), MPI_ERR_ARG, NULL);
    ET_CHECK(errors == was + 1, "SX10: the handler was not called");
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
    ET_MPI(MPI_Comm_create_from_group(group, "self", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Comm_set_attr(comm, key, &errors));
    ET_MPI(MPI_Comm_dup(comm, &copy));
    ET_MPI(MPI_Comm_get_attr(copy, key, &value, &flag));
    ET_CHECK(flag && value == &errors, "SX10: the attribute was not copied");
    ET_MPI(MPI_Comm_free(&copy));
    ET_MPI(MPI_Comm_free(&comm));
}

static void *work(void *argument)
{
    const char *name = argument;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Info info;
    char tag[32];

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "thread_level", "MPI_THREAD_FUNNELED"));
    ET_MPI(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session));
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    for (int i = 0; i < 20; i++) {
        snprintf(tag, sizeof(tag), "%s-%d", name, i);
        ET_MPI(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
        for (int j = 0; j < 10; j++)
            et_exercise(comm, name);
        ET_MPI(MPI_Comm_free(&comm));
    }
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Session_finalize(&session));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t first, second;
    MPI_Session session;
    MPI_Errhandler errhandler;
    int key;

    in_threads(2, objects);
    ET_MPI(MPI_Session_create_errhandler(handler, &errhandler));
    ET_MPI(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, errhandler, &session));
    use(session, key);
    ET_CHECK(!pthread_create(&first, NULL, work, "first"), "no thread");
    ET_CHECK(!pthread_create(&second, NULL, work, "second"), "no thread");
    in_threads(1, objects);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    ET_MPI(MPI_Session_finalize(&session));
    in_threads(2, objects);
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, errhandler, &session));
    use(session, key);
    ET_MPI(MPI_Session_finalize(&session));
    ET_MPI(MPI_Errhandler_free(&errhandler));
    ET_MPI(MPI_Comm_free_keyval(&key));
    if (!strcmp(getenv("PMI_RANK"), "0"))
        et_log("PASS session_threads");
    return 0;
}
