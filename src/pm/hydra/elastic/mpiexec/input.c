/* See input.h. */

#include "state.h"
#include "core.h"
#include "demux.h"
#include "demux_internal.h"
#include "input.h"
#include "options.h"
#include "relay.h"
#include "wire/kinds.h"

/* Messages of at most 64 KiB that were not reported as passed on.  A connection accepts one even
 * while the proxy waits for mpiexec to read its output.  With more, proxy and mpiexec would wait
 * for each other. */
#define INPUT_MESSAGES 1

/* ---- option -s ------------------------------------------------------------------------------- */

static enum { READ_BY_FIRST, READ_BY_ALL, READ_BY_NONE } readers = READ_BY_FIRST;
static int is_given = 0;

HYD_status HYD_step_input_fn(char *arg, char ***argv)
{
    const char *value = **argv; /* one of HYD_INPUT_READERS */

    if (is_given && !HYD_step_reading_config)
        HYD_step_option_error("-s", "given twice");
    if (!is_given)
        readers =
            !strcmp(value, "all") ? READ_BY_ALL : !strcmp(value,
                                                          "none") ? READ_BY_NONE : READ_BY_FIRST;
    is_given = 1;
    (*argv)++;
    return HYD_SUCCESS;
}

void HYD_step_input_help_fn(void)
{
    printf("\n-s: Processes that read the standard input of mpiexec; the others read the end of a "
           "file\n");
    printf("   0                rank 0 of MPI_COMM_WORLD, also after an adaptation (default)\n");
    printf("   all              each process gets all of it; a joining process gets the input "
           "after its start\n");
    printf("   none             no process\n\n");
}

int HYD_step_input_is_for_all(void)
{
    return readers == READ_BY_ALL;
}

/* ---- labels ---------------------------------------------------------------------------------- */

int HYD_step_label(const struct HYD_proxy *proxy, int rank)
{
    struct HYD_step_group *g = HYD_step.core ? HYD_step_find_group(proxy->pg->pgid) : NULL;

    if (!g || rank < 0 || rank >= g->count)
        return rank;
    int world_rank = HYD_core_world_rank(g->group, rank);
    if (world_rank >= 0)
        g->processes[rank].label = world_rank;
    return g->processes[rank].label >= 0 ? g->processes[rank].label : rank;
}

/* ---- readers --------------------------------------------------------------------------------- */

/* The process that is rank 0 of the world and reads standard input; initially that of the
 * launch. */
static int first_group = 0, first_rank = 0;
/* messages of input that it has not read; with -s all: that some process has not read */
static uint32_t untaken = 0;

/* With -s all: the part of `untaken` of each proxy. */
static struct share {
    const struct HYD_proxy *proxy;
    uint32_t untaken;
    struct share *next;
} *shares = NULL;

/* Changes the record, because Hydra's own loop, which serves a job first, has no pause.  Input is
 * read nevertheless when the other end is closed: then only the rest in the pipe is left. */
static void pause_input(int is_paused)
{
    for (struct HYDT_dmxu_callback * record = HYDT_dmxu_cb_list; record; record = record->next) {
        for (int i = 0; i < record->num_fds; i++) {
            if (record->fd[i] == STDIN_FILENO)
                record->events = is_paused ? 0 : HYD_POLLIN;
        }
    }
}

static void take(uint32_t messages)
{
    untaken -= messages < untaken ? messages : untaken;
    if (untaken < INPUT_MESSAGES)
        pause_input(0);
}

static struct share *find_share(const struct HYD_proxy *proxy)
{
    struct share *s;

    for (s = shares; s && s->proxy != proxy; s = s->next);
    return s;
}

static void take_share(const struct HYD_proxy *proxy, uint32_t messages)
{
    struct share *s = find_share(proxy);

    if (!s)
        return;
    messages = messages < s->untaken ? messages : s->untaken;
    s->untaken -= messages;
    take(messages);
}

void HYD_step_input_taken(const struct HYD_proxy *proxy, const void *payload, size_t bytes)
{
    uint32_t words[2];          /* rank, messages */

    if (bytes != sizeof(words))
        return;
    memcpy(words, payload, sizeof(words));
    if (readers == READ_BY_ALL)
        take_share(proxy, words[1]);
    else if (proxy->pg->pgid == first_group && words[0] == (uint32_t) first_rank)
        take(words[1]);
}

void HYD_step_input_ended(const struct HYD_proxy *proxy)
{
    struct share **link, *s;

    take_share(proxy, UINT32_MAX);
    for (link = &shares; *link && (*link)->proxy != proxy; link = &(*link)->next);
    s = *link;
    if (s)
        *link = s->next;
    MPL_free(s);
}

static int is_connected(const struct HYD_proxy *proxy)
{
    return proxy->control_fd != HYD_FD_UNSET && proxy->control_fd != HYD_FD_CLOSED;
}

struct HYD_proxy *HYD_step_first_proxy(void)
{
    struct HYD_step_group *g = HYD_step_find_group(first_group);

    if (!g)
        return NULL;
    struct HYD_proxy *proxy = g->proxies[g->processes[first_rank].proxy].proxy;
    return is_connected(proxy) ? proxy : NULL;
}

static void send_end(const struct HYD_proxy *proxy, int rank)
{
    struct HYD_pmcd_hdr hdr;

    HYD_pmcd_init_header(&hdr);
    hdr.cmd = STDIN;
    hdr.rank = rank;
    hdr.buflen = 0;
    HYD_step_send(proxy, &hdr, NULL, 0);
}

/* The previous reader reads the end of input after the data that it has received.  A proxy opens
 * the input of the new reader when it starts the plan; without a plan (process sets), when it gets
 * this message. */
static void begin_first(const struct HYD_step_group *g)
{
    const struct HYD_step_proxy *p = &g->proxies[g->processes[first_rank].proxy];
    uint32_t rank = (uint32_t) first_rank;

    if (!is_connected(p->proxy))
        return;
    if (HYDT_dmx_query_fd_registration(STDIN_FILENO))
        HYD_step_send_message(p, HYD_ADAPT_INPUT_READER, &rank, sizeof(rank));
    else
        send_end(p->proxy, first_rank);
}

/* Checks after each event whether rank 0 is another process now.  The previous reader keeps input
 * that it has received.  A new reader after the end of the input is notified of that end. */
void HYD_step_follow_first(void)
{
    if (readers == READ_BY_ALL || !HYD_step.core ||
        HYD_core_world_rank(first_group, first_rank) == 0)
        return;
    for (struct HYD_step_group * g = HYD_step.groups; g; g = g->next) {
        for (int rank = 0; rank < g->count; rank++) {
            if (HYD_core_world_rank(g->group, rank) != 0)
                continue;
            if (HYD_step_first_proxy())
                send_end(HYD_step_first_proxy(), first_rank);
            first_group = g->group;
            first_rank = rank;
            untaken = 0;
            pause_input(0);
            begin_first(g);
            return;
        }
    }
}

/* ---- all readers ----------------------------------------------------------------------------- */

static int reads(const struct HYD_proxy *proxy)
{
    const struct HYD_step_group *g = HYD_step.core ? HYD_step_find_group(proxy->pg->pgid) : NULL;

    return is_connected(proxy) && (g ? !g->is_relay_proxy && !g->is_tasks : proxy->pg->pgid == 0);
}

static void add_share(const struct HYD_proxy *proxy, uint32_t messages)
{
    struct share *s = find_share(proxy);

    if (!s) {
        s = MPL_calloc(1, sizeof(*s), MPL_MEM_PM);
        if (!s)
            return;             /* it may get more messages than it has read */
        *s = (struct share) {.proxy = proxy,.next = shares };
        shares = s;
    }
    s->untaken += messages;
    untaken += messages;
}

/* Sends to all proxies; 0: there is none. */
static int send_to_all(struct HYD_pmcd_hdr *hdr, const char *bytes)
{
    int n = 0;

    hdr->rank = HYD_INPUT_TO_ALL;
    for (const struct HYD_pg * pg = &HYD_server_info.pg_list; pg; pg = pg->next)
        for (const struct HYD_proxy * p = pg->proxy_list; p; p = p->next) {
            if (!reads(p))
                continue;
            if (hdr->buflen > 0)
                add_share(p, (uint32_t) p->proxy_process_count);
            HYD_step_send(p, hdr, bytes, (size_t) hdr->buflen);
            n++;
        }
    pause_input(untaken > 0);
    return n;
}

void HYD_step_input_up(const struct HYD_proxy *proxy)
{
    if (readers == READ_BY_ALL && proxy->pg->pgid != 0 && reads(proxy) &&
        !HYDT_dmx_query_fd_registration(STDIN_FILENO))
        send_end(proxy, HYD_INPUT_TO_ALL);
}

int HYD_step_input_starts(const struct HYD_proxy *proxy)
{
    static int connected = 0;   /* proxies of the launch that have been sent what to start */

    if (proxy->pg->pgid != 0)
        return 0;
    connected++;
    return readers == READ_BY_ALL ? connected == proxy->pg->proxy_count : proxy->proxy_id == 0;
}

HYD_status HYD_step_input_valid(int *valid)
{
    *valid = 0;
    return readers == READ_BY_NONE ? HYD_SUCCESS : HYDT_dmx_stdin_valid(valid);
}

HYD_status HYD_step_input_send(const struct HYD_proxy *proxy, struct HYD_pmcd_hdr *hdr,
                               const char *bytes)
{
    HYD_status status = HYD_SUCCESS;
    int is_left = 1;

    if (readers == READ_BY_ALL)
        is_left = send_to_all(hdr, bytes);
    else
        HYD_step_send(proxy, hdr, bytes, (size_t) hdr->buflen);
    if ((hdr->buflen == 0 || !is_left) && HYDT_dmx_query_fd_registration(STDIN_FILENO)) {
        status = HYDT_dmx_deregister_fd(STDIN_FILENO);
        HYDU_ERR_POP(status, "unable to deregister standard input\n");
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

int HYD_step_stdin(struct HYD_proxy **proxy, struct HYD_pmcd_hdr *hdr)
{
    if (readers == READ_BY_ALL)
        return 1;
    struct HYD_proxy *first = HYD_step.core ? HYD_step_first_proxy() : *proxy;

    if (!first || !is_connected(first)) {
        HYDT_dmx_deregister_fd(STDIN_FILENO);   /* no process is left to read it */
        return 0;
    }
    if (++untaken >= INPUT_MESSAGES)
        pause_input(1);
    *proxy = first;
    hdr->rank = first_rank;
    return 1;
}
