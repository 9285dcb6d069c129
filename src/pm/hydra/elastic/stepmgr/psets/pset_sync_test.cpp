/* Questions that wait until a proxy has passed on the messages of a process. */

#include "stepmgr/psets/pset_sync.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

const Agent DAEMON = {0, 1}, OTHER = {0, 2};

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
    uint64_t number = sync.begin({DAEMON});
    EXPECT_FALSE(sync.is_due());
    EXPECT_EQ(calls_of(sync.answered(OTHER, number)), "nobody");
    EXPECT_EQ(calls_of(sync.answered(DAEMON, number + 1)), "nobody");
    EXPECT_EQ(calls_of(sync.answered(DAEMON, number)), "ab");
    EXPECT_EQ(calls_of(sync.answered(DAEMON, number)), "nobody");
}

TEST(SetSync, SA1_LaterChangesAreQueriedOnceMore)
{
    SetSync sync;
    sync.hold({OTHER, 0, 1, "a"});
    uint64_t number = sync.begin({DAEMON});
    sync.hold({OTHER, 0, 2, "b"});
    EXPECT_FALSE(sync.is_due());
    EXPECT_EQ(calls_of(sync.answered(DAEMON, number)), "a");
    EXPECT_TRUE(sync.is_due());
    EXPECT_EQ(calls_of(sync.answered(DAEMON, sync.begin({DAEMON}))), "b");
}

TEST(SetSync, WaitsForAllThatAreQueried)
{
    SetSync sync;
    sync.hold({OTHER, 0, 1, "a"});
    uint64_t number = sync.begin({DAEMON, OTHER});
    EXPECT_EQ(calls_of(sync.answered(DAEMON, number)), "");
    EXPECT_EQ(calls_of(sync.answered(DAEMON, number)), "nobody");
    EXPECT_EQ(calls_of(sync.disconnected(OTHER)), "a");
}

TEST(SetSync, ADaemonThatDepartsKeepsNobody)
{
    SetSync sync;
    sync.hold({OTHER, 0, 1, "a"});
    uint64_t number = sync.begin({DAEMON});
    EXPECT_EQ(calls_of(sync.disconnected(OTHER)), "");
    EXPECT_EQ(calls_of(sync.disconnected(DAEMON)), "a");
    EXPECT_EQ(calls_of(sync.answered(DAEMON, number)), "nobody");
}

}  // namespace
}  // namespace elastic
