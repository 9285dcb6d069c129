/* Size rules: the sizes that they allow, and texts that are refused as rules. */

#include <gtest/gtest.h>

#include <chrono>

#include "base/program_sizes.h"
#include "pmi_adapt_sizes.h"

namespace elastic {
namespace {

std::vector<int> sizes(const std::string &text, int high = 30)
{
    auto rule = ProgramSizes::parse(text);
    EXPECT_TRUE(rule) << rule.error();
    return rule ? rule.value().sizes(1, high) : std::vector<int>{};
}

TEST(ProgramSizesTest, each_kind_of_part)
{
    EXPECT_EQ(sizes("7"), std::vector{7});
    EXPECT_EQ(sizes("3-5"), (std::vector{3, 4, 5}));
    EXPECT_EQ(sizes("28-"), (std::vector{28, 29, 30}));
    EXPECT_EQ(sizes("any", 3), (std::vector{1, 2, 3}));
    EXPECT_EQ(sizes("multiple:7"), (std::vector{7, 14, 21, 28}));
    EXPECT_EQ(sizes("divisor:20"), (std::vector{1, 2, 4, 5, 10, 20}));
    EXPECT_EQ(sizes("power_of_two"), (std::vector{1, 2, 4, 8, 16}));
    EXPECT_EQ(sizes("pow2&3-"), (std::vector{4, 8, 16}));
    EXPECT_EQ(sizes("square"), (std::vector{1, 4, 9, 16, 25}));
    EXPECT_EQ(sizes("cube"), (std::vector{1, 8, 27}));
    auto large = ProgramSizes::parse("square");
    EXPECT_TRUE(large.value().allows(1 << 20));
    EXPECT_FALSE(large.value().allows((1 << 20) - 1));
    EXPECT_FALSE(large.value().allows(0));
    EXPECT_FALSE(large.value().allows((1 << 20) + 1));
}

TEST(ProgramSizesTest, parts_are_joined)
{
    EXPECT_EQ(sizes("1,2-9&multiple:3,12"), (std::vector{1, 3, 6, 9, 12}));
    EXPECT_EQ(sizes("square&multiple:2&5-"), std::vector{16});
    EXPECT_EQ(sizes("1,1,1-2"), (std::vector{1, 2}));
}

TEST(ProgramSizesTest, blanks_around_parts_are_for_readability)
{
    auto rule = ProgramSizes::parse(" 1 , 2-9 &\tmultiple:3 ");
    ASSERT_TRUE(rule) << rule.error();
    EXPECT_EQ(rule.value().text(), "1,2-9&multiple:3");
}

TEST(ProgramSizesTest, ranges_have_the_sizes_that_are_allowed)
{
    for (const char *text : {"1,2-9&multiple:3,12", "square&multiple:2&5-", "divisor:360,7-9,8-20",
                             "multiple:4&multiple:6,cube", "power_of_two&square", "any", "25-",
                             "divisor:12&multiple:2", "multiple:2,multiple:3,1-3", "divisor:97"}) {
        auto rule = ProgramSizes::parse(text);
        ASSERT_TRUE(rule) << rule.error();
        std::vector<int> all;
        for (int size = 3; size <= 500; size++) {
            if (rule.value().allows(size))
                all.push_back(size);
        }
        EXPECT_EQ(rule.value().sizes(3, 500), all) << text;
    }
    auto ranges = [](const std::string &text, int most) {
        return ProgramSizes::parse(text).value().ranges(1, 1 << 20, most);
    };
    EXPECT_EQ(ranges("2-900000,7,900001-", 5), (std::vector<SizeInterval>{{2, 1 << 20}}));
    EXPECT_EQ(ranges("1-5,9", 5), (std::vector<SizeInterval>{{1, 5}, {9, 9}}));
    EXPECT_FALSE(ranges("multiple:2", 1000));
}

/* elasticd reads rules of users. */
TEST(ProgramSizesTest, a_rule_is_read_in_a_bounded_time)
{
    std::string impossible, divisors;
    while (impossible.size() < 2000)
        impossible += "multiple:2&multiple:3&divisor:1048573&2-1048572,";
    while (divisors.size() < 2000)
        divisors += "divisor:1048573,";
    auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(ProgramSizes::parse(impossible + "1&2"));
    auto rule = ProgramSizes::parse(divisors + "1");
    ASSERT_TRUE(rule);
    EXPECT_EQ(rule.value().sizes(1, 1 << 20), (std::vector{1, 1048573}));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST(ProgramSizesTest, an_invalid_rule_is_refused_with_its_position)
{
    struct {
        const char *text;
        const char *message;
    } wrong[] = {
        {"", "at character 1"},
        {"4,", "at character 3"},
        {"4 5", "at character 2"},
        {"0", "at character 1"},
        {"1048577", "at character 1"},
        {"99999999999999999999", "at character 1"},
        {"5-4", "at character 1"},
        {"1-2-3", "separate two parts"},
        {"multiple:0", "at character 1"},
        {"multiple:", "at character 1"},
        {"2,prime", "at character 3"},
        {"any&", "at character 5"},
        {"squares", "character 7"},
        {"3&4", "no size at all"},
    };
    for (const auto &each : wrong) {
        auto rule = ProgramSizes::parse(each.text);
        ASSERT_FALSE(rule) << each.text;
        EXPECT_NE(rule.error().find(each.message), std::string::npos) << rule.error();
    }
    EXPECT_FALSE(ProgramSizes::parse(std::string_view("4\0005", 3)));
    std::string list = "1";
    while (list.size() <= PMI_ADAPT_SIZES_MAX)
        list += ",1";
    EXPECT_NE(ProgramSizes::parse(list).error().find("too long"), std::string::npos);
}

TEST(ProgramSizesTest, a_refusal_names_the_nearest_sizes)
{
    auto rule = ProgramSizes::parse("power_of_two&2-8");
    EXPECT_EQ(rule.value().refusal(5),
              "the program cannot use 5 processes, its rule of MPIX_Adapt_sizes is "
              "'power_of_two&2-8'; the nearest sizes are 4 and 8");
    EXPECT_NE(rule.value().refusal(1).find("cannot use 1 process,"), std::string::npos);
    EXPECT_NE(rule.value().refusal(9).find("; the nearest size is 8"), std::string::npos);
    EXPECT_EQ(rule.value().refusal(100000).find("nearest"), std::string::npos);
}

}  // namespace
}  // namespace elastic
