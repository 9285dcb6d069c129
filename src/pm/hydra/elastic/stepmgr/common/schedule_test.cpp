#include "stepmgr/common/schedule.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

std::vector<int> sizes(std::string_view text)
{
    std::vector<int> sizes;
    auto schedule = parse_schedule(text, 0);
    EXPECT_TRUE(schedule) << schedule.error();
    for (const ScheduleEntry &entry : schedule.value())
        sizes.push_back(entry.change.size);
    return sizes;
}

TEST(ScheduleTest, sizes_in_order)
{
    EXPECT_EQ(sizes("4,2,6,1"), (std::vector{4, 2, 6, 1}));
    EXPECT_EQ(sizes(" 4 , 2 "), (std::vector{4, 2}));
    EXPECT_EQ(sizes("3"), (std::vector{3}));
}

TEST(ScheduleTest, a_file_may_have_lines_and_comments)
{
    EXPECT_EQ(sizes("# sizes\n4,2\n\n6 # more\r\n1\n"), (std::vector{4, 2, 6, 1}));
    EXPECT_EQ(sizes("4,\n2,\n6"), (std::vector{4, 2, 6}));
}

TEST(ScheduleTest, times)
{
    auto entries = parse_schedule("2s:4,250ms:1,3,0.5m:2,0:3", 0).value();
    EXPECT_EQ(entries[0].at_ms, 2000);
    EXPECT_EQ(entries[1].at_ms, 250);
    EXPECT_EQ(entries[2].at_ms, std::nullopt);
    EXPECT_EQ(entries[3].at_ms, 30000);
    EXPECT_EQ(entries[4].at_ms, 0);
}

TEST(ScheduleTest, leaving_ranks_and_hosts)
{
    auto entries = parse_schedule("3/leave=0+2,6/leave=1,8/hosts=a+b,8/hosts=c/leave=0-2", 4);
    ASSERT_TRUE(entries) << entries.error();
    EXPECT_EQ(entries.value()[0].change.leave, (std::vector{0, 2}));
    EXPECT_EQ(entries.value()[2].change.hosts, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(entries.value()[3].change.leave, (std::vector{0, 1, 2}));
}

TEST(ScheduleTest, lists_in_brackets_have_commas)
{
    auto entries = parse_schedule(
        "3/leave=[0,2],6/leave=[1] , 8/hosts=[a, b]/leave=[0,2-4]\n8/leave=[3] # [\n2", 4);
    ASSERT_TRUE(entries) << entries.error();
    ASSERT_EQ(entries.value().size(), 5u);
    EXPECT_EQ(entries.value()[0].change.leave, (std::vector{0, 2}));
    EXPECT_EQ(entries.value()[1].change.leave, std::vector{1});
    EXPECT_EQ(entries.value()[2].change.hosts, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(entries.value()[2].change.leave, (std::vector{0, 2, 3, 4}));
    EXPECT_EQ(entries.value()[3].change.leave, std::vector{3});
    EXPECT_EQ(entries.value()[4].change.size, 2);
    EXPECT_EQ(
        parse_schedule("3/leave=[0,2", 4).error(),
        "adaptation schedule, entry 1 ('3/leave=[0', at character 1): '[0' is not a rank: give "
        "ranks such as 0+2 or 0-3");
    for (const char *bad : {"3/leave=[]", "3/leave=[0,2]]", "3/leave=[[0,2]]", "3/leave=[0\n,2]",
                            "[3,2]", "3/leave=[0,2]4", "3/leave=[0#,2]", "3/leave=0]"})
        EXPECT_FALSE(parse_schedule(bad, 4)) << bad;
}

TEST(ScheduleTest, a_comma_in_a_list_of_ranks_ends_the_entry)
{
    auto entries = parse_schedule("3/leave=0,2", 3);
    ASSERT_TRUE(entries) << entries.error();
    ASSERT_EQ(entries.value().size(), 2u);
    EXPECT_EQ(entries.value()[0].change.size, 3);
    EXPECT_EQ(entries.value()[0].change.leave, std::vector{0});
    EXPECT_EQ(entries.value()[1].change.size, 2);
    EXPECT_EQ(entries.value()[1].change.leave, std::nullopt);
}

TEST(ScheduleTest, programs)
{
    auto entries = parse_schedule("4/program=1,6/leave=0/program=0/hosts=a,8", 2, 2);
    ASSERT_TRUE(entries) << entries.error();
    EXPECT_EQ(entries.value()[0].change.program, 1);
    EXPECT_EQ(entries.value()[1].change.program, 0);
    EXPECT_EQ(entries.value()[2].change.program, std::nullopt);
    EXPECT_EQ(
        parse_schedule("4/program=2", 2, 2).error(),
        "adaptation schedule, entry 1 ('4/program=2', at character 1): there is no program 2: 2 "
        "programs were launched, give 0 to 1");
    for (const char *bad :
         {"4/program", "4/program=", "4/program=-1", "4/program=x", "4/program=65536",
          "4/program=0+1", "4/program=0/program=1", "1/program=0"})
        EXPECT_FALSE(parse_schedule(bad, 2, 2)) << bad;
}

TEST(ScheduleTest, what_does_not_parse_is_named)
{
    EXPECT_EQ(parse_schedule("4,x,1", 0).error(),
              "adaptation schedule, entry 2 ('x', at character 3): 'x' is not a size: give 1 to "
              "1048576");
    for (const char *bad : {"", ",", "4,", ",4", "4,,2", "0", "-1", "4.5", "4x", "2s", "2s:", ":4",
                            "2h:4", "-1s:4", "s:4", "nan:4", "1e3s:4", "2 s:4", "4/", "4/leave",
                            "4/leave=", "4/leave=a", "4/leave=1+1", "4/leave=1/leave=2", "4/hosts=",
                            "4/hosts=a b", "4/hosts=a/hosts=b", "4/stay=1", "4//leave=1", "#4",
                            "\n", "999999999999", "4;2", "4 2"})
        EXPECT_FALSE(parse_schedule(bad, 0)) << bad;
}

TEST(ScheduleTest, impossible_entries_are_found_as_far_as_sizes_are_known)
{
    EXPECT_TRUE(parse_schedule("3/leave=7,4", 0));
    EXPECT_FALSE(parse_schedule("3/leave=7,4", 2));
    EXPECT_FALSE(parse_schedule("4,3/leave=4", 0));
    EXPECT_FALSE(parse_schedule("4,1/leave=0", 0));
    EXPECT_FALSE(parse_schedule("4,2/hosts=a", 0));
    EXPECT_TRUE(parse_schedule("2,4", 2)) << "the same size again is skipped, not wrong";
}

TEST(ScheduleTest, bounds)
{
    EXPECT_FALSE(parse_schedule(std::string(SCHEDULE_MAX_BYTES + 1, '1'), 0));
    std::string many;
    for (size_t i = 0; i <= SCHEDULE_MAX_ENTRIES; i++)
        many += i % 2 ? "1\n" : "2\n";
    EXPECT_FALSE(parse_schedule(many, 0));
}

TEST(ScheduleTest, time_texts)
{
    EXPECT_EQ(parse_time_ms("1s").value(), 1000);
    EXPECT_EQ(parse_time_ms("0").value(), 0);
    EXPECT_EQ(parse_time_ms("1.5ms").value(), 2);
    for (const char *bad :
         {"", "1", "s", "-1s", "-0s", "1 s", "1s ", "infs", "9e9m", "99999999999m"})
        EXPECT_FALSE(parse_time_ms(bad)) << bad;
}

TEST(ScheduleTest, range_texts)
{
    EXPECT_EQ(parse_range("1:8").value().max, 8);
    EXPECT_EQ(parse_range("3:3").value().min, 3);
    for (const char *bad : {"", "8", "8:1", "0:4", ":", "1:", ":2", "1:2:3", "a:b"})
        EXPECT_FALSE(parse_range(bad)) << bad;
}

}  // namespace
}  // namespace elastic
