#include "base/change.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

Result<Change> resolve(int present, int size, std::optional<std::vector<int>> leave = {},
                       std::vector<std::string> hosts = {})
{
    return resolve_change(present, {size, std::move(leave), std::move(hosts)});
}

TEST(ChangeTest, growing_joins)
{
    Change change = resolve(2, 5).value();
    EXPECT_EQ(change.joining, 3);
    EXPECT_TRUE(change.leaving.empty());
    EXPECT_EQ(change.new_size, 5);
}

TEST(ChangeTest, shrinking_lets_the_highest_leave)
{
    Change change = resolve(5, 2).value();
    EXPECT_EQ(change.joining, 0);
    EXPECT_EQ(change.leaving, (std::vector{2, 3, 4}));
}

TEST(ChangeTest, grows_and_shrinks_at_once)
{
    Change change = resolve(3, 6, {{1}}).value();
    EXPECT_EQ(change.joining, 4);
    EXPECT_EQ(change.leaving, (std::vector{1}));
}

TEST(ChangeTest, moves_the_whole_world)
{
    Change change = resolve(2, 2, {{1, 0}}).value();
    EXPECT_EQ(change.joining, 2);
    EXPECT_EQ(change.leaving, (std::vector{0, 1}));
}

TEST(ChangeTest, impossible_changes_have_a_reason)
{
    EXPECT_EQ(resolve(4, 4).error(), "the size is 4 already");
    EXPECT_EQ(resolve(4, 0).error(), "size 0 is not possible: give 1 to 1048576");
    EXPECT_EQ(resolve(4, 3, {{4}}).error(),
              "rank 4 cannot leave: there are 4 processes, ranks 0 to 3");
    EXPECT_EQ(resolve(1, 3, {{1}}).error(), "rank 1 cannot leave: there is 1 process, rank 0");
    EXPECT_EQ(resolve(4, 3, {{1, 1}}).error(), "rank 1 is listed twice among the leaving ranks");
    EXPECT_EQ(resolve(4, 2, {{1}}).error(),
              "of 4 processes 1 would leave, so that 3 stay, more than the size 2 that is "
              "requested: list 1 more rank");
    EXPECT_EQ(resolve(4, 2, {}, {"a"}).error(),
              "hosts are given, but no process joins: leave the hosts out");
    EXPECT_EQ(resolve(4, 4, {std::vector<int>{}}).error(), "the size is 4 already");
}

TEST(ChangeTest, joining_processes_run_a_program_that_was_launched)
{
    ChangeRequest request{4, {}, {}, {}, 1};
    EXPECT_EQ(resolve_change(2, request, 2).value().joining, 2);
    EXPECT_TRUE(resolve_change(2, request)) << "how many there are is not known";
    EXPECT_EQ(resolve_change(2, request, 1).error(),
              "there is no program 1: 1 program was launched, give 0, or leave it out");
    request.program = 3;
    EXPECT_EQ(resolve_change(2, request, 3).error(),
              "there is no program 3: 3 programs were launched, give 0 to 2");
    request.program = -1;
    EXPECT_FALSE(resolve_change(2, request, 3));
    request = {2, {}, {}, {}, 0};
    EXPECT_EQ(resolve_change(4, request, 2).error(),
              "a program is given, but no process joins: leave the program out");
}

TEST(ChangeTest, ranks_are_lists_and_ranges)
{
    EXPECT_EQ(parse_ranks("0+2", '+').value(), (std::vector{0, 2}));
    EXPECT_EQ(parse_ranks("7,0-3", ',').value(), (std::vector{7, 0, 1, 2, 3}));
    for (const char *bad : {"", "1+", "+1", "a", "-1", "3-1", "1-", "0x1", "1 ", "1+1", "0-2+1",
                            "1048576", "99999999999999999999", "0-1048575+0-1048575"})
        EXPECT_FALSE(parse_ranks(bad, '+')) << bad;
}

TEST(ChangeTest, lists_have_plus_signs_commas_or_brackets)
{
    for (const char *list : {"0+2-4", "0,2-4", "[0,2-4]", "[0, 2-4]", "[0+2-4]", "[ 0 ,\t2-4 ]"}) {
        EXPECT_EQ(plain_list(list, '+'), "0+2-4") << list;
        EXPECT_EQ(plain_list(list, ','), "0,2-4") << list;
    }
    for (const char *bad :
         {"[0", "0]", "[", "]", "[]", "[[0]]", "[0]+[2]", "0 2", "[0,]", "[0,,2]"})
        EXPECT_FALSE(parse_ranks(plain_list(bad, '+'), '+')) << bad;
    EXPECT_EQ(parse_ranks(plain_list("[0", '+'), '+').error(),
              "'[0' is not a rank: give ranks such as 0+2 or 0-3");
}

TEST(ChangeTest, hosts_are_names)
{
    EXPECT_EQ(parse_hosts("a+b-1.c_d", '+').value(), (std::vector<std::string>{"a", "b-1.c_d"}));
    for (const char *bad : {"", "a+", "a b", "a;b", "-a", "a/b", "\xff"})
        EXPECT_FALSE(parse_hosts(bad, '+')) << bad;
    EXPECT_FALSE(valid_host_name(std::string(256, 'a')));
    for (const char *good : {"a", "a:2", "a:2=0", "a:2=0,15,7,63"})
        EXPECT_TRUE(valid_host_of_joining(good)) << good;
    for (const char *bad :
         {"a=1", "a:0=1", "a:1=", "a:1=1,", "a:1=-1", "a:1=1=2", "a:1=1;b", ":1=1"})
        EXPECT_FALSE(valid_host_of_joining(bad)) << bad;
    EXPECT_FALSE(valid_host_of_joining("a:1=" + std::string(5000, '1')));
    EXPECT_FALSE(valid_host_slot("a:2=0")) << "no process joins there";
}

TEST(ChangeTest, ranks_are_written_shortly)
{
    EXPECT_EQ(format_ranks({}), "");
    EXPECT_EQ(format_ranks({3}), "3");
    EXPECT_EQ(format_ranks({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

TEST(ChangeTest, printable_text_is_one_line_without_controls)
{
    for (Charset charset : {Charset::ASCII, Charset::UTF_8}) {
        EXPECT_EQ(printable("a\nb\r\n\tc ~", charset), "a b   c ~");
        EXPECT_EQ(printable("\x1b[2J\x7f" + std::string(1, '\0'), charset), "?[2J??");
        EXPECT_EQ(printable("abc\ndef", charset, 5), "abc d");
        EXPECT_EQ(printable("", charset), "");
    }
    EXPECT_EQ(printable("grün", Charset::ASCII), "gr??n");
    EXPECT_EQ(printable("grün \xe2\x82\xac \xf0\x9f\x98\x80", Charset::UTF_8),
              "grün \xe2\x82\xac \xf0\x9f\x98\x80");
    EXPECT_EQ(printable("grün", Charset::UTF_8, 3), "gr") << "cut between characters";
}

TEST(ChangeTest, printable_text_has_well_formed_characters)
{
    EXPECT_EQ(printable("\xc2\x9b" "2J", Charset::UTF_8), "?2J") << "a control sequence";
    EXPECT_EQ(printable("\x9b" "2J", Charset::UTF_8), "?2J");
    EXPECT_EQ(printable("\xc3", Charset::UTF_8), "?") << "its second byte is missing";
    EXPECT_EQ(printable("\xc3(", Charset::UTF_8), "?(");
    EXPECT_EQ(printable("\xc0\x8a", Charset::UTF_8), "??") << "a line end in two bytes";
    EXPECT_EQ(printable("\xe0\x80\x8a", Charset::UTF_8), "???");
    EXPECT_EQ(printable("\xed\xa0\x80", Charset::UTF_8), "???") << "a surrogate";
    EXPECT_EQ(printable("\xf4\x90\x80\x80", Charset::UTF_8), "????");
    EXPECT_EQ(printable("\xff", Charset::UTF_8), "?");
}

}  // namespace
}  // namespace elastic
