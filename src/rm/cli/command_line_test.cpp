#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "cli/commands.h"

namespace elastic {
namespace {

using Words = std::vector<std::string>;

TEST(CommandLineTest, options_end_at_the_program)
{
    CLI::App app;
    ProgramLine none;
    int code = 0;
    CLI::App *run = add_run(app, none, code);
    struct { Words words, options, program; } cases[] = {
        {{"./app"}, {}, {"./app"}},
        {{"-n", "2:8", "./app", "-n", "1"}, {"-n", "2:8"}, {"./app", "-n", "1"}},
        {{"-n2", "--time=5", "--hold", "./app"}, {"-n2", "--time=5", "--hold"}, {"./app"}},
        {{"--json", "--", "-odd", "--"}, {"--json"}, {"-odd", "--"}},
        {{"--unknown", "./app"}, {"--unknown"}, {"./app"}},
        {{"-n"}, {"-n"}, {}},
        {{"-n", "2", "--"}, {"-n", "2"}, {}},
        {{}, {}, {}},
        {{"-"}, {}, {"-"}},
    };
    for (const auto &[words, options, program] : cases) {
        ProgramLine line = split_program_line(*run, words);
        EXPECT_EQ(line.options, options);
        EXPECT_EQ(line.program, program);
    }
}

TEST(CommandLineTest, the_first_unknown_option_is_found)
{
    CLI::App app;
    ProgramLine none;
    int code = 0;
    CLI::App *run = add_run(app, none, code);
    EXPECT_EQ(unknown_option(*run, {"run", "-n", "2", "--hold", "-t5"}), "");
    EXPECT_EQ(unknown_option(*run, {"run", "-n", "2", "--qos=high", "-A", "x"}), "--qos");
    EXPECT_EQ(unknown_option(*run, {"run", "-Aours", "--", "-B"}), "-A");
    EXPECT_EQ(unknown_option(*run, {"run", "-", "--", "-B"}), "");
}

}  // namespace
}  // namespace elastic
