/*
 * libFuzzer: any bytes as reports of daemons and as client lines to a step that is in the middle of
 * an adaptation.  First byte of each piece: which report, from which daemon; second: its length.
 */

#include <cstdlib>
#include <cstring>
#include <string>

#include "payload.h"
#include "step_core.h"

namespace {

int launch_world(void *, const step_world *, int *, char *, size_t)
{
    return -1;
}

int launch(void *, uint32_t, int, int, int, uint32_t, int, const char *const *, int, int *group, char *, size_t)
{
    static int next_group = 1;
    *group = next_group++;
    return 0;
}
void kill_group(void *, int) {}
void abort_step(void *, const char *) {}
void send(void *, const step_agent *, int, enum step_command, uint32_t, const void *, size_t) {}
void reply(void *, int, const char *) {}
void log(void *, const char *) {}
void tell_user(void *, const char *text)
{
    if (strstr(text, "internal error"))
        abort();
}
void wake_at(void *, int64_t) {}

step_core *make_step()
{
    step_config config = {};
    config.step_id = "1";
    config.program = "fuzz";
    config.user = "user";
    config.policy = "increase-decrease";
    config.range_min = 1;
    config.range_max = 4;
    config.behind_ms = 3;
    step_effects effects = {nullptr, launch, kill_group, abort_step, send,
                            reply,   log,    tell_user,  wake_at,    nullptr, nullptr, launch_world};
    char error[256];
    step_core *core = step_core_create(&config, &effects, error, sizeof error);
    step_process processes[] = {{0, "a"}, {0, "a"}, {1, "b"}};
    step_core_group(core, 0, 0, 3, processes);
    for (uint32_t rank = 0; rank < 3; rank++) {
        std::string init = elastic::write_init({rank, true, "card"});
        step_core_report(core, 0, 0, rank / 2, REPORT_INIT, 0, init.data(), init.size());
    }
    return core;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    step_core *core = make_step();
    int64_t now_ms = 0;
    while (size >= 2) {
        unsigned kind = data[0] % 16, proxy = (data[0] / 16) % 3, group = (data[0] / 48) % 4;
        size_t length = data[1] < size - 2 ? data[1] : size - 2;
        const unsigned char *payload = data + 2;
        now_ms++;
        if (kind == 7) {
            step_core_time(core, now_ms);
        } else if (kind == 8) {
            step_process joining[] = {{0, "a"}, {1, "c"}, {1, "c"}, {0, "a"}};
            step_core_group(core, now_ms, static_cast<int>(group), static_cast<int>(length % 5),
                            joining);
        } else if (kind == 9) {
            std::string line(payload, payload + length);
            step_core_client_line(core, now_ms, 1, line.c_str());
        } else if (length == 0 && kind == 0) {
            step_core_proxy_departed(core, now_ms, static_cast<int>(group), static_cast<int>(proxy));
        } else {
            kind = kind == 10 ? static_cast<unsigned>(REPORT_PREPARED) : kind;
            kind = kind == 12 ? static_cast<unsigned>(REPORT_GREETED) : kind;
            kind = kind == 11 ? static_cast<unsigned>(REPORT_UNABLE) : kind;
            kind = kind == 13 ? static_cast<unsigned>(REPORT_LOOPS) : kind;
            step_core_report(core, now_ms, static_cast<int>(group), static_cast<int>(proxy),
                             static_cast<step_report>(kind), 1, payload, length);
        }
        data += 2 + length;
        size -= 2 + length;
    }
    step_core_destroy(core);
    return 0;
}
