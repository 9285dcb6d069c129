/* libFuzzer: any text as schedule, time, range, policy; what parses must be within bounds. */

#include <cstdlib>
#include <string_view>

#include "stepmgr/common/schedule.h"
#include "stepmgr/requests/adapt_policy.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    using namespace elastic;
    std::string_view text(reinterpret_cast<const char *>(data), size);
    if (auto schedule = parse_schedule(text, size % 5 == 0 ? 0 : static_cast<int>(size % 5))) {
        for (const ScheduleEntry &entry : schedule.value()) {
            if (entry.change.size < 1 || entry.change.size > SIZE_MAX_PROCESSES)
                abort();
            if (entry.at_ms && (*entry.at_ms < 0 || *entry.at_ms > TIME_MAX_MS))
                abort();
            (void) resolve_change(4, entry.change);
        }
    }
    if (auto range = parse_range(text); range && range.value().min > range.value().max)
        abort();
    (void) parse_time_ms(text);
    if (auto policy = Policy::parse(text, {1, 5}, size)) {
        auto next = policy.value().next_size(3);
        if (!next || *next < 1 || *next > 5)
            abort();
    }
    return 0;
}
