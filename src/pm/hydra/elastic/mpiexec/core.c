/* See core.h. */

#include "state.h"
#include "core.h"
#include "stepmgr/stepmgr.h"
#include "input.h"
#include "options.h"
#include "relay.h"

_Static_assert(HYD_CORE_LINE_MAX == STEP_LINE_MAX, "the limit of the step protocol");

/* ---- calls into the core, and those that have to wait until it has returned ------------------ */

struct deferred {
    int group;
    int proxy;                  /* proxy that has disconnected; or one of these: */
#define GROUP_PLACED (-1)
#define PROXY_UP (-2)
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
        else if (g && d->proxy == PROXY_UP)
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
        HYDU_error_printf("no memory to record an event\n");
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
    defer(group->group, PROXY_UP);
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

/* Reports proxies whose processes had all ended before the core was made. */
static void report_disconnected(struct HYD_step_group *g)
{
    for (int i = 0; i < g->proxy_count; i++) {
        const struct HYD_step_proxy *p = &g->proxies[i];
        if (!p->proxy->exit_status)
            continue;
        for (int k = 0; k < p->processes; k++) {
            const uint32_t payload[] =
                { (uint32_t) p->ranks[k], (uint32_t) p->proxy->exit_status[k] };
            HYD_core_report(g->group, i, REPORT_EXITED, 0, payload, sizeof(payload));
        }
        HYD_core_defer_disconnected(g, i);
    }
}

void HYD_core_adopted(struct HYD_step_group *launch)
{
    assign_group(launch);
    report_disconnected(launch);
}

void HYD_core_report(int group, int proxy, enum step_report kind, uint32_t epoch,
                     const void *payload, size_t bytes)
{
    HYD_core_enter();
    stepmgr_report(HYD_step.core, HYD_step_now_ms(), group, proxy, kind, epoch, payload, bytes);
    HYD_core_leave();
}

void HYD_core_frozen(int group, int proxy, uint32_t sequence, uint32_t epoch, uint64_t ceiling)
{
    struct HYD_step_group *g = HYD_step_find_group(group);

    if (!g || sequence <= g->proxies[proxy].frozen_sequence)
        return;
    g->proxies[proxy].frozen_sequence = sequence;
    HYD_core_report(group, proxy, REPORT_FROZEN, epoch, &ceiling, sizeof(ceiling));
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

void HYD_core_host_lost(const char *host)
{
    if (HYD_step.core)
        stepmgr_host_lost(HYD_step.core, HYD_step_now_ms(), host);
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

/* ---- start and end --------------------------------------------------------------------------- */

static void (*creator)(void);

void HYD_core_set_creator(void (*create)(void))
{
    creator = create;
}

void HYD_core_create(void)
{
    creator();
}

void HYD_core_destroy(void)
{
    stepmgr_destroy(HYD_step.core);
    HYD_step.core = NULL;
}

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
