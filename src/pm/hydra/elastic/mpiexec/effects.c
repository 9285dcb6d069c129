/* See effects.h. */

#include "state.h"
#include <limits.h>
#include <pwd.h>
#include "core.h"
#include "stepmgr/stepmgr.h"
#include "effects.h"
#include "end.h"
#include "exits.h"
#include "groups.h"
#include "handshake.h"
#include "launch.h"
#include "options.h"
#include "output.h"
#include "performance.h"
#include "psets.h"
#include "relay.h"
#include "socket.h"
#include "timers.h"
#include "wire/clock.h"
#include "wire/file_size.h"
#include "wire/tree.h"

#define BEHIND_DEFAULT_MS 30000
#define PREPARE_DEFAULT_MS 50

/* ---- what it requests ------------------------------------------------------------------------ */

static void effect_print_message(void *context, const char *text)
{
    HYD_step_print_message(text);
}

static int effect_launch(void *context, uint32_t epoch, int count, int program, int pre,
                         uint32_t first_uid, int modify, const char *const *hosts, int n_hosts,
                         int *group, char *error, size_t error_bytes)
{
    return HYD_step_launch(epoch, count, program, pre, first_uid, modify, hosts, n_hosts, group,
                           error, error_bytes);
}

static int effect_launch_world(void *context, const struct step_world *world, int *group,
                               char *error, size_t error_bytes)
{
    return HYD_step_launch_world(world, group, error, error_bytes);
}

static void effect_kill_group(void *context, int group)
{
    HYD_step_kill_group(group);
}

static void effect_send(void *context, const struct step_proxy *to, int n,
                        enum step_command command, uint32_t epoch, const void *payload,
                        size_t bytes)
{
    struct HYD_step_proxy_id *proxies = MPL_malloc((size_t) n * sizeof(*proxies), MPL_MEM_PM);

    if (!proxies) {
        HYDU_error_printf("no memory for an adaptation message\n");
        return;
    }
    for (int i = 0; i < n; i++)
        proxies[i] = (struct HYD_step_proxy_id) {to[i].group, to[i].number};
    HYD_step_send_to_all(proxies, n, command, epoch, payload, bytes);
    MPL_free(proxies);
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

/* Writes one line.  If that fails, the log ends, and the job continues. */
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
                n >= 0 ? "no space left" : errno == EAGAIN ? "no process reads it" :
                MPL_strerror(errno));
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

/* ---- clock ----------------------------------------------------------------------------------- */

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

/* ---- start ----------------------------------------------------------------------------------- */

/* A number of at least `min`, or 0 if `zero` permits it. */
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

/* Names of the hosts of mpiexec, in a list that the caller frees. */
static int list_hosts(const char ***hosts)
{
    int n = 0;

    for (const struct HYD_node * node = HYD_server_info.node_list; node; node = node->next)
        n++;
    *hosts = MPL_calloc((size_t) n + 1, sizeof(**hosts), MPL_MEM_PM);
    n = 0;
    for (const struct HYD_node * node = *hosts ? HYD_server_info.node_list : NULL; node;
         node = node->next)
        (*hosts)[n++] = node->hostname;
    return n;
}

/* A message of the core names its option, except options that have another name in the core. */
static void create(void)
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
        .margin = (uint64_t) env_number("MPIEXEC_ADAPT_MARGIN", 0, 0, 1, INT_MAX,
                                        "a number of probes, at least 1"),
        .prepare_ms = HYD_core_env_ms("MPIEXEC_ADAPT_PREPARE", PREPARE_DEFAULT_MS),
        .straggler_ms = HYD_core_env_ms("MPIEXEC_ADAPT_BEHIND", BEHIND_DEFAULT_MS),
        .seed = (uint64_t) unix_ms() ^ ((uint64_t) getpid() << 32),
        .unix_ms_at_zero = unix_ms() - HYD_step_now_ms(),
        .size = HYD_server_info.pg_list.pg_process_count,
        .programs = HYD_step_programs(),
        .hosts = hosts,
        .n_hosts = n_hosts,
        .managed = HYD_step_managed(),
        .processes_max = env_number("ELASTIC_STEP_PROCESSES_MAX", 0, 1, 1, INT_MAX,
                                    "a number of processes, or 0"),
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

    HYD_step.fanout = env_number("MPIEXEC_ADAPT_FANOUT", HYD_RELAY_FANOUT_DEFAULT, 1, 2,
                                 HYD_RELAY_FANOUT_MAX, "a number of proxies, 2 to 1024, or 0");
    HYD_core_enter();
    HYD_step.core = stepmgr_create(&config, &effects, error, sizeof(error));
    MPL_free(hosts);
    if (!HYD_step.core)
        HYD_step_option_error(HYD_step_options.schedule ? "--adapt-schedule" :
                              HYD_step_options.policy ? "--adapt-policy" : "adaptation", error);
    HYD_step_psets_add();
    HYD_step_use_loop(HYD_step_next_wake, HYD_step_tick);
    if (HYD_step_adopt_launch() == HYD_SUCCESS)
        HYD_core_adopted(HYD_step_find_group(0));
    stepmgr_unauthenticated(HYD_step.core, HYD_step_now_ms(), HYD_step_unauthenticated());
    if (HYD_step.notified_to_end)
        stepmgr_terminate(HYD_step.core, HYD_step_now_ms(), HYD_step.notified_to_end);
    HYD_core_leave();
}

void HYD_effects_use(void)
{
    HYD_core_set_creator(create);
}
