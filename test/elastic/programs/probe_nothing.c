/*
 * P1: with nothing pending a probe is FALSE, STAYING, MPI_INFO_NULL; info may be NULL; and it makes
 * no system call: a thread whose every system call traps probes a hundred thousand times.  With
 * --epochs N this is so after N adaptations as well, from the second probe on (the first gives back
 * what the former world used).  With --writes N it goes on until it has written its loops for the
 * proxy N times, which is no system call either, and at most once in an interval (SPEC-performance
 * C6).
 */

#include "elastic_test.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PROBES 100000
#define PATIENCE_S 60

static volatile sig_atomic_t trapped, first_call = -1;
static int filtered, wrong;
static unsigned wanted_writes, first_writes, writes;    /* of the loops: to be seen, before, seen */
static double seconds;                                  /* in which they were */
static MPI_T_pvar_session session;
static MPI_T_pvar_handle graph_writes;

static void on_trap(int signal, siginfo_t * info, void *context)
{
    (void) signal;
    (void) context;
    if (trapped++ == 0)
        first_call = info->si_syscall;
}

/* Everything traps but the return from the handler and the end of this thread. */
static int trap_system_calls(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {.len = sizeof(program) / sizeof(program[0]),.filter = program };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

static void probe_twice(void)
{
    int pending = -1, status = -1;
    MPI_Info info = MPI_INFO_ENV;
    int error = MPI_Probe_adapt(&pending, &status, &info);
    wrong += error != MPI_SUCCESS || pending != MPI_ADAPT_FALSE ||
        status != MPI_ADAPT_STATUS_STAYING || info != MPI_INFO_NULL;
    error = MPI_Probe_adapt(&pending, &status, NULL);
    wrong += error != MPI_SUCCESS || pending != MPI_ADAPT_FALSE;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void probe_until_written(void)
{
    double start = now();

    wrong += MPI_T_pvar_read(session, graph_writes, &first_writes) != MPI_SUCCESS;
    do {
        for (int i = 0; i < 100; i++)
            probe_twice();
        wrong += MPI_T_pvar_read(session, graph_writes, &writes) != MPI_SUCCESS;
        seconds = now() - start;
    } while (writes < first_writes + wanted_writes && seconds < PATIENCE_S);
}

static void *prober(void *unused)
{
    filtered = trap_system_calls();
    for (int i = 0; i < PROBES; i++)
        probe_twice();
    if (wanted_writes > 0)
        probe_until_written();
    if (filtered)
        syscall(SYS_exit, 0);   /* the thread library's own end makes more system calls */
    return unused;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = on_trap,.sa_flags = SA_SIGINFO };
    pthread_t thread;
    int provided;

    et_init_thread(&argc, &argv, MPI_THREAD_SERIALIZED);
    if (!et_argument(argc, argv, "epochs", NULL))
        et.epochs = 0;
    wanted_writes = (unsigned) atoi(et_argument(argc, argv, "writes", "0"));
    ET_CHECK(MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided) == MPI_SUCCESS, "no MPI_T");
    ET_CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS, "no session");
    graph_writes = et_open_variable(session, "adapt_graph_writes");
    et_loop();
    et_probe();
    sigaction(SIGSYS, &action, NULL);
    ET_CHECK(pthread_create(&thread, NULL, prober, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
    ET_CHECK(wrong == 0, "%d probes with a wrong answer", wrong);
    ET_CHECK(trapped == 0, "%d system calls in %d probes, the first is number %d", (int) trapped,
             2 * PROBES, (int) first_call);
    ET_CHECK(writes >= first_writes + wanted_writes, "written %u times in %g s",
             writes - first_writes, seconds);
    ET_CHECK(writes - first_writes <= seconds + 1, "written %u times in %g s, the interval is 1 s",
             writes - first_writes, seconds);
    if (!filtered)
        et_skip("there is no seccomp here to count system calls with");
    return et_finish();
}
