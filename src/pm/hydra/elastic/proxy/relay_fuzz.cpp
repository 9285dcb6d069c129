/*
 * libFuzzer: a proxy in the tree of proxies (connection.c, relay.c, upward.c) whose parents,
 * children and mpiexec send arbitrary bytes, connect and disconnect.  Each step is two bytes and
 * their data: the sender, and how many bytes of the input it sends.  Sockets are pairs of which the
 * fuzzer has the other end.  In the end all connections are closed: what is left then, a leak
 * checker finds, and each relay of mpiexec that was taken must have been answered once.
 */

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

extern "C" {
#include "fake/hydra.h"
#include "fake/demux.h"
#include "wire/accept.h"
#include "connection.h"
#include "relay.h"
#include "upward.h"
#include "wire/keepalive.h"
}

namespace {

constexpr size_t ENDS_MAX = 8;

using Callback = HYD_status (*)(int, HYD_event_t, void *);
struct Registered {
    HYD_event_t events;
    Callback callback;
};
std::map<int, Registered> registered;
std::vector<int> parents, children; /* our ends */
std::map<int, uint32_t> relayed;     /* by child: the last relay that it received */
int listening = -1, relays = 0;
const char KEY[HYD_RELAY_KEY_BYTES + 1] = "0123456789abcdef";

int other_end(std::vector<int> &ends)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        abort();
    ends.push_back(pair[1]);
    return pair[0];
}

void run_events()
{
    for (int rounds = 0; rounds < 64; rounds++) {
        bool any = false;
        for (auto [fd, entry] : std::map(registered)) {
            pollfd p = {fd, static_cast<short>(((entry.events & HYD_POLLIN) ? POLLIN : 0) |
                                               ((entry.events & HYD_POLLOUT) ? POLLOUT : 0)), 0};
            if (fd == listening || !registered.contains(fd) || poll(&p, 1, 0) <= 0)
                continue;
            any = true;
            if (entry.callback(fd, entry.events, nullptr) != HYD_SUCCESS)
                abort();
        }
        for (int end : children) {
            char got[4096];
            ssize_t n;
            while ((n = recv(end, got, sizeof(got), MSG_DONTWAIT)) > 0) {
                size_t begin = static_cast<size_t>(n) > HYD_RELAY_KEY_BYTES &&
                                       !memcmp(got, KEY, HYD_RELAY_KEY_BYTES)
                                   ? HYD_RELAY_KEY_BYTES
                                   : 0;
                if (n - begin >= sizeof(uint32_t))
                    memcpy(&relayed[end], got + begin, sizeof(uint32_t));
                any = true;
            }
        }
        if (!any)
            return;
    }
}

/* A valid relay for a few proxies; the rest of the input is its payload. */
std::vector<char> make_relay(const char *text, size_t bytes)
{
    auto number = [&](size_t i) { return i < bytes ? static_cast<unsigned char>(text[i]) : 0u; };
    HYD_relay_head head = {number(0), number(1),         1, number(2) % 12 + 1,
                           bytes,     number(3) % 4 + 2, 0};
    std::vector<char> relay(HYD_relay_bytes(&head));
    memcpy(relay.data(), &head, sizeof(head));
    for (uint32_t i = 0; i < head.targets; i++) {
        HYD_relay_target target = {i, number(4), number(5) % 3, static_cast<uint16_t>(i % 4), 0};
        memcpy(relay.data() + sizeof(head) + i * sizeof(target), &target, sizeof(target));
    }
    memcpy(relay.data() + relay.size() - bytes, text, bytes);
    return relay;
}

/* Valid reports of a few proxies; the rest of the input is the payload of the last one. */
std::vector<char> make_reports(const char *text, size_t bytes)
{
    const uint32_t kinds[] = {REPORT_PREPARED, REPORT_COMMITTED, REPORT_PERFORMANCE, REPORT_LOOPS};
    size_t n = bytes > 0 ? static_cast<unsigned char>(text[0]) % 4 + 1u : 1;
    std::vector<char> message(sizeof(HYD_relay_reports));
    for (size_t i = 0; i < n; i++) {
        bool last = i == n - 1;
        uint32_t kind = kinds[bytes > 1 ? (static_cast<unsigned char>(text[1]) + i) % 4 : 0];
        HYD_relay_entry entry = {{0, static_cast<uint32_t>(i)}, {kind, 1, last ? bytes : 0, 1, 0}};
        size_t at = message.size();
        message.resize(at + HYD_relay_entry_bytes(&entry));
        memcpy(message.data() + at, &entry, sizeof(entry));
        if (last)
            memcpy(message.data() + at + sizeof(entry), text, bytes);
    }
    HYD_relay_reports head = {0, 0, message.size() - sizeof(head)};
    memcpy(message.data(), &head, sizeof(head));
    return message;
}

void take_from_mpiexec(const char *relay, size_t bytes)
{
    relays++;
    if (HYD_relay_from_mpiexec(relay, bytes) != HYD_SUCCESS)
        relays--;               /* refused */
}

void close_all(std::vector<int> &ends)
{
    for (int end : ends)
        close(end);
    ends.clear();
}

}  // namespace

extern "C" {

HYD_status HYDU_sock_listen(int *fd, char *, uint16_t *port)
{
    *fd = listening = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *port = 4711;
    return HYD_SUCCESS;
}
HYD_status HYDU_sock_cloexec(int) { return HYD_SUCCESS; }
HYD_status HYDT_dmx_register_fd(int, int *fd, HYD_event_t events, void *, Callback callback)
{
    registered[*fd] = {events, callback};
    return HYD_SUCCESS;
}
HYD_status HYDT_dmx_deregister_fd(int fd)
{
    if (registered.erase(fd) != 1)
        abort();
    return HYD_SUCCESS;
}
HYD_status HYD_relay_deliver(const HYD_adapt_message *message, const char *payload,
                             HYD_relay_frozen *frozen)
{
    frozen->sequence = message->sequence % 2;
    frozen->ceiling = message->bytes;
    /* reads every byte, for the sanitizer */
    return std::count(payload, payload + message->bytes, 'x') >= 0 ? HYD_SUCCESS
                                                                   : HYD_INTERNAL_ERROR;
}
HYD_status HYD_relay_report(const void *answer, size_t bytes)
{
    HYD_relay_answer head;
    memcpy(&head, answer, sizeof(head));
    if (bytes != HYD_relay_answer_bytes(&head) || --relays < 0)
        abort();
    return HYD_SUCCESS;
}

HYD_relay_origin HYD_upward_origin(void) { return {0, 0}; }
HYD_status HYD_upward_to_mpiexec(uint32_t kind, uint32_t, uint32_t, const void *payload,
                                 size_t bytes)
{
    const char *text = static_cast<const char *>(payload);
    return bytes == 0 || kind == 0 || std::count(text, text + bytes, 'x') >= 0 ? HYD_SUCCESS
        : HYD_INTERNAL_ERROR;
}

/* Replace the system calls (linked with --wrap). */
int __wrap_socket(int, int, int)
{
    return children.size() < ENDS_MAX ? other_end(children) : -1;
}
int __wrap_connect(int, const sockaddr *, socklen_t) { return 0; }
int HYD_accept(int, const char *) { return parents.size() < ENDS_MAX ? other_end(parents) : -1; }
void HYD_keepalive_watch(int) {}
void HYD_keepalive_remove(int) {}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint16_t port;

    if (listening < 0) {
        char payload[HYD_RELAY_KEY_BYTES + 1] = {};
        memcpy(payload, KEY, HYD_RELAY_KEY_BYTES);
        if (HYD_connection_listen(payload, sizeof(payload), &port) != HYD_SUCCESS)
            abort();
    }
    while (size >= 2) {
        unsigned who = data[0] % 26;
        size_t bytes = std::min<size_t>(data[1], size - 2);
        const char *text = reinterpret_cast<const char *>(data) + 2;
        data += 2 + bytes;
        size -= 2 + bytes;
        std::vector<int> &ends = who < 8 ? parents : children;
        if (who == 16) {
            registered[listening].callback(listening, HYD_POLLIN, nullptr);
            if (bytes > 0 && !parents.empty())      /* a parent that has the key */
                send(parents.back(), KEY, HYD_RELAY_KEY_BYTES, MSG_NOSIGNAL);
        } else if (who == 17) {
            take_from_mpiexec(text, bytes);
        } else if (who == 23) {
            std::vector<char> relay = make_relay(text, bytes);
            if (bytes % 2 || parents.empty())
                take_from_mpiexec(relay.data(), relay.size());
            else
                send(parents.back(), relay.data(), relay.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        } else if (who == 22 && bytes > 0 && !children.empty()) {      /* a valid reply */
            int child = children[static_cast<unsigned char>(text[0]) % children.size()];
            unsigned counts = static_cast<unsigned char>(text[bytes - 1]);
            HYD_relay_answer answer = {relayed[child], counts % 3, counts / 3 % 3, 0};
            std::vector<char> body(HYD_relay_answer_bytes(&answer));
            memcpy(body.data(), &answer, sizeof(answer));
            send(child, body.data(), body.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        } else if (who == 24 && !children.empty()) {
            std::vector<char> message = make_reports(text, bytes);
            send(children[bytes % children.size()], message.data(), message.size(),
                 MSG_NOSIGNAL | MSG_DONTWAIT);
        } else if (who == 25) {
            HYD_upward_report(bytes % 2 ? REPORT_PREPARED : REPORT_COMMITTED, 1, nullptr, 0);
            if (bytes % 8 == 0)
                HYD_upward_repeat_all();
            HYD_upward_due();
        } else if (who >= 18) {
            std::vector<int> &some = who < 21 ? parents : children;
            if (who % 3 < some.size()) {
                close(some[who % 3]);
                some.erase(some.begin() + who % 3);
            }
        } else if (who % 8 < ends.size()) {
            send(ends[who % 8], text, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        run_events();
    }
    close_all(parents);
    close_all(children);
    run_events();
    HYD_upward_repeat_all();
    HYD_upward_complete();
    if (registered.size() != 1 || relays != 0)
        abort();
    return 0;
}

}
