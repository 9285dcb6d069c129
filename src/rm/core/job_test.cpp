/* Sizes and specifications. */

#include "core/job.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

JobSpec spec_of(SizeRule rule, int minimum, int maximum, int multiple = 1)
{
    JobSpec spec;
    spec.elasticity = Elasticity::MALLEABLE;
    spec.size_rule = rule;
    spec.minimum = minimum;
    spec.maximum = maximum;
    spec.size_multiple = multiple;
    return spec;
}

bool follows(const JobSpec &spec, int size)
{
    auto is_power = [size](int power) {
        for (int64_t n = 1; n <= size; n++) {
            if ((power == 2 ? n * n : n * n * n) == size)
                return true;
        }
        return false;
    };
    switch (spec.size_rule) {
        case SizeRule::ANY: return true;
        case SizeRule::MULTIPLE: return size % spec.size_multiple == 0;
        case SizeRule::POWER_OF_TWO: return (size & (size - 1)) == 0;
        case SizeRule::SQUARE: return is_power(2);
        case SizeRule::CUBE: return is_power(3);
    }
    return false;
}

TEST(JobTest, sizes_are_those_of_the_rule_within_the_bounds)
{
    for (const JobSpec &spec :
         {spec_of(SizeRule::ANY, 3, 9), spec_of(SizeRule::MULTIPLE, 5, 40, 7),
          spec_of(SizeRule::POWER_OF_TWO, 3, 70), spec_of(SizeRule::SQUARE, 2, 130),
          spec_of(SizeRule::CUBE, 2, 130), spec_of(SizeRule::POWER_OF_TWO, 1, 1)}) {
        for (int size = 0; size < 150; size++) {
            int below = 0, above = 0;
            for (int i = spec.minimum; i <= spec.maximum; i++) {
                if (!follows(spec, i))
                    continue;
                below = i <= size ? i : below;
                above = i >= size && above == 0 ? i : above;
            }
            EXPECT_EQ(size_at_most(spec, size), below) << to_string(spec.size_rule) << " " << size;
            EXPECT_EQ(size_at_least(spec, size), above) << to_string(spec.size_rule) << " " << size;
        }
    }
}

TEST(JobTest, the_rule_of_a_submission_has_all_forms)
{
    JobSpec spec = spec_of(SizeRule::ANY, 2, 30);
    ASSERT_EQ(set_size_rule(spec, "divisor:360 & multiple:2, 5-7, 29-"), "");
    EXPECT_EQ(check(spec), "");
    EXPECT_EQ(size_rule(spec), "divisor:360&multiple:2,5-7,29-");
    std::vector<int> sizes;
    for (int size = size_at_least(spec, 1); size > 0; size = size_at_least(spec, size + 1)) {
        sizes.push_back(size);
        EXPECT_EQ(size_at_most(spec, size), size);
    }
    EXPECT_EQ(sizes, (std::vector{2, 4, 5, 6, 7, 8, 10, 12, 18, 20, 24, 29, 30}));
    EXPECT_EQ(size_at_most(spec, 28), 24);
    ASSERT_TRUE(set_program_sizes(spec, "square,multiple:5"));
    EXPECT_EQ(*spec.usable, (std::vector<SizeInterval>{{4, 5}, {10, 10}, {20, 20}, {30, 30}}));
    EXPECT_FALSE(set_program_sizes(spec, "primes"));
    EXPECT_EQ(size_at_most(spec, 28), 24) << "the rule of the submission stays";
    EXPECT_NE(set_size_rule(spec, "primes"), "");
    const std::pair<const char *, SizeRule> named[] = {{"any", SizeRule::ANY},
                                                       {"1-", SizeRule::ANY},
                                                       {"multiple:3", SizeRule::MULTIPLE},
                                                       {"pow2", SizeRule::POWER_OF_TWO},
                                                       {"square", SizeRule::SQUARE},
                                                       {"cube", SizeRule::CUBE}};
    for (const auto &[text, rule] : named) {
        EXPECT_EQ(set_size_rule(spec, text), "");
        EXPECT_EQ(spec.size_rule, rule) << text;
        EXPECT_EQ(spec.sizes, "");
        EXPECT_FALSE(spec.usable);
    }
    EXPECT_EQ(set_size_rule(spec, "31-"), "");
    EXPECT_NE(check(spec).find("the rule '31-'"), std::string::npos) << check(spec);
    spec.maximum = 1 << 20;
    EXPECT_EQ(set_size_rule(spec, "multiple:2&1-1000000"), "");
    EXPECT_NE(check(spec).find("smaller maximum"), std::string::npos) << check(spec);
}

TEST(JobTest, the_text_of_sizes_names_only_what_limits_them)
{
    JobSpec spec;
    spec.minimum = spec.maximum = 2;
    EXPECT_EQ(describe_sizes(spec), "was submitted for 2 processes");
    spec.size_rule = SizeRule::POWER_OF_TWO;
    EXPECT_EQ(describe_sizes(spec), "was submitted for 2 processes");
    spec.maximum = 8;
    EXPECT_EQ(describe_sizes(spec),
              "was submitted for 2 to 8 processes, sizes of the rule 'power_of_two'");
    spec.size_rule = SizeRule::ANY;
    EXPECT_EQ(describe_sizes(spec), "was submitted for 2 to 8 processes");
    spec.minimum = spec.maximum = 1;
    EXPECT_EQ(describe_sizes(spec), "was submitted for 1 process");
}

TEST(JobTest, great_sizes_do_not_overflow)
{
    int most = 1 << 20;
    EXPECT_EQ(size_at_most(spec_of(SizeRule::SQUARE, 1, most), most), most);
    EXPECT_EQ(size_at_least(spec_of(SizeRule::CUBE, 1, most), most - 1), 0);
    EXPECT_EQ(size_at_least(spec_of(SizeRule::POWER_OF_TWO, 1, most), most - 1), most);
}

TEST(JobTest, impossible_specifications_are_named)
{
    auto wrong = [](auto change) {
        JobSpec spec;
        change(spec);
        return check(spec);
    };
    EXPECT_EQ(check(JobSpec()), "");
    EXPECT_NE(wrong([](JobSpec &spec) { spec.minimum = 0; }), "");
    EXPECT_NE(wrong([](JobSpec &spec) { spec.minimum = 2; }), "");
    EXPECT_NE(wrong([](JobSpec &spec) { spec.maximum = 2; }), "");      /* rigid */
    EXPECT_NE(wrong([](JobSpec &spec) { spec.maximum = 1 << 21; }), "");
    EXPECT_NE(wrong([](JobSpec &spec) { spec.cores_per_process = 0; }), "");
    EXPECT_NE(wrong([](JobSpec &spec) { spec.processes_per_node = -1; }), "");
    EXPECT_NE(wrong([](JobSpec &spec) { spec.time_limit_ms = -1; }), "");
    EXPECT_NE(wrong([](JobSpec &spec) { spec.priority = 2000000; }), "");
    EXPECT_NE(wrong([](JobSpec &spec) { spec.preferred = 3; }), "");
    EXPECT_NE(wrong([](JobSpec &spec) { spec.name = std::string(300, 'x'); }), "");
    EXPECT_NE(check(spec_of(SizeRule::SQUARE, 5, 8)), "");
    EXPECT_NE(check(spec_of(SizeRule::MULTIPLE, 1, 8, 0)), "");
}

}  // namespace
}  // namespace elastic::rm
