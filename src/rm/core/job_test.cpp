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

TEST(JobTest, the_text_of_sizes_names_only_what_limits_them)
{
    JobSpec spec;
    spec.minimum = spec.maximum = 2;
    EXPECT_EQ(describe_sizes(spec), "was submitted for 2 processes");
    spec.size_rule = SizeRule::POWER_OF_TWO;
    EXPECT_EQ(describe_sizes(spec), "was submitted for 2 processes");
    spec.maximum = 8;
    EXPECT_EQ(describe_sizes(spec),
              "was submitted for 2 to 8 processes, sizes of the rule power_of_two");
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
