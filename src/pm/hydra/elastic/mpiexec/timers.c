/* See timers.h. */

#include "state.h"
#include "connections.h"
#include "core.h"
#include "exits.h"
#include "names.h"
#include "performance.h"
#include "relay.h"
#include "timers.h"

int64_t HYD_step_next_wake(void)
{
    int64_t times[] = { HYD_step.wake_ms, HYD_step.abort_ms, HYD_step_next_launch_limit(),
        HYD_step_relay_next(), HYD_step_performance_next(), HYD_names_next()
    }, next = -1;

    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
        if (times[i] >= 0 && (next < 0 || times[i] < next))
            next = times[i];
    return next;
}

void HYD_step_tick(void)
{
    int64_t now = HYD_step_now_ms();

    if (HYD_step.abort_ms >= 0 && HYD_step.abort_ms <= now) {
        HYD_step_end_due(now);
        return;
    }
    HYD_step_end_slow_launches(now);
    HYD_step_relay_time(now);
    HYD_core_due(now);
    HYD_step_performance_time(now);
    HYD_names_time(now);
}
