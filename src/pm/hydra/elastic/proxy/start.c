/*
 * The proxy's work before and while it starts its processes: it reads mpiexec's description of a
 * joining group, makes the board, and passes it to each process.  On mpiexec's host it prepares to
 * remove the step socket of a killed mpiexec.  See pmip_adapt.h for the contract and pmi_adapt.h
 * for PMI_ADAPT.
 */

#include "state.h"
#include <poll.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include "pmip_adapt.h"
#include "exits.h"
#include "output.h"
#include "reports.h"
#include "spawned.h"
#include "stdin.h"
#include "tasks.h"
#include "wire/children.h"
#include "wire/kinds.h"
#include "wire/sessions.h"
#include "wire/keepalive.h"
#include "wire/step_socket.h"

struct HYD_proxy_state HYD_proxy_state = {.board = {.fd = -1} };

static char *bind_slots = NULL;        /* --adapt-bind: numbers with commas */
static struct {
    char *variables, *numbers;  /* of --adapt-gpus, with commas; NULL: not given */
    int count;                  /* number for each process; 0: each process gets all */
} gpus;

HYD_status HYD_pmcd_pmip_adapt_param(char *arg, char ***argv)
{
    HYD_status status = HYD_SUCCESS;

    int n = sscanf(**argv, "first_uid=%u,epoch=%u,pre=%u,local_pre=%u,modify=%u",
                   &HYD_proxy_state.join.first_uid, &HYD_proxy_state.join.epoch,
                   &HYD_proxy_state.join.pre, &HYD_proxy_state.join.local_pre,
                   &HYD_proxy_state.join.modify);
    HYDU_ERR_CHKANDJUMP(status, n != 5, HYD_INTERNAL_ERROR, "bad value of --%s: %s\n", arg, **argv);
    HYD_proxy_state.join.given = 1;
    HYD_proxy_state.epoch = HYD_proxy_state.join.epoch;
    (*argv)++;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_pmcd_pmip_adapt_bind_param(char *arg, char ***argv)
{
    bind_slots = MPL_strdup(**argv);
    (*argv)++;
    return HYD_SUCCESS;
}

int HYD_pmcd_pmip_adapt_bind_index(int process_id)
{
    const char *slot = bind_slots;

    for (int i = 0; slot && i < process_id; i++) {
        slot = strchr(slot, ',');
        slot = slot ? slot + 1 : NULL;
    }
    return slot ? atoi(slot) : process_id;
}

HYD_status HYD_pmcd_pmip_adapt_gpus_param(char *arg, char ***argv)
{
    HYD_status status = HYD_SUCCESS;
    char *count = strchr(**argv, ':'), *numbers = count ? strchr(count + 1, ':') : NULL;

    HYDU_ERR_CHKANDJUMP(status, !numbers, HYD_INTERNAL_ERROR, "bad value of --%s: %s\n", arg,
                        **argv);
    *count = *numbers = '\0';
    gpus.variables = MPL_strdup(**argv);
    gpus.count = atoi(count + 1);
    gpus.numbers = MPL_strdup(numbers + 1);
    (*argv)++;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* The text after this number of commas. */
static char *after_commas(char *text, int commas)
{
    for (; commas > 0; commas--)
        text = strchr(text, ',') + 1;
    return text;
}

/* The GPUs of this node for one process.  If there are more processes than reserved, assignment
 * begins with the first GPU again. */
static void own_gpus(int process_id, char *own, size_t bytes)
{
    int all = gpus.numbers[0] != '\0';

    for (const char *comma = gpus.numbers; (comma = strchr(comma, ',')); comma++)
        all++;
    int shares = gpus.count > 0 ? all / gpus.count : 0;
    char *first =
        shares > 0 ? after_commas(gpus.numbers, process_id % shares * gpus.count) : gpus.numbers;
    size_t length = strlen(first);
    if (shares > 0 && (process_id % shares + 1) * gpus.count < all)
        length = (size_t) (after_commas(first, gpus.count) - 1 - first);
    MPL_snprintf(own, bytes, "%.*s", (int) length, first);
}

static HYD_status add_gpus(int process_id, struct HYD_env **env)
{
    char own[512], name[128];
    HYD_status status = HYD_SUCCESS;

    if (!gpus.numbers)
        return HYD_SUCCESS;
    own_gpus(process_id, own, sizeof(own));
    for (const char *next = gpus.variables; *next && status == HYD_SUCCESS;) {
        size_t length = strcspn(next, ",");
        MPL_snprintf(name, sizeof(name), "%.*s", (int) length, next);
        status = HYDU_append_env_to_list(name, own, env);
        next += length + (next[length] == ',');
    }
    return status;
}

/* ---- the step socket ------------------------------------------------------------------------- */

#define MPIEXEC_ENDS_MS 500     /* from the end of its connection to the end of mpiexec */

/* The mpiexec that has started this proxy on its own host. */
static struct {
    pid_t pid, proxy;           /* its number, and ours */
    int watch;                  /* its pidfd */
} our_mpiexec = {.watch = -1 };

static int is_disconnected(void)
{
    struct pollfd control = {.fd = HYD_pmcd_pmip.upstream.control,.events = POLLRDHUP };

    return poll(&control, 1, 0) > 0 && (control.revents & (POLLRDHUP | POLLHUP));
}

/* Removes the step socket if mpiexec has ended without doing so. */
static void remove_step_socket(void)
{
    char folder[STEP_SOCKET_PATH_MAX], path[STEP_SOCKET_PATH_MAX], error[STEP_SOCKET_ERROR_MAX],
        id[STEP_ID_MAX];
    struct pollfd end = {.fd = our_mpiexec.watch,.events = POLLIN };

    if (getpid() != our_mpiexec.proxy ||
        poll(&end, 1, is_disconnected() ? MPIEXEC_ENDS_MS : 0) <= 0 ||
        step_socket_directory(folder, sizeof(folder), error, sizeof(error)) < 0 ||
        step_socket_check_directory(folder, error, sizeof(error)) < 0)
        return;
    for (int n = 1; n <= STEP_IDS_OF_A_PID; n++) {
        step_socket_id(our_mpiexec.pid, n, id, sizeof(id));
        if (step_socket_path(folder, id, path, sizeof(path), error, sizeof(error)) < 0 ||
            access(path, F_OK) < 0)
            return;
        step_socket_remove_stale(path);
    }
}

/* Not for a proxy that a launcher has started, which has another parent. */
static void watch_mpiexec(void)
{
    if (!getenv("HYDI_CONTROL_FD"))
        return;
    our_mpiexec.pid = getppid();
    our_mpiexec.proxy = getpid();
    our_mpiexec.watch = (int) syscall(SYS_pidfd_open, our_mpiexec.pid, 0);
    if (our_mpiexec.watch >= 0)
        atexit(remove_step_socket);
}

/* ---------------------------------------------------------------------------------------------- */

HYD_status HYD_pmcd_pmip_adapt_start(void)
{
    HYD_status status = HYD_SUCCESS;

    HYD_pmcd_pmip_output_first();
    watch_mpiexec();
    status = HYD_spawned_start();
    HYDU_ERR_POP(status, "unable to prepare for processes that cannot be executed\n");
    /* mpiexec must detect our end even if one of our processes outlives us. */
    status = HYDU_sock_cloexec(HYD_pmcd_pmip.upstream.control);
    HYDU_ERR_POP(status, "unable to set the control connection to close on exec\n");
    bool may_adapt = HYD_pmcd_pmip.local.pgid == 0 || HYD_proxy_state.join.given;
    if (!may_adapt && !HYD_tasks_are_world())
        goto fn_exit;
    HYD_follow_session();

    /* If we are killed, our processes are killed too: a process that waits in begin would wait for
     * ever. */
    HYD_child_death_signal = SIGKILL;

    if (HYD_proxy_state.join.given || HYD_tasks_are_world()) {
        HYD_keepalive_watch(HYD_pmcd_pmip.upstream.control);
        status = HYD_pmcd_pmip_adapt_channel();
        HYDU_ERR_POP(status, "unable to open a channel to mpiexec\n");
        HYD_pmcd_pmip_adapt_count_output();
    }

    int error = HYD_board_create(&HYD_proxy_state.board, HYD_pmcd_pmip.local.kvs->kvsname,
                                 HYD_proxy_process_count());
    if (error && !HYD_proxy_state.join.given) {
        /* The job can run without a board, but without adaptations. */
        HYDU_dump(stderr, "no adaptations: unable to create the adapt board (%s)\n",
                  MPL_strerror(error));
        goto fn_exit;
    }
    HYDU_ERR_CHKANDJUMP(status, error, HYD_INTERNAL_ERROR,
                        "unable to create the adapt board (%s)\n", MPL_strerror(error));

    HYDU_MALLOC_OR_JUMP(HYD_proxy_state.processes, struct HYD_proxy_process *,
                        HYD_proxy_process_count() * sizeof(*HYD_proxy_state.processes), status);
    for (int i = 0; i < HYD_proxy_process_count(); i++) {
        HYD_proxy_state.processes[i] = (struct HYD_proxy_process){.stdin_fd = HYD_FD_UNSET,
                                                            .input_path = -1, .watch_fd = -1,
                                                            .wake_fd = -1};
        HYD_queue_init(&HYD_proxy_state.processes[i].input);
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

void HYD_pmcd_pmip_cannot(const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (length >= (int) sizeof(text))
        length = (int) sizeof(text) - 1;
    /* if mpiexec has failed, no process reads it */
    (void) HYD_reports_send(HYD_ADAPT_CANNOT, 0, 0, text, (size_t) length);
    HYD_pmcd_pmip_send_signal(SIGKILL);
    exit(1);
}

/* A proxy that mpiexec has started itself has mpiexec's variables; a proxy of a launcher has those
 * of its host. */
void HYD_pmcd_pmip_choose_env(const char *prop)
{
    HYD_child_clears_env = prop && strcmp(prop, "all") && getenv("HYDI_CONTROL_FD");
}

/* 0: not known. */
static unsigned long long pid_namespace(void)
{
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

HYD_status HYD_pmcd_pmip_adapt_env(int process_id, struct HYD_env **env)
{
    char text[256];

    HYD_status status = add_gpus(process_id, env);
    MPL_snprintf(text, sizeof(text), "%llu", pid_namespace());
    if (status == HYD_SUCCESS)
        status = HYDU_append_env_to_list(PMI_PID_NAMESPACE_ENV, text, env);
    if (status == HYD_SUCCESS && !HYD_pmcd_pmip.user_global.auto_cleanup)
        status = HYDU_append_env_to_list(PMI_CLEANUP_ENV, "0", env);
    if (status != HYD_SUCCESS || HYD_proxy_state.board.fd < 0)
        return status;
    if (HYD_tasks_are_world())
        return HYDU_sock_cloexec(HYD_proxy_state.board.fd);   /* they have no board */
    if (process_id == 0)
        HYD_tasks_environment(*env);
    MPL_snprintf(text, sizeof(text),
                 "version=%d fd=%d slot=%d uid=%u epoch=%u pre=%u local_pre=%u modify=%u",
                 PMI_ADAPT_VERSION, HYD_proxy_state.board.fd, process_id,
                 HYD_proxy_state.join.first_uid +
                     (unsigned) HYD_pmcd_pmip.downstream.pmi_rank[process_id],
                 HYD_proxy_state.join.epoch, HYD_proxy_state.join.pre,
                 HYD_proxy_state.join.local_pre, HYD_proxy_state.join.modify);
    return HYDU_append_env_to_list(PMI_ADAPT_ENV, text, env);
}

HYD_status HYD_pmcd_pmip_adapt_started(void)
{
    HYD_status status = HYD_spawned_check();

    HYD_stdin_started();
    if (status != HYD_SUCCESS || HYD_proxy_state.board.fd < 0)
        return status;

    /* Processes that are started from now on are tasks of the program. */
    status = HYDU_sock_cloexec(HYD_proxy_state.board.fd);
    if (status != HYD_SUCCESS)
        return status;
    if (HYD_tasks_are_world()) {
        status = HYD_tasks_adopt();
        return status == HYD_SUCCESS ? HYD_exits_watch() : status;
    }
    HYD_exits_started();
    /* A joining process that cannot be executed must be detected (E3).  For a launch, watching
     * begins with the first process that reports that it is adaptive, so stock jobs have no
     * overhead. */
    return HYD_proxy_state.join.given ? HYD_exits_watch() : HYD_SUCCESS;
}
