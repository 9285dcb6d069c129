#include "cli/units.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

TEST(UnitsTest, times_as_slurm_reads_them)
{
    struct { const char *text; int64_t seconds; } cases[] = {
        {"10", 600}, {"10:30", 630}, {"1:02:03", 3723}, {"2-3", 183600}, {"0-1:30", 5400},
        {"1-00:00:01", 86401}, {"90s", 90}, {"5m", 300}, {"2h", 7200}, {"1d", 86400},
        {"unlimited", 0}, {"0:01", 1},
    };
    for (const auto &[text, seconds] : cases) {
        auto parsed = parse_time_limit(text);
        ASSERT_TRUE(parsed) << text << ": " << parsed.error();
        EXPECT_EQ(parsed.value(), seconds) << text;
    }
}

TEST(UnitsTest, what_is_no_time_says_what_is)
{
    for (const char *text : {"", "0", "0:00", "x", "1:x", "1:2:3:4", "-5", "1-", "-", ":", "1::2", "s",
                             "1.5", "10 ", "367-0", "99999999999999999999", "1-2-3", "5w"}) {
        auto parsed = parse_time_limit(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_NE(parsed.error().find("minutes:seconds"), std::string::npos);
    }
}

TEST(UnitsTest, sizes)
{
    EXPECT_EQ(parse_size_range("4").value().minimum, 4);
    EXPECT_EQ(parse_size_range("4").value().maximum, 4);
    EXPECT_EQ(parse_size_range("2:8").value().maximum, 8);
    EXPECT_EQ(parse_size_range("2-8").value().minimum, 2);
    for (const char *text : {"", "0", "a", "2:", ":2", "8:2", "1:2:3", "-1", "1048577", "2:x"})
        EXPECT_FALSE(parse_size_range(text)) << text;
}

}  // namespace
}  // namespace elastic
