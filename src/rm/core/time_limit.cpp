/* See time_limit.h. */

#include "core/time_limit.h"

namespace elastic::rm {

int64_t time_limit(const State &state, const JobSpec &spec)
{
    int64_t of_partition = spec.in ? spec.in->default_time_ms : 0;
    return spec.time_limit_ms > 0 ? spec.time_limit_ms
           : of_partition > 0     ? of_partition
                                  : state.config.default_time_limit_ms;
}

}  // namespace elastic::rm
