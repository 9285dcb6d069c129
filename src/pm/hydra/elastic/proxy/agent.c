/*
 * The node daemon's part in adaptations: it makes the board, tells its processes of it, forwards what
 * they say to mpiexec as REPORT_* messages and carries out mpiexec's STEP_* commands on the board.
 * It decides nothing.  See agent.h for the contract and pmi_adapt.h for the protocol.
 *
 * Exits: stock reports the exit codes of a proxy when all of its processes have ended.  Adaptations
 * need each at once, and processes that leave must not stay behind as zombies, so every adaptive
 * process is watched by a pidfd.  The pidfd only wakes the loop; it is the stock waitpid that reaps.
 */

#include "pmip.h"
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include "demux.h"
#include "board.h"
#include "wire/message.h"
#include "output.h"
#include "relay.h"
#include "reports.h"
#include "agent.h"
#include "wire/silence.h"
#include "core/step_core.h"

#define CARD_BYTES_MAX 8192     /* addresses of one process */
#define REPORT_BYTES_MAX (CARD_BYTES_MAX + 64)
#define REASON_BYTES_MAX 1024   /* why a process cannot prepare */

/* What is known of one local process. */
struct process {
    int stdin_fd;               /* write end, or < 0 */
    int watch_fd;               /* pidfd, or -1 */
    int adaptive;
    int ended;
    int wait_status;            /* when ended */
    int held;                   /* its end is to be reported after the culprit's */
};

static struct HYD_board board = {.fd = -1 };
static struct process *processes = NULL;
static int reader = -1;         /* process whose stdin_fd is downstream.in */
static int culprit = -1;        /* process for whose end we kill the others */
static int killing = 0;         /* all processes have been killed, or are in a moment */
static uint32_t last_epoch = 0; /* of the last command, for reports that belong to none */
static int initialised = 0, ready = 0;  /* adaptive processes that have said so */

extern int HYDU_child_death_signal;     /* launch.c */
static char *bind_places = NULL;        /* --adapt-bind: numbers with commas */

/* --adapt of a joining group */
static struct {
    int given;
    unsigned first_uid, epoch, pre, local_pre;
} join;

static int process_count(void)
{
    return HYD_pmcd_pmip.local.proxy_process_count;
}

static int process_of_rank(int rank)
{
    for (int i = 0; i < process_count(); i++)
        if (HYD_pmcd_pmip.downstream.pmi_rank[i] == rank)
            return i;
    return -1;
}

static int process_of_fd(int fd)
{
    for (int i = 0; i < process_count(); i++)
        if (HYD_pmcd_pmip.downstream.pmi_fd[i] == fd)
            return i;
    return -1;
}

static HYD_status report(uint32_t kind, uint32_t epoch, const void *payload, size_t bytes)
{
    return HYD_reports_send(kind, epoch, 0, payload, bytes);
}

/* What each process says once: the last one's goes up with all others'. */
static HYD_status report_of_each(uint32_t kind, uint32_t epoch, const void *payload, size_t bytes, int said)
{
    HYD_status status = HYD_reports_gather(kind, epoch, payload, bytes);

    return status == HYD_SUCCESS && said >= process_count() ? HYD_reports_flush() : status;
}

/* ---- start ------------------------------------------------------------------------------------ */

HYD_status HYD_pmcd_pmip_adapt_param(char *arg, char ***argv)
{
    HYD_status status = HYD_SUCCESS;

    int n = sscanf(**argv, "first_uid=%u,epoch=%u,pre=%u,local_pre=%u", &join.first_uid,
                   &join.epoch, &join.pre, &join.local_pre);
    HYDU_ERR_CHKANDJUMP(status, n != 4, HYD_INTERNAL_ERROR, "bad value of --%s: %s\n", arg, **argv);
    join.given = 1;
    last_epoch = join.epoch;
    (*argv)++;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_pmcd_pmip_adapt_bind_param(char *arg, char ***argv)
{
    bind_places = MPL_strdup(**argv);
    (*argv)++;
    return HYD_SUCCESS;
}

int HYD_pmcd_pmip_adapt_bind_index(int process_id)
{
    const char *place = bind_places;

    for (int i = 0; place && i < process_id; i++) {
        place = strchr(place, ',');
        place = place ? place + 1 : NULL;
    }
    return place ? atoi(place) : process_id;
}

HYD_status HYD_pmcd_pmip_adapt_start(void)
{
    HYD_status status = HYD_SUCCESS;

    if (HYD_pmcd_pmip.local.pgid != 0 && !join.given)
        goto fn_exit;

    /* Nobody is left behind if we are killed: a process that waits in begin would wait for ever. */
    HYDU_child_death_signal = SIGKILL;

    /* mpiexec must see our end even if a process of ours outlives us. */
    status = HYDU_sock_cloexec(HYD_pmcd_pmip.upstream.control);
    HYDU_ERR_POP(status, "unable to set the control connection to close on exec\n");
    if (join.given) {
        HYD_silence_watch(HYD_pmcd_pmip.upstream.control);
        status = HYD_pmcd_pmip_adapt_channel();
        HYDU_ERR_POP(status, "unable to open a channel to mpiexec\n");
        HYD_pmcd_pmip_adapt_count_output();
    }

    int error = HYD_board_create(&board, HYD_pmcd_pmip.local.kvs->kvsname, process_count());
    if (error && !join.given) {
        /* The job can run without: its processes stay as they are launched. */
        HYDU_dump(stderr, "no adaptations: unable to create the adapt board (%s)\n",
                  MPL_strerror(error));
        goto fn_exit;
    }
    HYDU_ERR_CHKANDJUMP(status, error, HYD_INTERNAL_ERROR,
                        "unable to create the adapt board (%s)\n", MPL_strerror(error));

    HYDU_MALLOC_OR_JUMP(processes, struct process *, process_count() * sizeof(struct process),
                        status);
    for (int i = 0; i < process_count(); i++)
        processes[i] = (struct process) {.stdin_fd = HYD_FD_UNSET,.watch_fd = -1 };

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
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

    if (board.fd < 0)
        return HYD_SUCCESS;
    MPL_snprintf(text, sizeof(text),
                 "version=%d fd=%d slot=%d uid=%u epoch=%u pre=%u local_pre=%u pidns=%llu",
                 PMI_ADAPT_VERSION, board.fd, process_id,
                 join.first_uid + (unsigned) HYD_pmcd_pmip.downstream.pmi_rank[process_id],
                 join.epoch, join.pre, join.local_pre, pid_namespace());
    return HYDU_append_env_to_list(PMI_ADAPT_ENV, text, env);
}

int *HYD_pmcd_pmip_adapt_stdin(int process_id, int *otherwise)
{
    return processes ? &processes[process_id].stdin_fd : otherwise;
}

/* Stock's main loop waits for the process once it is awake.  The descriptor stays readable, so we are
 * called again; it is closed only in the round after, because that loop decides whether all is over
 * before it waits for a process, and then needs one more event to decide again. */
static HYD_status watch_cb(int fd, HYD_event_t events, void *userp)
{
    struct process *p = &processes[(size_t) userp];
    HYD_status status = HYD_SUCCESS;

    if (p->ended) {
        p->watch_fd = -1;
        status = HYDT_dmx_deregister_fd(fd);
        close(fd);
    }
    return status;
}

static HYD_status watch_processes(void)
{
    HYD_status status = HYD_SUCCESS;

    for (int i = 0; i < process_count(); i++) {
        struct process *p = &processes[i];
        if (p->ended || p->watch_fd >= 0)
            continue;
        p->watch_fd = (int) syscall(SYS_pidfd_open, HYD_pmcd_pmip.downstream.pid[i], 0);
        if (p->watch_fd < 0)
            continue;   /* an old kernel: noticed when its output closes */
        status = HYDU_sock_cloexec(p->watch_fd);
        HYDU_ERR_POP(status, "unable to set a descriptor to close on exec\n");
        status = HYDT_dmx_register_fd(1, &p->watch_fd, HYD_POLLIN, (void *) (size_t) i,
                                      watch_cb);
        HYDU_ERR_POP(status, "unable to register fd\n");
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_pmcd_pmip_adapt_started(void)
{
    if (board.fd < 0)
        return HYD_SUCCESS;

    /* Rank 0's is where stock keeps it. */
    reader = process_of_rank(0);
    if (reader >= 0)
        processes[reader].stdin_fd = HYD_pmcd_pmip.downstream.in;

    /* A joining process that cannot even be executed must be noticed (E3).  For a launch, this
     * waits for the first process that says it is adaptive: stock runs pay nothing. */
    return join.given ? watch_processes() : HYD_SUCCESS;
}

/* ---- commands of mpiexec ---------------------------------------------------------------------- */

/* Number of local processes that the plan names, or -1 if the plan is not well formed. */
static int count_participants(const struct pmi_adapt_plan *plan, size_t bytes)
{
    int participants = 0;

    if (bytes < sizeof(*plan) || plan->magic != PMI_ADAPT_MAGIC || plan->bytes != bytes)
        return -1;
    uint64_t members = (uint64_t) plan->pre + plan->joining;
    if (plan->members_offset > bytes ||
        members > (bytes - plan->members_offset) / sizeof(struct pmi_adapt_member))
        return -1;
    const struct pmi_adapt_member *m =
        (const struct pmi_adapt_member *) ((const char *) plan + plan->members_offset);
    for (uint64_t k = 0; k < members; k++) {
        int rank = (int) (m[k].uid - join.first_uid);
        if (m[k].uid >= join.first_uid && process_of_rank(rank) >= 0)
            participants++;
    }
    return participants;
}

static HYD_status place_plan(const void *payload, size_t bytes)
{
    HYD_status status = HYD_SUCCESS;

    int participants = count_participants(payload, bytes);
    HYDU_ERR_CHKANDJUMP(status, participants < 0, HYD_INTERNAL_ERROR, "malformed plan\n");
    int error = HYD_board_place(&board, payload, bytes, (uint32_t) participants);
    HYDU_ERR_CHKANDJUMP(status, error, HYD_INTERNAL_ERROR, "unable to place the plan (%s)\n",
                        MPL_strerror(error));

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status report_counts(uint32_t epoch)
{
    struct counts {
        uint32_t rank, phase;
        uint64_t count, phase_ms;
    } *counts = NULL;
    HYD_status status = HYD_SUCCESS;
    int n = 0;

    status = HYD_pmcd_pmip_adapt_look_committed();
    HYDU_ERR_POP(status, "unable to tell that the processes have committed\n");
    HYDU_MALLOC_OR_JUMP(counts, struct counts *, process_count() * sizeof(*counts), status);
    /* Those that have ended too: how far they came tells what their end means. */
    for (int i = 0; i < process_count(); i++) {
        counts[n].rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i];
        counts[n].phase = __atomic_load_n(&board.slots[i].phase, __ATOMIC_ACQUIRE);
        counts[n].count = __atomic_load_n(&board.slots[i].count, __ATOMIC_ACQUIRE);
        counts[n].phase_ms = HYD_board_phase_ms(&board, i);
        n++;
    }
    status = report(REPORT_COUNTS, epoch, counts, n * sizeof(*counts));

  fn_exit:
    MPL_free(counts);
    return status;

  fn_fail:
    goto fn_exit;
}

/* The last answer to STEP_FREEZE, for those who ask again. */
static struct {
    uint32_t sequence, epoch;
    uint64_t ceiling;
} frozen;

/* To whoever sent the command, or to mpiexec. */
static HYD_status answer_freeze(struct HYD_relay_frozen *answer)
{
    if (!answer)
        return HYD_reports_send(REPORT_FROZEN, frozen.epoch, frozen.sequence, &frozen.ceiling,
                                sizeof(frozen.ceiling));
    answer->sequence = frozen.sequence;
    answer->ceiling = frozen.ceiling;
    return HYD_SUCCESS;
}

static HYD_status execute(const struct HYD_adapt_message *message, const char *payload,
                          struct HYD_relay_frozen *answer)
{
    uint64_t value = 0;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, board.fd < 0, HYD_INTERNAL_ERROR, "this proxy has no board\n");
    if (message->kind == STEP_FREEZE || message->kind == STEP_TARGET) {
        HYDU_ERR_CHKANDJUMP(status, message->bytes != sizeof(value), HYD_INTERNAL_ERROR,
                            "adaptation command %u has a wrong length\n", message->kind);
        memcpy(&value, payload, sizeof(value));
    }
    if (message->kind != STEP_PERFORMANCE)      /* which has the number of a sample */
        last_epoch = message->epoch;

    switch ((enum step_command) message->kind) {
        case STEP_PLAN:
            status = place_plan(payload, message->bytes);
            break;
        case STEP_FREEZE:
            frozen.ceiling = HYD_board_freeze(&board, value);
            frozen.sequence = message->sequence;
            frozen.epoch = message->epoch;
            status = answer_freeze(answer);
            break;
        case STEP_TARGET:
            HYD_board_target(&board, message->epoch, value);
            status = HYD_pmcd_pmip_adapt_await_commit(&board, message->epoch);
            break;
        case STEP_THAW:
            HYD_board_thaw(&board);
            break;
        case STEP_RELEASE:
            HYD_board_release(&board, message->epoch);
            break;
        case STEP_COUNTS:
            status = report_counts(message->epoch);
            break;
        case STEP_PERFORMANCE:
            status = HYD_pmcd_pmip_adapt_report_performance(&board, message->epoch);
            break;
        default:
            HYDU_ERR_SETANDJUMP(status, HYD_INTERNAL_ERROR, "unknown adaptation command %u\n",
                                message->kind);
    }
    HYDU_ERR_POP(status, "unable to carry out adaptation command %u\n", message->kind);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* A command that has come before one that was sent before it. */
struct early {
    struct HYD_adapt_message message;
    struct early *next;
    char payload[];
};
static struct early *early_commands = NULL;
static uint32_t next_sequence = 1;

static HYD_status keep_early(const struct HYD_adapt_message *message, const char *payload)
{
    struct early *command;
    HYD_status status = HYD_SUCCESS;

    for (command = early_commands; command; command = command->next)
        if (command->message.sequence == message->sequence)
            goto fn_exit;
    HYDU_MALLOC_OR_JUMP(command, struct early *, sizeof(*command) + message->bytes, status);
    command->message = *message;
    if (message->bytes)
        memcpy(command->payload, payload, message->bytes);
    command->next = early_commands;
    early_commands = command;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static struct early *take_early(uint32_t sequence)
{
    struct early **link, *command;

    for (link = &early_commands; *link && (*link)->message.sequence != sequence; link = &(*link)->next);
    command = *link;
    if (command)
        *link = command->next;
    return command;
}

/* Commands of the core may come twice, and in another order (wire/tree.h). */
HYD_status HYD_relay_deliver(const struct HYD_adapt_message *message, const char *payload,
                             struct HYD_relay_frozen *answer)
{
    struct early *command = NULL;
    HYD_status status = HYD_SUCCESS;

    if (message->sequence > next_sequence)
        return keep_early(message, payload);
    if (message->sequence < next_sequence)      /* the first answer may be on a longer way */
        return message->sequence == frozen.sequence ? answer_freeze(answer) : HYD_SUCCESS;
    do {
        next_sequence++;
        status = command ? execute(&command->message, command->payload, NULL) :
            execute(message, payload, answer);
        MPL_free(command);
        HYDU_ERR_POP(status, "unable to carry out a command in its turn\n");
        command = take_early(next_sequence);
    } while (command);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_relay_report(const void *answer, size_t bytes)
{
    return report(HYD_ADAPT_RELAYED, last_epoch, answer, bytes);
}

static HYD_status listen_for_daemons(const char *payload, size_t bytes)
{
    uint16_t port = 0;
    HYD_status status = HYD_pmcd_pmip_adapt_channel();  /* also without an adaptive process here */

    HYDU_ERR_POP(status, "unable to open a channel to mpiexec\n");
    status = HYD_relay_listen(payload, bytes, &port);
    HYDU_ERR_POP(status, "unable to listen for other daemons\n");
    status = report(HYD_ADAPT_LISTENS, last_epoch, &port, sizeof(port));

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status take_output_room(const char *payload, size_t bytes)
{
    uint64_t room;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, bytes != sizeof(room), HYD_INTERNAL_ERROR, "malformed room for output\n");
    memcpy(&room, payload, sizeof(room));
    HYD_pmcd_pmip_adapt_output_room(room);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_pmcd_pmip_adapt_command(int fd, const struct HYD_pmcd_hdr *hdr)
{
    struct HYD_adapt_message message;
    char *buf = NULL;
    int count, closed;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, hdr->buflen < (int) sizeof(message) || hdr->buflen > HYD_ADAPT_BODY_MAX,
                        HYD_INTERNAL_ERROR, "adaptation message of %d bytes\n", hdr->buflen);
    HYDU_MALLOC_OR_JUMP(buf, char *, hdr->buflen, status);
    status = HYDU_sock_read(fd, buf, hdr->buflen, &count, &closed, HYDU_SOCK_COMM_MSGWAIT);
    HYDU_ERR_POP(status, "unable to read an adaptation message\n");
    HYDU_ASSERT(!closed, status);

    memcpy(&message, buf, sizeof(message));
    HYDU_ERR_CHKANDJUMP(status, message.bytes != (uint64_t) hdr->buflen - sizeof(message),
                        HYD_INTERNAL_ERROR, "adaptation message with a wrong length\n");
    if (message.kind == HYD_ADAPT_OUTPUT_ROOM)
        status = take_output_room(buf + sizeof(message), (size_t) message.bytes);
    else if (message.kind == HYD_ADAPT_LISTEN)
        status = listen_for_daemons(buf + sizeof(message), (size_t) message.bytes);
    else if (message.kind == HYD_ADAPT_RELAY)
        status = HYD_relay_from_mpiexec(buf + sizeof(message), (size_t) message.bytes);
    else
        status = HYD_relay_deliver(&message, buf + sizeof(message), NULL);

  fn_exit:
    MPL_free(buf);
    return status;

  fn_fail:
    goto fn_exit;
}

/* Stock closes downstream.in at the end of the input: then the reader has none either. */
static void note_closed_stdin(void)
{
    if (reader >= 0 && HYD_pmcd_pmip.downstream.in == HYD_FD_CLOSED)
        processes[reader].stdin_fd = HYD_FD_CLOSED;
}

void HYD_pmcd_pmip_adapt_stdin_to(int rank)
{
    int i = processes && rank >= 0 ? process_of_rank(rank) : -1;

    if (i < 0 || i == reader)
        return;
    note_closed_stdin();
    reader = i;
    if (processes[i].stdin_fd >= 0 && HYDU_sock_set_nonblock(processes[i].stdin_fd) == HYD_SUCCESS)
        HYD_pmcd_pmip.downstream.in = processes[i].stdin_fd;
    else
        HYD_pmcd_pmip.downstream.in = HYD_FD_CLOSED;
}

/* ---- ends of processes ------------------------------------------------------------------------ */

/* As stock wants it, in whatever order processes are waited for: the exit status of the job is that
 * of the process that broke off, an error at least, and not that of those we killed for it. */
static void adjust_exit_status(int process_id, int wait_status)
{
    int *status = &HYD_pmcd_pmip.downstream.exit_status[process_id];

    if (process_id == culprit)
        *status = wait_status ? wait_status : 1 << 8;
    else if (killing && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL)
        *status = 0;
}

int HYD_pmcd_pmip_adapt_is_adaptive(int process_id)
{
    return join.given || (processes && processes[process_id].adaptive);
}

void HYD_pmcd_pmip_adapt_signalled(int signum)
{
    killing |= processes && signum == SIGKILL;
    HYD_pmcd_pmip_end_signalled(signum);
}

void HYD_pmcd_pmip_adapt_lost(int process_id)
{
    if (!processes)
        return;
    (void) HYD_pmcd_pmip_adapt_look_committed();
    uint32_t rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[process_id];
    if (culprit < 0 && !killing)
        culprit = process_id;
    /* Stock has just put a makeshift in the place of the status of one that was waited for before. */
    if (processes[process_id].ended)
        adjust_exit_status(process_id, processes[process_id].wait_status);
    if (HYD_pmcd_pmip.user_global.auto_cleanup && !killing) {
        killing = 1;
        report(HYD_ADAPT_BROKE, last_epoch, &rank, sizeof(rank));
    }
}

/* When all processes have ended by themselves in a window, mpiexec may want to know how far they
 * came (STEP_COUNTS) before it decides: we stay until it has.  After a death by signal there is
 * nothing to decide, and stock's report must not wait. */
static int awaits_decision(void)
{
    if (!HYD_board_in_window(&board) || HYD_pmcd_pmip.downstream.forced_cleanup)
        return 0;
    for (int i = 0; i < process_count(); i++)
        if (!processes[i].ended || !WIFEXITED(HYD_pmcd_pmip.downstream.exit_status[i]))
            return 0;
    return 1;
}

int HYD_pmcd_pmip_adapt_busy(void)
{
    for (int i = 0; processes && i < process_count(); i++) {
        siginfo_t info = {.si_pid = 0 };
        if (processes[i].ended || processes[i].watch_fd < 0)
            continue;
        if (HYD_board_in_window(&board))
            return 1;   /* how it ended decides whether we stay: the main loop waits for it first */
        if (waitid(P_PID, (id_t) HYD_pmcd_pmip.downstream.pid[i], &info,
                   WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
            return 1;
    }
    return processes && awaits_decision();
}

static HYD_status wake_cb(int fd, HYD_event_t events, void *userp)
{
    eventfd_t ignored;

    eventfd_read(fd, &ignored);
    return HYD_SUCCESS;
}

/* Lets the main loop look once more although nothing else may happen. */
static void wake_main_loop(void)
{
    int fd = eventfd(1, EFD_CLOEXEC);

    if (fd >= 0)
        HYDT_dmx_register_fd(1, &fd, HYD_POLLIN, NULL, wake_cb);
}

static int all_ended(void)
{
    for (int i = 0; i < process_count(); i++)
        if (!processes[i].ended)
            return 0;
    return 1;
}

static void report_exit(int process_id, int wait_status)
{
    uint32_t payload[2] = { (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[process_id],
        (uint32_t) wait_status
    };

    /* If mpiexec is lost, the main loop finds out by itself.  An end that is an error must not wait. */
    HYD_reports_gather(REPORT_EXITED, last_epoch, payload, sizeof(payload));
    if (wait_status != 0)
        HYD_reports_flush();
}

static void note_exit(int process_id, int wait_status)
{
    struct process *p = &processes[process_id];
    int watched = p->watch_fd >= 0;

    (void) HYD_pmcd_pmip_adapt_look_committed();
    p->ended = 1;
    p->wait_status = wait_status;
    HYD_board_ended(&board, process_id);
    note_closed_stdin();
    if (p->stdin_fd >= 0)
        close(p->stdin_fd);
    p->stdin_fd = HYD_FD_CLOSED;
    if (process_id == reader)
        HYD_pmcd_pmip.downstream.in = HYD_FD_CLOSED;    /* writing there would be SIGPIPE */
    if (!watched)
        return;
    if (WIFSIGNALED(wait_status) && !killing) {
        culprit = process_id;   /* stock kills the others for it */
        killing = 1;
    }
    adjust_exit_status(process_id, wait_status);
    /* The number may soon be somebody else's: no signal of ours may go there. */
    HYD_pmcd_pmip.downstream.pid[process_id] = -1;

    /* Who broke off is named before those that we killed for it, in whatever order they are
     * waited for. */
    if (culprit >= 0 && process_id != culprit && !processes[culprit].ended) {
        p->held = 1;
        return;
    }
    report_exit(process_id, wait_status);
    if (HYD_board_in_window(&board) && all_ended())
        wake_main_loop();
    for (int i = 0; process_id == culprit && i < process_count(); i++) {
        if (processes[i].held)
            report_exit(i, processes[i].wait_status);
        processes[i].held = 0;
    }
}

void HYD_pmcd_pmip_adapt_exited(int process_id, int wait_status)
{
    if (!processes || processes[process_id].ended)
        return;
    note_exit(process_id, wait_status);
    if (all_ended())
        HYD_reports_flush();    /* before the daemon's own end */
}

/* ---- PMI commands of the processes ------------------------------------------------------------ */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Bytes written, or -1 if the text is no even number of hexadecimal digits or too long. */
static int decode_hex(const char *hex, unsigned char *card, size_t bytes_max)
{
    size_t length = strlen(hex);

    if (length % 2 || length / 2 > bytes_max)
        return -1;
    for (size_t i = 0; i < length / 2; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return -1;
        card[i] = (unsigned char) (high * 16 + low);
    }
    return (int) (length / 2);
}

/* Token `key` of a PMI command: its text lives as long as args. */
static const char *argument(char *args[], const char *key)
{
    size_t length = strlen(key);

    for (int i = 0; args[i]; i++)
        if (!strncmp(args[i], key, length) && args[i][length] == '=')
            return args[i] + length + 1;
    return NULL;
}

HYD_status HYD_pmcd_pmip_adapt_fn_init(int fd, char *args[])
{
    unsigned char payload[REPORT_BYTES_MAX];
    const char *mode = argument(args, "mode"), *hex = argument(args, "card");
    const char *namespace = argument(args, "pidns");
    uint32_t head[2] = { 0, 0 };
    uint64_t pid_ns = namespace ? strtoull(namespace, NULL, 10) : 0;
    const size_t head_bytes = sizeof(head) + sizeof(pid_ns);
    int bytes = 0;
    HYD_status status = HYD_SUCCESS;

    int i = process_of_fd(fd);
    if (board.fd < 0 || i < 0)
        goto fn_exit;
    head[0] = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i];
    if (mode && !strcmp(mode, "adaptive")) {
        bytes = decode_hex(hex ? hex : "", payload + head_bytes, CARD_BYTES_MAX);
        if (bytes < 0) {
            HYDU_dump(stderr, "rank %u gave a malformed address card; taken for rigid\n", head[0]);
            bytes = 0;
        } else
            head[1] = 1;
    }
    processes[i].adaptive = (int) head[1];
    if (head[1]) {
        HYD_silence_watch(HYD_pmcd_pmip.upstream.control);
        status = HYD_pmcd_pmip_adapt_channel();
        HYDU_ERR_POP(status, "unable to open a channel to mpiexec\n");
        status = watch_processes();
        HYDU_ERR_POP(status, "unable to watch the processes\n");
    }
    memcpy(payload, head, sizeof(head));
    memcpy(payload + sizeof(head), &pid_ns, sizeof(pid_ns));
    /* before the first adaptive one of a launch there may be no loop that would send it later */
    status = head[1] ? report_of_each(REPORT_INIT, join.epoch, payload, head_bytes + (size_t) bytes, ++initialised) :
        report(REPORT_INIT, join.epoch, payload, head_bytes);
    if (head[1])
        HYD_pmcd_pmip_adapt_count_output();

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_pmcd_pmip_adapt_fn_ready(int fd, char *args[])
{
    unsigned char payload[sizeof(uint32_t) + sizeof(struct pmi_adapt_host)];
    struct pmi_adapt_host host = { 0, 0, 0, 0, 0, 0 };
    const char *epoch = argument(args, "epoch"), *segment = argument(args, "segment");

    int i = process_of_fd(fd);
    if (board.fd < 0 || i < 0 || !epoch)
        return HYD_SUCCESS;
    if (segment) {
        unsigned long long bytes, device, inode, nonce;
        struct pmi_adapt_host named;
        if (sscanf(segment, "%" SCNu32 ":%" SCNu32 ":%llu:%llu:%llu:%llu", &named.segment_pid,
                   &named.segment_fd, &bytes, &device, &inode, &nonce) == 6) {
            named.segment_bytes = bytes;
            named.segment_device = device;
            named.segment_inode = inode;
            named.segment_nonce = nonce;
            host = named;
        }
    }
    uint32_t rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i];
    memcpy(payload, &rank, sizeof(rank));
    memcpy(payload + sizeof(rank), &host, sizeof(host));
    return report_of_each(REPORT_READY, (uint32_t) strtoul(epoch, NULL, 10), payload, sizeof(payload), ++ready);
}

HYD_status HYD_pmcd_pmip_adapt_fn_unable(int fd, char *args[])
{
    const char *epoch = argument(args, "epoch"), *why = argument(args, "why");
    unsigned char payload[sizeof(uint32_t) + REASON_BYTES_MAX];

    int i = process_of_fd(fd);
    if (board.fd < 0 || i < 0 || !epoch)
        return HYD_SUCCESS;
    uint32_t rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i];
    int bytes = decode_hex(why ? why : "", payload + sizeof(rank), REASON_BYTES_MAX);
    memcpy(payload, &rank, sizeof(rank));
    return report(REPORT_UNABLE, (uint32_t) strtoul(epoch, NULL, 10), payload,
                  sizeof(rank) + (size_t) (bytes > 0 ? bytes : 0));
}

/* What the last process of a board says for all. */
static HYD_status report_of_board(uint32_t kind, int fd, char *args[])
{
    const char *epoch = argument(args, "epoch");

    if (board.fd < 0 || process_of_fd(fd) < 0 || !epoch)
        return HYD_SUCCESS;
    return report(kind, (uint32_t) strtoul(epoch, NULL, 10), NULL, 0);
}

HYD_status HYD_pmcd_pmip_adapt_fn_prepared(int fd, char *args[])
{
    return report_of_board(REPORT_PREPARED, fd, args);
}

HYD_status HYD_pmcd_pmip_adapt_fn_greeted(int fd, char *args[])
{
    return report_of_board(REPORT_GREETED, fd, args);
}

HYD_status HYD_pmcd_pmip_adapt_fn_committed(int fd, char *args[])
{
    const char *epoch = argument(args, "epoch");

    if (board.fd < 0 || process_of_fd(fd) < 0 || !epoch)
        return HYD_SUCCESS;
    HYD_board_count_committed(&board, (uint32_t) strtoul(epoch, NULL, 10));
    return HYD_pmcd_pmip_adapt_look_committed();
}

/* ---- for say.c -------------------------------------------------------------------------------- */

HYD_status HYD_pmcd_pmip_adapt_report(int kind, uint32_t epoch, const void *payload, size_t bytes)
{
    return report((uint32_t) kind, epoch, payload, bytes);
}

int HYD_pmcd_pmip_adapt_rank_of(int fd)
{
    int i = board.fd < 0 ? -1 : process_of_fd(fd);

    return i < 0 ? -1 : HYD_pmcd_pmip.downstream.pmi_rank[i];
}

const char *HYD_pmcd_pmip_adapt_argument(char *args[], const char *key)
{
    return argument(args, key);
}
