/* See core.h. */

#include "state.h"
#include <limits.h>
#include <pwd.h>
#include "core.h"
#include "stepmgr/stepmgr.h"
#include "end.h"
#include "exits.h"
#include "groups.h"
#include "input.h"
#include "launch.h"
#include "output.h"
#include "performance.h"
#include "psets.h"
#include "relay.h"
#include "socket.h"
#include "wire/clock.h"
#include "wire/file_size.h"
#include "wire/tree.h"

#define BEHIND_DEFAULT_MS 30000
#define PREPARE_DEFAULT_MS 50

_Static_assert(HYD_CORE_LINE_MAX == STEP_LINE_MAX, "the limit of the step protocol");

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

/* ---- calls into the core, and those that have to wait until it has returned -------------------- */

struct deferred {
    int group;
    int proxy;                  /* has disconnected; or one of these: */
#define GROUP_PLACED (-1)
#define DAEMON_UP (-2)
    struct deferred *next;
};
static struct deferred *deferred_first = NULL, **deferred_last = &deferred_first;
static int inside = 0;

static void assign_group(const struct HYD_step_group *g)
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
    stepmgr_group(HYD_step.core, HYD_step_now_ms(), g->group, g->count, processes);
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
            stepmgr_proxy_disconnected(HYD_step.core, HYD_step_now_ms(), d->group, d->proxy);
        else if (g && d->proxy == DAEMON_UP)
            stepmgr_proxy_up(HYD_step.core, HYD_step_now_ms(), d->group);
        else if (g)
            assign_group(g);
        MPL_free(d);
    }
}

void HYD_core_enter(void)
{
    inside++;
}

void HYD_core_leave(void)
{
    if (inside == 1) {
        drain();
        HYD_step_follow_first();
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
    HYD_core_enter();
    HYD_core_leave();
}

void HYD_core_defer_assigned(struct HYD_step_group *group)
{
    defer(group->group, GROUP_PLACED);
}

void HYD_core_defer_up(struct HYD_step_group *group)
{
    defer(group->group, DAEMON_UP);
}

void HYD_core_defer_disconnected(struct HYD_step_group *group, int proxy)
{
    if (group->proxies[proxy].ended)
        return;
    group->proxies[proxy].ended = 1;
    HYD_step_relay_disconnected(group->group, proxy);
    if (HYD_step.core)
        defer(group->group, proxy);
}

/* Daemons all of whose processes had ended before there was a core to report to. */
static void report_disconnected(struct HYD_step_group *g)
{
    for (int i = 0; i < g->proxy_count; i++) {
        const struct HYD_step_proxy *p = &g->proxies[i];
        if (!p->proxy->exit_status)
            continue;
        for (int k = 0; k < p->processes; k++) {
            const uint32_t payload[] = { (uint32_t) p->ranks[k], (uint32_t) p->proxy->exit_status[k] };
            HYD_core_report(g->group, i, REPORT_EXITED, 0, payload, sizeof(payload));
        }
        HYD_core_defer_disconnected(g, i);
    }
}

void HYD_core_report(int group, int proxy, enum step_report kind, uint32_t epoch, const void *payload,
                     size_t bytes)
{
    HYD_core_enter();
    stepmgr_report(HYD_step.core, HYD_step_now_ms(), group, proxy, kind, epoch, payload, bytes);
    HYD_core_leave();
}

void HYD_core_due(int64_t now_ms)
{
    if (!HYD_step.core || HYD_step.wake_ms < 0 || HYD_step.wake_ms > now_ms)
        return;
    HYD_step.wake_ms = -1;
    HYD_core_enter();
    stepmgr_time(HYD_step.core, now_ms);
    HYD_core_leave();
}

void HYD_core_notified_to_end(int signum)
{
    if (!HYD_step.core)
        return;
    HYD_core_enter();
    stepmgr_terminate(HYD_step.core, HYD_step_now_ms(), signum);
    HYD_core_leave();
}

void HYD_core_unauthenticated(unsigned count)
{
    if (HYD_step.core)
        stepmgr_unauthenticated(HYD_step.core, HYD_step_now_ms(), count);
}

void HYD_core_spawned(const char *const *hosts, const int *processes, int n)
{
    struct step_spawned *spawned = MPL_calloc((size_t) n + 1, sizeof(*spawned), MPL_MEM_PM);

    if (!spawned) {
        HYDU_error_printf("no memory to count the processes of MPI_Comm_spawn\n");
        return;
    }
    for (int i = 0; i < n; i++)
        spawned[i] = (struct step_spawned) {hosts[i], processes[i]};
    HYD_core_enter();
    stepmgr_spawned(HYD_step.core, HYD_step_now_ms(), spawned, n);
    HYD_core_leave();
    MPL_free(spawned);
}

int HYD_core_check_spawn(int count, char *error, size_t error_bytes)
{
    return HYD_step.core ? stepmgr_check_spawn(HYD_step.core, count, error, error_bytes) : 0;
}

void HYD_core_client_line(int client, const char *line)
{
    HYD_core_enter();
    stepmgr_client_line(HYD_step.core, HYD_step_now_ms(), client, line);
    HYD_core_leave();
}

void HYD_core_client_disconnected(int client)
{
    HYD_core_enter();
    stepmgr_client_disconnected(HYD_step.core, client);
    HYD_core_leave();
}

void HYD_core_id(const char *step_id)
{
    stepmgr_id(HYD_step.core, step_id);
}

int HYD_core_add_set(const char *name, const uint32_t (*runs)[2], int n)
{
    return stepmgr_add_set(HYD_step.core, name, runs, n);
}

int HYD_core_has_sets(void)
{
    return stepmgr_has_sets(HYD_step.core);
}

int HYD_core_local_pre(const char *host)
{
    return stepmgr_local_pre(HYD_step.core, host);
}

int HYD_core_owns_failure(int group)
{
    return stepmgr_owns_failure(HYD_step.core, group);
}

int HYD_core_world_rank(int group, int rank)
{
    return stepmgr_world_rank(HYD_step.core, group, rank);
}

size_t HYD_core_summary(char *text, size_t bytes)
{
    return stepmgr_summary(HYD_step.core, text, bytes);
}

/* ---- what it requests --------------------------------------------------------------------------- */

static void effect_print_message(void *context, const char *text)
{
    HYD_step_print_message(text);
}

static int effect_launch(void *context, uint32_t epoch, int count, int program, int pre, uint32_t first_uid,
                         int modify, const char *const *hosts, int n_hosts, int *group, char *error,
                         size_t error_bytes)
{
    return HYD_step_launch(epoch, count, program, pre, first_uid, modify, hosts, n_hosts, group, error, error_bytes);
}

static int effect_launch_world(void *context, const struct step_world *world, int *group, char *error,
                               size_t error_bytes)
{
    return HYD_step_launch_world(world, group, error, error_bytes);
}

static void effect_kill_group(void *context, int group)
{
    HYD_step_kill_group(group);
}

static void effect_send(void *context, const struct step_agent *to, int n, enum step_command command,
                        uint32_t epoch, const void *payload, size_t bytes)
{
    struct HYD_step_daemon *daemons = MPL_malloc((size_t) n * sizeof(*daemons), MPL_MEM_PM);

    if (!daemons) {
        HYDU_error_printf("no memory for an adaptation message\n");
        return;
    }
    for (int i = 0; i < n; i++)
        daemons[i] = (struct HYD_step_daemon) {to[i].group, to[i].proxy};
    HYD_step_send_to_all(daemons, n, command, epoch, payload, bytes);
    MPL_free(daemons);
}

static void effect_reply(void *context, int client, const char *line)
{
    if (!HYD_step_performance_answer(client, line))
        HYD_step_reply(client, line);
}

static void effect_abort_step(void *context, const char *reason)
{
    HYD_step_print_message(reason);
    HYD_step_end_job_soon();
}

/* One line; a log that cannot be written to any more ends, and the job goes on. */
static void write_log(int *fd, const char *option, const char *line)
{
    if (*fd < 0)
        return;
    size_t length = strlen(line);
    char *text = MPL_malloc(length + 1, MPL_MEM_PM);
    if (!text)
        return;
    memcpy(text, line, length);
    text[length] = '\n';
    struct sigaction usual = HYD_file_size_fails();
    ssize_t n = write(*fd, text, length + 1);
    HYD_file_size_ends(&usual);
    if (n != (ssize_t) length + 1) {
        fprintf(stderr, "mpiexec: %s: unable to write (%s); the log ends here\n", option,
                n >= 0 ? "no room" : errno == EAGAIN ? "nobody reads it" : MPL_strerror(errno));
        close(*fd);
        *fd = -1;
    }
    MPL_free(text);
}

static void effect_log(void *context, const char *line)
{
    write_log(&HYD_step.log_fd, "--adapt-log", line);
}

static void effect_state_line(void *context, const char *line)
{
    write_log(&HYD_step.sets_log_fd, "--sets-log", line);
}

static void effect_wake_at(void *context, int64_t time_ms)
{
    HYD_step.wake_ms = time_ms;
}

/* ---- start and end ----------------------------------------------------------------------------- */

int64_t HYD_core_env_ms(const char *name, int64_t otherwise)
{
    const char *text;
    char error[256];
    int64_t ms;

    if (!MPL_env2str(name, &text))
        return otherwise;
    if (stepmgr_parse_time(text, &ms, error, sizeof(error)) < 0)
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

/* Names of the hosts that mpiexec was given, in a list of the caller's. */
static int list_hosts(const char ***hosts)
{
    int n = 0;

    for (const struct HYD_node * node = HYD_server_info.node_list; node; node = node->next)
        n++;
    *hosts = MPL_calloc((size_t) n + 1, sizeof(**hosts), MPL_MEM_PM);
    n = 0;
    for (const struct HYD_node * node = *hosts ? HYD_server_info.node_list : NULL; node; node = node->next)
        (*hosts)[n++] = node->hostname;
    return n;
}

/* A message of the core names the option that it concerns, except options that the core knows by
 * another name. */
void HYD_core_create(void)
{
    const struct passwd *user = getpwuid(geteuid());
    char error[1024] = "";
    const char **hosts;
    int n_hosts = list_hosts(&hosts);
    struct step_config config = {
        .step_id = HYD_step_id(),
        .program = HYD_server_info.pg_list.proxy_list->exec_list->exec[0],
        .user = user ? user->pw_name : "",
        .schedule = HYD_step_options.schedule,
        .policy = HYD_step_options.policy,
        .interval_ms = 1000,
        /* 0: by the program's pace */
        .margin = (uint64_t) env_number("MPIEXEC_ADAPT_MARGIN", 0, 0, 1, INT_MAX, "a number of probes, at least 1"),
        .prepare_ms = HYD_core_env_ms("MPIEXEC_ADAPT_PREPARE", PREPARE_DEFAULT_MS),
        .straggler_ms = HYD_core_env_ms("MPIEXEC_ADAPT_BEHIND", BEHIND_DEFAULT_MS),
        .seed = (uint64_t) unix_ms() ^ ((uint64_t) getpid() << 32),
        .unix_ms_at_zero = unix_ms() - HYD_step_now_ms(),
        .size = HYD_server_info.pg_list.pg_process_count,
        .programs = HYD_step_programs(),
        .hosts = hosts,
        .n_hosts = n_hosts,
        .managed = HYD_step_managed(),
        .processes_max = env_number("ELASTIC_STEP_PROCESSES_MAX", 0, 1, 1, INT_MAX, "a number of processes, or 0"),
        .states = HYD_step.sets_log_fd < 0 ? 0 : isatty(HYD_step.sets_log_fd) ? 2 : 1
    };
    const struct step_effects effects = {
        .launch = effect_launch,
        .kill_group = effect_kill_group,
        .abort_step = effect_abort_step,
        .send = effect_send,
        .reply = effect_reply,
        .log = effect_log,
        .notify_user = effect_print_message,
        .wake_at = effect_wake_at,
        .clock_us = clock_us,
        .state_line = effect_state_line,
        .launch_world = effect_launch_world
    };

    if (HYD_step_options.range &&
        stepmgr_parse_range(HYD_step_options.range, &config.range_min, &config.range_max, error,
                              sizeof(error)) < 0)
        HYD_step_option_error("--adapt-range", error);
    if (HYD_step_options.interval &&
        stepmgr_parse_time(HYD_step_options.interval, &config.interval_ms, error,
                             sizeof(error)) < 0)
        HYD_step_option_error("--adapt-interval", error);

    HYD_step.fanout = env_number("MPIEXEC_ADAPT_FANOUT", HYD_RELAY_FANOUT_DEFAULT, 1, 2, HYD_RELAY_FANOUT_MAX,
                                 "a number of node daemons, 2 to 1024, or 0");
    HYD_core_enter();
    HYD_step.core = stepmgr_create(&config, &effects, error, sizeof(error));
    MPL_free(hosts);
    if (!HYD_step.core)
        HYD_step_option_error(HYD_step_options.schedule ? "--adapt-schedule" :
                              HYD_step_options.policy ? "--adapt-policy" : "adaptation", error);
    HYD_step_psets_add();
    HYD_step_use_loop();
    if (HYD_step_adopt_launch() == HYD_SUCCESS) {
        assign_group(HYD_step_find_group(0));
        report_disconnected(HYD_step_find_group(0));
    }
    stepmgr_unauthenticated(HYD_step.core, HYD_step_now_ms(), HYD_step_unauthenticated());
    if (HYD_step_notified_to_end())
        stepmgr_terminate(HYD_step.core, HYD_step_now_ms(), HYD_step_notified_to_end());
    HYD_core_leave();
}

void HYD_core_destroy(void)
{
    stepmgr_destroy(HYD_step.core);
    HYD_step.core = NULL;
}
