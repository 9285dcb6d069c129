#include "slurm/task_programs.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

using Words = std::vector<std::string>;

TaskPrograms parsed(const std::string &text)
{
    auto programs = TaskPrograms::parse(text);
    EXPECT_TRUE(programs) << (programs ? "" : programs.error());
    return programs ? programs.value() : TaskPrograms();
}

std::string wrong(const std::string &text)
{
    auto programs = TaskPrograms::parse(text);
    return programs ? "" : programs.error();
}

TEST(TaskProgramsTest, each_rank_has_the_program_of_its_line)
{
    TaskPrograms programs = parsed("# programs\n"
                                   "1,4-5\t./server -r %t -o %o   # the first three\n"
                                   "\n"
                                   "*  ./worker %t:%o\n");
    EXPECT_EQ(programs.words_of(1), (Words{"./server", "-r", "1", "-o", "0"}));
    EXPECT_EQ(programs.words_of(5), (Words{"./server", "-r", "5", "-o", "2"}));
    EXPECT_EQ(programs.words_of(0), (Words{"./worker", "0:0"}));
    EXPECT_EQ(programs.first_without(1000), -1);
}

TEST(TaskProgramsTest, a_rank_may_have_none)
{
    TaskPrograms programs = parsed("0-1 a\n3 b");
    EXPECT_EQ(programs.first_without(2), -1);
    EXPECT_EQ(programs.first_without(4), 2);
    EXPECT_TRUE(programs.words_of(2).empty());
}

TEST(TaskProgramsTest, quotes_keep_blanks_and_lines_may_go_on)
{
    EXPECT_EQ(parsed("0 sh -c 'echo %t # x' \"a b%t\" c''d \\\n  last\r\n").words_of(0),
              (Words{"sh", "-c", "echo %t # x", "a b0", "cd", "last"}));
    EXPECT_EQ(parsed("* a 50% %% %").words_of(7), (Words{"a", "50%", "%%", "%"}));
}

TEST(TaskProgramsTest, what_is_wrong_is_named_with_its_line)
{
    EXPECT_NE(wrong("0 a\nx b\n").find("line 2: ranks such as 0-2,5 or *"), std::string::npos);
    EXPECT_EQ(wrong("0\n"), "line 1: a program is expected after the ranks");
    EXPECT_EQ(wrong("0 ''\n"), "line 1: a program is expected after the ranks");
    EXPECT_EQ(wrong("0 'a\n"), "line 1: a quote is not closed");
    EXPECT_EQ(wrong("0 a \\"), "its last line ends with a backslash");
    EXPECT_EQ(wrong("# none\n"), "it names no program");
    EXPECT_NE(wrong("3-1 a\n"), "");
    EXPECT_NE(wrong("-1 a\n"), "");
    EXPECT_NE(wrong("0-99999999 a\n"), "");
    EXPECT_NE(wrong(std::string("0 a\0b\n", 6)), "");
    EXPECT_NE(wrong(std::string(TASK_PROGRAMS_BYTES_MAX + 1, '#')), "");
}

}  // namespace
}  // namespace elastic::rm
