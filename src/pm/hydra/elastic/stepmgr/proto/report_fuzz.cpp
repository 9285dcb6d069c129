/*
 * libFuzzer: any bytes as reports of proxies, calls of processes and client lines to a step that is
 * in the middle of an adaptation.  The first byte of the input states whether a resource manager
 * decides, and the progress of the processes.  Each following piece has its kind, its proxy and
 * group, and its length.  Calls are also made from numbers and texts, so that most of them are
 * well-formed.  Each call that awaits a reply gets at most one.
 */

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "stepmgr/proto/payload.h"
#include "stepmgr/stepmgr.h"
#include "stepmgr/proto/task_call.h"

namespace {

int next_group;
/* by id: calls of all processes without a reply */
std::map<uint32_t, int> requested;

void require(bool holds)
{
    if (!holds)
        abort();
}

int begin_group(int *group, char *error, size_t error_bytes)
{
    snprintf(error, error_bytes, "no");
    *group = next_group++;
    return next_group % 8 == 0 ? -1 : 0;
}

int launch_world(void *, const step_world *world, int *group, char *error, size_t error_bytes)
{
    for (int i = 0; i < world->count; i++)
        require(world->argv[i][0] && world->hosts[i]);
    return begin_group(group, error, error_bytes);
}

int launch(void *, uint32_t, int, int, int, uint32_t, int, const char *const *, int, int *group,
           char *error, size_t error_bytes)
{
    return begin_group(group, error, error_bytes);
}
void kill_group(void *, int) {}
void abort_step(void *, const char *) {}

void send(void *, const step_proxy *, int n, enum step_command command, uint32_t,
          const void *payload, size_t bytes)
{
    if (command != STEP_SET_ANSWER && command != STEP_SET_SHARED)
        return;
    uint32_t to[2];
    require(n == 1 && bytes > sizeof to && bytes <= sizeof to + PMI_SET_CALL_MAX);
    memcpy(to, payload, sizeof to);
    require(to[1] != 0 && requested[to[1]]-- > 0);
}

void reply(void *, int, const char *line)
{
    require(!strchr(line, '\n'));
}
void log(void *, const char *line)
{
    require(!strchr(line, '\n'));
}
void notify_user(void *, const char *text)
{
    require(!strstr(text, "internal error"));
}
void wake_at(void *, int64_t) {}
void state_line(void *, const char *) {}

/* Three processes, two of them on the first host, and one more host. */
stepmgr *make_step(unsigned how)
{
    static const char *const HOSTS[] = {"a", "b", "c"};
    step_config config = {};
    config.step_id = "1";
    config.program = "fuzz";
    config.user = "user";
    config.managed = how % 2;
    if (how % 4 < 2) {
        config.policy = config.managed ? nullptr : "increase-decrease";
        config.range_min = 1;
        config.range_max = 4;
    }
    config.straggler_ms = 3;
    config.hosts = HOSTS;
    config.n_hosts = 3;
    config.states = how / 4 % 2;
    step_effects effects = {nullptr, launch, kill_group, abort_step, send,       reply,
                            log,     notify_user, wake_at, nullptr,    state_line, launch_world};
    char error[256];
    next_group = 1;
    requested.clear();
    stepmgr *core = stepmgr_create(&config, &effects, error, sizeof error);
    step_process processes[] = {{0, "a"}, {0, "a"}, {1, "b"}};
    stepmgr_group(core, 0, 0, 3, processes);
    for (uint32_t rank = 0; rank < how / 8 % 4; rank++) {
        std::string init = elastic::write_init({rank, how / 32 % 2 == 0, 0, "addr"});
        stepmgr_report(core, 0, 0, static_cast<int>(rank / 2), REPORT_INIT, 0, init.data(),
                       init.size());
    }
    return core;
}

/* A call: small bytes are numbers, others texts; the greatest ones precede four bytes that are
 * copied. */
std::string put_together(const unsigned char *bytes, size_t n)
{
    static const char *const TEXTS[] = {"", "mpi://WORLD", "mpix://WORLD/0", "mpi://SELF", "*", "a",
                                        "c", "TERM", "t",
                                        "timeout=1ms;exclusive", "mpix://ALL", "/bin/true",
                                        "mpix://op/0.1", "mpix://op/1.1", "mpix://rc/1", "app://x"};
    std::string call;
    auto number = [&call](uint32_t value) {
        call.append(reinterpret_cast<const char *>(&value), sizeof value);
    };
    for (; n > 0; bytes++, n--) {
        if (*bytes < 0x80) {
            number(*bytes);
        } else if (*bytes < 0xf0) {
            std::string text = TEXTS[*bytes % 16];
            number(static_cast<uint32_t>(text.size()));
            call += text;
        } else if (n > 4) {
            call.append(reinterpret_cast<const char *>(bytes) + 1, 4);
            bytes += 4;
            n -= 4;
        }
    }
    return call;
}

void set_call(stepmgr *core, int64_t now_ms, int group, unsigned rank, uint32_t id,
              const std::string &call)
{
    if (id != 0)
        requested[id]++;
    std::string report = elastic::write_set_report(rank, id, call);
    stepmgr_report(core, now_ms, group,
                   group == 0 ? static_cast<int>(rank / 2) : static_cast<int>(rank % 2),
                   REPORT_SET_CALL, 0, report.data(), report.size());
}

constexpr step_report REPORTS[] = {
    REPORT_INIT,   REPORT_READY,  REPORT_FROZEN,      REPORT_COMMITTED, REPORT_COUNTS,
        REPORT_EXITED,
    REPORT_PREPARED, REPORT_SIZES, REPORT_UNRECEIVED, REPORT_UNABLE,    REPORT_GREETED,
        REPORT_PERFORMANCE,
    REPORT_LOOPS,  REPORT_SIZE_REQUEST, REPORT_SIZE_REQUEST_WITHDRAWN, REPORT_BCAST,
        REPORT_INVALIDATED, REPORT_TASK,
    REPORT_SYNCED, REPORT_BROKE,  REPORT_STARTED,     REPORT_COMES, static_cast<step_report>(0)};
constexpr unsigned KINDS = sizeof REPORTS / sizeof *REPORTS;

/* A well-formed report: the input contains the numbers of its payload. */
void task_report(stepmgr *core, int64_t now_ms, int group, int proxy, const unsigned char *bytes,
                 size_t n)
{
    task_head head = {n > 0 ? bytes[0] % 4u : 0, n > 1 ? bytes[1] % 16u : 0,
                      n > 2 && bytes[2] % 2 ? 2u : 3u, n > 3 ? bytes[3] : 0u};
    std::string report = elastic::write_task_head(head);
    stepmgr_report(core, now_ms, group, proxy, REPORT_TASK, 0, report.data(), report.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size == 0)
        return 0;
    stepmgr *core = make_step(data[0]);
    int64_t now_ms = 0;
    data++;
    size--;
    while (size >= 3) {
        unsigned what = data[0] % (KINDS + 12), proxy = data[1] % 3, group = data[1] / 3 % 4,
                 rank = data[1] / 12 % 3;
        size_t length = data[2] < size - 3 ? data[2] : size - 3;
        const unsigned char *payload = data + 3;
        std::string text(payload, payload + length);
        now_ms++;
        if (what < KINDS) {
            stepmgr_report(core, now_ms, static_cast<int>(group), static_cast<int>(proxy),
                           REPORTS[what], 1, payload, length);
        } else if (what == KINDS) {
            now_ms += static_cast<int64_t>(length) * 100;
            stepmgr_time(core, now_ms);
        } else if (what == KINDS + 1) {
            step_process joining[] = {{0, "a"}, {1, "c"}, {1, "c"}, {0, "a"}};
            stepmgr_group(core, now_ms, static_cast<int>(group), static_cast<int>(length % 5),
                          joining);
        } else if (what == KINDS + 2) {
            stepmgr_client_line(core, now_ms, static_cast<int>(proxy), text.c_str());
        } else if (what == KINDS + 3) {
            stepmgr_proxy_disconnected(core, now_ms, static_cast<int>(group),
                                       static_cast<int>(proxy));
        } else if (what == KINDS + 4) {
            stepmgr_proxy_up(core, now_ms, static_cast<int>(data[1] / 3 % 8));
        } else if (what == KINDS + 5) {
            stepmgr_client_disconnected(core, static_cast<int>(proxy));
        } else if (what == KINDS + 6) {
            task_report(core, now_ms, static_cast<int>(group), static_cast<int>(proxy), payload,
                        length);
        } else if (what == KINDS + 7 && length > 0) {
            set_call(core, now_ms, static_cast<int>(group), rank, payload[0], text.substr(1));
        } else if (what == KINDS + 8 && length == 0) {
            stepmgr_terminate(core, now_ms, 15);
        } else if (length > 0) {
            set_call(core, now_ms, static_cast<int>(group), rank, payload[0],
                     put_together(payload + 1, length - 1));
        }
        data += 3 + length;
        size -= 3 + length;
    }
    stepmgr_destroy(core);
    return 0;
}
