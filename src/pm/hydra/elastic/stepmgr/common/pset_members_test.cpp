/* Members of process sets (pset_members.h). */

#include <random>

#include "stepmgr/common/pset_members_fixture.h"

namespace elastic {
namespace {

TEST(SetMembersTest, are_as_small_as_their_order_allows)
{
    EXPECT_EQ(list({4, 5, 6, 7}).runs().size(), 1u);
    EXPECT_EQ(list({7, 6}).runs().size(), 2u);
    std::vector<SetMembers::Run> runs = {{0, 1000}, {1000, 24}};
    EXPECT_EQ(SetMembers::of_runs(runs)->runs().size(), 1u);
}

TEST(SetMembersTest, hold_nobody_twice_and_not_too_many)
{
    EXPECT_FALSE(SetMembers::of_list(UidList{1, 2, 1}));
    auto holds = [](std::vector<SetMembers::Run> runs) {
        return SetMembers::of_runs(runs).has_value();
    };
    EXPECT_FALSE(holds({{5, 0}}));
    EXPECT_FALSE(holds({{0, 10}, {9, 2}}));
    EXPECT_FALSE(holds({{9, 2}, {0, 10}}));
    EXPECT_FALSE(holds({{UINT32_MAX, 2}}));
    EXPECT_FALSE(holds({{0, SetMembers::MAX + 1}}));
    EXPECT_TRUE(holds({{0, SetMembers::MAX}}));
    EXPECT_TRUE(holds({{10, 5}, {0, 10}}));
}

/* SO1: comparison with the definition in the standard, one process at a time. */
TEST(SetMembersTest, follow_MPI_Group_operations)
{
    std::mt19937 random(1);
    for (int round = 0; round < 2000; round++) {
        std::vector<UidList> lists(1 + random() % 4);
        std::vector<SetMembers> sets;
        for (UidList &uids : lists) {
            for (uint32_t uid = 0; uid < 12; uid++)
                if (random() % 2)
                    uids.push_back(uid);
            if (random() % 3)
                std::ranges::shuffle(uids, random);
            sets.push_back(list(uids));
        }
        std::vector<const SetMembers *> operands;
        for (const SetMembers &set : sets)
            operands.push_back(&set);
        auto in = [](const UidList &uids, uint32_t uid) {
            return std::ranges::find(uids, uid) != uids.end();
        };
        UidList sum, common, rest;
        for (const UidList &uids : lists)
            for (uint32_t uid : uids)
                if (!in(sum, uid))
                    sum.push_back(uid);
        for (uint32_t uid : lists[0]) {
            auto n = std::count_if(lists.begin() + 1, lists.end(),
                                   [&](const UidList &l) { return in(l, uid); });
            if (n == static_cast<long>(lists.size()) - 1)
                common.push_back(uid);
            if (n == 0)
                rest.push_back(uid);
        }
        EXPECT_EQ(uids_of(*SetMembers::union_of(operands)), sum);
        EXPECT_EQ(uids_of(SetMembers::intersection_of(operands)), common);
        EXPECT_EQ(uids_of(SetMembers::difference_of(operands)), rest);
        EXPECT_EQ(*SetMembers::union_of(operands), list(sum)) << "equal lists are equal";
        std::set<uint32_t> some = {1, 5, 9};
        long n = std::ranges::count_if(lists[0], [&](uint32_t uid) { return some.contains(uid); });
        EXPECT_EQ(sets[0].count_of(some), static_cast<size_t>(n));
        EXPECT_EQ(sets[0].any_of(some), n > 0);
    }
}

TEST(SetMembersTest, are_split_into_consecutive_parts)
{
    auto parts = list({5, 6, 7, 1, 2, 9}).split(UidList{2, 0, 3, 1});
    ASSERT_EQ(parts.size(), 4u);
    EXPECT_EQ(uids_of(parts[0]), (UidList{5, 6}));
    EXPECT_TRUE(parts[1].empty());
    EXPECT_EQ(uids_of(parts[2]), (UidList{7, 1, 2}));
    EXPECT_EQ(uids_of(parts[3]), (UidList{9}));
}

}  // namespace
}  // namespace elastic
