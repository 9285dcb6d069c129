/* See nodes.h. */

#include "state.h"
#include <ctype.h>
#include "nodes.h"

#define BOOKED_BYTES_MAX (16 * 1024 * 1024)
#define HOST_NAME_BYTES 256     /* HOST_NAME_MAX_BYTES of base/change.h, and the final 0 */

static struct HYD_node *guests = NULL;  /* hosts that only expansions have named */

static struct HYD_node *find_node(struct HYD_node *list, const char *hostname)
{
    struct HYD_node *node;

    for (node = list; node && strcmp(node->hostname, hostname); node = node->next);
    return node;
}

/* The node on which processes of this host are counted. :COUNT may follow the name.  Adds unknown
 * hosts. */
static struct HYD_node *known_node(const char *slot)
{
    char hostname[HOST_NAME_BYTES];

    MPL_snprintf(hostname, sizeof(hostname), "%.*s", (int) strcspn(slot, ":"), slot);
    struct HYD_node *node = find_node(HYD_server_info.node_list, hostname);

    if (!node)
        node = find_node(guests, hostname);
    if (node || HYDU_alloc_node(&node) != HYD_SUCCESS)
        return node;
    node->hostname = MPL_strdup(hostname);
    /* As many slots as the first known host, because hosts are usually equal. */
    node->core_count = HYD_server_info.node_list->core_count;
    node->next = guests;
    guests = node;
    return node;
}

static HYD_status copy_node(const struct HYD_node *node, struct HYD_node **copy)
{
    HYD_status status = HYDU_alloc_node(copy);

    HYDU_ERR_POP(status, "unable to allocate a node\n");
    (*copy)->hostname = MPL_strdup(node->hostname);
    (*copy)->core_count = node->core_count;
    (*copy)->active_processes = node->active_processes;
    (*copy)->user = node->user ? MPL_strdup(node->user) : NULL;
    (*copy)->local_binding = node->local_binding ? MPL_strdup(node->local_binding) : NULL;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* Copies of the nodes that a group may use, in order. */
HYD_status HYD_step_candidate_nodes(const char *const *hosts, int n_hosts, struct HYD_node **list)
{
    struct HYD_node **end = list;
    HYD_status status = HYD_SUCCESS;

    *list = NULL;
    for (int i = 0; i < n_hosts; i++) {
        struct HYD_node *node = known_node(hosts[i]);
        HYDU_ERR_CHKANDJUMP(status, !node, HYD_NO_MEM, "no memory for a node\n");
        if (find_node(*list, node->hostname))
            continue;
        status = copy_node(node, end);
        HYDU_ERR_POP(status, "unable to copy a node\n");
        if (strchr(hosts[i], ':')) {
            /* A number from the user is the number of free slots. */
            (*end)->core_count = atoi(strchr(hosts[i], ':') + 1);
            (*end)->active_processes = 0;
        }
        end = &(*end)->next;
    }
    for (struct HYD_node * node = n_hosts ? NULL : HYD_server_info.node_list; node;
         node = node->next) {
        status = copy_node(node, end);
        HYDU_ERR_POP(status, "unable to copy a node\n");
        end = &(*end)->next;
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_step_stretches_of_nodes(const char *const *hosts, int n_hosts,
                                       struct HYD_node **list)
{
    struct HYD_node **end = list;
    HYD_status status = HYD_SUCCESS;

    *list = NULL;
    for (int i = 0, next; i < n_hosts; i = next) {
        struct HYD_node *node = known_node(hosts[i]);
        HYDU_ERR_CHKANDJUMP(status, !node, HYD_NO_MEM, "no memory for a node\n");
        for (next = i + 1; next < n_hosts && !strcmp(hosts[next], hosts[i]); next++);
        status = copy_node(node, end);
        HYDU_ERR_POP(status, "unable to copy a node\n");
        (*end)->core_count = next - i;
        (*end)->active_processes = 0;
        end = &(*end)->next;
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_step_count_on_nodes(struct HYD_step_group *g)
{
    HYD_status status = HYD_SUCCESS;

    for (int i = 0; i < g->proxy_count; i++) {
        g->proxies[i].node = known_node(g->proxies[i].proxy->node->hostname);
        HYDU_ERR_CHKANDJUMP(status, !g->proxies[i].node, HYD_NO_MEM, "no memory for a node\n");
        if (g->is_relay_proxy)
            g->proxies[i].freed = g->proxies[i].processes;      /* it occupies no slots */
        g->proxies[i].node->active_processes += g->proxies[i].processes - g->proxies[i].freed;
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* ---- binding --------------------------------------------------------------------------------- */

/* Marks the slots of living processes on a node. */
static void mark_slots(const struct HYD_node *node, unsigned char *taken, int slots)
{
    for (const struct HYD_step_group * g = HYD_step.groups; g; g = g->next)
        for (int rank = 0; rank < g->count; rank++) {
            const struct HYD_step_process *p = &g->processes[rank];
            if (g->proxies[p->proxy].node == node && !g->is_relay_proxy && !p->ended && p->slot >= 0
                && p->slot < slots)
                taken[p->slot] = 1;
        }
}

/* The processes of a new proxy take the lowest free slots of its node, as in a launch of the whole
 * world.  Without this, each group would be bound to the first cores again. */
HYD_status HYD_step_choose_slots(struct HYD_step_group *g, int i)
{
    struct HYD_step_proxy *p = &g->proxies[i];
    int slots = p->node->active_processes, slot = 0;
    unsigned char *taken = NULL;
    HYD_status status = HYD_SUCCESS;

    /* At most as many slots are taken as there are processes, so the lowest free ones lie within
     * the sum. */
    for (int rank = 0; rank < g->count; rank++)
        if (g->processes[rank].proxy == i)
            g->processes[rank].slot = -1;
    taken = MPL_calloc((size_t) slots + 1, 1, MPL_MEM_PM);
    HYDU_ERR_CHKANDJUMP(status, !taken, HYD_NO_MEM, "no memory for the slots of a node\n");
    mark_slots(p->node, taken, slots);
    for (int k = 0; k < p->processes; k++) {
        while (slot < slots && taken[slot])
            slot++;
        if (p->ranks[k] < g->count)
            g->processes[p->ranks[k]].slot = slot;
        slot++;
    }

  fn_exit:
    MPL_free(taken);
    return status;

  fn_fail:
    goto fn_exit;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static struct {
    const char *const *hosts;
    int count;
} joining;

void HYD_step_set_joining_hosts(const char *const *hosts, int n_hosts)
{
    joining.hosts = hosts;
    joining.count = n_hosts;
}

/* The content of the file without a final newline; NULL: it cannot be read. */
static char *read_booked(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = file ? MPL_malloc(BOOKED_BYTES_MAX, MPL_MEM_PM) : NULL;
    size_t bytes = text ? fread(text, 1, BOOKED_BYTES_MAX - 1, file) : 0;

    if (file)
        fclose(file);
    if (!text) {
        HYDU_dump(stderr, "processes get no GPUs: unable to read %s (%s)\n", path,
                  MPL_strerror(errno));
        return NULL;
    }
    while (bytes > 0 && isspace((unsigned char) text[bytes - 1]))
        bytes--;
    text[bytes] = '\0';
    return text;
}

static char *booked_gpus(void)
{
    const char *booked = getenv("ELASTIC_STEP_GPUS");

    if (!booked)
        return NULL;
    return booked[0] == '@' ? read_booked(booked + 1) : MPL_strdup(booked);
}

/* Of HOST,...=NUMBER,...;HOST,...: the numbers of this host; NULL: it has none. */
static const char *gpus_of_host(const char *hosts, const char *host, size_t *length)
{
    size_t host_length = strlen(host);

    while (*hosts) {
        const char *numbers = hosts + strcspn(hosts, "=;"), *end = numbers + strcspn(numbers, ";");
        for (const char *name = hosts; name < numbers; name += strcspn(name, ",=;") + 1)
            if (*numbers == '=' && strcspn(name, ",=;") == host_length &&
                !strncmp(name, host, host_length)) {
                *length = (size_t) (end - numbers - 1);
                return numbers + 1;
            }
        hosts = end + (*end != '\0');
    }
    return NULL;
}

/* Of NAME:COUNT=NUMBER,... the numbers of this host; NULL: it has none. */
static const char *gpus_of_joining(const char *host, size_t *length)
{
    size_t host_length = strlen(host);

    for (int i = 0; i < joining.count; i++) {
        const char *numbers = strchr(joining.hosts[i], '=');
        if (numbers && strcspn(joining.hosts[i], ":") == host_length &&
            !strncmp(joining.hosts[i], host, host_length)) {
            *length = strlen(numbers + 1);
            return numbers + 1;
        }
    }
    return NULL;
}

/* Number of processes that earlier proxies start on this host. */
static int processes_before(const struct HYD_proxy *proxy)
{
    int processes = 0;

    for (const struct HYD_proxy * p = proxy->pg->proxy_list; p && p != proxy; p = p->next)
        if (!strcmp(p->node->hostname, proxy->node->hostname))
            processes += p->proxy_process_count;
    return processes;
}

/* The text without its first `count` numbers, if it has more. */
static const char *skip_numbers(const char *numbers, size_t *length, int count)
{
    const char *next = numbers, *end = numbers + *length;

    for (; count > 0 && next < end; count--) {
        next = memchr(next, ',', (size_t) (end - next));
        if (!next)
            return numbers;
        next++;
    }
    if (next == end)
        return numbers;
    *length = (size_t) (end - next);
    return next;
}

HYD_status HYD_step_gpu_args(const struct HYD_proxy *proxy, struct HYD_string_stash *stash)
{
    char *booked = booked_gpus();
    const char *host = proxy->node->hostname;
    size_t variables = booked ? strcspn(booked, ":") : 0, length = 0;
    HYD_status status = HYD_SUCCESS;

    if (!booked || !booked[variables])
        goto fn_exit;
    size_t head = variables + 1 + strcspn(booked + variables + 1, ":"); /* and the count */
    const char *numbers = booked[head] ? gpus_of_joining(host, &length) : NULL;
    if (booked[head] && !numbers)
        numbers = gpus_of_host(booked + head + 1, host, &length);
    if (!numbers)
        goto fn_exit;
    numbers =
        skip_numbers(numbers, &length, processes_before(proxy) * atoi(booked + variables + 1));
    char *value = MPL_malloc(head + length + 2, MPL_MEM_PM);
    HYDU_ERR_CHKANDJUMP(status, !value, HYD_NO_MEM, "no memory for the arguments of a proxy\n");
    MPL_snprintf(value, head + length + 2, "%.*s:%.*s", (int) head, booked, (int) length, numbers);
    HYD_STRING_STASH(*stash, MPL_strdup("--adapt-gpus"), status);
    HYD_STRING_STASH(*stash, value, status);

  fn_exit:
    MPL_free(booked);
    return status;

  fn_fail:
    goto fn_exit;
}
