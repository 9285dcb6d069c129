#include "stepmgr/requests/adapt_policy.h"

#include <gtest/gtest.h>

#include <set>

#include "stepmgr/requests/size_source.h"

namespace elastic {
namespace {

std::vector<int> walk(std::string_view text, Range range, int present, int steps)
{
    Policy policy = Policy::parse(text, range, 5).value();
    std::vector<int> sizes;
    for (int i = 0; i < steps; i++)
        sizes.push_back(present = policy.next_size(present).value());
    return sizes;
}

TEST(PolicyTest, increase_decrease)
{
    EXPECT_EQ(walk("increase-decrease", {1, 4}, 2, 8), (std::vector{3, 4, 3, 2, 1, 2, 3, 4}));
    EXPECT_EQ(walk("increase-decrease", {1, 2}, 1, 3), (std::vector{2, 1, 2}));
}

TEST(PolicyTest, outside_the_range_it_comes_back)
{
    EXPECT_EQ(walk("increase-decrease", {3, 5}, 9, 2), (std::vector{5, 4}));
    EXPECT_EQ(walk("random", {3, 3}, 1, 1), (std::vector{3}));
}

TEST(PolicyTest, nothing_to_do_in_a_range_of_one)
{
    EXPECT_EQ(Policy::parse("random", {3, 3}, 1).value().next_size(3), std::nullopt);
}

TEST(PolicyTest, random_stays_in_range_changes_and_reaches_everything)
{
    std::vector<int> sizes = walk("random:42", {2, 9}, 4, 2000);
    std::set<int> seen(sizes.begin(), sizes.end());
    EXPECT_EQ(*seen.begin(), 2);
    EXPECT_EQ(*seen.rbegin(), 9);
    EXPECT_EQ(seen.size(), 8u);
    for (size_t i = 1; i < sizes.size(); i++)
        EXPECT_NE(sizes[i], sizes[i - 1]);
}

TEST(PolicyTest, random_differences_are_normal)
{
    /* Within +-1 deviation lie 68 % of the differences. */
    auto inside = [](const char *text, Range range, int present, double deviation) {
        int n = 0, total = 4000;
        Policy policy = Policy::parse(text, range, 0).value();
        for (int i = 0; i < total; i++)
            n += std::abs(policy.next_size(present).value() - present) <= deviation;
        return static_cast<double>(n) / total;
    };
    EXPECT_NEAR(inside("random:7:1000", {1, 3001}, 1501, 1000), 0.683, 0.03);
    EXPECT_NEAR(inside("random:7", {1, 4000}, 2000, 1253.3), 0.683, 0.03)
        << "SM1: 4000 * sqrt(pi / 2) / 4";
    EXPECT_EQ(walk("random:7:0.01", {1, 3}, 2, 4).size(), 4u) << "a difference of zero is none";
}

TEST(PolicyTest, SM1_a_probability)
{
    Policy policy = Policy::parse("random:7:2:0.3", {1, 9}, 0).value();
    int skipped = 0, total = 4000;
    for (int i = 0; i < total; i++)
        skipped += policy.skips();
    EXPECT_NEAR(static_cast<double>(skipped) / total, 0.7, 0.03);
    EXPECT_FALSE(Policy::parse("random:7:2:1", {1, 9}, 0).value().skips());
    EXPECT_TRUE(Policy::parse("random:7:2:0", {1, 9}, 0).value().skips());
    EXPECT_FALSE(Policy::parse("increase-decrease", {1, 9}, 0).value().skips());
}

TEST(PolicyTest, a_seed_gives_the_same_sizes)
{
    EXPECT_EQ(walk("random:42", {1, 9}, 4, 50), walk("random:42", {1, 9}, 4, 50));
    EXPECT_NE(walk("random:42", {1, 9}, 4, 50), walk("random:43", {1, 9}, 4, 50));
}

TEST(PolicyTest, only_sizes_that_the_program_can_use)
{
    ProgramSizes rule = ProgramSizes::parse("power_of_two").value();
    Policy stair = Policy::parse("increase-decrease", {1, 15}, 5).value();
    std::vector<int> sizes;
    for (int i = 0, present = 3; i < 8; i++)
        sizes.push_back(present = stair.next_size(present, &rule).value());
    EXPECT_EQ(sizes, (std::vector{4, 8, 4, 2, 1, 2, 4, 8}));

    Policy random = Policy::parse("random", {1, 15}, 5).value();
    std::set<int> seen;
    for (int i = 0, present = 4; i < 500; i++) {
        int size = random.next_size(present, &rule).value();
        EXPECT_NE(size, present);
        seen.insert(present = size);
    }
    EXPECT_EQ(seen, (std::set{1, 2, 4, 8}));

    Policy outside = Policy::parse("random", {3, 7}, 5).value();
    EXPECT_EQ(outside.next_size(12, &rule), 4);
    EXPECT_EQ(outside.next_size(4, &rule), std::nullopt) << "there is no other";
    EXPECT_EQ(Policy::parse("random", {5, 7}, 5).value().next_size(2, &rule), std::nullopt);
}

TEST(PolicyTest, bad_texts)
{
    for (const char *bad : {"", "grow", "random:", "random:x", "random:-1", "random:1 ", "Random",
                            "random:1:", "random:1:0", "random:1:-2", "random:1:x", "random:1:nan",
                            "random:1:inf", "random:1:2:",
                            "random:1:2:1.5", "random:1:2:-0.1", "random:1:2:nan", "random:1:2:1:",
                            "random:1:2:1:3", "random::2"})
        EXPECT_FALSE(Policy::parse(bad, {1, 4}, 0)) << bad;
    EXPECT_FALSE(Policy::parse("random", {0, 0}, 0));
}

step_config policy_config(int64_t interval_ms)
{
    step_config config = {};
    config.policy = "increase-decrease";
    config.range_min = 1;
    config.range_max = 4;
    config.interval_ms = interval_ms;
    return config;
}

TEST(SizeSourceTest, a_policy_waits_for_the_interval)
{
    SizeSource offers = SizeSource::create(policy_config(1000)).value();
    offers.launched(0);
    offers.adaptive(500);
    EXPECT_EQ(offers.due(), 1500);
    EXPECT_FALSE(offers.take(1499, 2));
    EXPECT_EQ(offers.take(1500, 2)->wanted.size, 3);
    offers.ended(2000, true);
    EXPECT_EQ(offers.due(), 3000);
}

TEST(SizeSourceTest, SM1_an_offer_that_is_not_made_is_no_end)
{
    step_config config = policy_config(0);
    config.policy = "random:7:2:0";
    SizeSource offers = SizeSource::create(config).value();
    offers.adaptive(0);
    for (int64_t now = 0; now < 1000; now += SizeSource::SKIP_MS) {
        EXPECT_FALSE(offers.take(now, 2));
        EXPECT_EQ(offers.due(), now + SizeSource::SKIP_MS) << "no hot loop";
    }
    EXPECT_TRUE(offers.any());
}

TEST(SizeSourceTest, a_policy_gives_up_after_failures_in_a_row)
{
    SizeSource offers = SizeSource::create(policy_config(0)).value();
    offers.adaptive(0);
    EXPECT_FALSE(offers.ended(10, false));
    EXPECT_EQ(offers.due(), 10 + SizeSource::RETRY_MS) << "no hot loop of failing launches";
    EXPECT_FALSE(offers.ended(20, true));
    EXPECT_FALSE(offers.ended(30, false));
    EXPECT_FALSE(offers.ended(40, false));
    EXPECT_TRUE(offers.ended(50, false));
    EXPECT_FALSE(offers.due());
}

TEST(SizeSourceTest, schedule_times_count_from_launch)
{
    step_config config = {};
    config.schedule = "2s:4,1,1s:3";
    SizeSource offers = SizeSource::create(config).value();
    offers.launched(100);
    offers.adaptive(200);
    EXPECT_EQ(offers.due(), 2100);
    EXPECT_EQ(offers.take(2100, 2)->wanted.size, 4);
    offers.ended(5000, true);
    EXPECT_EQ(offers.take(5000, 4)->wanted.size, 1);
    offers.ended(6000, false);
    EXPECT_EQ(offers.take(6000, 4)->label(), "schedule entry 3") << "late, and offered at once";
    EXPECT_FALSE(offers.due());
}

TEST(SizeSourceTest, options_that_exclude_each_other)
{
    step_config both = policy_config(0);
    both.schedule = "4";
    EXPECT_FALSE(SizeSource::create(both));
    step_config no_range = policy_config(0);
    no_range.range_min = no_range.range_max = 0;
    EXPECT_NE(SizeSource::create(no_range).error().find("--adapt-range"), std::string::npos);
    step_config only_range = policy_config(0);
    only_range.policy = nullptr;
    EXPECT_EQ(SizeSource::create(only_range).value().requests_range()->max, 4);
    only_range.schedule = "4";
    EXPECT_FALSE(SizeSource::create(only_range));
}

}  // namespace
}  // namespace elastic
