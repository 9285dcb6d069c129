/*
 * MPI_Error_string and MPI_Error_class of classes: those beyond MPICH's table have a text that
 * names what has happened, and the others have MPICH's.  The text of an error with a long stack
 * stays within its buffer, in lines of any width (defect 28, #7885).
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
    {MPIX_ERR_ALLOCATE, "slots"},
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
    ET_CHECK(length == (int) strlen(text) &&
             strstr(text, word), "class %d: '%s' lacks '%s'", error, text, word);
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

static void set_width(int width)
{
    MPI_T_cvar_handle handle;
    int index, n, provided;

    ET_MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    ET_MPI(MPI_T_cvar_get_index("MPIR_CVAR_CHOP_ERROR_STACK", &index));
    ET_MPI(MPI_T_cvar_handle_alloc(index, NULL, &handle, &n));
    ET_MPI(MPI_T_cvar_write(handle, &width));
    ET_MPI(MPI_T_cvar_handle_free(&handle));
    ET_MPI(MPI_T_finalize());
}

/* The text of an error, in the middle of `all`, the rest of which stays as it is. */
enum { AROUND = 5000 };
static const char *text_within_buffer(int error, char *all)
{
    char *text = all + AROUND;
    int length = -1;

    memset(all, '~', 2 * AROUND + MPI_MAX_ERROR_STRING);
    ET_MPI(MPI_Error_string(error, text, &length));
    for (int i = 0; i < AROUND; i++)
        ET_CHECK(all[i] == '~' &&
                 text[MPI_MAX_ERROR_STRING + i] == '~', "byte %d beside the text is written", i);
    ET_CHECK(length == (int) strlen(text) &&
             length < MPI_MAX_ERROR_STRING, "%d characters, and a length of %d", (int) strlen(text),
             length);
    return text;
}

static void expect_lines(const char *text, int width, const char *unbroken)
{
    int column = 0, longest = 0;

    for (; *text; text++) {
        column = *text == '\n' ? 0 : column + 1;
        longest = column > longest ? column : longest;
        if (*text != ' ' && *text != '\n') {
            unbroken += strspn(unbroken, " \n");
            ET_CHECK(*text == *unbroken, "in lines of %d the text lacks: %s", width, unbroken);
            unbroken++;
        }
    }
    ET_CHECK(longest <= (width > 80 ? width : 80), "in lines of %d one has %d characters", width,
             longest);
}

static void expect_long_texts(void)
{
    const int widths[] = { 1, 2, 20, 30, 40, 60, 80, 100, 250 };
    static char all[2 * AROUND + MPI_MAX_ERROR_STRING], unbroken[MPI_MAX_ERROR_STRING];
    char name[400], port[MPI_MAX_PORT_NAME];
    int error;

    memset(name, 'a', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    error = MPI_Lookup_name(name, MPI_INFO_NULL, port);
    strcpy(unbroken, text_within_buffer(error, all));
    ET_CHECK(strlen(unbroken) > MPI_MAX_ERROR_STRING - 10, "the stack is short: %s", unbroken);
    for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
        set_width(widths[i]);
        expect_lines(text_within_buffer(error, all), widths[i], unbroken);
    }
    set_width(0);
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
    expect_long_texts();
    et_log("PASS error_texts");
    ET_MPI(MPI_Finalize());
    return 0;
}
