/*
 * Members of process sets from lists, for tests, and back.
 */

#ifndef ELASTIC_PSET_MEMBERS_FIXTURE_H_INCLUDED
#define ELASTIC_PSET_MEMBERS_FIXTURE_H_INCLUDED

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "stepmgr/common/pset_members.h"

namespace elastic {

using UidList = std::vector<uint32_t>;

inline SetMembers list(const UidList &uids)
{
    auto members = SetMembers::of_list(uids);
    EXPECT_TRUE(members);
    return members.value_or(SetMembers());
}

inline UidList uids_of(const SetMembers &members)
{
    UidList uids;
    for (const SetMembers::Run &run : members.runs()) {
        for (uint32_t k = 0; k < run.count; k++)
            uids.push_back(run.first + k);
    }
    return uids;
}

}  // namespace elastic

#endif /* ELASTIC_PSET_MEMBERS_FIXTURE_H_INCLUDED */
