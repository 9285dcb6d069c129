#include "backend/gpu_counts.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

TEST(GpuCountsTest, later_entries_count)
{
    EXPECT_TRUE(GpuCounts::parse({}).value().empty());
    GpuCounts counts = GpuCounts::parse({"4", "n[1-2]:8", "n2:0", "login:0"}).value();
    EXPECT_FALSE(counts.empty());
    EXPECT_EQ(counts.of("n0"), 4);
    EXPECT_EQ(counts.of("n1"), 8);
    EXPECT_EQ(counts.of("n2"), 0);
    EXPECT_EQ(counts.of("login"), 0);
    EXPECT_EQ(GpuCounts::parse({"n1:8", "64"}).value().of("n1"), 64);
}

TEST(GpuCountsTest, wrong_entries_are_named)
{
    for (const char *wrong :
         {"", "x", "65", "-1", "4x", "n1:", "n1:-1", "n1:65", ":4", "n[1:4", "n[2-1]:4"}) {
        auto counts = GpuCounts::parse({"n0:1", wrong});
        ASSERT_FALSE(counts) << wrong;
        EXPECT_EQ(counts.error().find("backend.gpus: '" + std::string(wrong) + "'"), 0U)
            << counts.error();
    }
}

}  // namespace
}  // namespace elastic::rm
