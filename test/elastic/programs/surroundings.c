/*
 * I5: a joining process has the executable, arguments, environment and working directory of the
 * launch, and its output and errors reach the launcher.  The harness compares the lines.
 */

#include "elastic_test.h"
#include <unistd.h>

static void notify(int argc, char **argv)
{
    char text[4096], directory[1024] = "?", program[1024] = "?";
    const char *value = getenv("ET_WORD");
    size_t n = 0;
    int *appnum, found;
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (length > 0)
        program[length] = '\0';
    ET_CHECK(getcwd(directory, sizeof(directory)) != NULL, "no working directory");
    for (int i = 1; i < argc; i++)
        n += (size_t) snprintf(text + n, sizeof(text) - n, "[%s]", argv[i]);
    et_log("HERE %s", et.status == MPI_ADAPT_STATUS_NEW ? "NEW" : "JOINING");
    et_log("ARGUMENTS %s", text);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &found);
    et_log("APPNUM %d", found ? *appnum : -1);
    et_log("WORD %s", value ? value : "(none)");
    et_log("DIRECTORY %s", directory);
    et_log("PROGRAM %s", program);
    fprintf(stderr, "TO-STDERR %s\n", et.status == MPI_ADAPT_STATUS_NEW ? "NEW" : "JOINING");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    notify(argc, argv);
    return et_run();
}
