/*
 * Checks whether bytes are a valid plan (struct pmi_adapt_plan).  Each reader checks once: the
 * proxy a plan from mpiexec, a process a plan on its board.  All offsets and counts of a valid plan
 * stay within its bytes.  The contents of business cards, and the hosts' segments, are not checked
 * here.
 */

#ifndef PMI_ADAPT_PLAN_H_INCLUDED
#define PMI_ADAPT_PLAN_H_INCLUDED

#include <stddef.h>
#include <string.h>
#include "pmi_adapt.h"

/* Whether `count` items of size `item` at `offset` are aligned and within `bytes`. */
static inline int pmi_adapt_table_holds(uint64_t offset, uint64_t count, size_t item,
                                        uint64_t bytes)
{
    return offset >= sizeof(struct pmi_adapt_plan) && offset % sizeof(uint64_t) == 0 &&
        offset <= bytes && count <= (bytes - offset) / item;
}

static inline int pmi_adapt_header_holds(const struct pmi_adapt_plan *plan, size_t bytes)
{
    if (bytes < sizeof(*plan) || plan->magic != PMI_ADAPT_MAGIC || plan->bytes != bytes)
        return 0;
    return plan->epoch != 0 && plan->pre != 0 && plan->leaving <= plan->pre && plan->n_hosts != 0 &&
        (uint64_t) plan->pre + plan->joining <= INT32_MAX && (uint64_t) plan->n_hosts <= INT32_MAX
        && memchr(plan->reason, 0, sizeof(plan->reason)) &&
        pmi_adapt_table_holds(plan->members_offset, (uint64_t) plan->pre + plan->joining,
                              sizeof(struct pmi_adapt_member), bytes) &&
        pmi_adapt_table_holds(plan->hosts_offset, plan->n_hosts, sizeof(struct pmi_adapt_host),
                              bytes);
}

static inline int pmi_adapt_member_holds(const struct pmi_adapt_plan *plan, uint32_t index,
                                         const struct pmi_adapt_member *member)
{
    const uint32_t allowed =
        index < plan->pre ? PMI_ADAPT_MEMBER_LEAVING : PMI_ADAPT_MEMBER_JOINING;
    const int joins = (member->flags & PMI_ADAPT_MEMBER_JOINING) != 0;

    return member->host < plan->n_hosts && (member->flags & ~allowed) == 0 &&
        joins == (index >= plan->pre) && member->bc_bytes <= INT32_MAX &&
        pmi_adapt_table_holds(member->bc_offset, member->bc_bytes, 1, plan->bytes);
}

/* `plan` must be aligned as the struct. */
static inline int pmi_adapt_plan_holds(const struct pmi_adapt_plan *plan, size_t bytes)
{
    uint32_t leaving = 0;

    if (!pmi_adapt_header_holds(plan, bytes))
        return 0;
    const struct pmi_adapt_member *members =
        (const struct pmi_adapt_member *) ((const char *) plan + plan->members_offset);
    for (uint32_t i = 0; i < plan->pre + plan->joining; i++) {
        if (!pmi_adapt_member_holds(plan, i, &members[i]))
            return 0;
        leaving += (members[i].flags & PMI_ADAPT_MEMBER_LEAVING) != 0;
    }
    return leaving == plan->leaving;
}

#endif /* PMI_ADAPT_PLAN_H_INCLUDED */
