/* See waiting_requests.h. */

#include "daemon/waiting_requests.h"

namespace elastic::rm {

void WaitingRequests::add(int64_t for_ms, Waiter waiter)
{
    if (for_ms <= 0 || waiter(false)) {
        if (for_ms <= 0)
            waiter(true);
        return;
    }
    auto entry = waiting_.insert(waiting_.end(), {std::move(waiter), 0});
    entry->timer = loop_.after(for_ms, [this, entry] {
        Waiter late = std::move(entry->waiter);
        waiting_.erase(entry);
        late(true);
    });
}

void WaitingRequests::wake()
{
    for (auto entry = waiting_.begin(); entry != waiting_.end();) {
        if (entry->waiter(false)) {
            loop_.cancel(entry->timer);
            entry = waiting_.erase(entry);
        } else {
            ++entry;
        }
    }
}

}  // namespace elastic::rm
