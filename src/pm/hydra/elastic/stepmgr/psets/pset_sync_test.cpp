/* Queries that wait until a proxy has forwarded the messages of a process. */

#include "stepmgr/psets/pset_sync.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

const ProxyId PROXY = {0, 1}, OTHER = {0, 2};

std::string calls_of(const std::optional<SetSync::Calls> &held)
{
    std::string text = held ? "" : "nobody";
    for (const SetSync::Held &call : held.value_or(SetSync::Calls()))
        text += call.call;
    return text;
}

TEST(SetSync, WaitsForOneAnswer)
{
    SetSync sync;
    EXPECT_FALSE(sync.is_due());
    sync.hold({OTHER, 0, 1, "a"});
    sync.hold({OTHER, 0, 2, "b"});
    ASSERT_TRUE(sync.is_due());
    uint64_t number = sync.begin({PROXY});
    EXPECT_FALSE(sync.is_due());
    EXPECT_EQ(calls_of(sync.answered(OTHER, number)), "nobody");
    EXPECT_EQ(calls_of(sync.answered(PROXY, number + 1)), "nobody");
    EXPECT_EQ(calls_of(sync.answered(PROXY, number)), "ab");
    EXPECT_EQ(calls_of(sync.answered(PROXY, number)), "nobody");
}

TEST(SetSync, SA1_LaterChangesAreQueriedOnceMore)
{
    SetSync sync;
    sync.hold({OTHER, 0, 1, "a"});
    uint64_t number = sync.begin({PROXY});
    sync.hold({OTHER, 0, 2, "b"});
    EXPECT_FALSE(sync.is_due());
    EXPECT_EQ(calls_of(sync.answered(PROXY, number)), "a");
    EXPECT_TRUE(sync.is_due());
    EXPECT_EQ(calls_of(sync.answered(PROXY, sync.begin({PROXY}))), "b");
}

TEST(SetSync, WaitsForAllThatAreQueried)
{
    SetSync sync;
    sync.hold({OTHER, 0, 1, "a"});
    uint64_t number = sync.begin({PROXY, OTHER});
    EXPECT_EQ(calls_of(sync.answered(PROXY, number)), "");
    EXPECT_EQ(calls_of(sync.answered(PROXY, number)), "nobody");
    EXPECT_EQ(calls_of(sync.disconnected(OTHER)), "a");
}

TEST(SetSync, AProxyThatDepartsKeepsNobody)
{
    SetSync sync;
    sync.hold({OTHER, 0, 1, "a"});
    uint64_t number = sync.begin({PROXY});
    EXPECT_EQ(calls_of(sync.disconnected(OTHER)), "");
    EXPECT_EQ(calls_of(sync.disconnected(PROXY)), "a");
    EXPECT_EQ(calls_of(sync.answered(PROXY, number)), "nobody");
}

}  // namespace
}  // namespace elastic
