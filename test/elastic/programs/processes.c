/*
 * Slots and processes (DA): --case NAME, one of those in the table at the end.  Rank 0 does it; the
 * others wait in a barrier, and so they see the end of a rank 0 that dies.
 */

#include "processes_shell.h"
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* DA1, DA4, DA5, DA6, DA8 */
static void life(void)
{
    MPI_Request request = one_slot();
    MPI_Status status;
    char host[MPI_MAX_PROCESSOR_NAME], info[MPI_MAX_INFO_VAL + 1];
    int count, flag;

    ET_MPI(MPI_Wait(&request, &status));
    ET_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    ET_CHECK(count == 0 && status.MPI_TAG == MPI_ANY_TAG, "tag %d", status.MPI_TAG);
    ET_MPI(MPIX_Get_nodename(request, host));
    ET_MPI(MPIX_Get_jsinfo(request, info));
    ET_CHECK(*host && !strncmp(info, "place=", 6), "%s, %s", host, info);
    ET_ERROR(MPI_Start(&request), MPI_ERR_REQUEST, NULL);
    start_shell(&request, "exit 3");
    ET_ERROR(MPI_Start(&request), MPI_ERR_REQUEST, NULL);
    ET_ERROR(MPIX_Set_exec(request, "sh"), MPI_ERR_REQUEST, NULL);
    for (flag = 0; !flag;)
        ET_MPI(MPI_Request_get_status(request, &flag, &status));
    await(&request, MPIX_STAGE_STARTED, MPIX_PROC_RUNNING);
    await(&request, MPIX_STAGE_EXITED, 3);
    run_shell("kill -9 $$", 128 + SIGKILL);
    ET_ERROR(MPIX_Set_exec(MPI_REQUEST_NULL, "sh"), MPI_ERR_REQUEST, NULL);
}

/* DA6, DA7 */
static void surroundings(void)
{
    run_shell("test -z \"$PMI_RANK$PMI_FD$PMI_PORT$PMI_ADAPT\"", 0);
    run_shell("read line", 1);
    run_shell("echo spoken by a task; exit 0", 0);
    run_shell("test \"$COLOUR\" = blue", 0);
    char folder[4096], script[5000];
    ET_CHECK(getcwd(folder, sizeof(folder)), "no directory");
    snprintf(script, sizeof(script), "test \"$(pwd)\" = '%s'", folder);
    run_shell(script, 0);
}

/* DA6: what was set is what was there then */
static void copies(void)
{
    MPI_Request request = one_slot();
    char executable[] = "sh", option[] = "-c", script[] = "exit 4";
    char *args[] = { option, script, NULL };

    ET_MPI(MPIX_Set_exec(request, executable));
    ET_MPI(MPIX_Set_args(request, args));
    strcpy(executable, "??");
    strcpy(option, "??");
    strcpy(script, "??????");
    args[0] = NULL;
    ET_MPI(MPI_Start(&request));
    ET_ERROR(MPIX_Set_args(request, args), MPI_ERR_REQUEST, NULL);
    await(&request, MPIX_STAGE_STARTED, MPIX_PROC_RUNNING);
    await(&request, MPIX_STAGE_EXITED, 4);
}

/* DA7: a program of MPI is one of its own */
static void alone(void)
{
    MPI_Request request = one_slot();
    char *args[] = { "--case", "child", NULL };

    ET_MPI(MPIX_Set_exec(request, program));
    ET_MPI(MPIX_Set_args(request, args));
    ET_MPI(MPI_Start(&request));
    await(&request, MPIX_STAGE_STARTED, MPIX_PROC_RUNNING);
    await(&request, MPIX_STAGE_EXITED, 0);
}

static void child(void)
{
    int size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ET_CHECK(size == 1 && MPIX_COMM_PARENT == MPI_COMM_NULL, "%d processes", size);
}

static void expect_absent(MPI_Request request, const MPI_Status * status)
{
    int stage, code;

    ET_MPI(MPIX_Get_stage(status, &stage));
    ET_MPI(MPIX_Get_return_code(status, &code));
    ET_CHECK(stage == MPIX_STAGE_EXITED && code == 127, "stage %d, code %d", stage, code);
    ET_CHECK(request == MPI_REQUEST_NULL, "the request is there");
}

/* DA7: programs that are not there, or cannot be executed: a folder, a text, a script without its
 * interpreter */
static void absent(void)
{
    static const char *const programs[] =
        { "/nowhere/nothing", "no-such-program", "/", "/etc/passwd", "./script" };
    enum { N = sizeof(programs) / sizeof(*programs) };
    MPI_Request requests[N];
    MPI_Status statuses[N];
    FILE *script = fopen("script", "w");

    ET_CHECK(script && fprintf(script, "#!/nowhere/sh\n") > 0 &&
             fclose(script) == 0, "cannot write a script");
    ET_CHECK(chmod("script", 0755) == 0, "cannot make a script executable");
    for (int i = 0; i < N; i++) {
        requests[i] = one_slot();
        ET_MPI(MPIX_Set_exec(requests[i], programs[i]));
        ET_MPI(MPI_Start(&requests[i]));
        ET_ERROR(MPI_Wait(&requests[i], &statuses[i]), MPI_ERR_SPAWN, NULL);
        expect_absent(requests[i], &statuses[i]);
    }
    for (int i = 0; i < N; i++) {       /* all at once */
        requests[i] = one_slot();
        ET_MPI(MPIX_Set_exec(requests[i], programs[i]));
    }
    ET_MPI(MPI_Startall(N, requests));
    for (int ended = 0; ended < N; ended++) {   /* MPI_Waitall reports one error at a time */
        ET_ERROR(MPI_Waitall(N, requests, statuses), MPI_ERR_IN_STATUS, NULL);
        ET_ERROR(statuses[ended].MPI_ERROR, MPI_ERR_SPAWN, NULL);
        expect_absent(requests[ended], &statuses[ended]);
        for (int i = ended + 1; i < N; i++) {
            ET_ERROR(statuses[i].MPI_ERROR, MPI_ERR_PENDING, NULL);
            ET_CHECK(requests[i] != MPI_REQUEST_NULL, "request %d is not there", i);
        }
    }
}

/* DA4: each stage once and in order, beside other requests */
static void mixed(void)
{
    MPI_Request requests[3] = { one_slot(), one_slot() };
    MPI_Status statuses[3];
    int value = 0, seven = 7, stage;

    start_shell(&requests[0], "exit 0");
    start_shell(&requests[1], "exit 1");
    ET_MPI(MPI_Irecv(&value, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[2]));
    ET_MPI(MPI_Send(&seven, 1, MPI_INT, 0, 5, MPI_COMM_SELF));
    ET_MPI(MPI_Waitall(3, requests, statuses));
    ET_CHECK(value == 7 && requests[2] == MPI_REQUEST_NULL, "value %d", value);
    for (int i = 0; i < 2; i++) {
        ET_MPI(MPIX_Get_stage(&statuses[i], &stage));
        ET_CHECK(stage == MPIX_STAGE_STARTED && requests[i] != MPI_REQUEST_NULL, "stage %d", stage);
    }
    ET_MPI(MPI_Waitall(3, requests, statuses));
    for (int i = 0; i < 2; i++) {
        int code;
        ET_MPI(MPIX_Get_stage(&statuses[i], &stage));
        ET_MPI(MPIX_Get_return_code(&statuses[i], &code));
        ET_CHECK(stage == MPIX_STAGE_EXITED && code == i &&
                 requests[i] == MPI_REQUEST_NULL, "code %d", code);
    }
}

/* The next stage of one request. */
static void advance(int i, const MPI_Status * status, int stages[])
{
    int stage;

    ET_MPI(MPIX_Get_stage(status, &stage));
    ET_CHECK(stage == ++stages[i], "request %d: stage %d after %d", i, stage, stages[i] - 1);
}

/* DA4: by whatever is called, each stage once and in order; Testall when all have come to their
 * next one */
static void waits(void)
{
    enum { WAITSOME, TESTSOME, TESTANY, TESTALL, WAYS };

    for (int way = 0; way < WAYS; way++) {
        MPI_Request requests[3];
        MPI_Status statuses[3];
        int stages[3] = { 0 }, indices[3], ended = 0;
        ET_MPI(MPIX_Iallocate(3, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_HARD, requests));
        while (ended < 3) {
            int n = 0, flag = 0;
            if (way == WAITSOME)
                ET_MPI(MPI_Waitsome(3, requests, &n, indices, statuses));
            else if (way == TESTSOME)
                ET_MPI(MPI_Testsome(3, requests, &n, indices, statuses));
            else if (way == TESTANY)
                ET_MPI(MPI_Testany(3, requests, indices, &flag, statuses));
            else
                ET_MPI(MPI_Testall(3, requests, &flag, statuses));
            ET_CHECK(n != MPI_UNDEFINED, "none is active, %d have ended", ended);
            if (flag)
                n = way == TESTALL ? 3 : 1;
            for (int i = 0; i < n; i++) {
                int which = way == TESTALL ? i : indices[i];
                /* of those that are inactive there is none to wait for */
                ET_CHECK(which != MPI_UNDEFINED, "none is active, %d have ended", ended);
                advance(which, &statuses[i], stages);
                if (stages[which] == MPIX_STAGE_ALLOCATED)
                    start_shell(&requests[which], which == 1 ? "sleep 0.1" : "exit 0");
                ended += stages[which] == MPIX_STAGE_EXITED;
                int over = stages[which] == MPIX_STAGE_EXITED;
                ET_CHECK((requests[which] == MPI_REQUEST_NULL) == over, "request %d", which);
            }
        }
    }
}

/* DA10, DA11: one that has been started cannot be cancelled, one that has ended gets no signal */
static void cancels(void)
{
    MPI_Request request = one_slot();
    MPI_Status status;
    int cancelled, flag, stage = 0;

    start_shell(&request, "exit 6");
    ET_MPI(MPI_Cancel(&request));
    await(&request, MPIX_STAGE_STARTED, MPIX_PROC_RUNNING);
    ET_MPI(MPI_Cancel(&request));
    while (stage != MPIX_STAGE_EXITED) {
        ET_MPI(MPI_Request_get_status(request, &flag, &status));
        if (flag)
            ET_MPI(MPIX_Get_stage(&status, &stage));
    }
    ET_ERROR(MPIX_Signal(SIGTERM, 1, &request), MPI_ERR_REQUEST, NULL);
    ET_MPI(MPI_Test_cancelled(&status, &cancelled));
    ET_CHECK(!cancelled, "what has been started is cancelled");
    await(&request, MPIX_STAGE_EXITED, 6);
}

/* DA4: some hundred, ten at a time */
static void farm(void)
{
    MPI_Request requests[10];
    MPI_Status status;
    int todo = 200, running = 10, index, stage, code, sum = 0;

    ET_MPI(MPIX_Iallocate(10, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_HARD, requests));
    while (running > 0) {
        ET_MPI(MPI_Waitany(10, requests, &index, &status));
        ET_MPI(MPIX_Get_stage(&status, &stage));
        if (stage == MPIX_STAGE_ALLOCATED)
            start_shell(&requests[index], "exit 1");
        if (stage != MPIX_STAGE_EXITED)
            continue;
        ET_MPI(MPIX_Get_return_code(&status, &code));
        sum += code;
        running--;
        if (--todo < 10)
            continue;
        ET_MPI(MPIX_Iallocate(1, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_HARD, &requests[index]));
        running++;
    }
    ET_CHECK(sum == 200, "%d tasks", sum);
}

/* DA2, DA10; there is space for two, --adapt-range 1:3 */
static void capacity(void)
{
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int cancelled, count = 0, flag;

    ET_ERROR(MPIX_Iallocate(3, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_HARD, requests),
             MPIX_ERR_ALLOCATE, "adapt-range");
    ET_MPI(MPIX_Iallocate(4, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_SOFT, requests));
    ET_MPI(MPI_Waitall(4, requests, statuses));
    for (int i = 0; i < 4; i++) {
        ET_MPI(MPI_Test_cancelled(&statuses[i], &cancelled));
        ET_CHECK(cancelled == (requests[i] == MPI_REQUEST_NULL), "request %d", i);
        count += cancelled;
    }
    ET_CHECK(count == 2, "%d are cancelled", count);
    ET_MPI(MPIX_Iallocate(2, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_SOFT, &requests[2]));
    ET_MPI(MPI_Waitall(2, &requests[2], &statuses[2]));
    for (int i = 2; i < 4; i++) {
        ET_MPI(MPI_Test_cancelled(&statuses[i], &cancelled));
        ET_CHECK(cancelled && requests[i] == MPI_REQUEST_NULL, "there was a third slot");
    }
    ET_MPI(MPIX_Iallocate(2, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_HARD, &requests[2]));
    ET_MPI(MPI_Cancel(&requests[3]));
    ET_MPI(MPI_Wait(&requests[3], &statuses[3]));
    ET_MPI(MPI_Test_cancelled(&statuses[3], &cancelled));
    ET_CHECK(cancelled && requests[3] == MPI_REQUEST_NULL, "%d", cancelled);
    ET_MPI(MPI_Test(&requests[2], &flag, &statuses[2]));
    ET_CHECK(!flag, "there were three slots");
    ET_MPI(MPI_Request_free(&requests[0]));     /* a slot that is released is given away */
    ET_MPI(MPI_Wait(&requests[2], &statuses[2]));
    start_shell(&requests[1], "exit 0");
    ET_MPI(MPI_Request_free(&requests[1]));     /* at the exit */
    ET_MPI(MPIX_Iallocate(1, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_HARD, &requests[0]));
    ET_MPI(MPI_Wait(&requests[0], &statuses[0]));
    ET_MPI(MPI_Request_free(&requests[0]));
    ET_MPI(MPI_Request_free(&requests[2]));
}

/* DA3: words; there is space for one, --adapt-range 1:2 */
static void words(void)
{
    static const char *const own[] = { "tag=mine" };
    MPI_Request requests[2] = { one_slot() };
    MPI_Status status;
    char info[MPI_MAX_INFO_VAL + 1];
    struct utsname machine;
    int cancelled;

    uname(&machine);
    ET_ERROR(MPIX_Iallocate(1, NULL, NULL, "vax", NULL, MPIX_HARD, &requests[1]), MPIX_ERR_ALLOCATE,
             "uname");
    ET_ERROR(MPIX_Iallocate(1, "timeout=1", NULL, machine.machine, NULL, MPIX_HARD, &requests[1]),
             MPI_ERR_ARG, "timeout=1");
    ET_ERROR(MPIX_Iallocate(1, "timeout=abc", NULL, machine.machine, NULL, MPIX_HARD, &requests[1]),
             MPI_ERR_ARG, "timeout=abc");
    ET_MPI(MPIX_Iallocate(1, "timeout=100ms;colour=red", NULL, machine.machine, NULL, MPIX_HARD,
                          &requests[1]));
    ET_MPI(MPI_Wait(&requests[1], &status));
    ET_MPI(MPI_Test_cancelled(&status, &cancelled));
    ET_CHECK(cancelled && requests[1] == MPI_REQUEST_NULL, "it has waited for longer");
    ET_MPI(MPI_Request_free(&requests[0]));
    ET_MPI(MPIX_Iallocate(1, "timeout=100s;colour=red;reason=a test", own, machine.machine, NULL,
                          MPIX_HARD, &requests[1]));
    ET_MPI(MPI_Wait(&requests[1], &status));
    ET_MPI(MPIX_Get_jsinfo(requests[1], info));
    ET_CHECK(strstr(info, "timeout=100s") && strstr(info, "ignored=colour") &&
             strstr(info, "reason=a test") && strstr(info, "tag=mine") &&
             strstr(info, "place="), "%s", info);
    ET_MPI(MPI_Request_free(&requests[1]));
}

/* DA11 */
static void signals(void)
{
    MPI_Request requests[2] = { one_slot(), one_slot() };

    start_shell(&requests[0], "exec sleep 1000");
    await(&requests[0], MPIX_STAGE_STARTED, MPIX_PROC_RUNNING);
    ET_ERROR(MPIX_Signal(100000, 1, requests), MPIX_ERR_INVALID_SIGNAL, "100000");
    ET_ERROR(MPIX_Signal(SIGUSR1, 2, requests), MPI_ERR_REQUEST, NULL); /* the first one gets it */
    await(&requests[0], MPIX_STAGE_EXITED, 128 + SIGUSR1);
    ET_MPI(MPI_Request_free(&requests[1]));
}

/* DA3: a host by its name; n1 and n2 */
static void hosts(void)
{
    static const char *const names[] = { "n2", MPIX_ANYWHERE, "n2" }, *const wrong[] = { "n9" };
    MPI_Request requests[3];
    MPI_Status statuses[3];
    char host[MPI_MAX_PROCESSOR_NAME];

    ET_ERROR(MPIX_Iallocate(1, NULL, NULL, MPIX_ANYWHERE, wrong, MPIX_HARD, requests),
             MPIX_ERR_ALLOCATE, "n9");
    ET_MPI(MPIX_Iallocate(3, "reason=test", NULL, MPIX_ANYWHERE, names, MPIX_HARD, requests));
    ET_MPI(MPI_Waitall(3, requests, statuses));
    for (int i = 0; i < 3; i++) {
        ET_MPI(MPIX_Get_nodename(requests[i], host));
        ET_CHECK(!strcmp(host, i == 1 ? "n1" : "n2"), "request %d is on %s", i, host);
        start_shell(&requests[i], "exit 5");
    }
    for (int i = 0; i < 3; i++) {
        await(&requests[i], MPIX_STAGE_STARTED, MPIX_PROC_RUNNING);
        await(&requests[i], MPIX_STAGE_EXITED, 5);
    }
}

/* DA3: hosts on which no process of the job runs; this one is on n1, mpiexec has n1 and n2.  A farm
 * comes back. */
static void elsewhere(void)
{
    static const char *const names[] = { "n2", MPIX_ANYWHERE };
    MPI_Request requests[2];
    MPI_Status statuses[2];
    char host[MPI_MAX_PROCESSOR_NAME];

    for (int round = 0; round < 3; round++) {
        ET_MPI(MPIX_Iallocate(2, NULL, NULL, MPIX_ANYWHERE, names, MPIX_HARD, requests));
        ET_MPI(MPI_Waitall(2, requests, statuses));
        for (int i = 0; i < 2; i++) {
            ET_MPI(MPIX_Get_nodename(requests[i], host));
            ET_CHECK(!strcmp(host, i == 0 ? "n2" : "n1"), "request %d is on %s", i, host);
            start_shell(&requests[i], i == 0 ? "echo spoken elsewhere; exit 5" : "exit 6");
        }
        for (int i = 0; i < 2; i++) {
            await(&requests[i], MPIX_STAGE_STARTED, MPIX_PROC_RUNNING);
            await(&requests[i], MPIX_STAGE_EXITED, 5 + i);
        }
    }
    ET_MPI(MPIX_Iallocate(1, NULL, NULL, MPIX_ANYWHERE, names, MPIX_HARD, requests));
    ET_MPI(MPI_Wait(&requests[0], &statuses[0]));
    start_shell(&requests[0], "exec sleep 1000");
    await(&requests[0], MPIX_STAGE_STARTED, MPIX_PROC_RUNNING); /* ends with the job */
}

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

/* Costs: who waits for processes alone uses no processor, however long that takes; and is there for
 * others. */
static void idle(void)
{
    MPI_Request requests[2] = { one_slot(), one_slot() };
    double began = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    int index;

    start_shell(&requests[0], "sleep 1; exit 2");
    await(&requests[0], MPIX_STAGE_STARTED, MPIX_PROC_RUNNING);
    ET_MPI(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
    ET_CHECK(index == 0 && requests[0] == MPI_REQUEST_NULL, "request %d", index);
    began = seconds(CLOCK_MONOTONIC) - began;
    used = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
    ET_CHECK(used < began / 4, "%.3f s of processor time in %.3f s", used, began);
    ET_MPI(MPI_Request_free(&requests[1]));
}

/* DA6: what two of them write at the same time, piece by piece, and what one's child writes
 * later. */
static void labels(void)
{
    MPI_Request requests[2] = { one_slot(), one_slot() };

    start_shell(&requests[0],
                "for i in 1 2 3 4 5 6 7 8; do printf a; printf A >&2; done; echo; echo >&2");
    start_shell(&requests[1],
                "for i in 1 2 3 4 5 6 7 8; do printf b; printf B >&2; done; echo; echo >&2");
    ET_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    await(&requests[0], MPIX_STAGE_EXITED, 0);
    await(&requests[1], MPIX_STAGE_EXITED, 0);
    run_shell("(sleep 0.5; echo late; touch late) & echo early", 0);
    et_await_file("late");
}

static void many(void)
{
    run_many(270, 0);
}

static void shared(void)
{
    run_many(20, 128);
}

/* DA9: those that live at the end of the job, one of which ignores SIGTERM; a slot that is not
 * used, and one that fails. */
static void left(void)
{
    MPI_Request requests[4] = { one_slot(), one_slot(), one_slot(), one_slot() };

    start_shell(&requests[0], "exec sleep 1000");
    start_shell(&requests[1], "trap '' TERM; while :; do sleep 1; done");
    start_shell(&requests[2], "exit 9");
    ET_MPI(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    await(&requests[2], MPIX_STAGE_EXITED, 9);
}

/* DA9, DA12: the caller dies */
static void dies(void)
{
    left();
    et_log("DYING");
    kill(getpid(), SIGKILL);
}

static const struct {
    const char *name;
    void (*run) (void);
} cases[] = {
    {"life", life}, {"surroundings", surroundings}, {"copies", copies}, {"alone", alone},
    {"child", child},
    {"waits", waits}, {"cancels", cancels}, {"absent", absent}, {"mixed", mixed}, {"farm", farm},
    {"room", capacity}, {"signals", signals}, {"hosts", hosts}, {"elsewhere", elsewhere},
    {"idle", idle},
    {"words", words}, {"labels", labels}, {"many", many}, {"shared", shared}, {"left", left},
    {"dies", dies}
};

int main(int argc, char **argv)
{
    const char *name = et_argument(argc, argv, "case", "life");
    int rank, found = 0;

    program = argv[0];
    MPI_Init(&argc, &argv);
    /* of all calls about process requests */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (strcmp(cases[i].name, name))
            continue;
        found = 1;
        if (rank == 0)
            cases[i].run();
    }
    ET_CHECK(found, "there is no case %s", name);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("PASS processes %s\n", name);
    MPI_Finalize();
    return 0;
}
