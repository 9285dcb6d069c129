/* See exits.h. */

#include "state.h"
#include <poll.h>
#include "bsci.h"
#include "bscu.h"
#include "core.h"
#include "end.h"
#include "exits.h"
#include "input.h"
#include "pmci.h"
#include "pmiserv.h"
#include "pmiserv_utils.h"
#include "newcomers.h"
#include "socket.h"
#include "spawned.h"
#include "wire/channel.h"
#include "wire/spawn.h"
#include "../ui/mpich/mpiexec.h"

/* bytes to one proxy: more than all keys of a large job */
#define PMI_WAITING_MAX (16 * 1024 * 1024)

/* for a proxy to report the end of its process, before we end the others */
#define ABORT_GRACE_MS 500
#define END_GRACE_MS 5000       /* for proxies to end, before we close their connections */

/* Lines for -print-all-exitcodes, stored because ended groups are freed. */
static char *exit_lines = NULL;
static int spawned_death;       /* wait status, 0: none */
static int has_aborted, abort_code;     /* of the first MPI_Abort */

/* ---- the end of the job ---------------------------------------------------------------------- */

void HYD_step_end_job_soon(void)
{
    HYD_step.failed = 1;
    if (HYD_step.abort_ms < 0)
        HYD_step.abort_ms = HYD_step_now_ms() + ABORT_GRACE_MS;
}

/* Stock closes the connections, and each proxy then ends with its own errors.  Here proxies are
 * ordered to kill their processes and to end normally.  The core waits for them; jobs without a
 * core get one now. */
int HYD_step_end_job(void)
{
    if (!HYD_step.core)
        HYD_core_create();
    if (HYD_step.ending)
        return 1;
    HYD_step.ending = 1;
    HYD_step.abort_ms = HYD_step_now_ms() + END_GRACE_MS;
    for (struct HYD_pg * pg = &HYD_server_info.pg_list; pg; pg = pg->next) {
        struct HYD_step_group *g = HYD_step_find_group(pg->pgid);
        if (g && !g->removed)
            g->removed = HYD_STEP_JOB_ENDS;     /* also proxies that connect later */
        for (struct HYD_proxy * p = pg->proxy_list; p; p = p->next)
            if (!HYD_step_is_awaited(p))
                HYD_step_send_signal(p, SIGKILL);
    }
    return 1;
}

int HYD_step_abort(int exit_code)
{
    if (!has_aborted)
        abort_code = exit_code;
    has_aborted = 1;
    return HYD_step_end_job();
}

/* Ends a job without a core, in which no process has used our extensions. */
static void end_job_now(const char *text)
{
    HYD_step_print_message(text);
    HYD_step.failed = 1;
    if (!HYD_step.core)
        HYD_step_end_at_once();
    HYD_step_end_job();
}

/* Ends launchers that still try to reach a failed host, for example ssh. */
static void end_launchers(void)
{
    for (int i = 0; i < HYD_bscu_pid_count; i++)
        if (HYD_bscu_pid_list[i] > 0)
            kill(HYD_bscu_pid_list[i], SIGTERM);
}

/* Closes the connections of remaining proxies, because Hydra waits for all proxies, also for
 * unconnected ones. */
static void cut_off_proxies(void)
{
    HYD_newcomers_await_nobody();
    HYD_pmcd_pmiserv_cleanup_all_pgs();
}

void HYD_step_end_due(int64_t now_ms)
{
    if (HYD_step.abort_ms < 0 || HYD_step.abort_ms > now_ms)
        return;
    HYD_step.abort_ms = -1;
    if (HYD_step.ending) {
        cut_off_proxies();
        end_launchers();
    } else
        HYD_step_end_job();
}

/* ---- ends of processes and proxies ----------------------------------------------------------- */

int HYD_step_rules_apply(const struct HYD_step_group *g)
{
    return !g->removed && !HYD_core_owns_failure(g->group);
}

void HYD_step_note_exit(struct HYD_step_proxy *p)
{
    if (p->freed < p->processes) {
        p->freed++;
        p->node->active_processes--;
    }
}

const char *HYD_step_program_of(const struct HYD_proxy *proxy, int index)
{
    const struct HYD_exec *exec = proxy->exec_list;

    for (; exec && index >= exec->proc_count; exec = exec->next)
        index -= exec->proc_count;
    return exec && exec->exec[0] ? exec->exec[0] : "a process";
}

void HYD_step_describe_end(char *text, size_t bytes, int wait_status)
{
    if (WIFSIGNALED(wait_status))
        MPL_snprintf(text, bytes, "was ended by signal %d (%s)", WTERMSIG(wait_status),
                     strsignal(WTERMSIG(wait_status)));
    else
        MPL_snprintf(text, bytes, "ended with exit code %d", WEXITSTATUS(wait_status));
}

/* ---- ends before MPI_Init -------------------------------------------------------------------- */

/* The first process of the launch, or of an MPI_Comm_spawn, that has ended before MPI_Init or
 * without MPI_Finalize. */
struct missed {
    const struct HYD_proxy *proxy;
    struct HYD_launch_end end;
    int epoch;                  /* with PMI-2: fences that it has entered */
    struct missed *next;
};

static struct missed *all_missed = NULL;

static struct missed **missed_of(const struct HYD_pg *pg)
{
    struct missed **link;

    for (link = &all_missed; *link && (*link)->proxy->pg != pg; link = &(*link)->next);
    return link;
}

void HYD_step_free_missed(const struct HYD_pg *pg)
{
    struct missed **link = missed_of(pg), *missed = *link;

    if (missed)
        *link = missed->next;
    MPL_free(missed);
}

/* Called when the report arrives, because the proxy may end later. */
static int find_epoch(const struct HYD_proxy *proxy, int connection)
{
    const struct HYD_pmcd_pmi_pg_scratch *scratch = proxy->pg->pg_scratch;

    for (int i = 0; scratch && connection >= 0 && i < proxy->pg->pg_process_count; i++)
        if (scratch->ecount[i].fd == proxy->control_fd && scratch->ecount[i].pid == connection)
            return scratch->ecount[i].epoch;
    return 0;
}

static int is_awaited(const struct missed *missed)
{
    const struct HYD_pg *pg = missed->proxy->pg;
    const struct HYD_pmcd_pmi_pg_scratch *scratch = pg->pg_scratch;

    if (missed->end.others_wait || pg->barrier_count > 0)
        return 1;
    for (int i = 0; scratch && i < pg->pg_process_count; i++)
        if (scratch->ecount[i].epoch > missed->epoch)
            return 1;
    return 0;
}

/* MPI_Init and other PMI barriers wait for the whole world.  If a process has ended, the others
 * would wait for ever, as under stock.  Programs with sessions detect that themselves. */
static void check_that_world_comes(const struct HYD_pg *pg)
{
    const struct missed *missed = *missed_of(pg);
    const struct HYD_step_group *g = HYD_step.core ? HYD_step_find_group(pg->pgid) : NULL;
    const int spawned = pg->pgid != 0;
    const char *hint = "", *when = "before it called MPI_Init, in which the others wait for it";
    char how[128], text[1024];

    if (!missed || HYD_step.ending || HYD_step.abort_ms >= 0 || (g && !HYD_step_rules_apply(g)) ||
        HYD_step.has_set_calls || HYD_step.notified_to_end || !is_awaited(missed) ||
        (pg->pg_process_count == 1 && !(spawned && missed->end.in_init)))
        return;
    int code = WIFEXITED((int) missed->end.wait_status) ? WEXITSTATUS(missed->end.wait_status) : 0;
    HYD_step_describe_end(how, sizeof(how), (int) missed->end.wait_status);
    if (code == 127 || code == 255)
        hint = ": check that the program and its libraries are on that host";
    if (missed->end.begun)
        when = missed->end.in_init ? "in MPI_Init, in which the others wait for it" :
            "in MPI_Init or later, without MPI_Finalize, and the others wait for it in a barrier";
    MPL_snprintf(text, sizeof(text), "%shost %s: %s (rank %u%s) %s %s%s.  The job ends",
                 spawned ? "MPI_Comm_spawn: " : "", missed->proxy->node->hostname,
                 HYD_step_program_of(missed->proxy, (int) missed->end.index), missed->end.rank,
                 spawned ? " of the spawned processes" : "", how, when, hint);
    HYD_step_print_message(text);
    if (spawned)
        HYD_step_spawned_died_of(missed->end.wait_status ? (int) missed->end.
                                 wait_status : W_EXITCODE(1, 0));
    HYD_step.failed = 1;
    HYD_step_end_job();
}

void HYD_step_is_missed(const struct HYD_proxy *proxy, const char *payload, size_t bytes)
{
    struct missed **link = missed_of(proxy->pg);
    struct HYD_launch_end end;

    if (HYD_spawned_is_pending(proxy->pg) || bytes != sizeof(end))
        return;
    memcpy(&end, payload, sizeof(end));
    if (!*link && !(*link = MPL_calloc(1, sizeof(**link), MPL_MEM_PM)))
        HYDU_error_printf("no memory to record the end of a process\n");
    if (!*link)
        return;
    if (!(*link)->proxy)
        **link = (struct missed) {.proxy = proxy,.end = end,
                                  .epoch = find_epoch(proxy, end.connection) };
    (*link)->end.others_wait |= end.others_wait;
    check_that_world_comes(proxy->pg);
}

static void collect_exit_statuses(const struct HYD_proxy *proxy)
{
    size_t used = exit_lines ? strlen(exit_lines) : 0;
    size_t capacity =
        used + strlen(proxy->node->hostname) + 8 + (size_t) proxy->proxy_process_count * 12;
    char *lines = NULL;

    for (int i = 0; i < proxy->proxy_process_count; i++)
        HYD_step.exit_status |= proxy->exit_status[i];
    if (HYD_ui_mpich_info.print_all_exitcodes)
        lines = MPL_realloc(exit_lines, capacity, MPL_MEM_PM);
    if (!lines)
        return;
    exit_lines = lines;
    used += (size_t) snprintf(lines + used, capacity - used, "[%s] ", proxy->node->hostname);
    for (int i = 0; i < proxy->proxy_process_count; i++)
        used += (size_t) snprintf(lines + used, capacity - used, "%d%c", proxy->exit_status[i],
                                  i < proxy->proxy_process_count - 1 ? ',' : '\n');
}

/* If a signal kills a spawned process, the job ends.  Other processes may then be killed before
 * they exit by themselves, so the job's exit status is that of the first one. */
static void note_spawned_death(const struct HYD_proxy *proxy)
{
    if (proxy->pg->pgid == 0 || HYD_step.ending || spawned_death ||
        !HYD_server_info.user_global.auto_cleanup)
        return;
    for (int i = 0; i < proxy->proxy_process_count; i++) {
        if (WIFEXITED(proxy->exit_status[i]))
            continue;
        if (!spawned_death || WTERMSIG(spawned_death) == SIGKILL)
            spawned_death = proxy->exit_status[i];
    }
}

void HYD_step_spawned_died_of(int wait_status)
{
    if (!spawned_death)
        spawned_death = wait_status;
}

int HYD_step_spawned_died(void)
{
    return spawned_death != 0;
}

int HYD_step_proxy_ended(struct HYD_proxy *proxy)
{
    struct HYD_step_group *g = HYD_step.core ? HYD_step_find_group(proxy->pg->pgid) : NULL;

    HYD_step_input_ended(proxy);
    if (!g) {
        HYD_spawned_count();
        if (HYD_spawned_ended(proxy))
            return 0;
        note_spawned_death(proxy);
        return 1;
    }
    int rules = HYD_step_rules_apply(g);
    struct HYD_step_proxy *p = &g->proxies[proxy->proxy_id];
    while (g->group != 0 && p->freed < p->processes)
        HYD_step_note_exit(p);
    if ((rules || g->removed == HYD_STEP_JOB_ENDS) && g->group != 0)
        collect_exit_statuses(proxy);
    HYD_core_defer_disconnected(g, proxy->proxy_id);
    return rules;
}

void HYD_step_proxy_disconnected(struct HYD_proxy *proxy)
{
    struct HYD_step_group *g = HYD_step.core ? HYD_step_find_group(proxy->pg->pgid) : NULL;

    if (!g && HYD_spawned_failed(proxy))
        return;
    /* The core decides on the adaptation under way. */
    if (g)
        HYD_core_defer_disconnected(g, proxy->proxy_id);
    if (g ? HYD_step_rules_apply(g) : !HYD_step.ending) {
        char text[512];
        MPL_snprintf(text, sizeof(text),
                     "host %s is lost: its proxy was killed or cannot be reached any more: check "
                     "that the host is up and has enough memory.  The job ends",
                     proxy->node->hostname);
        HYD_core_host_lost(proxy->node->hostname);
        end_job_now(text);
    }
    struct HYD_step_proxy *p = g ? &g->proxies[proxy->proxy_id] : NULL;
    while (p && p->freed < p->processes)
        HYD_step_note_exit(p);
    HYD_step_cleanup_proxy(proxy);
    if (!g)
        HYD_spawned_count();
}

void HYD_step_launch_failed(const struct HYD_proxy *proxy)
{
    char text[512];

    if (HYD_step.ending)
        return;
    MPL_snprintf(text, sizeof(text),
                 "host %s: its proxy could not be started by %s, or was killed before it had "
                 "connected (see the message above, if there is one): check that the host is up, "
                 "that you can log in there without a password, and that this installation is "
                 "there.  The job ends",
                 proxy->node->hostname, HYDT_bsci_info.launcher);
    HYD_core_host_lost(proxy->node->hostname);
    end_job_now(text);
}

/* For a growth or a spawn the reason is only printed: they fail when that proxy ends. */
void HYD_step_cannot_start(const struct HYD_proxy *proxy, const char *why, size_t bytes)
{
    char text[1024];

    if (HYD_step.ending)
        return;
    MPL_snprintf(text, sizeof(text), "host %s: %.*s%s", proxy->node->hostname,
                 (int) (bytes < 512 ? bytes : 512), why,
                 proxy->pg->pgid == 0 ? ".  The job ends" : "");
    if (proxy->pg->pgid == 0)
        end_job_now(text);
    else
        HYD_step_print_message(text);
}

int HYD_step_counted_processes(const struct HYD_proxy *proxy)
{
    struct HYD_step_group *g = HYD_step.core ? HYD_step_find_group(proxy->pg->pgid) : NULL;

    /* The nodes of an expansion are copies: stock's count on them is not used. */
    return proxy->proxy_process_count -
        (g && g->group == 0 ? g->proxies[proxy->proxy_id].freed : 0);
}

int HYD_step_exit_status(int status)
{
    status |= HYD_step.exit_status;

    if (exit_lines)
        HYDU_dump_noprefix(stdout, "%s", exit_lines);
    for (struct HYD_proxy * p = HYD_server_info.pg_list.proxy_list; p; p = p->next)
        for (int i = 0; p->exit_status && i < p->proxy_process_count; i++)
            status |= p->exit_status[i];
    if (has_aborted)
        return W_EXITCODE(abort_code & 0xff, 0);
    if (spawned_death)
        return spawned_death;
    return status || !HYD_step.failed ? status : 1 << 8;
}

int HYD_step_signal(const struct HYD_proxy *proxy, int signum)
{
    if (HYD_step_is_awaited(proxy))
        return 1;               /* sent when it connects (end.h) */
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

/* Programs that are started meanwhile do not inherit it. */
static void go_on(int signum)
{
}

static void (*previous_sigpipe) (int) = SIG_DFL;
static int begun = 0;

void HYD_step_pmi_begin(void)
{
    if (begun++ == 0)
        previous_sigpipe = signal(SIGPIPE, go_on);
}

static struct HYD_proxy *find_failed(void)
{
    for (struct HYD_pg * pg = &HYD_server_info.pg_list; pg; pg = pg->next)
        for (struct HYD_proxy * p = pg->proxy_list; p; p = p->next) {
            struct pollfd end = {.fd = p->control_fd,.events = POLLRDHUP };
            if (p->control_fd >= 0 && poll(&end, 1, 0) > 0)
                return p;
        }
    return NULL;
}

/* With a step manager, messages are whole and no write fails (wire/channel.h). */
HYD_status HYD_step_control_result(HYD_status status)
{
    struct HYD_proxy *missing = status == HYD_SUCCESS || HYD_step.core ? NULL : find_failed();

    if (!missing)
        return status;
    HYD_step_proxy_disconnected(missing);
    return HYD_SUCCESS;
}

int HYD_step_pmi_is_discarded(const struct HYD_proxy *proxy)
{
    static int reported = 0;
    char text[512];

    if (HYD_step.ending)
        return 1;
    if (HYD_channel_waiting(proxy->control_fd) <= PMI_WAITING_MAX)
        return 0;
    if (!reported) {
        MPL_snprintf(text, sizeof(text),
                     "host %s: a process sends PMI requests and does not read the replies, of "
                     "which %d MiB are pending: further PMI requests of this host are discarded "
                     "until they are read",
                     proxy->node->hostname, PMI_WAITING_MAX >> 20);
        HYD_step_print_message(text);
    }
    reported = 1;
    return 1;
}

HYD_status HYD_step_pmi_end(const struct HYD_proxy *proxy, HYD_status status)
{
    const struct HYD_step_group *g = expansion_of(proxy);

    if (--begun == 0)
        signal(SIGPIPE, previous_sigpipe);
    check_that_world_comes(proxy->pg);
    return !g || HYD_step_rules_apply(g) ? status : HYD_SUCCESS;
}

void HYD_step_free_exits(void)
{
    MPL_free(exit_lines);
    for (struct missed *next; all_missed; all_missed = next) {
        next = all_missed->next;
        MPL_free(all_missed);
    }
    HYD_spawned_free();
}
