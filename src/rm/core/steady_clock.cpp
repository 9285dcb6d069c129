/* See steady_clock.h. */

#include "core/steady_clock.h"

#include <algorithm>

namespace elastic::rm {

namespace {

constexpr int64_t ALLOWED_US_MAX = 1000000;     /* it does not jump after a long pause either */
constexpr int64_t SAVED_US_MAX = 1000;  /* the smallest step */
constexpr int64_t UNSHOWN_MS = 2000;

}  // namespace

void SteadyClock::start(const std::optional<Mark> &mark, int64_t not_before_ms,
                        const std::string &boot, int64_t boot_ms, int64_t wall_ms)
{
    bool same_boot = mark && !boot.empty() && mark->boot == boot && boot_ms >= mark->boot_ms;
    boot_ = boot;
    boot_ms_ = boot_ms;
    wall_ms_ = wall_ms;
    clock_ms_ =
        std::max(not_before_ms, same_boot ? mark->clock_ms + (boot_ms - mark->boot_ms) : wall_ms);
    allowed_us_ = 0;
}

int64_t SteadyClock::now_ms(int64_t boot_ms, int64_t wall_ms)
{
    int64_t elapsed_ms = std::max<int64_t>(boot_ms - boot_ms_, 0);
    boot_ms_ = std::max(boot_ms, boot_ms_);
    wall_ms_ = wall_ms;
    clock_ms_ += elapsed_ms;
    allowed_us_ = std::min(std::min(allowed_us_, SAVED_US_MAX) + elapsed_ms, ALLOWED_US_MAX);
    /* It must still advance. */
    int64_t most_ms = std::min(allowed_us_ / 1000, elapsed_ms / 2);
    int64_t step_ms = std::clamp(wall_ms - clock_ms_, -most_ms, most_ms);
    clock_ms_ += step_ms;
    allowed_us_ -= (step_ms < 0 ? -step_ms : step_ms) * 1000;
    return clock_ms_;
}

int64_t SteadyClock::offset_ms() const
{
    int64_t offset_ms = wall_ms_ - clock_ms_;
    return offset_ms > UNSHOWN_MS || offset_ms < -UNSHOWN_MS ? offset_ms : 0;
}

}  // namespace elastic::rm
