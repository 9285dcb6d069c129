/* DS1-DS4: MPIX_Spawn, and programs that cannot be started, with --missing 1 by MPI_Comm_spawn as
 * well, and with --elsewhere HOST HERE-ALONE on another host, where this path leads to no program;
 * with --silent 1 children call no MPI until the spawn has returned; with --dies SIGNAL a child
 * dies; with --early 1 programs end before MPI_Init, and with --exits CODE a child ends after it;
 * with --texts 1 arguments and other texts are long; with --progress 1 children wait, before
 * MPI_Init, for a message that the root of the spawn receives; with --grown 1 the world has grown
 * before, and its last process has joined; with --survives 1 parents go on after a child has ended,
 * and finalise. */

#include "elastic_test.h"
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

static char *program;
static struct utsname host;

/* Nobody waits for an answer of a process that may have ended; and what is on its way needs
 * progress. */
static void send_until_received(void)
{
    MPI_Request request;
    int value = -1, flag;

    ET_MPI(MPI_Isend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request));
    do
        ET_MPI(MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    while (access("received", F_OK) != 0);
}

static int child(MPI_Comm parent, int argc, char **argv)
{
    int remote, value = -1;

    ET_CHECK(parent == MPIX_COMM_PARENT, "the macro gives another parent");
    if (argc == 3 && !strcmp(argv[1], "--dying")) {
        et_world_changed();
        et_await_file("returned");
        if (et.rank == 1)
            raise(atoi(argv[2]));
        for (;;)
            pause();
    }
    if (argc == 3 && !strcmp(argv[1], "--exiting")) {
        et_world_changed();
        if (et.rank == 1) {
            et_await_file("returned");
            _exit(atoi(argv[2]));
        }
        for (;;)
            pause();
    }
    if (argc == 3 && !strcmp(argv[1], "--last")) {
        et_world_changed();
        et_await_file("returned");
        if (et.rank == 0) {
            ET_MPI(MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            et_make_file("received");
        } else {
            send_until_received();
        }
        if (atoi(argv[2]) > 128)        /* as in a shell */
            raise(atoi(argv[2]) - 128);
        _exit(atoi(argv[2]));
    }
    if (argc == 2 && !strcmp(argv[1], "--silent")) {
        et_await_file("returned");
        ET_MPI(MPI_Comm_disconnect(&parent));
        ET_MPI(MPI_Finalize());
        return 0;
    }
    if (argc == 4 && !strcmp(argv[1], "--long")) {
        ET_CHECK(strlen(argv[3]) == strtoul(argv[2], NULL, 10) &&
                 argv[3][strlen(argv[3]) - 1] == 'z', "a part of %s", argv[2]);
    } else if (argc != 2 || strcmp(argv[1], "--waiting")) {
        ET_CHECK(argc >= 4 && !strcmp(argv[2], "two words") &&
                 !strcmp(argv[3], ""), "other arguments");
    }
    et_world_changed();
    ET_MPI(MPI_Comm_remote_size(parent, &remote));
    ET_MPI(MPI_Bcast(&value, 1, MPI_INT, 0, parent));
    ET_CHECK(value == 100 + remote, "my parents sent %d", value);
    value = et.rank;
    ET_MPI(MPI_Gather(&value, 1, MPI_INT, NULL, 0, MPI_INT, 0, parent));
    ET_MPI(MPI_Comm_disconnect(&parent));
    ET_MPI(MPI_Finalize());
    return 0;
}

/* The children are as many as wanted, in order, and end. */
static void use(MPI_Comm inter, int wanted)
{
    int n, value = 100 + et.size, got[8];

    ET_MPI(MPI_Comm_remote_size(inter, &n));
    ET_CHECK(n == wanted, "%d children, not %d", n, wanted);
    ET_MPI(MPI_Bcast(&value, 1, MPI_INT, et.rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
    ET_MPI(MPI_Gather(NULL, 0, MPI_INT, got, 1, MPI_INT, et.rank == 0 ? MPI_ROOT : MPI_PROC_NULL,
                      inter));
    for (int i = 0; et.rank == 0 && i < n; i++)
        ET_CHECK(got[i] == i, "child %d sent %d", i, got[i]);
    ET_MPI(MPI_Comm_disconnect(&inter));
}

/* %a in the name of a link beside the program. */
static const char *named_by_arch(void)
{
    static char named[300];
    char link[300];

    snprintf(link, sizeof(link), "./child-%s", host.machine);
    if (access(link, F_OK) != 0)
        ET_CHECK(symlink(program, link) == 0, "cannot make a link");
    snprintf(named, sizeof(named), "./child-%%a");
    return named;
}

static void good(void)
{
    char *arguments[] = { "--child", "two words", "", NULL };
    const char *any[] = { MPIX_ANYWHERE, MPIX_ANYWHERE, "localhost" };
    MPI_Comm inter;
    int root = et.size - 1;

    ET_CHECK(MPIX_COMM_PARENT == MPI_COMM_NULL, "I have a parent");
    ET_MPI(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 2, NULL, program, arguments, 0, &inter));
    use(inter, 2);
    ET_MPI(MPIX_Spawn(MPI_COMM_WORLD, root, et.rank == root ? host.machine : NULL,
                      et.rank == root ? 2 : -9,
                      et.rank == root ? any : NULL, et.rank == root ? named_by_arch() : NULL,
                      et.rank == root ? arguments : NULL, et.rank == root ? MPIX_SPAWN_SOFT : 77,
                          &inter));
    use(inter, 2);
    ET_MPI(MPIX_Spawn(MPI_COMM_WORLD, 0, "no such", 1, any + 2, program, arguments, 0, &inter));
    use(inter, 1);
}

/* Children that do something else after MPI_Init keep nobody. */
static void silent(void)
{
    char *arguments[] = { "--silent", NULL };
    MPI_Comm inter;

    ET_MPI(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 2, NULL, program, arguments, 0, &inter));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (et.rank == 0)
        et_make_file("returned");
    ET_MPI(MPI_Comm_disconnect(&inter));
}

/* DS4: that ends the job, with what the child has died of. */
static void dies(const char *number)
{
    char *arguments[] = { "--dying", (char *) number, NULL };
    MPI_Comm inter;

    ET_MPI(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 2, NULL, program, arguments, 0, &inter));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (et.rank == 0) {
        et_log("SPAWNED");
        et_make_file("returned");
    }
    for (;;)
        pause();
}

/* DS4: a child ends without MPI_Finalize, which the parent waits for in a receive. */
static void exits(const char *code, int survives)
{
    char *arguments[] = { survives ? "--last" : "--exiting", (char *) code, NULL };
    MPI_Comm inter;
    int value;

    ET_MPI(MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                          MPI_ERRCODES_IGNORE));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (et.rank == 0) {
        et_log("SPAWNED");
        et_make_file("returned");
    }
    if (!survives) {
        ET_MPI(MPI_Recv(&value, 1, MPI_INT, 1, 0, inter, MPI_STATUS_IGNORE));
        return;
    }
    ET_MPI(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    ET_ERROR(MPI_Recv(&value, 1, MPI_INT, 1, 0, inter, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED,
             NULL);
    ET_MPI(MPI_Comm_free(&inter));
}

/* The spawn of `n` commands of one process each fails, and each error code is set. */
static void fails(int n, char *commands[], char **argvs[], int root)
{
    int counts[2] = { 1, 1 }, errors[2] = { -1, -1 };
    MPI_Info infos[2] = { MPI_INFO_NULL, MPI_INFO_NULL };
    MPI_Comm inter = MPI_COMM_WORLD;

    ET_ERROR(MPI_Comm_spawn_multiple(n, commands, argvs, counts, infos, root, MPI_COMM_WORLD,
                                     &inter, errors),
             MPI_ERR_SPAWN, NULL);
    ET_CHECK(inter == MPI_COMM_NULL, "there is a communicator");
    for (int i = 0; i < n; i++)
        ET_CHECK(errors[i] == MPI_ERR_SPAWN, "%s: the error code of process %d is %d", commands[0],
                 i, errors[i]);
}

/* Programs that end before MPI_Init; the other process of the last cases waits for them in
 * MPI_Init. */
static void early(void)
{
    char *arguments[] = { "--child", "two words", "", NULL };
    char *exit_127[] = { "-c", "exit 127", NULL }, *exit_0[] =
        { "-c", "exec >&- 2>&-; exit 0", NULL };
    char *killed[] = { "-c", "kill -KILL $$", NULL };
    char *shell[] = { "/bin/sh", program }, *missing[] = { "./no-such-program", program };
    char **first[] = { exit_127, arguments }, **second[] = { exit_0, arguments }, **third[] =
        { killed, arguments };
    MPI_Comm inter;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 2, NULL, "/bin/true", MPI_ARGV_NULL, 0, &inter),
             MPI_ERR_SPAWN, NULL);
    for (int n = 1; n <= 2; n++) {
        fails(n, shell, first, 0);
        fails(n, shell, second, et.size - 1);
        fails(n, shell, third, 0);
        fails(n, missing, first, 0);
    }
    ET_MPI(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 2, NULL, program, arguments, 0, &inter));
    use(inter, 2);
}

static char *long_text(char *text, size_t bytes)
{
    memset(text, 'x', bytes);
    text[bytes - 1] = 'z';
    text[bytes] = '\0';
    return text;
}

/* Texts of any length, until all have 60,000 bytes; longer ones are refused, and the job continues.
 * The info key soft does not change how many processes are started. */
static void texts(void)
{
    static char text[100001], value[MPI_MAX_INFO_VAL + 1];
    char bytes[16], *arguments[] = { "--long", bytes, text, NULL }, *first[] = { text, NULL };
    const size_t lengths[] = { 990, 1000, 1100, 2048, 30000, 59000 }, too_long[] =
        { 66000, 80000, 100000 };
    MPI_Comm inter;
    MPI_Info info;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "soft", "0:1"));
    for (int i = 0; i < 9; i++) {
        char key[16];
        snprintf(key, sizeof(key), "unknown%d", i);
        ET_MPI(MPI_Info_set(info, key, long_text(value, MPI_MAX_INFO_VAL - 1)));
    }
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        snprintf(bytes, sizeof(bytes), "%zu", lengths[i]);
        long_text(text, lengths[i]);
        ET_MPI(MPI_Comm_spawn(program, arguments, 1, i == 3 ? info : MPI_INFO_NULL, 0,
                              MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
        use(inter, 1);
    }
    for (size_t i = 0; i < sizeof(too_long) / sizeof(*too_long); i++) {
        long_text(text, too_long[i]);
        ET_ERROR(MPI_Comm_spawn(program, first, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                                MPI_ERRCODES_IGNORE),
                 MPI_ERR_SPAWN, NULL);
        ET_ERROR(MPI_Comm_spawn(text, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                                MPI_ERRCODES_IGNORE),
                 MPI_ERR_SPAWN, NULL);
    }
    ET_MPI(MPI_Info_free(&info));
}

/* A synchronous send to the root completes while the root waits for what it spawns, which waits for
 * that. */
static void progress(void)
{
    char *arguments[] = { "--waiting", NULL };
    int value = 0;
    MPI_Request receive;
    MPI_Comm inter;

    if (et.rank == 0)
        ET_MPI(MPI_Irecv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &receive));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (et.rank == 1) {
        usleep(100000);         /* the root is in the spawn, in most cases */
        value = 77;
        ET_MPI(MPI_Ssend(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD));
        et_make_file("received");
    }
    ET_MPI(MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                          MPI_ERRCODES_IGNORE));
    if (et.rank == 0)
        ET_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    ET_CHECK(et.rank > 1 || value == 77, "received %d", value);
    use(inter, 2);
}

static void bad(void)
{
    const char *no_name[] = { NULL }, *any[] = { MPIX_ANYWHERE };
    MPI_Comm inter;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 0, "no such", 1, NULL, program, NULL, 0, &inter),
             MPIX_ERR_ALLOCATE, et.rank == 0 ? host.machine : NULL);
    ET_CHECK(inter == MPI_COMM_NULL, "there is a communicator");
    ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 0, "no such", 1, any, program, NULL, 0, &inter),
             MPIX_ERR_ALLOCATE, NULL);
    ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 1, no_name, program, NULL, 0, &inter), MPI_ERR_ARG,
             NULL);
    ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", -1, NULL, program, NULL, 0, &inter), MPI_ERR_COUNT,
             NULL);
    ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 0, NULL, program, NULL, 0, &inter), MPI_ERR_ARG,
             NULL);
    ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 1, NULL, NULL, NULL, 0, &inter), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 0, NULL, 1, NULL, program, NULL, 0, &inter), MPI_ERR_ARG,
             NULL);
    ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 1, NULL, program, NULL, 2, &inter), MPI_ERR_ARG,
             NULL);
    ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 1, NULL, program, NULL, 0, NULL), MPI_ERR_ARG,
             NULL);
    ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 9, "*", 1, NULL, program, NULL, 0, &inter), MPI_ERR_ROOT,
             NULL);
    ET_ERROR(MPIX_Spawn(MPI_COMM_NULL, 0, "*", 1, NULL, program, NULL, 0, &inter), MPI_ERR_COMM,
             NULL);
}

/* The job goes on, and can start what is there. */
static void missing(void)
{
    char *arguments[] = { "--child", "two words", "", NULL };
    int errors[2];
    MPI_Comm inter;
    MPI_Info info;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int i = 0; i < 3; i++) {
        ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 2, NULL, "./no-such-program", NULL, 0, &inter),
                 MPI_ERR_SPAWN, NULL);
        ET_ERROR(MPI_Comm_spawn("no-such-program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0,
                                MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN, NULL);
        ET_ERROR(MPI_Comm_spawn("/", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 1, MPI_COMM_WORLD, &inter,
                                errors), MPI_ERR_SPAWN,
                 NULL);
    }
    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "wdir", "/no/such/folder"));
    ET_ERROR(MPI_Comm_spawn(program, arguments, 1, info, 0, MPI_COMM_WORLD, &inter,
                            MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN,
             NULL);
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 2, NULL, program, arguments, 0, &inter));
    use(inter, 2);
}

static void no_spawn(const char *command, const char *key, const char *value)
{
    MPI_Comm inter = MPI_COMM_WORLD;
    MPI_Info info;

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, key, value));
    ET_ERROR(MPI_Comm_spawn(command, MPI_ARGV_NULL, 2, info, 0, MPI_COMM_WORLD, &inter,
                            MPI_ERRCODES_IGNORE),
             MPI_ERR_SPAWN, NULL);
    ET_CHECK(inter == MPI_COMM_NULL, "there is a communicator");
    ET_MPI(MPI_Info_free(&info));
}

/* One that is not there, in part or altogether, and hosts that are not; then those that are. */
static void elsewhere(const char *other, const char *here_alone)
{
    char *arguments[] = { "--child", "two words", "", NULL }, **argvs[] =
        { arguments, arguments, arguments };
    const char *there[] = { other }, *parts[] = { host.nodename, other, host.nodename };
    char *commands[] = { program, (char *) here_alone, program };
    int counts[] = { 1, 1, 1 };
    MPI_Info infos[3];
    MPI_Comm inter;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int i = 0; i < 3; i++) {
        ET_MPI(MPI_Info_create(&infos[i]));
        ET_MPI(MPI_Info_set(infos[i], "host", other));
    }
    for (int i = 0; i < 2; i++) {
        no_spawn(here_alone, "host", other);
        no_spawn("/etc/passwd", "host", other);
        no_spawn(program, "host", "no-such-host");
        ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 1, "*", 1, there, here_alone, NULL, 0, &inter),
                 MPI_ERR_SPAWN, NULL);
        ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 3, parts, here_alone, arguments, 0, &inter),
                 MPI_ERR_SPAWN, NULL);
        ET_ERROR(MPI_Comm_spawn_multiple(3, commands, argvs, counts, infos, 0, MPI_COMM_WORLD,
                                         &inter, MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN, NULL);
        ET_MPI(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 3, parts, program, arguments, 0, &inter));
        use(inter, 3);
    }
    for (int i = 0; i < 3; i++)
        ET_MPI(MPI_Info_free(&infos[i]));
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    int grown = argc > 2 && !strcmp(argv[1], "--grown");

    program = argv[0];
    if (argc == 2 && !strcmp(argv[1], "--waiting"))
        et_await_file("received");
    ET_MPI(MPI_Init(&argc, &argv));
    ET_CHECK(uname(&host) == 0, "no uname");
    ET_MPI(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL && !grown)
        return child(parent, argc, argv);
    if (parent == MPI_COMM_NULL && grown)
        ET_MPI(MPIX_Comm_modify(MPI_COMM_WORLD, 1, NULL));
    et_options(&argc, &argv);
    et_world_changed();
    if (argc == 4 && !strcmp(argv[1], "--elsewhere")) {
        elsewhere(argv[2], argv[3]);
    } else if (et_number(argc, argv, "missing", 0)) {
        missing();
    } else if (et_number(argc, argv, "texts", 0)) {
        texts();
    } else if (et_number(argc, argv, "progress", 0)) {
        progress();
    } else if (et_number(argc, argv, "silent", 0)) {
        silent();
    } else if (et_number(argc, argv, "early", 0)) {
        early();
    } else if (et_number(argc, argv, "exits", -1) >= 0) {
        exits(et_argument(argc, argv, "exits", ""), et_number(argc, argv, "survives", 0));
    } else if (et_number(argc, argv, "dies", 0)) {
        dies(et_argument(argc, argv, "dies", ""));
    } else {
        good();
        bad();
    }
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (et.rank == 0)
        et_log("PASS dyn_spawn");
    ET_MPI(MPI_Finalize());
    return 0;
}
