/* See config.h. */

#include "core/config.h"

namespace elastic::rm {

std::string check(const Config &config)
{
    struct Bound {
        const char *name;
        int64_t value, low;
    };
    const Bound bounds[] = {
        {"default_time_limit_ms", config.default_time_limit_ms, 0},
        {"priority_weight_ms", config.priority_weight_ms, 0},
        {"kill_grace_ms", config.kill_grace_ms, 0},
        {"answer_timeout_ms", config.answer_timeout_ms, 1},
        {"answer_tries_max", config.answer_tries_max, 1},
        {"adapt_patience_ms", config.adapt_patience_ms, 1},
        {"offer_pause_ms", config.offer_pause_ms, 0},
        {"refusal_pause_ms", config.refusal_pause_ms, 1},
        {"refusal_pause_max_ms", config.refusal_pause_max_ms, config.refusal_pause_ms},
        {"look_interval_ms", config.poll_interval_ms, 1},
        {"start_pause_ms", config.start_pause_ms, 1},
        {"start_attempts_max", config.start_attempts_max, 1},
        {"backfill_depth", config.backfill_depth, 0},
        {"user_running_max", config.user_running_max, 0},
        {"user_cores_max", config.user_cores_max, 0},
        {"job_core_time_max_ms", config.job_core_time_max_ms, 0},
        {"fair_share_ms", config.fair_share_ms, 0},
        {"fair_share_half_life_ms", config.fair_share_half_life_ms, 1024},
        {"monitor_window", config.monitor_window, 1},
        {"mtct_upper_ppm", config.mtct_upper_ppm, config.mtct_lower_ppm + 1},
        {"mtct_lower_ppm", config.mtct_lower_ppm, 1},
        {"ceiling_hold_ms", config.ceiling_hold_ms, 0},
        {"efficiency_ppm", config.efficiency_ppm, 1},
        {"efficiency_idle_ppm", config.efficiency_idle_ppm, 0},
        {"jobs_max", config.jobs_max, 1},
        {"finished_max", config.finished_max, 0},
    };
    constexpr int64_t HIGH = int64_t{1} << 40;
    for (const Bound &bound : bounds) {
        if (bound.value < bound.low || bound.value > HIGH)
            return std::string(bound.name) + " is " + std::to_string(bound.value) +
                   "; it must be from " + std::to_string(bound.low) + " to " + std::to_string(HIGH);
    }
    for (auto [name, value] : {std::pair("efficiency_ppm", config.efficiency_ppm),
                               std::pair("efficiency_idle_ppm", config.efficiency_idle_ppm)})
        if (value >= 1000000)
            return std::string(name) + " is " + std::to_string(value) +
                   "; it must be less than 1000000";
    for (std::string wrong :
         {check(config.partitions), check(config.groups), check(config.reservations)})
        if (!wrong.empty())
            return wrong;
    return "";
}

}  // namespace elastic::rm
