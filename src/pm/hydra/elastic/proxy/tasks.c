/* See tasks.h: start, signals and end of these processes. */

#include "state.h"
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "pmip_adapt.h"
#include "answers.h"
#include "demux.h"
#include "pmi_adapt_set.h"
#include "pmi_adapt_signal.h"
#include "reports.h"
#include "stdin.h"
#include "task_output.h"
#include "tasks.h"
#include "reaper.h"
#include "wire/clock.h"
#include "wire/event_loop.h"
#include "wire/kinds.h"
#include "wire/task.h"

#define END_GRACE_MS 2000

struct task {
    uint32_t uid, number;
    pid_t pid;
    int pidfd;
    int64_t kill_at_ms;         /* time for SIGKILL, after the order to end; <0: no order */
    struct task *next;
};

static struct task *tasks = NULL;
static pid_t owner = 0;         /* children that call exit() must not end tasks */
static char *world = NULL;      /* --adapt-tasks */

/* ---- start and end --------------------------------------------------------------------------- */

static HYD_status report_task(uint32_t uid, uint32_t number, enum pmi_task_stage stage, int code,
                              const char *why)
{
    char payload[sizeof(struct task_head) + 512];
    struct task_head head = { uid, number, (uint32_t) stage, (uint32_t) code };

    memcpy(payload, &head, sizeof(head));
    MPL_snprintf(payload + sizeof(head), sizeof(payload) - sizeof(head), "%s", why);
    return HYD_reports_send(REPORT_TASK, 0, 0, payload,
                            sizeof(head) + strlen(payload + sizeof(head)));
}

static struct task **find_task(uint32_t uid, uint32_t number)
{
    struct task **slot = &tasks;

    while (*slot && ((*slot)->uid != uid || (*slot)->number != number))
        slot = &(*slot)->next;
    return slot;
}

/* The task has been waited for. */
static HYD_status end_task(struct task **slot, int wait_status)
{
    struct task *t = *slot;
    int code = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    HYD_status status = HYD_task_output_drain(t->uid, t->number);

    *slot = t->next;
    HYD_reaper_ended(t->pid);
    if (status == HYD_SUCCESS)
        status = report_task(t->uid, t->number, PMI_TASK_EXITED, code, "");
    if (t->pidfd >= 0) {
        HYDT_dmx_deregister_fd(t->pidfd);
        close(t->pidfd);
    }
    MPL_free(t);
    return status;
}

static HYD_status exited_cb(int fd, HYD_event_t events, void *userp)
{
    int wait_status;

    for (struct task ** slot = &tasks; *slot; slot = &(*slot)->next) {
        if ((*slot)->pidfd == fd && waitpid((*slot)->pid, &wait_status, WNOHANG) == (*slot)->pid)
            return end_task(slot, wait_status);
        if ((*slot)->pidfd == fd)
            break;
    }
    return HYD_SUCCESS;
}

/* Wakes a caller that waits for the last task. */
static HYD_status poll_tasks_again(void)
{
    return HYD_SUCCESS;
}

/* Stock's main loop has waited for this child.  It then sleeps without a check whether this was the
 * last one. */
void HYD_pmcd_pmip_adapt_reaped(pid_t pid, int wait_status)
{
    for (struct task ** slot = &tasks; *slot; slot = &(*slot)->next) {
        if ((*slot)->pid == pid) {
            (void) end_task(slot, wait_status);
            HYD_loop_call(poll_tasks_again, 0);
            return;
        }
    }
}

/* Runs in the child, which shares our memory until it executes: only system calls. */
static void become(char *const argv[], int null, const int out[2], volatile int *error)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL };
    sigset_t none;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int signum = 1; signum < NSIG; signum++)
        sigaction(signum, &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (HYD_task_descriptors.rlim_max > 0)
        setrlimit(RLIMIT_NOFILE, &HYD_task_descriptors);
    if (dup2(null, STDIN_FILENO) >= 0 && dup2(out[0], STDOUT_FILENO) >= 0 &&
        dup2(out[1], STDERR_FILENO) >= 0)
        execvpe(argv[0], argv, HYD_task_environment);
    *error = errno;
    _exit(127);
}

/* The pid, or -1 with an error.  The cost of vfork does not depend on our size, and its result is
 * known at once. */
static pid_t execute_task(char *const argv[], const int out[2], int *error)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t all, before;
    volatile int failed = 0;

    if (null < 0) {
        *error = errno;
        return -1;
    }
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = vfork();
    if (pid == 0)
        become(argv, null, out, &failed);
    *error = pid < 0 ? errno : failed;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(null);
    if (pid > 0 && failed) {
        waitpid(pid, NULL, 0);
        return -1;
    }
    return pid;
}

/* Opens the descriptor that shows the end of the task.  "" or an error. */
static const char *watch_task(struct task *t)
{
    t->pidfd = (int) syscall(SYS_pidfd_open, t->pid, 0);
    if (t->pidfd < 0)
        return MPL_strerror(errno);
    return HYDT_dmx_register_fd(1, &t->pidfd, HYD_POLLIN, NULL,
                                exited_cb) == HYD_SUCCESS ? "" : "no memory";
}

/* The task has not been waited for, so its number is valid. */
static void signal_task(const struct task *t, int signum)
{
    if (killpg(t->pid, signum) < 0)
        kill(t->pid, signum);
}

/* The proxy ends when mpiexec ends in any way.  Then the kernel kills the proxy's children, but not
 * their descendants. */
static void kill_groups(void)
{
    for (struct task * t = owner == getpid() ? tasks : NULL; t; t = t->next)
        signal_task(t, SIGKILL);
    if (owner == getpid())
        HYD_reaper_dismiss();
}

static HYD_status run_task(const struct task_head *head, char *const argv[])
{
    struct task *t = NULL;
    int error = 0, out[2];
    const char *why =
        HYD_task_environment ? HYD_task_output_open(head->uid, head->number, out) : "no memory";
    HYD_status status = HYD_SUCCESS;

    if (*why)
        return report_task(head->uid, head->number, PMI_TASK_EXITED, 127, why);
    HYDU_MALLOC_OR_JUMP(t, struct task *, sizeof(*t), status);
    *t = (struct task) {.uid = head->uid,.number = head->number,.pidfd = -1,.kill_at_ms = -1 };
    t->pid = execute_task(argv, out, &error);
    HYD_task_output_opened(out);
    why = t->pid < 0 ? MPL_strerror(error) : watch_task(t);
    if (*why) {
        char text[512];
        if (t->pid > 0) {
            kill(t->pid, SIGKILL);
            waitpid(t->pid, NULL, 0);
        }
        MPL_snprintf(text, sizeof(text), "%s: %s", argv[0], why);
        MPL_free(t);
        return report_task(head->uid, head->number, PMI_TASK_EXITED, 127, text);
    }
    t->next = tasks;
    tasks = t;
    HYD_reaper_begun(t->pid);
    if (!owner && atexit(kill_groups) == 0)
        owner = getpid();
    status = report_task(head->uid, head->number, PMI_TASK_STARTED, 0, "");

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

/* ---- processes of one world ------------------------------------------------------------------ */

HYD_status HYD_pmcd_pmip_adapt_tasks_param(char *arg, char ***argv)
{
    world = MPL_strdup(**argv);
    (*argv)++;
    return world ? HYD_SUCCESS : HYD_NO_MEM;
}

int HYD_tasks_are_world(void)
{
    return world != NULL;
}

/* Stock's main loop waits for them, and notifies us (HYD_pmcd_pmip_adapt_reaped). */
HYD_status HYD_tasks_adopt(void)
{
    char *at;
    uint32_t uid = (uint32_t) strtoul(world, &at, 10);
    HYD_status status = HYD_SUCCESS;

    for (int i = 0; i < HYD_proxy_process_count(); i++) {
        struct task *t = NULL;
        HYDU_ERR_CHKANDJUMP(status, !*at, HYD_INTERNAL_ERROR, "bad value of --adapt-tasks: %s\n",
                            world);
        HYDU_MALLOC_OR_JUMP(t, struct task *, sizeof(*t), status);
        *t = (struct task) {.uid = uid,.number = (uint32_t) strtoul(at + 1, &at, 10),.pidfd = -1,
                            .kill_at_ms = -1 };
        t->pid = HYD_pmcd_pmip.downstream.pid[i];
        t->next = tasks;
        tasks = t;
        HYD_stdin_ended(i);     /* it has no input */
        status = report_task(uid, t->number, PMI_TASK_STARTED, 0, "");
        HYDU_ERR_POP(status, "unable to report a process\n");
    }

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

HYD_status HYD_tasks_answer_abort(int pmi_fd)
{
    const char answer[] = "cmd=\n";

    return HYD_answer(pmi_fd, answer, sizeof(answer) - 1);
}

/* The other processes get time to end. */
static void let_world_go(void)
{
    for (int i = 0; world && i < HYD_proxy_process_count(); i++)
        HYD_proxy_state.processes[i].let_go = 1;
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* Copies the text at the front of `left` bytes; NULL: malformed. */
static char *take_task_text(const char **bytes, size_t *left)
{
    uint32_t n;

    if (*left < sizeof(n))
        return NULL;
    memcpy(&n, *bytes, sizeof(n));
    if (n > PMI_TASK_TEXT_MAX || *left - sizeof(n) < n)
        return NULL;
    char *text = MPL_malloc((size_t) n + 1, MPL_MEM_PM);
    if (text) {
        memcpy(text, *bytes + sizeof(n), n);
        text[n] = '\0';
        *bytes += sizeof(n) + n;
        *left -= sizeof(n) + n;
    }
    return text;
}

static void free_argv(char **argv)
{
    for (char **arg = argv; arg && *arg; arg++)
        MPL_free(*arg);
    MPL_free(argv);
}

/* As in TASK_RUN; NULL: malformed, or no memory. */
static char **take_argv(const char *bytes, size_t left)
{
    char *executable = take_task_text(&bytes, &left), **argv = NULL;
    uint32_t n = 0;

    if (executable && left >= sizeof(n)) {
        memcpy(&n, bytes, sizeof(n));
        bytes += sizeof(n);
        left -= sizeof(n);
        if (n <= PMI_TASK_ARGUMENTS_MAX)
            argv = MPL_calloc((size_t) n + 2, sizeof(*argv), MPL_MEM_PM);
    }
    if (!argv) {
        MPL_free(executable);
        return NULL;
    }
    argv[0] = executable;
    for (uint32_t i = 0; i < n; i++) {
        argv[i + 1] = take_task_text(&bytes, &left);
        if (!argv[i + 1]) {
            free_argv(argv);
            return NULL;
        }
    }
    return argv;
}

static HYD_status on_run(const struct task_head *head, const char *bytes, size_t n)
{
    char **argv = take_argv(bytes, n);
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, !argv, HYD_INTERNAL_ERROR, "malformed command to run a process\n");
    status = run_task(head, argv);

  fn_exit:
    free_argv(argv);
    return status;
  fn_fail:
    goto fn_exit;
}

/* Kills each task at its time, so that each one gets its time to end. */
static HYD_status kill_reported(void)
{
    int64_t now = HYD_monotonic_us() / 1000, next = -1;

    for (struct task * t = tasks; t; t = t->next) {
        if (t->kill_at_ms < 0)
            continue;
        if (t->kill_at_ms <= now)
            signal_task(t, SIGKILL);
        else if (next < 0 || t->kill_at_ms < next)
            next = t->kill_at_ms;
    }
    if (next >= 0)
        HYD_loop_call(kill_reported, next - now);
    return HYD_SUCCESS;
}

static void notify_end(struct task *t)
{
    if (t->kill_at_ms >= 0)
        return;
    let_world_go();
    t->kill_at_ms = HYD_monotonic_us() / 1000 + END_GRACE_MS;
    signal_task(t, SIGTERM);
    signal_task(t, SIGCONT);
    (void) kill_reported();
}

HYD_status HYD_tasks_order(const char *payload, size_t bytes)
{
    struct task_head head;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, bytes < sizeof(head), HYD_INTERNAL_ERROR,
                        "malformed command for a process\n");
    memcpy(&head, payload, sizeof(head));
    struct task *t = *find_task(head.uid, head.number);
    const char *rest = payload + sizeof(head);
    size_t left = bytes - sizeof(head);
    char name[16];
    switch (head.kind) {
        case TASK_RUN:
            return on_run(&head, rest, left);
        case TASK_SIGNAL:
            MPL_snprintf(name, sizeof(name), "%.*s",
                         (int) (left < sizeof(name) ? left : sizeof(name) - 1), rest);
            if (t && pmi_signal_number(name))
                signal_task(t, pmi_signal_number(name));
            break;
        case TASK_END:
            if (t)
                notify_end(t);
            break;
        default:
            HYDU_ERR_SETANDJUMP(status, HYD_INTERNAL_ERROR, "unknown command for a process\n");
    }

  fn_exit:
    return status;
  fn_fail:
    goto fn_exit;
}

int HYD_tasks_live(void)
{
    return tasks != NULL;
}

void HYD_tasks_signalled(int signum)
{
    for (struct task * t = tasks; t; t = t->next) {
        if (signum == SIGTERM || signum == SIGINT || signum == SIGQUIT)
            notify_end(t);
        else
            signal_task(t, signum);
    }
}
