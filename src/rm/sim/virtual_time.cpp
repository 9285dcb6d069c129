/* See virtual_time.h. */

#include "sim/virtual_time.h"

namespace elastic::rm {

void VirtualTime::after(int64_t ms, std::function<void()> action)
{
    queue_.push({now_ms_ + ms, order_++, std::move(action)});
}

void VirtualTime::go_on()
{
    Happening next = queue_.top();
    queue_.pop();
    now_ms_ = next.time_ms;
    next.action();
}

bool VirtualTime::chance(double probability)
{
    return probability > 0 && static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

int64_t VirtualTime::between(int64_t low, int64_t high)
{
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

}  // namespace elastic::rm
