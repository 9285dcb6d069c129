/*
 * libFuzzer: processes that publish, query and withdraw names (names.c), and an elasticd that sends
 * arbitrary answers, in pieces, late or not at all.  Each line of the input is a step; its first
 * character states the action, the rest of it is text.
 *   p, l, u   process 0 publishes, queries, withdraws that name       P, L, U   process 1
 *   w         a process withdraws it and does not wait for a reply
 *   W         and only if it has this value
 *   s         elasticd sends the text and an end of line
 *   S         and this without an end
 *   c         it closes the connection
 *   d         it stops, or runs again
 *   t         as many milliseconds pass as the number in the text is
 *   e         process 1 ends, or another begins
 * Each query of a process that runs is answered once, at the latest when all limits have passed;
 * each answer is a line of PMI, and a queried name has the complete value that elasticd sent.
 */

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

extern "C" {
#include "hydra.h"
#include "hydra_server.h"
#include "demux.h"
#include "pmiserv_pmi.h"
#include "mpiexec/names.h"
int64_t HYD_step_now_ms(void);
int HYD_step_managed(void);
void HYD_step_print_message(const char *text);
void HYD_step_pmi_begin(void);
HYD_status HYD_step_pmi_end(const struct HYD_proxy *proxy, HYD_status status);
struct HYD_server_info HYD_server_info;
struct HYD_pmcd_pmi_publish *HYD_pmcd_pmi_publish_list;
int __wrap_socket(int, int, int);
int __wrap_connect(int, const sockaddr *, socklen_t);
}

namespace {

constexpr int PROCESSES = 2, FD = 100, PID = 7, LIMIT_MS = 30000;
constexpr size_t PORT_MAX = 512;

using Callback = HYD_status (*)(int, HYD_event_t, void *);
Callback callback;                      /* of the one connection to elasticd */
int watched, elasticd;                  /* our end and that of elasticd, or -1 */
HYD_event_t events;
bool elasticd_is_there;
int64_t now_ms;
std::string received;                   /* on this connection */
HYD_pg group;
HYD_proxy proxies[PROCESSES];
bool is_there[PROCESSES];
int queried[PROCESSES];                   /* queries without a reply */
std::map<std::string, struct HYD_pmcd_pmi_publish> names;

void require(bool holds)
{
    if (!holds)
        abort();
}

void close_elasticd()
{
    if (elasticd >= 0)
        close(elasticd);
    elasticd = -1;
}

void relist()
{
    HYD_pmcd_pmi_publish_list = nullptr;
    for (auto &[name, entry] : names) {
        entry.next = HYD_pmcd_pmi_publish_list;
        HYD_pmcd_pmi_publish_list = &entry;
    }
}

void remove_name(const std::string &name)
{
    auto found = names.find(name);
    free(found->second.name);
    free(found->second.port);
    names.erase(found);
    relist();
}

HYD_status reply(int fd, int pid, const char *line)
{
    static const char FOUND[] = "cmd=lookup_result port=";
    int process = fd - FD;
    require(process >= 0 && process < PROCESSES && pid == PID && is_there[process] &&
            queried[process]-- == 1);
    require(!strncmp(line, "cmd=", 4) && strchr(line, '\n') == line + strlen(line) - 1);
    if (!strncmp(line, FOUND, strlen(FOUND))) {
        std::string port(line + strlen(FOUND));
        port.erase(std::min(port.find(' '), port.size()));
        require(!port.empty() && port.size() <= PORT_MAX &&
                received.find("\r\n\r\n" + port) != std::string::npos);
        size_t after = received.find("\r\n\r\n") + 4 + port.size();
        require(received[after] == '\n' || received[after] == '\r');
    }
    return HYD_SUCCESS;
}

void run_events()
{
    for (int rounds = 0; rounds < 1000; rounds++) {
        pollfd p = {watched, static_cast<short>(POLLIN | (events & HYD_POLLOUT ? POLLOUT : 0)), 0};
        char queried_of_it[8192];
        while (elasticd >= 0 &&
               recv(elasticd, queried_of_it, sizeof queried_of_it, MSG_DONTWAIT) > 0) {}
        int64_t next = HYD_names_next();
        if (next >= 0 && next <= now_ms)
            HYD_names_time(now_ms);
        else if (watched < 0 || poll(&p, 1, 0) <= 0)
            return;
        else
            require(callback(watched, HYD_POLLIN | (p.revents & POLLOUT ? HYD_POLLOUT : 0),
                             nullptr) == HYD_SUCCESS);
    }
    abort();
}

void pass(int64_t ms)
{
    now_ms += ms;
    run_events();
}

void query(int process, HYD_name_call call, const std::string &name)
{
    if (!is_there[process] || queried[process] > 0)
        return;
    queried[process]++;
    if (!HYD_names_take(FD + process, PID, reply, call, name.c_str(),
                        call == HYD_NAME_PUBLISH ? "port\"1\\" : nullptr))
        queried[process]--;
}

/* Later queries do not find the name. */
void withdraw(std::string text, bool by_value)
{
    std::string name = "service=" + text, port = "port=" + text;
    char *args[] = {name.data(), by_value ? port.data() : nullptr, nullptr};
    require(HYD_names_withdraw(FD, PID, 0, args) == HYD_SUCCESS);
    require(by_value || !names.contains(text.c_str()));
}

}  // namespace

extern "C" {

int64_t HYD_step_now_ms(void) { return now_ms; }
int HYD_step_managed(void) { return 1; }
void HYD_step_print_message(const char *) {}
void HYD_step_pmi_begin(void) {}
HYD_status HYD_step_pmi_end(const struct HYD_proxy *, HYD_status status) { return status; }
int MPL_env2str(const char *name, const char **value)
{
    *value = !strcmp(name, "ELASTIC_JOB_ID") ? "3" : "/run/elasticd.sock";
    return 1;
}
struct HYD_proxy *HYD_pmcd_pmi_find_proxy(int fd)
{
    return is_there[fd - FD] ? &proxies[fd - FD] : nullptr;
}
HYD_status HYD_pmcd_pmi_publish(char *name, char *port, int *success)
{
    *success = !names.contains(name);
    if (*success)
        names[name] = {strdup(name), strdup(port), nullptr};
    relist();
    return HYD_SUCCESS;
}
HYD_status HYD_pmcd_pmi_unpublish(char *name, int *success)
{
    *success = names.contains(name);
    if (*success)
        remove_name(name);
    return HYD_SUCCESS;
}
HYD_status HYD_pmcd_pmi_lookup(char *name, char **value)
{
    auto found = names.find(name);
    *value = found == names.end() ? nullptr : strdup(found->second.port);
    return HYD_SUCCESS;
}
HYD_status HYDT_dmx_register_fd(int, int *fd, HYD_event_t wanted, void *, Callback called)
{
    require(watched < 0);
    watched = *fd;
    events = wanted;
    callback = called;
    return HYD_SUCCESS;
}
HYD_status HYDT_dmx_deregister_fd(int fd)
{
    require(watched == fd);
    watched = -1;
    return HYD_SUCCESS;
}
int HYDT_dmx_query_fd_registration(int fd) { return watched == fd; }

/* Replace the system calls (linked with --wrap). */
int __wrap_socket(int, int, int)
{
    int pair[2];
    close_elasticd();
    received.clear();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        abort();
    elasticd = pair[1];
    return pair[0];
}
int __wrap_connect(int, const sockaddr *, socklen_t) { return elasticd_is_there ? 0 : -1; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const std::map<char, HYD_name_call> CALLS = {
        {'p', HYD_NAME_PUBLISH}, {'l', HYD_NAME_LOOKUP}, {'u', HYD_NAME_UNPUBLISH}};
    watched = elasticd = -1;
    elasticd_is_there = true;
    for (int i = 0; i < PROCESSES; i++) {
        proxies[i] = {&group, i};
        is_there[i] = true;
        queried[i] = 0;
    }
    while (size > 0) {
        const uint8_t *end = std::find(data, data + size, '\n');
        const char what = static_cast<char>(data[0]);
        const std::string text(end == data ? data : data + 1, end);
        const size_t used = std::min<size_t>(size, static_cast<size_t>(end - data) + 1);
        const int process = what >= 'A' && what <= 'Z' ? 1 : 0;
        data += used;
        size -= used;
        if (what == 'w' || what == 'W') {
            withdraw(text, what == 'W');
        } else if (auto call = CALLS.find(static_cast<char>(what | 0x20)); call != CALLS.end()) {
            query(process, call->second, text.c_str());
        } else if ((what == 's' || what == 'S') && elasticd >= 0) {
            std::string more = text + (what == 's' ? "\r\n" : "");
            ssize_t n = send(elasticd, more.data(), more.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            received.append(more, 0, static_cast<size_t>(std::max<ssize_t>(n, 0)));
        } else if (what == 'c') {
            close_elasticd();
        } else if (what == 'd') {
            elasticd_is_there = !elasticd_is_there;
        } else if (what == 't') {
            /* time never goes back */
            pass(static_cast<int64_t>(strtoul(text.c_str(), nullptr, 10) % LIMIT_MS));
        } else if (what == 'e') {
            is_there[1] = !is_there[1];
            proxies[1].proxy_id++;
            queried[1] = 0;
        }
        run_events();
    }
    elasticd_is_there = false;
    close_elasticd();
    for (int64_t until = now_ms + LIMIT_MS; now_ms <= until;)
        pass(1000);
    for (int i = 0; i < PROCESSES; i++)
        require(queried[i] == 0);
    HYD_names_end();
    require(watched < 0);
    close_elasticd();
    while (!names.empty())
        remove_name(names.begin()->first);
    return 0;
}

}
