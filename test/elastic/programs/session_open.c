/*
 * SX3 (SI4, SE1): what MPI_Session_init is given is used and returned: keys of the info, the thread
 * level, the error handler, which is called with the session's handle.  SE1: a session that is not
 * open is MPI_ERR_SESSION.
 */

#include "elastic_test.h"

static struct {
    int calls, class;
    MPI_Session session;
} handled;

static void handler(MPI_Session * session, int *error, ...)
{
    handled.calls++;
    handled.session = *session;
    MPI_Error_class(*error, &handled.class);
}

static void check_key(MPI_Info info, const char *key, const char *expected)
{
    char value[64] = "";
    int flag;

    ET_MPI(MPI_Info_get(info, key, sizeof(value) - 1, value, &flag));
    ET_CHECK(flag && !strcmp(value, expected), "%s is '%s', not '%s'", key, value, expected);
}

static void check_level(const char *wanted, const char *notified)
{
    MPI_Session session;
    MPI_Info given, info;

    ET_MPI(MPI_Info_create(&given));
    ET_MPI(MPI_Info_set(given, "thread_level", wanted));
    ET_MPI(MPI_Info_set(given, "colour", "green"));
    ET_MPI(MPI_Session_init(given, MPI_ERRORS_RETURN, &session));
    /* what the program does with its object later is its own business */
    ET_MPI(MPI_Info_set(given, "colour", "red"));
    ET_MPI(MPI_Session_get_info(session, &info));
    check_key(info, "thread_level", notified);
    check_key(info, "colour", "green");
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPI_Info_free(&given));
    ET_MPI(MPI_Session_finalize(&session));
}

static void check_handler(void)
{
    MPI_Errhandler errhandler, got;
    MPI_Session session, other;
    MPI_Group group;
    int n = 0;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
    ET_MPI(MPI_Session_create_errhandler(handler, &errhandler));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, errhandler, &session));
    ET_MPI(MPI_Session_get_errhandler(session, &got));
    ET_CHECK(got == errhandler, "MPI_Session_get_errhandler returns another one");
    ET_MPI(MPI_Errhandler_free(&got));
    ET_MPI(MPI_Errhandler_free(&errhandler));

    ET_ERROR(MPI_Group_from_session_pset(session, "app://none", &group), MPI_ERR_ARG, NULL);
    ET_CHECK(handled.calls == 1 && handled.class == MPI_ERR_ARG && handled.session == session,
             "the handler was called %d times", handled.calls);
    ET_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 77, &n, NULL), MPI_ERR_ARG, NULL);
    ET_CHECK(handled.calls == 2, "the handler was called %d times", handled.calls);
    ET_ERROR(MPI_Group_from_session_pset(other, "app://none", &group), MPI_ERR_ARG, NULL);
    ET_CHECK(handled.calls == 2, "the other session's error came to this one's handler");
    ET_MPI(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
    ET_ERROR(MPI_Group_from_session_pset(session, "app://none", &group), MPI_ERR_ARG, NULL);
    ET_CHECK(handled.calls == 2, "the former handler was called");
    ET_MPI(MPI_Session_finalize(&session));
    ET_MPI(MPI_Session_finalize(&other));
}

/* In an open MPI with a handler that returns: without a session the error is MPI_COMM_WORLD's. */
static void check_not_open(void)
{
    MPI_Session session, closed;
    MPI_Errhandler got;
    MPI_Info info;
    int n;

    ET_MPI(MPI_Init(NULL, NULL));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    closed = session;
    ET_MPI(MPI_Session_finalize(&session));
    ET_ERROR(MPI_Session_get_num_psets(closed, MPI_INFO_NULL, &n), MPI_ERR_SESSION, "finalized");
    ET_ERROR(MPI_Session_get_info(closed, &info), MPI_ERR_SESSION, "finalized");
    ET_ERROR(MPI_Session_get_errhandler(closed, &got), MPI_ERR_SESSION, "finalized");
    ET_ERROR(MPI_Session_set_errhandler(closed, MPI_ERRORS_RETURN), MPI_ERR_SESSION, "finalized");
    ET_ERROR(MPI_Session_finalize(&closed), MPI_ERR_SESSION, "finalized");
    ET_ERROR(MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &n), MPI_ERR_SESSION, NULL);
    ET_MPI(MPI_Finalize());
}

int main(int argc, char **argv)
{
    check_level("MPI_THREAD_SINGLE", "MPI_THREAD_SINGLE");
    check_level("MPI_THREAD_FUNNELED", "MPI_THREAD_FUNNELED");
    check_level("MPI_THREAD_SERIALIZED", "MPI_THREAD_SERIALIZED");
    check_level("MPI_THREAD_MULTIPLE", "MPI_THREAD_MULTIPLE");
    check_level("nonsense", "MPI_THREAD_MULTIPLE");
    check_handler();
    check_not_open();
    et_log("PASS session_open");
    return 0;
}
