/*
 * What a waiting job lacks, and who is about to free cores.  For people (SPEC-performance X3);
 * nothing is decided by it.  Pure.
 */

#ifndef ELASTIC_RM_CORE_SHORTAGE_H_INCLUDED
#define ELASTIC_RM_CORE_SHORTAGE_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

/* A job that ends or shrinks, whose processes have not left yet. */
struct Giving {
    JobId job = 0;
    int64_t cores = 0;
    bool operator==(const Giving &) const = default;
};

struct Shortage {
    int processes = 0;          /* as many as it would start with, at least */
    int room = 0;               /* for so many there is room now, as if nobody else waited */
    std::vector<Giving> giving; /* whoever it is for */
};

/* Nothing: it does not wait for its turn alone, or the nodes that are up cannot hold it. */
std::optional<Shortage> shortage(const State &state, const Job &job);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_SHORTAGE_H_INCLUDED */
