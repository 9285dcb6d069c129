/* Business cards of processes, and the processes that have received them. */

#include "stepmgr/psets/pset_bc_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace elastic {
namespace {

SetMembers list(std::vector<uint32_t> uids)
{
    return *SetMembers::of_list(uids);
}

std::vector<uint32_t> uids_of(const std::vector<PsetBcTable::Bc> &bcs)
{
    std::vector<uint32_t> uids;
    for (const auto &[uid, text] : bcs) {
        EXPECT_EQ(text, "addr " + std::to_string(uid));
        uids.push_back(uid);
    }
    return uids;
}

void give(PsetBcTable &bcs, uint32_t uid)
{
    bcs.give(uid, "addr " + std::to_string(uid));
}

TEST(PsetBcTable, SendsEachBusinessCardOnce)
{
    PsetBcTable bcs;
    for (uint32_t uid : {0, 2, 3})
        give(bcs, uid);
    EXPECT_EQ(uids_of(bcs.notify(7, list({3, 2, 1}))), (std::vector<uint32_t>{3, 2}));
    EXPECT_TRUE(bcs.notify(7, list({3, 2, 1})).empty());
    give(bcs, 1);               /* which had none before */
    EXPECT_EQ(uids_of(bcs.notify(7, list({0, 1, 2, 3}))), (std::vector<uint32_t>{0, 1}));
    EXPECT_EQ(uids_of(bcs.notify(8, list({0, 1}))), (std::vector<uint32_t>{0, 1}));
}

/* So all processes that have received no business card get the same reply. */
TEST(PsetBcTable, TheOwnOneIsReportedAsOthersAre)
{
    PsetBcTable bcs;
    give(bcs, 4);
    give(bcs, 5);
    EXPECT_EQ(uids_of(bcs.notify(4, list({4, 5}))), (std::vector<uint32_t>{4, 5}));
    EXPECT_TRUE(bcs.notify(4, list({4, 5})).empty());
}

TEST(PsetBcTable, ChangesReportedOtherwiseAreNotReportedAgain)
{
    PsetBcTable bcs;
    for (uint32_t uid : {1, 2, 3})
        give(bcs, uid);
    EXPECT_TRUE(bcs.lacks_only(9, list({1, 2}), {1, 2, 7}));
    EXPECT_FALSE(bcs.lacks_only(9, list({1, 2}), {2}));
    bcs.notified(9, list({2, 1}));
    EXPECT_TRUE(bcs.lacks_only(9, list({1, 2}), {}));
    EXPECT_EQ(uids_of(bcs.notify(9, list({1, 2, 3}))), (std::vector<uint32_t>{3}));
}

TEST(PsetBcTable, TheFirstBusinessCardCounts)
{
    PsetBcTable bcs;
    bcs.give(1, "");
    EXPECT_EQ(bcs.find(1), nullptr);
    give(bcs, 1);
    bcs.give(1, "another");
    EXPECT_EQ(*bcs.find(1), "addr 1");
    bcs.disconnected(1);
    EXPECT_EQ(bcs.find(1), nullptr);
    EXPECT_TRUE(bcs.notify(0, list({1})).empty());
}

TEST(PsetBcTable, AnAnswerHasABound)
{
    PsetBcTable bcs;
    const std::string large(PsetBcTable::TOLD_BYTES_MAX / 2, 'x');
    std::vector<uint32_t> all;
    for (uint32_t uid = 0; uid < 5; uid++) {
        bcs.give(uid, large);
        all.push_back(uid);
    }
    EXPECT_EQ(bcs.notify(9, list(all)).size(), 2u);
    EXPECT_EQ(bcs.notify(9, list(all)).size(), 2u);
    EXPECT_EQ(bcs.notify(9, list(all)).size(), 1u);
}

/* Compares with a set for each process. */
TEST(PsetBcTable, AnyOrder)
{
    std::mt19937 random(11);
    for (int round = 0; round < 50; round++) {
        PsetBcTable bcs;
        std::set<uint32_t> given;
        std::map<uint32_t, std::set<uint32_t>> notified;
        for (int i = 0; i < 200; i++) {
            uint32_t uid = random() % 24;
            if (random() % 3 == 0) {
                give(bcs, uid);
                given.insert(uid);
                continue;
            }
            std::vector<uint32_t> members, expected;
            for (uint32_t member = 0; member < 24; member++) {
                if (random() % 2)
                    members.push_back(member);
            }
            std::ranges::shuffle(members, random);
            for (uint32_t member : members) {
                if (given.contains(member) && notified[uid].insert(member).second)
                    expected.push_back(member);
            }
            ASSERT_EQ(uids_of(bcs.notify(uid, list(members))), expected);
        }
    }
}

}  // namespace
}  // namespace elastic
