/*
 * MPIX_Comm_parent_create (DC): --case NAME, one of those in the table at the end.  The processes
 * that are started are this program with --child WHAT: it talks with its parents, or ends before it
 * has initialised MPI.
 */

#include "parent_child.h"
#include <signal.h>
#include <unistd.h>

/* ---- who starts ------------------------------------------------------------------------------ */

static void get_slots(int n, const char *const hosts[], MPI_Request requests[])
{
    ET_MPI(MPIX_Iallocate(n, NULL, NULL, MPIX_ANYWHERE, hosts, MPIX_HARD, requests));
    ET_MPI(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
}

static void set_program(int n, MPI_Request requests[], const char *what)
{
    for (int i = 0; i < n; i++) {
        char position[16];
        char *args[] = { "--child", (char *) what, "--position", position, NULL };
        snprintf(position, sizeof(position), "%d", i);
        ET_MPI(MPIX_Set_exec(requests[i], program));
        ET_MPI(MPIX_Set_args(requests[i], args));
    }
}

static void await_stage(int n, MPI_Request requests[], int expected)
{
    MPI_Status statuses[MOST];

    ET_MPI(MPI_Waitall(n, requests, statuses));
    for (int i = 0; i < n; i++) {
        int stage;
        ET_MPI(MPIX_Get_stage(&statuses[i], &stage));
        ET_CHECK(stage == expected, "request %d: stage %d", i, stage);
    }
}

/* A process that is killed while MPICH makes shared memory leaves a file: until all are past
 * that. */
static void await_children(int n)
{
    for (int i = 0, flag; i < n;) {
        char name[32];
        snprintf(name, sizeof(name), "waits-%d", i);
        ET_MPI(MPI_Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
        if (access(name, F_OK) == 0)
            i++;
        else
            et_sleep_ms(1);
    }
}

static void await_end(int n, MPI_Request requests[], const int codes[])
{
    MPI_Status statuses[MOST];

    ET_MPI(MPI_Waitall(n, requests, statuses));
    for (int i = 0; i < n; i++) {
        int stage, code;
        ET_MPI(MPIX_Get_stage(&statuses[i], &stage));
        ET_MPI(MPIX_Get_return_code(&statuses[i], &code));
        ET_CHECK(stage == MPIX_STAGE_EXITED &&
                 code == codes[i], "request %d: stage %d, code %d", i, stage, code);
        ET_CHECK(requests[i] == MPI_REQUEST_NULL, "request %d", i);
    }
}

static MPI_Comm create(int holder, int n, MPI_Request requests[])
{
    MPI_Comm inter = MPI_COMM_NULL;
    int remote, local, flag, own;

    ET_MPI(MPIX_Comm_parent_create(MPI_COMM_WORLD, rank == holder ? n : 0, requests, &inter));
    MPI_Comm_remote_size(inter, &remote);
    MPI_Comm_size(inter, &local);
    MPI_Comm_rank(inter, &own);
    MPI_Comm_test_inter(inter, &flag);
    ET_CHECK(remote == n && local == size && own == rank && flag, "%d and %d", local, remote);
    return inter;
}

static void start_and_talk(int holder, int n, const char *const hosts[], const char *what)
{
    static const int alone[] = { 5 }, codes[] = { 10, 11, 12, 13 };
    MPI_Request requests[MOST];
    MPI_Comm inter;

    if (rank == holder) {
        get_slots(n, hosts, requests);
        set_program(n, requests, what);
    }
    inter = create(holder, n, requests);
    if (rank == holder) {
        ET_MPI(MPI_Startall(n, requests));
        await_stage(n, requests, MPIX_STAGE_STARTED);
    }
    if (!strcmp(what, "receives") && rank == 0) {
        sleep(2);
        for (int i = 0; i < n; i++)
            ET_MPI(MPI_Send(&n, 1, MPI_INT, i, 4, inter));
    }
    et_exercise_inter(inter, 1, "parents and children");
    ET_MPI(MPI_Comm_disconnect(&inter));
    if (rank == holder)
        await_end(n, requests, n == 1 ? alone : codes);
}

/* DC1, DC2: from the one and the other process, again and again; the others need not be
 * notified. */
static void talks(void)
{
    start_and_talk(0, 3, NULL, "talks");
    start_and_talk(size - 1, 1, NULL, "talks");
    start_and_talk(0, 2, NULL, "talks");
}

/* DC3: parents that send nothing for long have not ended */
static void silent(void)
{
    start_and_talk(0, 2, NULL, "receives");
}

/* The holder polls seldom whether they are there, so that the others learn late of it. */
static void await_seldom(int n, MPI_Request requests[])
{
    for (int flag = 0; !flag;) {
        et_sleep_ms(20);
        ET_MPI(MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE));
    }
}

/* DC2: children that speak before a parent knows of them, in any order, are distinguished; and they
 * speak with one parent while another one does not poll */
static void early(void)
{
    static const int codes[] = { 10, 11, 12, 13 };
    MPI_Request requests[MOST];
    MPI_Comm inter;

    if (rank == 0) {
        get_slots(MOST, NULL, requests);
        set_program(MOST, requests, "early");
    }
    inter = create(0, MOST, requests);
    if (rank == 0) {
        ET_MPI(MPI_Startall(MOST, requests));
        await_seldom(MOST, requests);
    }
    for (int i = 0; rank == 2 && i < MOST; i++) {
        char name[32];
        snprintf(name, sizeof(name), "answered-%d", i);
        et_await_file(name);
    }
    for (int from = MOST - 1; rank > 0 && from >= 0; from--)
        receive_words(inter, from);
    for (int to = 0; rank == 1 && to < MOST; to++)
        ET_MPI(MPI_Send(NULL, 0, MPI_INT, to, 9, inter));
    exercise_merged(inter, 0);
    et_exercise_inter(inter, 1, "parents and children");
    ET_MPI(MPI_Comm_disconnect(&inter));
    if (rank == 0)
        await_end(MOST, requests, codes);
}

/* DC1: ranks as in the array, wherever they are */
static void hosts(void)
{
    static const char *const names[] = { "n2", "n1", "n1", "n2" };

    start_and_talk(0, 4, names, "talks");
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *state)
{
    ++*(int *) value;
    return MPI_SUCCESS;
}

/* DC2: what works at once, and that it may be freed before there is anybody on the other side */
static void stub(void)
{
    MPI_Request requests[2];
    MPI_Comm inter;
    MPI_Errhandler handler;
    char name[MPI_MAX_OBJECT_NAME];
    int key, deleted = 0, flag, length;
    void *value;

    if (rank == 0) {
        get_slots(2, NULL, requests);
        set_program(2, requests, "waits");
    }
    inter = create(0, 2, requests);
    ET_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &key, NULL));
    ET_MPI(MPI_Comm_set_attr(inter, key, &deleted));
    ET_MPI(MPI_Comm_get_attr(inter, key, &value, &flag));
    ET_CHECK(flag && value == &deleted, "an attribute");
    ET_MPI(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_get_errhandler(inter, &handler));
    ET_CHECK(handler == MPI_ERRORS_RETURN, "an error handler");
    ET_MPI(MPI_Comm_set_name(inter, "children"));
    ET_MPI(MPI_Comm_get_name(inter, name, &length));
    ET_CHECK(!strcmp(name, "children"), "%s", name);
    if (rank == 0) {            /* nobody else could start them */
        ET_ERROR(MPI_Send(&key, 0, MPI_INT, 0, 0, inter), MPI_ERR_COMM, "MPI_Startall");
        ET_MPI(MPI_Startall(2, requests));
    }
    ET_MPI(MPI_Comm_free(&inter));
    ET_CHECK(inter == MPI_COMM_NULL && deleted == 1, "%d deleted", deleted);
    if (rank == 0) {
        const int killed[] = { 128 + SIGKILL, 128 + SIGKILL };
        await_stage(2, requests, MPIX_STAGE_STARTED);
        await_children(2);
        ET_MPI(MPIX_Signal(SIGKILL, 2, requests));
        await_end(2, requests, killed);
    }
    MPI_Comm_free_keyval(&key);
}

/* DC1 */
static void wrong(void)
{
    MPI_Request requests[3] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL }, twice[2];
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Request receive;
    char *many[998 + 1] = { NULL };
    int value;

    for (int i = 0; i < 998; i++)
        many[i] = "x";
    ET_ERROR(MPIX_Comm_parent_create(MPI_COMM_WORLD, 0, NULL, &inter), MPI_ERR_REQUEST, NULL);
    get_slots(2, NULL, requests);
    ET_ERROR(MPIX_Comm_parent_create(MPI_COMM_WORLD, 2, requests, &inter), MPI_ERR_REQUEST, NULL);
    twice[0] = twice[1] = requests[0];
    ET_ERROR(MPIX_Comm_parent_create(MPI_COMM_WORLD, rank ? 0 : 2, twice, &inter), MPI_ERR_REQUEST,
             NULL);
    ET_MPI(MPI_Irecv(&value, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &receive));
    ET_ERROR(MPIX_Comm_parent_create(MPI_COMM_WORLD, rank ? 0 : 1, &receive, &inter),
             MPI_ERR_REQUEST, NULL);
    ET_ERROR(MPIX_Comm_parent_create(MPI_COMM_WORLD, rank ? 0 : -1, requests, &inter),
             MPI_ERR_COUNT, NULL);
    ET_ERROR(MPIX_Comm_parent_create(MPI_COMM_WORLD, rank ? 0 : 2, NULL, &inter), MPI_ERR_ARG,
             NULL);
    if (rank == 0)
        ET_MPI(MPIX_Set_args(requests[1], many));
    ET_ERROR(MPIX_Comm_parent_create(MPI_COMM_WORLD, rank ? 0 : 2, requests, &inter), MPI_ERR_ARG,
             rank == 0 ? "has 998 arguments and can have 997" : NULL);
    ET_CHECK(inter == MPI_COMM_NULL, "an intercommunicator");
    ET_MPI(MPI_Send(&rank, 1, MPI_INT, rank, 3, MPI_COMM_WORLD));
    ET_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    if (rank == 0)
        ET_MPI(MPIX_Set_args(requests[1], many + 1));

    inter = create(0, 2, requests);     /* nothing has become of what was wrong */
    if (rank == 0) {
        ET_ERROR(MPIX_Set_args(requests[0], many), MPI_ERR_ARG,
                 "has 998 arguments and can have 997");
        const int codes[] = { 10, 11 };
        set_program(2, requests, "talks");
        ET_ERROR(MPIX_Comm_parent_create(MPI_COMM_SELF, 2, requests, &(MPI_Comm) {
                                         0}), MPI_ERR_REQUEST, NULL);
        ET_ERROR(MPI_Startall(1, requests), MPI_ERR_REQUEST, "MPI_Startall");
        ET_ERROR(MPI_Start(&requests[1]), MPI_ERR_REQUEST, "MPI_Startall");
        ET_MPI(MPI_Startall(2, requests));
        await_stage(2, requests, MPIX_STAGE_STARTED);
        et_exercise_inter(inter, 1, "parents and children");
        ET_MPI(MPI_Comm_disconnect(&inter));
        await_end(2, requests, codes);
        return;
    }
    et_exercise_inter(inter, 1, "parents and children");
    ET_MPI(MPI_Comm_disconnect(&inter));
    for (int i = 0; i < 2; i++)
        ET_MPI(MPI_Request_free(&requests[i]));
}

static void fails(const char *what, const char *executable, int expected)
{
    MPI_Request requests[3];
    MPI_Comm inter;
    int value = 0;

    if (rank == 0) {
        get_slots(3, NULL, requests);
        set_program(3, requests, what);
        for (int i = 0; executable && i < 3; i++)
            ET_MPI(MPIX_Set_exec(requests[i], executable));
    }
    inter = create(0, 3, requests);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Status status;
        ET_MPI(MPI_Startall(3, requests));
        for (int i = 0; i < 3; i++) {
            int stage, code;
            ET_ERROR(MPI_Wait(&requests[i], &status), MPI_ERR_SPAWN, NULL);
            ET_MPI(MPIX_Get_stage(&status, &stage));
            ET_MPI(MPIX_Get_return_code(&status, &code));
            ET_CHECK(stage == MPIX_STAGE_EXITED &&
                     requests[i] == MPI_REQUEST_NULL, "request %d: stage %d", i, stage);
            ET_CHECK(i != 1 || expected < 0 || code == expected, "code %d", code);
        }
    }
    ET_ERROR(MPI_Send(&value, 1, MPI_INT, 0, 0, inter), MPI_ERR_COMM, NULL);
    ET_ERROR(MPI_Barrier(inter), MPI_ERR_COMM, NULL);
    ET_MPI(MPI_Comm_free(&inter));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* DC3: one that ends before MPI_Init, by itself, by a signal, or because it cannot be executed; the
 * others are ended */
static void absent(void)
{
    fails("absent", NULL, 7);
    fails("killed", NULL, 128 + SIGKILL);
    fails("talks", "/nowhere/nothing", -1);
    start_and_talk(0, 2, NULL, "talks");
}

/* DC3: ends of processes may come while the others are being started */
static void unstartable(void)
{
    for (int i = 0; i < 40; i++)
        fails("talks", "/nowhere/nothing", -1);
}

/* DA9 of them: one that aborts takes its world with it, and nobody else.  DC3: they have
 * initialised MPI, also if their end is the first that the parents learn of them. */
static void aborts(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm inter;

    if (rank == 0) {
        get_slots(2, NULL, requests);
        set_program(2, requests, "aborts");
    }
    inter = create(0, 2, requests);
    if (rank == 0) {
        int code;
        stalls = PARENTS;
        ET_MPI(MPI_Startall(2, requests));
        await_stage(2, requests, MPIX_STAGE_STARTED);
        ET_MPI(MPI_Waitall(2, requests, statuses));
        ET_MPI(MPIX_Get_return_code(&statuses[1], &code));
        ET_CHECK(code == 23, "code %d", code);
        ET_MPI(MPIX_Get_return_code(&statuses[0], &code));
        ET_CHECK(code == 128 + SIGKILL, "code %d", code);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* DN4 of them: when they end, all their parents learn of it */
static void widowed(void)
{
    const int killed[] = { 128 + SIGKILL, 128 + SIGKILL };
    MPI_Request requests[2];
    MPI_Comm inter;
    int value;

    if (rank == 0) {
        get_slots(2, NULL, requests);
        set_program(2, requests, "waits");
    }
    inter = create(0, 2, requests);
    ET_MPI(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    if (rank == 0) {
        ET_MPI(MPI_Startall(2, requests));
        await_stage(2, requests, MPIX_STAGE_STARTED);
        await_children(2);
        ET_MPI(MPIX_Signal(SIGKILL, 2, requests));
        await_end(2, requests, killed);
    }
    ET_ERROR(MPI_Recv(&value, 1, MPI_INT, rank % 2, 4, inter, MPI_STATUS_IGNORE),
             MPIX_ERR_PROC_FAILED, "ended");
    ET_ERROR(MPI_Ssend(&value, 1, MPI_INT, rank % 2, 4, inter), MPIX_ERR_PROC_FAILED, "ended");
    ET_MPI(MPI_Comm_disconnect(&inter));
}

/* DA9 of them: those that live at the end, and one whose request is freed */
static void left(void)
{
    MPI_Request requests[2];

    if (rank == 0) {
        get_slots(2, NULL, requests);
        set_program(2, requests, "waits");
    }
    (void) create(0, 2, requests);
    if (rank == 0) {
        ET_MPI(MPI_Startall(2, requests));
        ET_MPI(MPI_Request_free(&requests[1]));
        await_stage(1, requests, MPIX_STAGE_STARTED);
        await_children(2);
    }
}

/* the same, and who has started them dies */
static void dies(void)
{
    left();
    if (rank == 0) {
        et_log("DYING");
        kill(getpid(), SIGKILL);
    }
}

/* DN4 of the parents: what is held for one of them that ends without having answered.  The program
 * that replaces it keeps mpiexec from ending the job, and with it who waits. */
static void unanswered(void)
{
    static const int codes[] = { 5 };
    MPI_Request requests[1];

    if (rank == 0) {
        get_slots(1, NULL, requests);
        set_program(1, requests, "unanswered");
    }
    create(0, 1, requests);
    if (rank == 1) {
        et_await_file("sent");
        execlp("sleep", "sleep", "20", (char *) NULL);
    }
    ET_MPI(MPI_Startall(1, requests));
    await_stage(1, requests, MPIX_STAGE_STARTED);
    await_end(1, requests, codes);
    et_log("PASS parent unanswered");
    _exit(0);
}

static const struct {
    const char *name;
    void (*run) (void);
} cases[] = {
    {"talks", talks}, {"silent", silent}, {"early", early}, {"hosts", hosts}, {"stub", stub},
    {"wrong", wrong},
    {"absent", absent}, {"unstartable", unstartable}, {"aborts", aborts}, {"left", left},
    {"dies", dies}, {"widowed", widowed}, {"unanswered", unanswered}
};

int main(int argc, char **argv)
{
    const char *name = et_argument(argc, argv, "case", ""), *what =
        et_argument(argc, argv, "child", "");
    int found = 0;

    if (*what)
        return child(argc, argv, what);
    program = argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (strcmp(cases[i].name, name))
            continue;
        found = 1;
        cases[i].run();
    }
    ET_CHECK(found, "there is no case %s", name);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("PASS parent %s\n", name);
    MPI_Finalize();
    return 0;
}
