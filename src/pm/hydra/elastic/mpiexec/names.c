/* See names.h.  State: the queries without a reply, and the names to withdraw, in order; the first
 * one is under way. */

#include "state.h"
#include "exits.h"
#include "names.h"
#include "socket.h"
#include "core.h"
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "demux.h"
#include "hydra_server.h"
#include "pmiserv_pmi.h"

#define SOCKET_VARIABLE "ELASTICD_SOCKET"
#define JOB_VARIABLE "ELASTIC_JOB_ID"
#define AGAIN_MS 100
#define LIMIT_MS 30000
#define LAST_MS 2000            /* for all withdrawals at the end */
#define NAME_MAX_BYTES 640      /* as in elasticd */
#define PORT_MAX_BYTES 512      /* the same */
#define TEXT_MAX 8192           /* of a query, and of a reply */

struct question {
    int fd, pid;                /* the process that queries */
    int group, proxy;
    HYD_name_reply reply;       /* NULL: no process waits, because this is a withdrawal */
    enum HYD_name_call call;
    char *name, *port;
    int64_t until_ms;
    struct question *next;
};

static struct question *first = NULL, **last = &first;
static int connection = -1;
static int64_t again_ms = -1;
static char out[TEXT_MAX], in[TEXT_MAX];
static size_t out_bytes, out_done, in_bytes;

static HYD_status answer_cb(int fd, HYD_event_t events, void *userp);
static void query_next(void);

/* ---- messages -------------------------------------------------------------------------------- */

/* Encodes characters that are not plain as %XX.  Returns whether it fits. */
static int encode(const char *text, int (*is_plain) (unsigned char), char *encoded, size_t bytes)
{
    size_t used = 0;

    for (; *text; text++) {
        unsigned char c = (unsigned char) *text;
        if (used + 4 > bytes)
            return 0;
        used +=
            (size_t) MPL_snprintf(encoded + used, bytes - used, is_plain(c) ? "%c" : "%%%02X", c);
    }
    encoded[used] = '\0';
    return used > 0;
}

static int is_printable(unsigned char c)
{
    return c > ' ' && c <= '~';
}

static int is_plain_in_paths(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
        c == '_';
}

/* As a text of JSON, without its quotes. */
static int quote(const char *text, char *quoted, size_t bytes)
{
    size_t used = 0;

    for (; *text; text++) {
        if (used + 3 > bytes || !is_printable((unsigned char) *text))
            return 0;
        if (*text == '"' || *text == '\\')
            quoted[used++] = '\\';
        quoted[used++] = *text;
    }
    quoted[used] = '\0';
    return 1;
}

static int write_question(const struct question *q)
{
    static const char *const methods[] = {"PUT", "GET", "DELETE"};
    char name[NAME_MAX_BYTES + 1], path[3 * NAME_MAX_BYTES + 1], port[1024], body[1200] = "";
    const char *job;

    if (!encode(q->name, is_printable, name, sizeof(name)) ||
        !encode(name, is_plain_in_paths, path, sizeof(path)))
        return 0;
    if (q->call == HYD_NAME_PUBLISH) {
        if (!quote(q->port, port, sizeof(port)) || !MPL_env2str(JOB_VARIABLE, &job) ||
            atoll(job) <= 0)
            return 0;
        MPL_snprintf(body, sizeof(body), "{\"job\":%lld,\"port\":\"%s\",\"with_caller\":true}",
                     atoll(job), port);
    }
    out_bytes =
        (size_t) MPL_snprintf(out, sizeof(out), "%s /v1/names/%s HTTP/1.1\r\nHost: localhost\r\n"
                              "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                              methods[q->call], path, strlen(body), body);
    return out_bytes < sizeof(out);
}

/* ---- who is answered ------------------------------------------------------------------------- */

/* The process that sent the query may have ended since. */
static void reply(const struct question *q, const char *line)
{
    struct HYD_proxy *proxy = HYD_pmcd_pmi_find_proxy(q->fd);

    if (!proxy || proxy->pg->pgid != q->group || proxy->proxy_id != q->proxy)
        return;
    HYD_step_pmi_begin();
    if (HYD_step_pmi_end(proxy, q->reply(q->fd, q->pid, line)) != HYD_SUCCESS)
        HYDU_error_printf("unable to send a process the result of its name query\n");
}

/* `found`: the port of the name; NULL: the query was refused, or there is no such name. */
static void answer(const struct question *q, int is_done, const char *found)
{
    char line[TEXT_MAX];
    int success = 0;

    if (!q->reply)
        return;
    if (q->call == HYD_NAME_LOOKUP && found) {
        MPL_snprintf(line, sizeof(line), "cmd=lookup_result port=%s info=ok rc=0 msg=success\n",
                     found);
    } else if (q->call == HYD_NAME_LOOKUP) {
        MPL_snprintf(line, sizeof(line), "cmd=lookup_result rc=1 msg=service_not_found\n");
    } else {
        int noted = is_done &&
            (q->call == HYD_NAME_PUBLISH ? HYD_pmcd_pmi_publish(q->name, q->port, &success) :
             HYD_pmcd_pmi_unpublish(q->name, &success)) == HYD_SUCCESS && success;
        MPL_snprintf(line, sizeof(line), "cmd=%s_result info=ok rc=%d msg=%s\n",
                     q->call == HYD_NAME_PUBLISH ? "publish" : "unpublish", noted ? 0 : 1,
                     noted ? "success" : q->call == HYD_NAME_PUBLISH ? "key_already_present"
                         : "service_not_found");
    }
    reply(q, line);
}

static void free_first(void)
{
    struct question *q = first;

    first = q->next;
    if (!first)
        last = &first;
    MPL_free(q->name);
    MPL_free(q->port);
    MPL_free(q);
}

static void end_first(int is_done, const char *found)
{
    answer(first, is_done, found);
    free_first();
}

/* ---- the connection -------------------------------------------------------------------------- */

static void close_connection(void)
{
    if (connection < 0)
        return;
    if (HYDT_dmx_query_fd_registration(connection))
        HYDT_dmx_deregister_fd(connection);
    close(connection);
    connection = -1;
}

static void try_later(void)
{
    char text[NAME_MAX_BYTES + 128];

    close_connection();
    if (HYD_step_now_ms() < first->until_ms) {
        again_ms = HYD_step_now_ms() + AGAIN_MS;
        return;
    }
    MPL_snprintf(text, sizeof(text),
                 "mpiexec: elasticd has not replied for %d s: the name %.*s %s", LIMIT_MS / 1000,
                 NAME_MAX_BYTES, first->name,
                 first->
                 reply ? "is neither found nor changed" : "stays registered until mpiexec ends");
    HYD_step_print_message(text);
    end_first(0, NULL);
}

/* Whether the text can be a value of PMI. */
static int is_port(const char *text)
{
    size_t n = 0;

    while (n <= PORT_MAX_BYTES && is_printable((unsigned char) text[n]))
        n++;
    return n > 0 && n <= PORT_MAX_BYTES && !text[n];
}

/* The answer is complete. */
static void take_answer(void)
{
    static const char busy[][4] = { "429", "503" };
    const int is_http = in_bytes > 12 && !strncmp(in, "HTTP/1.", 7), is_done = is_http &&
        !strncmp(in + 9, "200", 3);
    char *body;

    in[in_bytes] = '\0';
    body = strstr(in, "\r\n\r\n");
    /* elasticd may end while it replies: a complete port ends with a newline */
    const int is_cut = !body || (is_done && first->call == HYD_NAME_LOOKUP &&
                                 !strchr(body + 4, '\n'));
    if (!is_http || is_cut || !strncmp(in + 9, busy[0], 3) || !strncmp(in + 9, busy[1], 3)) {
        try_later();
        return;
    }
    close_connection();
    /* a name that elasticd has dropped counts as withdrawn */
    const int is_unknown = first->call == HYD_NAME_UNPUBLISH && !strncmp(in + 9, "404", 3);
    body += 4;
    body[strcspn(body, "\r\n")] = '\0';
    end_first(is_done || is_unknown, is_done && is_port(body) ? body : NULL);
}

static void send_more(void)
{
    while (out_done < out_bytes) {
        ssize_t n =
            send(connection, out + out_done, out_bytes - out_done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;              /* a later read reports the error */
        out_done += (size_t) n;
    }
}

static HYD_status watch(void)
{
    HYD_event_t events = out_done < out_bytes ? HYD_POLLIN | HYD_POLLOUT : HYD_POLLIN;

    return HYDT_dmx_register_fd(1, &connection, events, NULL, answer_cb);
}

static HYD_status answer_cb(int fd, HYD_event_t events, void *userp)
{
    HYD_status status = HYD_SUCCESS;
    ssize_t n;

    if ((events & HYD_POLLOUT) && out_done < out_bytes) {
        send_more();
        if (out_done == out_bytes) {
            HYDT_dmx_deregister_fd(connection);
            status = watch();
            HYDU_ERR_POP(status, "unable to wait for elasticd\n");
        }
    }
    n = recv(connection, in + in_bytes, sizeof(in) - 1 - in_bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        goto fn_exit;
    if (n > 0) {
        in_bytes += (size_t) n;
        if (in_bytes < sizeof(in) - 1)
            goto fn_exit;
    }
    if (n < 0)
        try_later();
    else
        take_answer();
    query_next();

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

/* Connects to elasticd and sends the query.  Returns whether elasticd runs. */
static int open_connection(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX };
    const char *path;

    if (!MPL_env2str(SOCKET_VARIABLE, &path) || strlen(path) >= sizeof(address.sun_path))
        return 0;
    MPL_strncpy(address.sun_path, path, sizeof(address.sun_path));
    connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connection < 0)
        return 0;
    out_done = in_bytes = 0;
    if (connect(connection, (struct sockaddr *) &address, sizeof(address)) != 0)
        return 0;
    send_more();
    return 1;
}

/* Sends the first query, unless it is under way or waits for a retry. */
static void query_next(void)
{
    while (first && connection < 0 && again_ms < 0) {
        char *known = NULL;
        if (first->call == HYD_NAME_PUBLISH)
            HYD_pmcd_pmi_lookup(first->name, &known);
        if (known || !write_question(first))
            end_first(0, NULL);
        else if (!open_connection() || watch() != HYD_SUCCESS)
            try_later();
        MPL_free(known);
    }
}

/* ---- commands -------------------------------------------------------------------------------- */

static int has_elasticd(void)
{
    const char *path;

    return HYD_step_managed() && MPL_env2str(SOCKET_VARIABLE, &path) && !HYD_server_info.nameserver;
}

/* Returns whether there was memory. */
static int append(struct question received, const char *name, const char *port)
{
    struct question *q = MPL_malloc(sizeof(*q), MPL_MEM_PM);

    if (!q)
        return 0;
    *q = received;
    q->name = MPL_strdup(name);
    q->port = port ? MPL_strdup(port) : NULL;
    *last = q;
    last = &q->next;
    query_next();
    return 1;
}

/* Whether this mpiexec has registered the name. */
static int is_registered(const char *name)
{
    char *port = NULL;
    int is_known = HYD_pmcd_pmi_lookup((char *) name, &port) == HYD_SUCCESS && port;

    MPL_free(port);
    return is_known;
}

/* A process that sends a query before the last reply violates PMI; its queries would accumulate
 * without bound. */
static int is_asking(int fd, int pid)
{
    const struct question *q = first;

    while (q && (q->fd != fd || q->pid != pid))
        q = q->next;
    return q != NULL;
}

int HYD_names_take(int fd, int pid, HYD_name_reply reply_by, enum HYD_name_call call,
                   const char *name, const char *port)
{
    const struct HYD_proxy *proxy = HYD_pmcd_pmi_find_proxy(fd);

    if (!has_elasticd() || !proxy || is_registered(name) == (call != HYD_NAME_UNPUBLISH))
        return 0;
    struct question received = {.fd = fd,.pid = pid,.group = proxy->pg->pgid,
                                .proxy = proxy->proxy_id,.reply = reply_by,
        .call = call,.until_ms = HYD_step_now_ms() + LIMIT_MS
    };
    if (is_asking(fd, pid)) {
        answer(&received, 0, NULL);
        return 1;
    }
    return append(received, name, port);
}

static const char *argument(char *args[], const char *key)
{
    const size_t bytes = strlen(key);

    while (*args && strncmp(*args, key, bytes))
        args++;
    return *args ? *args + bytes : NULL;
}

/* Later queries are sent after it, so that elasticd gets them in order. */
HYD_status HYD_names_withdraw(int fd, int pid, int pgid, char *args[])
{
    const char *name = argument(args, "service="), *port = argument(args, "port=");
    char *known = NULL;
    int success = 0;

    if (name)
        HYD_pmcd_pmi_lookup((char *) name, &known);
    if (known && (!port || !strcmp(port, known)))
        HYD_pmcd_pmi_unpublish((char *) name, &success);
    MPL_free(known);
    if (success && has_elasticd())
        append((struct question) {.call = HYD_NAME_UNPUBLISH,
                                  .until_ms = HYD_step_now_ms() + LIMIT_MS}, name, NULL);
    return HYD_SUCCESS;
}

int64_t HYD_names_next(void)
{
    if (connection >= 0 && first)
        return first->until_ms;
    return again_ms;
}

void HYD_names_time(int64_t now_ms)
{
    if (connection >= 0 && first && first->until_ms <= now_ms)
        try_later();            /* elasticd does not reply: retry later */
    if (again_ms >= 0 && again_ms <= now_ms)
        again_ms = -1;
    query_next();
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Waits for the reply of elasticd until this time.  Returns whether it has arrived. */
static int query_until(int64_t until_ms)
{
    ssize_t n = -1;

    while (n != 0) {
        struct pollfd there = {.fd = connection,
                               .events = out_done < out_bytes ? POLLIN | POLLOUT : POLLIN };
        int64_t left_ms = until_ms - HYD_step_now_ms();
        if (left_ms <= 0 || (poll(&there, 1, (int) left_ms) < 0 && errno != EINTR))
            return 0;
        send_more();
        n = recv(connection, in, sizeof(in), MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return 0;
    }
    return 1;
}

static int withdraw_until(const char *name, int64_t until_ms)
{
    const struct question q = {.call = HYD_NAME_UNPUBLISH,.name = (char *) name };
    int is_there = !write_question(&q) || (open_connection() && query_until(until_ms));

    close_connection();
    return is_there;
}

static void print_remaining(const char *name, int names)
{
    char text[NAME_MAX_BYTES + 128], more[32] = "";

    if (names > 1)
        MPL_snprintf(more, sizeof(more), " and %d more", names - 1);
    MPL_snprintf(text, sizeof(text),
                 "mpiexec: elasticd does not reply: the name %.*s%s stays registered",
                 NAME_MAX_BYTES, name, more);
    HYD_step_print_message(text);
}

/* The servers have ended; the job may continue with another mpiexec (DN2).  This function may wait,
 * because no other work is left. elasticd drops remaining names with the job. */
void HYD_names_end(void)
{
    const int64_t until_ms = HYD_step_now_ms() + LAST_MS;
    int is_there = has_elasticd(), n_remaining = 0;
    char *remaining = NULL;

    close_connection();
    for (; first; free_first()) {
        if (first->reply)
            continue;
        is_there = is_there && withdraw_until(first->name, until_ms);
        if (!is_there && n_remaining++ == 0)
            remaining = MPL_strdup(first->name);
    }
    for (struct HYD_pmcd_pmi_publish * p = HYD_pmcd_pmi_publish_list; is_there && p; p = p->next)
        is_there = withdraw_until(p->name, until_ms);
    if (remaining)
        print_remaining(remaining, n_remaining);
    MPL_free(remaining);
}
