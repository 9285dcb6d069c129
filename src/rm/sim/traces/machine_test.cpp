/* The notation of machines. */

#include "sim/traces/machine.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

TEST(MachineTest, nodes_of_one_kind_or_of_several)
{
    auto one = read_machine("100", 16);
    ASSERT_TRUE(one.ok());
    EXPECT_TRUE(one.value().has_equal_nodes());
    EXPECT_EQ(one.value().cores(), 1600);
    EXPECT_EQ(one.value().words(), "100 nodes of 16 cores");
    auto several = read_machine("100x16,20x48", 0);
    ASSERT_TRUE(several.ok());
    EXPECT_FALSE(several.value().has_equal_nodes());
    EXPECT_EQ(several.value().nodes(), 120);
    EXPECT_EQ(several.value().cores(), 2560);
    EXPECT_EQ(several.value().largest_node(), 48);
    EXPECT_EQ(several.value().words(), "100 nodes of 16 cores, 20 of 48");
}

TEST(MachineTest, anything_else_is_an_error)
{
    for (const char *wrong :
         {"", "0", "100", "100x", "x16", "100x16,", "100x0", "-1x16", "1x16x2", "1e3x16",
          "10000001x1", "6000000x1,6000000x1", "1x100001"})
        EXPECT_FALSE(read_machine(wrong, 0).ok()) << wrong;
    for (const char *wrong : {"", "0", "100x16", "10000001", "7 "})
        EXPECT_FALSE(read_machine(wrong, 4).ok()) << wrong;
}

}  // namespace
}  // namespace elastic::rm
