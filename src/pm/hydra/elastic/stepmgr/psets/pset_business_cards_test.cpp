/* Cards of processes, and who has been told which. */

#include "stepmgr/psets/pset_business_cards.h"

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

std::vector<uint32_t> uids_of(const std::vector<SetCards::Card> &cards)
{
    std::vector<uint32_t> uids;
    for (const auto &[uid, text] : cards) {
        EXPECT_EQ(text, "card " + std::to_string(uid));
        uids.push_back(uid);
    }
    return uids;
}

void give(SetCards &cards, uint32_t uid)
{
    cards.give(uid, "card " + std::to_string(uid));
}

TEST(SetCards, TellsEachCardOnce)
{
    SetCards cards;
    for (uint32_t uid : {0, 2, 3})
        give(cards, uid);
    EXPECT_EQ(uids_of(cards.tell(7, list({3, 2, 1}))), (std::vector<uint32_t>{3, 2}));
    EXPECT_TRUE(cards.tell(7, list({3, 2, 1})).empty());
    give(cards, 1);             /* which was not there before */
    EXPECT_EQ(uids_of(cards.tell(7, list({0, 1, 2, 3}))), (std::vector<uint32_t>{0, 1}));
    EXPECT_EQ(uids_of(cards.tell(8, list({0, 1}))), (std::vector<uint32_t>{0, 1}));
}

/* So that all who were told nothing yet are told the same. */
TEST(SetCards, TheOwnOneIsToldAsOthersAre)
{
    SetCards cards;
    give(cards, 4);
    give(cards, 5);
    EXPECT_EQ(uids_of(cards.tell(4, list({4, 5}))), (std::vector<uint32_t>{4, 5}));
    EXPECT_TRUE(cards.tell(4, list({4, 5})).empty());
}

TEST(SetCards, WhatIsToldInAnotherWayIsNotToldAgain)
{
    SetCards cards;
    for (uint32_t uid : {1, 2, 3})
        give(cards, uid);
    EXPECT_TRUE(cards.lacks_only(9, list({1, 2}), {1, 2, 7}));
    EXPECT_FALSE(cards.lacks_only(9, list({1, 2}), {2}));
    cards.told(9, list({2, 1}));
    EXPECT_TRUE(cards.lacks_only(9, list({1, 2}), {}));
    EXPECT_EQ(uids_of(cards.tell(9, list({1, 2, 3}))), (std::vector<uint32_t>{3}));
}

TEST(SetCards, TheFirstCardCounts)
{
    SetCards cards;
    cards.give(1, "");
    EXPECT_EQ(cards.find(1), nullptr);
    give(cards, 1);
    cards.give(1, "another");
    EXPECT_EQ(*cards.find(1), "card 1");
    cards.departed(1);
    EXPECT_EQ(cards.find(1), nullptr);
    EXPECT_TRUE(cards.tell(0, list({1})).empty());
}

TEST(SetCards, AnAnswerHasABound)
{
    SetCards cards;
    const std::string large(SetCards::TOLD_BYTES_MAX / 2, 'x');
    std::vector<uint32_t> all;
    for (uint32_t uid = 0; uid < 5; uid++) {
        cards.give(uid, large);
        all.push_back(uid);
    }
    EXPECT_EQ(cards.tell(9, list(all)).size(), 2u);
    EXPECT_EQ(cards.tell(9, list(all)).size(), 2u);
    EXPECT_EQ(cards.tell(9, list(all)).size(), 1u);
}

/* Against a set for each process. */
TEST(SetCards, AnyOrder)
{
    std::mt19937 random(11);
    for (int round = 0; round < 50; round++) {
        SetCards cards;
        std::set<uint32_t> given;
        std::map<uint32_t, std::set<uint32_t>> told;
        for (int i = 0; i < 200; i++) {
            uint32_t uid = random() % 24;
            if (random() % 3 == 0) {
                give(cards, uid);
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
                if (given.contains(member) && told[uid].insert(member).second)
                    expected.push_back(member);
            }
            ASSERT_EQ(uids_of(cards.tell(uid, list(members))), expected);
        }
    }
}

}  // namespace
}  // namespace elastic
