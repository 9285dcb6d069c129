/*
 * MPI_Error_string and MPI_Error_class of classes: those beyond MPICH's table have a text that names what has
 * happened, and the others have MPICH's.
 */

#include "elastic_test.h"

static const struct {
    int error_class;
    const char *word;
} classes[] = {
    {MPI_ERR_SESSION, "session"},
    {MPI_ERR_PROC_ABORTED, "ended"},
    {MPI_ERR_VALUE_TOO_LARGE, "too large"},
    {MPIX_ERR_PROC_FAILED, "failed"},
    {MPIX_ERR_PROC_FAILED_PENDING, "pending"},
    {MPIX_ERR_REVOKED, "revoked"},
    {MPIX_ERR_EAGAIN, "later"},
    {MPIX_ERR_NOREQ, "request"},
    {MPIX_ERR_INVALID_SIGNAL, "signal"},
    {MPIX_ERR_ALLOCATE, "places"},
    {MPIX_ERR_KEY, "key"},
    /* MPICH's own */
    {MPI_SUCCESS, "No MPI error"},
    {MPI_ERR_COMM, "communicator"},
    {MPI_ERR_COUNT, "count"},
    {MPI_ERR_SPAWN, "spawn"},
    {MPI_ERR_NAME, "name"},
};

static void expect_text(int error, const char *word)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = -1, class = -1;

    ET_MPI(MPI_Error_string(error, text, &length));
    ET_CHECK(length == (int) strlen(text) && strstr(text, word), "class %d: '%s' lacks '%s'", error, text, word);
    ET_MPI(MPI_Error_class(error, &class));
    ET_CHECK(class == error, "class %d is of class %d", error, class);
}

/* An error that has happened begins with the text of its class. */
static void expect_of_code(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    char text[MPI_MAX_ERROR_STRING];
    int error, class, length;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    error = MPIX_Signal(100000, 1, &request);
    ET_MPI(MPI_Error_class(error, &class));
    ET_CHECK(class == MPIX_ERR_INVALID_SIGNAL && error != class, "class %d", class);
    ET_MPI(MPI_Error_string(error, text, &length));
    ET_CHECK(!strncmp(text, "There is no such signal", 23) && strstr(text, "100000"), "%s", text);
}

int main(int argc, char **argv)
{
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
        expect_text(classes[i].error_class, classes[i].word);
    for (int class = MPI_SUCCESS; class <= MPI_T_ERR_CANNOT_INIT; class++) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length;
        ET_MPI(MPI_Error_string(class, text, &length));
        ET_CHECK(*text && !strstr(text, "Unknown error class"), "class %d: %s", class, text);
    }
    expect_of_code();
    et_log("PASS error_texts");
    ET_MPI(MPI_Finalize());
    return 0;
}
