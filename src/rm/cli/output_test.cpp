#include "cli/output.h"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

namespace elastic {
namespace {

TEST(OutputTest, columns_are_as_wide_as_their_widest_cell)
{
    Table table({{"ID", Table::RIGHT}, {"NAME"}, {"LAST"}});
    table.add({"7", "größer", "x"});
    table.add({"1234", "a", ""});
    auto lines = table.lines();
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[0], "  ID  NAME    LAST");
    EXPECT_EQ(lines[1], "   7  größer  x");
    EXPECT_EQ(lines[2], "1234  a");
    EXPECT_EQ(table.lines(false).size(), 2U);
}

TEST(OutputTest, cells_cannot_steer_the_terminal)
{
    Table table({{"A"}});
    table.add({"\x1b[2Jx\n"});
    table.add({std::string(1000, 'y')});
    EXPECT_EQ(table.lines()[1], "?[2Jx");
    EXPECT_EQ(table.lines()[2].size(), Table::CELL_MAX);
    table.add({std::string(Table::CELL_MAX - 4, 'y') + "grün"});
    EXPECT_EQ(table.lines()[3], std::string(Table::CELL_MAX - 4, 'y') + "g...");
}

/* The output of the function. */
template <class Print> std::string printed(Print print, std::ostream &stream)
{
    std::ostringstream text;
    std::streambuf *before = stream.rdbuf(text.rdbuf());
    print();
    stream.rdbuf(before);
    return text.str();
}

TEST(OutputTest, lines_and_notes_cannot_steer_the_terminal)
{
    const std::string wrong = "\x1b[2J a\tb \xc2\x9b" "2J \x9b c";
    EXPECT_EQ(printed([&] { print_line(wrong + "\nd"); }, std::cout), "?[2J a b ?2J ? c d\n");
    EXPECT_EQ(printed([&] { print_note(wrong + "\nd"); }, std::cerr),
              "elastic: ?[2J a b ?2J ? c\nd\n");
    EXPECT_EQ(printed([&] { EXPECT_EQ(complain(USAGE, wrong), USAGE); }, std::cerr),
              "elastic: ?[2J a b ?2J ? c\n");
}

TEST(OutputTest, json_stays_complete)
{
    const Json json = {{"a", "\x1b[2J\n\x7f \xc2\x9b ü"}};
    EXPECT_EQ(json_line(json), R"({"a":"\u001b[2J\n\u007f \u009b ü"})");
    EXPECT_EQ(Json::parse(json_line(json)), json);
}

TEST(OutputTest, members_of_the_wrong_type_are_as_good_as_missing)
{
    Json answer = {{"a", 1}, {"b", "text"}, {"c", nullptr}, {"d", {1, 2}}};
    EXPECT_EQ(string_or(answer, "a", "-"), "-");
    EXPECT_EQ(string_or(answer, "b", "-"), "text");
    EXPECT_EQ(integer_or(answer, "b", 5), 5);
    EXPECT_EQ(integer_or(answer, "c", 5), 5);
    EXPECT_EQ(number_or(Json(3), "a", 2.5), 2.5);
    EXPECT_EQ(list_of(answer, "d").size(), 2U);
    EXPECT_TRUE(list_of(answer, "a").empty());
    EXPECT_TRUE(object_of(answer, "zzz").is_object());
    EXPECT_TRUE(bool_or(answer, "a", true));
}

TEST(OutputTest, text_is_cut_between_characters)
{
    EXPECT_EQ(columns_of("grün"), 4u);
    EXPECT_EQ(first_columns("grün", 3), "grü");
    EXPECT_EQ(first_columns("grün", 9), "grün");
    EXPECT_EQ(first_columns("grün", 0), "");
}

TEST(OutputTest, durations_as_slurm_writes_them)
{
    EXPECT_EQ(format_duration(0), "0:00");
    EXPECT_EQ(format_duration(7999), "0:07");
    EXPECT_EQ(format_duration(750000), "12:30");
    EXPECT_EQ(format_duration(3 * 3600000), "3:00:00");
    EXPECT_EQ(format_duration(int64_t{2} * 86400000), "2-00:00:00");
    EXPECT_EQ(format_duration(-1), "-");
    EXPECT_EQ(format_time(0), "-");
}

}  // namespace
}  // namespace elastic
