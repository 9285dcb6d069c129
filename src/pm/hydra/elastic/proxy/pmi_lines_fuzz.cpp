/*
 * libFuzzer: two processes that send arbitrary bytes on their PMI connections, and read at any time
 * (pmi_line.c, pmi_commands.c, say.c, requests.c, sets.c, pmi_rest.c, answers.c), and a mpiexec
 * that answers their calls.  Each line of the input is a step: what is done, and what is sent.
 *   0, 8   process 0, process 1 sends this line
 *   3, ;   and this without its end                  4, <   and this 40 times
 *   5, =   it reads what it has been answered        7, ?   what it has sent is requested; all drop
 *   6TEXT  a call that waits is answered by as many bytes as the number in the text is; odd ones
 *          others may have, too
 * Checks: a report belongs to the process that sent it, and is within its bounds; each query gets
 * one reply, a complete line.
 */

#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

extern "C" {
#include "pmip.h"
#include "state.h"
#include "pmip_adapt.h"
#include "answers.h"
#include "committed.h"
#include "exits.h"
#include "output.h"
#include "pmi_rest.h"
#include "reports.h"
#include "sets.h"
#include "spawned.h"
#include "upward.h"
#include "demux.h"
#include "pmi_adapt_set.h"
#include "pmi_adapt_sizes.h"
#include "wire/event_loop.h"
#include "wire/kinds.h"
#include "wire/keepalive.h"

struct HYD_pmcd_pmip_s HYD_pmcd_pmip;
struct HYD_proxy_state HYD_proxy_state;
}

namespace {

constexpr int PROCESSES = 2, FIRST_RANK = 3, FIRST_UID = 5;
constexpr int OFTEN = 40, TAKEN_BYTES = 4096;    /* more replies than a connection accepts */
constexpr size_t ANSWER_MAX = 20000;
constexpr size_t UP_MAX = sizeof(uint64_t) + PMI_SET_CALL_MAX;

using Callback = HYD_status (*)(int, HYD_event_t, void *);
struct Registered {
    HYD_event_t events;
    Callback callback;
};
std::map<int, Registered> registered;
int theirs[PROCESSES];                          /* the processes' ends of the connections */
std::string received[PROCESSES];                   /* the read part of the replies */
size_t queried[PROCESSES];
constexpr int NOBODY = -1;
int speaking;                                   /* the process whose line is being executed */
std::deque<std::pair<uint32_t, uint32_t>> calls;      /* that mpiexec may answer: uid and number */

void require(bool holds)
{
    if (!holds)
        abort();
}

using Handler = HYD_status (*)(int, char *[]);
const std::map<std::string, Handler> HANDLERS = {
    {"adapt_init", HYD_pmcd_pmip_adapt_fn_init},
    {"adapt_ready", HYD_pmcd_pmip_adapt_fn_ready},
    {"adapt_prepared", HYD_pmcd_pmip_adapt_fn_prepared},
    {"adapt_greeted", HYD_pmcd_pmip_adapt_fn_greeted},
    {"adapt_unable", HYD_pmcd_pmip_adapt_fn_unable},
    {"adapt_committed", HYD_pmcd_pmip_adapt_fn_committed},
    {"adapt_sizes", HYD_pmcd_pmip_adapt_fn_sizes},
    {"adapt_unreceived", HYD_pmcd_pmip_adapt_fn_unreceived},
    {"adapt_wish", HYD_pmcd_pmip_adapt_fn_request},
    {"adapt_wish_withdraw", HYD_pmcd_pmip_adapt_fn_request_withdraw},
    {"adapt_set_call", HYD_pmcd_pmip_adapt_fn_set_call},
    {"adapt_set_fetch", HYD_pmcd_pmip_adapt_fn_set_fetch},
};

/* As Hydra: words between blanks, until none is left. */
void carry_out(int fd, std::string line)
{
    std::vector<char *> words;
    for (char *word = strtok(line.data(), " "); word; word = strtok(nullptr, " "))
        words.push_back(word);
    words.push_back(nullptr);
    auto handler = HANDLERS.find(words[0] && strncmp(words[0], "cmd=", 4) == 0 ? words[0] + 4 : "");
    if (handler == HANDLERS.end())
        return;
    if (handler->first == "adapt_set_fetch")
        queried[speaking]++;
    require(handler->second(fd, words.data() + 1) == HYD_SUCCESS);
}

HYD_status pmi_cb(int fd, HYD_event_t, void *)
{
    return HYD_pmcd_pmip_adapt_read_pmi(fd);
}

void run_events()
{
    for (int rounds = 0; rounds < 4096; rounds++) {
        bool any = false;
        for (auto [fd, entry] : std::map(registered)) {
            pollfd p = {fd, static_cast<short>(entry.events & HYD_POLLIN ? POLLIN : POLLOUT), 0};
            if (poll(&p, 1, 0) <= 0)
                continue;
            any = true;
            require(entry.callback(fd, entry.events, nullptr) == HYD_SUCCESS);
        }
        if (!any)
            return;
    }
    abort();
}

/* Reads the replies of a process, and checks complete lines. */
bool receive(int process)
{
    char got[65536];
    ssize_t n = recv(theirs[process], got, sizeof got, MSG_DONTWAIT);
    if (n <= 0)
        return false;
    std::string &text = received[process];
    text.append(got, static_cast<size_t>(n));
    for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
        require(text.rfind("cmd=adapt_set_part bytes=", 0) == 0 && queried[process]-- > 0);
        require(end < 2 * PMI_SET_PART_MAX + 128);
    }
    return true;
}

void send_text(int process, const std::string &text)
{
    (void) !send(theirs[process], text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* mpiexec replies to a call with `bytes` bytes. */
void answer_call(size_t bytes)
{
    if (calls.empty())
        return;
    auto [uid, number] = calls.front();
    calls.pop_front();
    std::string payload;
    auto append = [&payload](uint32_t n) {
        payload.append(reinterpret_cast<const char *>(&n), sizeof n);
    };
    append(uid);
    append(number);
    if (bytes % 2) {
        for (uint32_t n : {1u, FIRST_UID + 0u, 2u, 1u, 7u, 1u})
            append(n);
    }
    payload += std::string(1 + bytes, 'x');
    speaking = NOBODY;
    require((bytes % 2 ? HYD_sets_shared : HYD_sets_answered)(payload.data(), payload.size()) ==
            HYD_SUCCESS);
}

void start()
{
    static int ranks[PROCESSES], fds[PROCESSES], active[PROCESSES];
    static HYD_proxy_process processes[PROCESSES];
    if (!HYD_proxy_state.processes) {
        HYD_pmcd_pmip.downstream = {ranks, fds, active};
        HYD_pmcd_pmip.local.proxy_process_count = PROCESSES;
        HYD_proxy_state.processes = processes;
        HYD_proxy_state.join.first_uid = FIRST_UID - FIRST_RANK;
        require(HYD_board_create(&HYD_proxy_state.board, "group", PROCESSES) == 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int pair[2];
        require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        require(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &TAKEN_BYTES, sizeof TAKEN_BYTES) == 0);
        ranks[i] = FIRST_RANK + i;
        fds[i] = pair[0];
        theirs[i] = pair[1];
        processes[i] = {};
        registered[pair[0]] = {HYD_POLLIN, pmi_cb};
        received[i].clear();
        queried[i] = 0;
    }
    calls.clear();
}

void end()
{
    for (bool any = true; any;) {
        run_events();
        any = false;
        for (int i = 0; i < PROCESSES; i++)
            any = receive(i) || any;
    }
    for (int i = 0; i < PROCESSES; i++) {
        require(queried[i] == 0 && received[i].empty());
        close(theirs[i]);
    }
    run_events();
    require(registered.empty());
    speaking = NOBODY;
    for (int i = 0; i < PROCESSES; i++)
        HYD_sets_ended(i);
}

/* A report to mpiexec.  It belongs to the process whose line is being executed; if there is none,
 * to one that waited for the reply to another. */
void sent_up(uint32_t kind, const void *payload, size_t bytes)
{
    uint32_t head[2] = {};
    require(bytes <= UP_MAX);
    memcpy(head, payload, std::min(bytes, sizeof head));
    if (kind == REPORT_COMES || kind == REPORT_STARTED || kind == REPORT_COMMITTED ||
        kind == REPORT_SET_SHARED || bytes < sizeof *head)
        return;
    const uint32_t process = head[0] - FIRST_RANK;
    require(speaking == NOBODY ? kind == REPORT_SET_CALL && process < PROCESSES
                               : process == static_cast<uint32_t>(speaking));
    if (kind == REPORT_SET_CALL && head[1] != 0) {
        std::pair<uint32_t, uint32_t> call(FIRST_UID + process, head[1]);
        require(std::find(calls.begin(), calls.end(), call) == calls.end());
        calls.push_back(call);
        require(calls.size() <= PROCESSES * PMI_SET_CALLS_MAX);
    }
}

}  // namespace

extern "C" {

/* As pmip_cb.c for a connection, without other commands. */
HYD_status HYD_pmcd_pmip_adapt_read_pmi(int fd)
{
    static char storage[HYD_TMPBUF_SIZE + 1], *rest = storage;
    static int length = 0;
    int process = HYD_proxy_process_of_fd(fd);
    HYD_pmi_rest_take(process, storage, &length);
    ssize_t n =
        recv(fd, storage + length, static_cast<size_t>(HYD_TMPBUF_SIZE - length), MSG_DONTWAIT);
    if (n == 0) {
        length = 0;
        require(HYDT_dmx_deregister_fd(fd) == HYD_SUCCESS && HYD_answers_close(fd) == HYD_SUCCESS);
        HYD_pmcd_pmip.downstream.pmi_fd[process] = HYD_FD_CLOSED;
        return HYD_SUCCESS;
    }
    length += static_cast<int>(std::max<ssize_t>(n, 0));
    speaking = process;
    while (char *end = static_cast<char *>(memchr(rest, '\n', static_cast<size_t>(length)))) {
        std::string line(rest, end);
        length -= static_cast<int>(end + 1 - rest);
        rest = end + 1;
        carry_out(fd, line.c_str());
        speaking = process;
    }
    if (length == HYD_TMPBUF_SIZE) {    /* this ends the job */
        length = 0;
        rest = storage;
    }
    require(HYD_pmi_rest_keep(process, storage, &rest, &length) == 1);
    return HYD_SUCCESS;
}

HYD_status HYDT_dmx_register_fd(int, int *fd, HYD_event_t events, void *, Callback callback)
{
    require(!registered.contains(*fd));
    registered[*fd] = {events, callback};
    return HYD_SUCCESS;
}
HYD_status HYDT_dmx_deregister_fd(int fd)
{
    require(registered.erase(fd) == 1);
    return HYD_SUCCESS;
}
HYD_status HYD_reports_send(uint32_t kind, uint32_t, uint32_t, const void *payload, size_t bytes)
{
    sent_up(kind, payload, bytes);
    return HYD_SUCCESS;
}
HYD_status HYD_reports_gather(uint32_t kind, uint32_t, const void *payload, size_t bytes)
{
    sent_up(kind, payload, bytes);
    return HYD_SUCCESS;
}
HYD_status HYD_reports_flush(void) { return HYD_SUCCESS; }
HYD_status HYD_upward_report(uint32_t, uint32_t, const void *, size_t) { return HYD_SUCCESS; }
HYD_status HYD_pmcd_pmip_adapt_channel(void) { return HYD_SUCCESS; }
void HYD_pmcd_pmip_adapt_hold_output(void) {}
void HYD_pmcd_pmip_adapt_count_output(void) {}
HYD_status HYD_exits_watch(void) { return HYD_SUCCESS; }
void HYD_exits_report_earlier(void) {}
HYD_status HYD_committed_poll(void) { return HYD_SUCCESS; }
void HYD_loop_outdate(void) {}
void HYD_keepalive_watch(int) {}
void HYD_spawned_began(int) {}
void HYD_spawned_note_init(int, int) {}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    start();
    while (size > 0) {
        const uint8_t *end_of_line = std::find(data, data + size, '\n');
        const unsigned what = data[0] % 8;
        const int process = data[0] / 8 % PROCESSES;
        const std::string text(end_of_line == data ? data : data + 1, end_of_line);
        const size_t used = std::min<size_t>(size, static_cast<size_t>(end_of_line - data) + 1);
        data += used;
        size -= used;
        if (what < 3) {
            send_text(process, text + '\n');
        } else if (what == 3) {
            send_text(process, text);
        } else if (what == 4) {
            for (int i = 0; i < OFTEN; i++)
                send_text(process, text + '\n');
        } else if (what == 5) {
            receive(process);
        } else if (what == 6) {
            answer_call(static_cast<size_t>(atoi(text.c_str())) % ANSWER_MAX);
        } else {
            require(HYD_sets_sync(FIRST_UID + static_cast<uint32_t>(process)) == HYD_SUCCESS);
            HYD_board_invalidate(&HYD_proxy_state.board);
            require(HYD_sets_comes(1, 2, FIRST_UID + static_cast<uint32_t>(process)) ==
                    HYD_SUCCESS);
        }
        run_events();
    }
    end();
    return 0;
}

}
