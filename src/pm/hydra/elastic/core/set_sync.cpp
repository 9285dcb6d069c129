/* See set_sync.h. */

#include "set_sync.h"

namespace elastic {

uint64_t SetSync::begin(const Agent &agent)
{
    asked_ = agent;
    waiting_ = take_next();
    return ++number_;
}

std::optional<SetSync::Calls> SetSync::answered(const Agent &agent, uint64_t number)
{
    if (asked_ != agent || number != number_)
        return std::nullopt;
    asked_.reset();
    return std::exchange(waiting_, {});
}

SetSync::Calls SetSync::departed(const Agent &agent)
{
    if (asked_ != agent)
        return {};
    asked_.reset();
    return std::exchange(waiting_, {});
}

}  // namespace elastic
