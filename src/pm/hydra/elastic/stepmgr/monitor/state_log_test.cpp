#include "stepmgr/monitor/state_log.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

using S = SlotState;

TEST(StateLogTest, SM2_a_letter_for_each_slot)
{
    StateLog log(6, false);
    log.update({{0, S::RUNNING}, {1, S::RUNNING}});
    EXPECT_EQ(log.line(1250, "adaptive size=2"), "     1.250ms RRIIII adaptive size=2");
    log.update({{0, S::RUNNING}, {1, S::RUNNING}, {2, S::RESERVED}});
    EXPECT_EQ(log.line(1234567890, "launching"), "1234567.890ms RRPIII launching");
    log.update({{0, S::RUNNING}, {1, S::PROPOSED}, {2, S::ACCEPTED}});
    EXPECT_EQ(log.line(0, "told"), "     0.000ms RSAIII told");
}

TEST(StateLogTest, SM1_the_lowest_free_slot)
{
    StateLog log(4, false);
    log.update({{0, S::RUNNING}, {1, S::RUNNING}, {2, S::RUNNING}});
    log.update({{0, S::RUNNING}, {2, S::RUNNING}});
    EXPECT_EQ(log.line(0, ""), "     0.000ms RIRI ");
    log.update({{0, S::RUNNING}, {2, S::RUNNING}, {3, S::RESERVED}, {4, S::RESERVED}});
    EXPECT_EQ(log.line(0, ""), "     0.000ms RPRP ");
    log.update(
        {{0, S::RUNNING}, {2, S::RUNNING}, {3, S::RUNNING}, {4, S::RUNNING}, {5, S::RESERVED}});
    EXPECT_EQ(log.line(0, ""), "     0.000ms RRRRP ") << "more than the range";
    log.update({});
    EXPECT_EQ(log.line(0, ""), "     0.000ms IIIII ");
}

TEST(StateLogTest, SM2_header)
{
    EXPECT_EQ(StateLog(12, false).header(), "TIME         STATE        EVENT\n"
                                            "                      111\n"
                                            "             123456789012\n"
                                            "===============================");
    EXPECT_EQ(StateLog(1, false).header(), "TIME         STATE EVENT\n"
                                           "             1\n"
                                           "========================");
}

TEST(StateLogTest, SM2_colours)
{
    StateLog log(2, true);
    log.update({{7, S::RUNNING}});
    EXPECT_EQ(log.line(0, "x"), "     0.000ms \033[32mR\033[34mI\033[0m x");
}

}  // namespace
}  // namespace elastic
