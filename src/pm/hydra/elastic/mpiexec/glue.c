/*
 * The step manager inside mpiexec: brings what happens in Hydra to the core (core/step_core.h) and does
 * what the core asks for.  See glue.h for the contract, state.h for the shared state,
 * launch.c for process groups, socket.c for the step protocol.
 */

#include "state.h"
#include <limits.h>
#include <pwd.h>
#include "bsci.h"
#include "bscu.h"
#include "pmci.h"
#include "pmiserv.h"
#include "pmiserv_utils.h"
#include "wire/message.h"
#include "wire/tree.h"
#include "wire/channel.h"
#include "wire/clock.h"
#include "wire/job_secret.h"
#include "wire/silence.h"
#include "../ui/mpich/mpiexec.h"

#define ABORT_GRACE_MS 500      /* for a proxy to tell how its process died, before we end the others */
#define END_GRACE_MS 5000       /* for proxies to end, before they are cut off */
#define BEHIND_DEFAULT_MS 30000
#define PREPARE_DEFAULT_MS 50
#define LAUNCH_DEFAULT_MS 120000
#define KILL_DEFAULT_MS 5000

/* Lines for -print-all-exitcodes, kept because a group that has ended is freed. */
static char *exit_lines = NULL;

struct HYD_step HYD_step = {.wake_ms = -1,.abort_ms = -1,.log_fd = -1 };

/* ---- clock ------------------------------------------------------------------------------------- */

static int64_t unix_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t clock_us(void *context)
{
    return HYD_monotonic_us() - HYD_step.zero_us;
}

int64_t HYD_step_now_ms(void)
{
    return clock_us(NULL) / 1000;
}

/* ---- calls into the core, and those that have to wait until it has returned -------------------- */

struct deferred {
    int group;
    int proxy;                  /* gone; -1: the group has been placed */
    struct deferred *next;
};
static struct deferred *deferred_first = NULL, **deferred_last = &deferred_first;
static int inside = 0;

static void follow_first(void);

static void place_group(const struct HYD_step_group *g)
{
    struct step_process *processes = MPL_calloc((size_t) g->count, sizeof(*processes), MPL_MEM_PM);

    if (!processes) {
        HYDU_error_printf("no memory for a process group\n");
        return;
    }
    for (int rank = 0; rank < g->count; rank++) {
        processes[rank].proxy = g->processes[rank].proxy;
        processes[rank].host = g->proxies[g->processes[rank].proxy].node->hostname;
    }
    step_core_group(HYD_step.core, HYD_step_now_ms(), g->group, g->count, processes);
    MPL_free(processes);
}

static void drain(void)
{
    while (deferred_first) {
        struct deferred *d = deferred_first;
        struct HYD_step_group *g = HYD_step_find_group(d->group);

        deferred_first = d->next;
        if (!deferred_first)
            deferred_last = &deferred_first;
        if (g && d->proxy >= 0)
            step_core_proxy_gone(HYD_step.core, HYD_step_now_ms(), d->group, d->proxy);
        else if (g)
            place_group(g);
        MPL_free(d);
    }
}

void HYD_step_enter(void)
{
    inside++;
}

void HYD_step_leave(void)
{
    if (inside == 1) {
        drain();
        follow_first();
    }
    inside--;
}

static void defer(int group, int proxy)
{
    struct deferred *d = MPL_malloc(sizeof(*d), MPL_MEM_PM);

    if (!d) {
        HYDU_error_printf("no memory to note an event\n");
        return;
    }
    *d = (struct deferred) {.group = group,.proxy = proxy };
    *deferred_last = d;
    deferred_last = &d->next;
    HYD_step_enter();
    HYD_step_leave();
}

void HYD_step_defer_placed(struct HYD_step_group *group)
{
    defer(group->group, -1);
}

void HYD_step_defer_proxy_gone(struct HYD_step_group *group, int proxy)
{
    if (group->proxies[proxy].ended)
        return;
    group->proxies[proxy].ended = 1;
    HYD_step_relay_gone(group->group, proxy);
    if (HYD_step.core)
        defer(group->group, proxy);
}

struct HYD_step_group *HYD_step_find_group(int group)
{
    struct HYD_step_group *g;

    for (g = HYD_step.groups; g && g->group != group; g = g->next);
    return g;
}

/* ---- effects of the core ----------------------------------------------------------------------- */

void HYD_step_send(const struct HYD_proxy *proxy, struct HYD_pmcd_hdr *hdr, const void *payload,
                   size_t bytes)
{
    int fd = proxy->control_fd, sent, closed;

    if (fd == HYD_FD_UNSET || fd == HYD_FD_CLOSED || HYD_channel_open(fd) != HYD_SUCCESS)
        return;
    HYDU_sock_write(fd, hdr, sizeof(*hdr), &sent, &closed, HYDU_SOCK_COMM_MSGWAIT);
    if (bytes)
        HYDU_sock_write(fd, payload, (int) bytes, &sent, &closed, HYDU_SOCK_COMM_MSGWAIT);
}

void HYD_step_send_signal(const struct HYD_proxy *proxy, int signum)
{
    struct HYD_pmcd_hdr hdr;

    HYD_pmcd_init_header(&hdr);
    hdr.cmd = SIGNAL;
    hdr.signum = signum;
    HYD_step_send(proxy, &hdr, NULL, 0);
}

static void effect_tell_user(void *context, const char *text)
{
    fflush(stdout);
    fprintf(stderr, "%s\n", text);
    fflush(stderr);
}

void HYD_step_end_job_soon(void)
{
    HYD_step.failed = 1;
    if (HYD_step.abort_ms < 0)
        HYD_step.abort_ms = HYD_step_now_ms() + ABORT_GRACE_MS;
}

/* Stock closes the connections, and each proxy then ends with errors of its own.  In a job of one
 * group nobody sees that, so it must not show here either: proxies are told to kill their processes
 * and end in order. */
int HYD_step_end_job(void)
{
    if (!HYD_step.core)
        return 0;
    if (HYD_step.ending)
        return 1;
    HYD_step.ending = 1;
    HYD_step.abort_ms = HYD_step_now_ms() + END_GRACE_MS;
    for (struct HYD_pg * pg = &HYD_server_info.pg_list; pg; pg = pg->next) {
        struct HYD_step_group *g = HYD_step_find_group(pg->pgid);
        if (g && !g->removed)
            g->removed = HYD_STEP_JOB_ENDS;     /* also those that come up later */
        for (struct HYD_proxy * p = pg->proxy_list; p; p = p->next) {
            if (g)
                HYD_step_send_signal(p, SIGKILL);
            else
                HYD_step_cleanup_proxy(p);
        }
    }
    return 1;
}

static void end_job_now(const char *text)
{
    effect_tell_user(NULL, text);
    HYD_step.failed = 1;
    HYD_step_end_job();
}

static void effect_abort_step(void *context, const char *reason)
{
    effect_tell_user(NULL, reason);
    HYD_step_end_job_soon();
}

static void effect_log(void *context, const char *line)
{
    if (HYD_step.log_fd < 0)
        return;
    size_t length = strlen(line);
    char *text = MPL_malloc(length + 1, MPL_MEM_PM);
    if (!text)
        return;
    memcpy(text, line, length);
    text[length] = '\n';
    ssize_t n = write(HYD_step.log_fd, text, length + 1);
    if (n != (ssize_t) length + 1) {
        fprintf(stderr, "mpiexec: --adapt-log: unable to write (%s); the log ends here\n",
                n < 0 ? MPL_strerror(errno) : "disk full");
        close(HYD_step.log_fd);
        HYD_step.log_fd = -1;
    }
    MPL_free(text);
}

static void effect_wake_at(void *context, int64_t time_ms)
{
    HYD_step.wake_ms = time_ms;
}

int64_t HYD_step_next_wake(void)
{
    int64_t times[] = { HYD_step.wake_ms, HYD_step.abort_ms, HYD_step_next_launch_limit(),
        HYD_step_relay_next()
    }, next = -1;

    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
        if (times[i] >= 0 && (next < 0 || times[i] < next))
            next = times[i];
    return next;
}

/* What still tries to reach a host that is lost, such as an ssh that nobody told. */
static void end_launchers(void)
{
    for (int i = 0; i < HYD_bscu_pid_count; i++)
        if (HYD_bscu_pid_list[i] > 0)
            kill(HYD_bscu_pid_list[i], SIGTERM);
}

/* Hydra waits for all proxies, also for those that have not come up. */
static void cut_off_proxies(void)
{
    for (struct HYD_pg * pg = &HYD_server_info.pg_list; pg; pg = pg->next)
        for (struct HYD_proxy * p = pg->proxy_list; p; p = p->next)
            if (p->control_fd == HYD_FD_UNSET)
                p->control_fd = HYD_FD_CLOSED;
    HYD_pmcd_pmiserv_cleanup_all_pgs();
}

void HYD_step_tick(void)
{
    int64_t now = HYD_step_now_ms();

    if (HYD_step.abort_ms >= 0 && HYD_step.abort_ms <= now) {
        HYD_step.abort_ms = -1;
        if (HYD_step.ending) {
            cut_off_proxies();
            end_launchers();
        } else
            HYD_step_end_job();
        return;
    }
    HYD_step_end_slow_launches(now);
    HYD_step_relay_time(now);
    if (HYD_step.core && HYD_step.wake_ms >= 0 && HYD_step.wake_ms <= now) {
        HYD_step.wake_ms = -1;
        HYD_step_enter();
        step_core_time(HYD_step.core, now);
        HYD_step_leave();
    }
}

/* ---- start and end ----------------------------------------------------------------------------- */

static int64_t env_ms(const char *name, int64_t otherwise)
{
    const char *text;
    char error[256];
    int64_t ms;

    if (!MPL_env2str(name, &text))
        return otherwise;
    if (step_core_parse_time(text, &ms, error, sizeof(error)) < 0)
        HYD_step_option_error(name, error);
    return ms;
}

/* A number from min on, or 0 where that is allowed. */
static int env_number(const char *name, int otherwise, int zero, int min, int max, const char *what)
{
    char error[128];
    int number;

    if (MPL_env2int(name, &number) <= 0)
        return otherwise;
    if ((number < min || number > max) && !(zero && number == 0)) {
        MPL_snprintf(error, sizeof(error), "must be %s", what);
        HYD_step_option_error(name, error);
    }
    return number;
}

static void open_log(void)
{
    const char *name = HYD_step_options.log;

    if (!name)
        return;
    HYD_step.log_fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (HYD_step.log_fd < 0) {
        char error[HYDRA_MAX_PATH];
        MPL_snprintf(error, sizeof(error), "unable to open %s (%s)", name, MPL_strerror(errno));
        HYD_step_option_error("--adapt-log", error);
    }
}

/* Which option a message of the core is about: it says so itself, except for what it does not
 * know by that name. */
void HYD_step_create_core(void)
{
    const struct passwd *user = getpwuid(geteuid());
    char error[1024] = "";
    struct step_config config = {
        .step_id = HYD_step_id(),
        .program = HYD_server_info.pg_list.proxy_list->exec_list->exec[0],
        .user = user ? user->pw_name : "",
        .schedule = HYD_step_options.schedule,
        .policy = HYD_step_options.policy,
        .interval_ms = 1000,
        /* 0: by the program's pace */
        .margin = (uint64_t) env_number("MPIEXEC_ADAPT_MARGIN", 0, 0, 1, INT_MAX, "a number of probes, at least 1"),
        .prepare_ms = env_ms("MPIEXEC_ADAPT_PREPARE", PREPARE_DEFAULT_MS),
        .behind_ms = env_ms("MPIEXEC_ADAPT_BEHIND", BEHIND_DEFAULT_MS),
        .seed = (uint64_t) unix_ms() ^ ((uint64_t) getpid() << 32),
        .unix_ms_at_zero = unix_ms() - HYD_step_now_ms(),
        .size = HYD_server_info.pg_list.pg_process_count,
        .programs = HYD_step_programs(),
        .managed = HYD_step_managed()
    };
    const struct step_effects effects = {
        .launch = HYD_step_launch,
        .kill_group = HYD_step_kill_group,
        .abort_step = effect_abort_step,
        .send = HYD_step_send_to_all,
        .reply = HYD_step_reply,
        .log = effect_log,
        .tell_user = effect_tell_user,
        .wake_at = effect_wake_at,
        .clock_us = clock_us
    };

    if (HYD_step_options.range &&
        step_core_parse_range(HYD_step_options.range, &config.range_min, &config.range_max, error,
                              sizeof(error)) < 0)
        HYD_step_option_error("--adapt-range", error);
    if (HYD_step_options.interval &&
        step_core_parse_time(HYD_step_options.interval, &config.interval_ms, error,
                             sizeof(error)) < 0)
        HYD_step_option_error("--adapt-interval", error);

    HYD_step.fanout = env_number("MPIEXEC_ADAPT_FANOUT", HYD_RELAY_FANOUT_DEFAULT, 1, 2, HYD_RELAY_FANOUT_MAX,
                                 "a number of node daemons, 2 to 1024, or 0");
    HYD_step.launch_limit_ms = env_ms("MPIEXEC_ADAPT_LAUNCH", LAUNCH_DEFAULT_MS);
    HYD_step_enter();
    HYD_step.core = step_core_create(&config, &effects, error, sizeof(error));
    if (!HYD_step.core)
        HYD_step_option_error(HYD_step_options.schedule ? "--adapt-schedule" :
                              HYD_step_options.policy ? "--adapt-policy" : "adaptation", error);
    HYD_step_use_loop();
    if (HYD_step_adopt_launch() == HYD_SUCCESS)
        place_group(HYD_step_find_group(0));
    step_core_strangers(HYD_step.core, HYD_step_now_ms(), HYD_step_strangers());
    if (HYD_step_told_to_end())
        step_core_told_to_end(HYD_step.core, HYD_step_now_ms(), HYD_step_told_to_end());
    HYD_step_leave();
}

void HYD_step_start(void)
{
    const struct HYD_step_options *o = &HYD_step_options;

    HYD_step.zero_us = HYD_monotonic_us();

    /* of the node daemon above us, if this job runs in a process of another one */
    unsetenv("HYDI_CONTROL_FD");
    if (HYD_secret_make(HYDT_bsci_info.launcher) != HYD_SUCCESS)
        exit(1);
    /* elasticd decides itself how long its jobs may take to end */
    HYD_step.end_after_ms = env_ms("MPIEXEC_ADAPT_KILL", HYD_step_managed() ? 0 : KILL_DEFAULT_MS);
    HYD_step_use_launcher();
    if (HYD_step_managed() && (o->schedule || o->policy))
        HYD_step_option_error(o->schedule ? "--adapt-schedule" : "--adapt-policy",
                              "the resource manager of this job decides on its size");
    if (!HYD_step_options_given() && !HYD_step_managed())
        return;
    open_log();
    HYD_step_create_core();
    if (HYD_step_managed())
        HYD_step_socket_open();
}

void HYD_step_finish(void)
{
    char summary[1024];

    HYD_step_socket_close();
    if (HYD_server_info.user_global.debug && HYD_step_strangers() > 0)
        HYDU_dump_noprefix(stdout, "connections to control ports without this job's secret: %u\n",
                           HYD_step_strangers());
    if (!HYD_step.core)
        return;
    if (HYD_server_info.user_global.debug &&
        step_core_summary(HYD_step.core, summary, sizeof(summary)) > 0)
        HYDU_dump_noprefix(stdout, "%s\n", summary);
    HYD_step_finish_output();
    step_core_destroy(HYD_step.core);
    HYD_step_relay_finish();
    HYD_step.core = NULL;
    while (HYD_step.groups)
        HYD_step_free_group(HYD_step.groups);
    if (HYD_step.log_fd >= 0)
        close(HYD_step.log_fd);
    HYD_step.log_fd = -1;
    MPL_free(exit_lines);
}

/* ---- ends of processes and proxies ---------------------------------------------------------------- */

int HYD_step_rules_apply(const struct HYD_step_group *g)
{
    return !g->removed && !step_core_owns_failure(HYD_step.core, g->group);
}

void HYD_step_note_exit(struct HYD_step_proxy *p)
{
    if (p->freed < p->processes) {
        p->freed++;
        p->node->active_processes--;
    }
}

/* Whether all processes of a node daemon have ended, one of them with an error, and none of them
 * has called MPI_Init. */
static int came_to_nothing(const struct HYD_step_group *g, const struct HYD_step_proxy *p)
{
    int failed = 0;

    if (!p->proxy->exit_status)
        return 0;
    for (int i = 0; i < p->processes; i++) {
        if (g->processes[p->ranks[i]].initialised)
            return 0;
        failed |= p->proxy->exit_status[i];
    }
    return failed && WIFEXITED(failed);
}

/* MPI_Init waits for the whole world.  If the processes of a host have ended before it (the program
 * is missing there, or a library), the others would wait for ever; stock leaves it at that, and so do
 * we for jobs that have nothing to do with adaptations. */
static void check_that_world_comes(const struct HYD_step_group *g)
{
    char text[512];

    if (g->group != 0 || g->pg->barrier_count == 0 || !HYD_step_rules_apply(g) || HYD_step.abort_ms >= 0 ||
        (!HYD_step_managed() && !HYD_step_options_given()))
        return;
    for (int i = 0; i < g->proxy_count; i++) {
        if (!came_to_nothing(g, &g->proxies[i]))
            continue;
        MPL_snprintf(text, sizeof(text), "host %s: all processes there ended before they called "
                     "MPI_Init, in which the others wait for them: are the program and the libraries "
                     "that it needs on that host?  The job ends",
                     g->proxies[i].proxy->node->hostname);
        effect_tell_user(NULL, text);
        HYD_step_end_job_soon();
        return;
    }
}

static void collect_exit_statuses(const struct HYD_proxy *proxy)
{
    size_t used = exit_lines ? strlen(exit_lines) : 0;
    size_t room = used + strlen(proxy->node->hostname) + 8 + (size_t) proxy->proxy_process_count * 12;
    char *lines = NULL;

    for (int i = 0; i < proxy->proxy_process_count; i++)
        HYD_step.exit_status |= proxy->exit_status[i];
    if (HYD_ui_mpich_info.print_all_exitcodes)
        lines = MPL_realloc(exit_lines, room, MPL_MEM_PM);
    if (!lines)
        return;
    exit_lines = lines;
    used += (size_t) snprintf(lines + used, room - used, "[%s] ", proxy->node->hostname);
    for (int i = 0; i < proxy->proxy_process_count; i++)
        used += (size_t) snprintf(lines + used, room - used, "%d%c", proxy->exit_status[i],
                                  i < proxy->proxy_process_count - 1 ? ',' : '\n');
}

int HYD_step_proxy_ended(struct HYD_proxy *proxy)
{
    struct HYD_step_group *g = HYD_step.core ? HYD_step_find_group(proxy->pg->pgid) : NULL;

    if (!g)
        return 1;
    int rules = HYD_step_rules_apply(g);
    struct HYD_step_proxy *p = &g->proxies[proxy->proxy_id];
    while (g->group != 0 && p->freed < p->processes)
        HYD_step_note_exit(p);
    if ((rules || g->removed == HYD_STEP_JOB_ENDS) && g->group != 0)
        collect_exit_statuses(proxy);
    HYD_step_defer_proxy_gone(g, proxy->proxy_id);
    check_that_world_comes(g);
    return rules;
}

int HYD_step_proxy_lost(struct HYD_proxy *proxy)
{
    struct HYD_step_group *g = HYD_step.core ? HYD_step_find_group(proxy->pg->pgid) : NULL;

    if (!g)
        return 0;
    /* The core says what that means for an adaptation under way. */
    HYD_step_defer_proxy_gone(g, proxy->proxy_id);
    if (HYD_step_rules_apply(g)) {
        char text[512];
        MPL_snprintf(text, sizeof(text), "host %s is lost: its node daemon was killed or cannot be "
                     "reached any more; the job ends", proxy->node->hostname);
        end_job_now(text);
    }
    struct HYD_step_proxy *p = &g->proxies[proxy->proxy_id];
    while (p->freed < p->processes)
        HYD_step_note_exit(p);
    HYD_step_cleanup_proxy(proxy);
    return 1;
}

void HYD_step_launch_failed(const struct HYD_proxy *proxy)
{
    char text[512];

    if (HYD_step.ending)
        return;
    MPL_snprintf(text, sizeof(text), "host %s: its node daemon could not be started by %s (see the message above): "
                 "is the host up, can you log in there without being asked, and is this installation there?  "
                 "The job ends", proxy->node->hostname, HYDT_bsci_info.launcher);
    if (HYD_step.core) {
        end_job_now(text);
        return;
    }
    effect_tell_user(NULL, text);
    HYD_step_end_at_once();
}

int HYD_step_counted_processes(const struct HYD_proxy *proxy)
{
    struct HYD_step_group *g = HYD_step.core ? HYD_step_find_group(proxy->pg->pgid) : NULL;

    /* The nodes of an expansion are copies: stock's count on them is of no interest. */
    return proxy->proxy_process_count -
        (g && g->group == 0 ? g->proxies[proxy->proxy_id].freed : 0);
}

int HYD_step_exit_status(void)
{
    int status = HYD_step.exit_status;

    if (exit_lines)
        HYDU_dump_noprefix(stdout, "%s", exit_lines);
    for (struct HYD_proxy * p = HYD_server_info.pg_list.proxy_list; p; p = p->next)
        for (int i = 0; p->exit_status && i < p->proxy_process_count; i++)
            status |= p->exit_status[i];
    return status || !HYD_step.failed ? status : 1 << 8;
}

int HYD_step_signal(const struct HYD_proxy *proxy, int signum)
{
    if (HYD_step_is_awaited(proxy))
        return 1;               /* told when it comes (end.h) */
    if (proxy->control_fd != HYD_FD_CLOSED &&
        !(HYD_step.core && HYD_step_find_group(proxy->pg->pgid)))
        return 0;
    HYD_step_send_signal(proxy, signum);
    return 1;
}

static const struct HYD_step_group *expansion_of(const struct HYD_proxy *proxy)
{
    return HYD_step.core && proxy->pg->pgid != 0 ? HYD_step_find_group(proxy->pg->pgid) : NULL;
}

static void (*former_sigpipe) (int) = SIG_DFL;

void HYD_step_pmi_begin(const struct HYD_proxy *proxy)
{
    if (expansion_of(proxy))
        former_sigpipe = signal(SIGPIPE, SIG_IGN);
}

HYD_status HYD_step_pmi_end(const struct HYD_proxy *proxy, HYD_status status)
{
    const struct HYD_step_group *g = expansion_of(proxy);

    if (!g && HYD_step.core && proxy->pg->pgid == 0)
        check_that_world_comes(HYD_step_find_group(0));
    if (!g)
        return status;
    signal(SIGPIPE, former_sigpipe);
    return HYD_step_rules_apply(g) ? status : HYD_SUCCESS;
}

/* ---- standard input and output ----------------------------------------------------------------- */

int HYD_step_label(const struct HYD_proxy *proxy, int rank)
{
    struct HYD_step_group *g = HYD_step.core ? HYD_step_find_group(proxy->pg->pgid) : NULL;

    if (!g || rank < 0 || rank >= g->count)
        return rank;
    int world_rank = step_core_world_rank(HYD_step.core, g->group, rank);
    if (world_rank >= 0)
        g->processes[rank].label = world_rank;
    return g->processes[rank].label >= 0 ? g->processes[rank].label : rank;
}

/* The process that is rank 0 of the world: who reads standard input.  At first the launch's. */
static int first_group = 0, first_rank = 0;

struct HYD_proxy *HYD_step_first_proxy(void)
{
    struct HYD_step_group *g = HYD_step_find_group(first_group);

    if (!g)
        return NULL;
    struct HYD_proxy *proxy = g->proxies[g->processes[first_rank].proxy].proxy;
    return proxy->control_fd == HYD_FD_UNSET || proxy->control_fd == HYD_FD_CLOSED ? NULL : proxy;
}

/* Looks after each event whether rank 0 is somebody else now.  Input that the former one has got
 * already is its own; a new one that comes after the end of the input is told of that. */
static void follow_first(void)
{
    struct HYD_pmcd_hdr hdr;

    if (!HYD_step.core || step_core_world_rank(HYD_step.core, first_group, first_rank) == 0)
        return;
    for (struct HYD_step_group * g = HYD_step.groups; g; g = g->next) {
        for (int rank = 0; rank < g->count; rank++) {
            if (step_core_world_rank(HYD_step.core, g->group, rank) != 0)
                continue;
            first_group = g->group;
            first_rank = rank;
            if (HYDT_dmx_query_fd_registration(STDIN_FILENO) || !HYD_step_first_proxy())
                return;
            HYD_pmcd_init_header(&hdr);
            hdr.cmd = STDIN;
            hdr.rank = rank;
            hdr.buflen = 0;
            HYD_step_send(HYD_step_first_proxy(), &hdr, NULL, 0);
            return;
        }
    }
}

int HYD_step_stdin(struct HYD_proxy **proxy, struct HYD_pmcd_hdr *hdr)
{
    if (!HYD_step.core)
        return 1;
    struct HYD_proxy *first = HYD_step_first_proxy();
    if (!first) {
        HYDT_dmx_deregister_fd(STDIN_FILENO);   /* nobody is left to read it */
        return 0;
    }
    *proxy = first;
    hdr->rank = first_rank;
    return 1;
}
