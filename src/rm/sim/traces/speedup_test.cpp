/* Scaling models at known values, and refused models. */

#include "sim/traces/speedup.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

double at(const char *law, int processes)
{
    auto speedup = read_speedup(law);
    EXPECT_TRUE(speedup) << law << ": " << speedup.error();
    return speed(speedup.value(), processes);
}

TEST(SpeedupTest, linear_and_amdahl)
{
    EXPECT_DOUBLE_EQ(at("linear", 7), 7);
    EXPECT_DOUBLE_EQ(at("amdahl:0", 7), 7);
    EXPECT_DOUBLE_EQ(at("amdahl:0.5", 2), 1 / 0.75);
    EXPECT_NEAR(at("amdahl:0.02", 1000000), 50, 0.01);
}

/* Downey's equations: one process has speed 1, the plateau is A. */
TEST(SpeedupTest, downey)
{
    for (const char *law : {"downey:16,0", "downey:16,0.5", "downey:16,1", "downey:16,2"}) {
        EXPECT_DOUBLE_EQ(at(law, 1), 1) << law;
        EXPECT_DOUBLE_EQ(at(law, 1000), 16) << law;
        for (int n = 1; n < 64; n++)
            EXPECT_LE(at(law, n), at(law, n + 1) + 1e-12) << law << " at " << n;
    }
    EXPECT_DOUBLE_EQ(at("downey:16,0", 16), 16);         /* no variance: linear up to A */
    EXPECT_DOUBLE_EQ(at("downey:16,1", 16), 256 / 23.5); /* both forms meet at A */
    EXPECT_NEAR(at("downey:16,1", 31), 16, 1e-12);
}

TEST(SpeedupTest, table)
{
    EXPECT_DOUBLE_EQ(at("table:1=1,2=1.8,8=4", 2), 1.8);
    EXPECT_DOUBLE_EQ(at("table:1=1,2=1.8,8=4", 5), 2.9);
    EXPECT_DOUBLE_EQ(at("table:1=1,2=1.8,8=4", 100), 4);
}

TEST(SpeedupTest, refused)
{
    for (const char *law : {"", "linear:1", "amdahl", "amdahl:2", "amdahl:x", "downey:1",
                            "downey:0.5,1", "downey:2,-1", "downey:2,1,1", "table:", "table:2=2",
                            "table:1=1,4=2,3=3", "table:1=1,2=0.5", "table:1=1,2.5=2", "law"})
        EXPECT_FALSE(read_speedup(law)) << law;
}

}  // namespace
}  // namespace elastic::rm
