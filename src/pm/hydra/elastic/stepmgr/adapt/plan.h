/*
 * The plan: everything that begin needs, laid out as in pmi_adapt.h, ready to be copied to a
 * board.  SPEC P2, W2-W4, W6.
 */

#ifndef ELASTIC_PLAN_H_INCLUDED
#define ELASTIC_PLAN_H_INCLUDED

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/change.h"
#include "stepmgr/common/world.h"

namespace elastic {

struct PlanFacts {
    uint32_t epoch = 0;
    uint64_t deadline_ms = 0;   /* Unix time, 0: none */
    std::string reason;         /* truncated to the length that a plan allows */
    bool modify = false;        /* all processes wait for it in MPIX_Comm_modify */
};

/* `joining`: in the order of their own world.  These processes must have reported their business
 * cards and segments. */
std::string build_plan(const PlanFacts &facts, const Change &change,
                       const std::vector<Process *> &members, std::span<const Process> joining);

/* "", or the reason why processes on a host with joining processes cannot open each other's
 * memory. */
std::string cannot_share_memory(const std::vector<Process *> &members,
                                std::span<const Process> joining);

}  // namespace elastic

#endif /* ELASTIC_PLAN_H_INCLUDED */
