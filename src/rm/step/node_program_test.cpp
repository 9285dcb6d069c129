/* The script of a prolog or epilog, and the meaning of its end. */

#include "step/node_program.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace elastic::rm {
namespace {

/* Its output when a shell runs it. */
std::string output_of(const std::string &script)
{
    char name[] = "/tmp/node-program-XXXXXX";
    int fd = mkstemp(name);
    EXPECT_EQ(::write(fd, script.data(), script.size()), static_cast<ssize_t>(script.size()));
    close(fd);
    FILE *shell = popen(("/bin/sh -s < " + std::string(name)).c_str(), "r");
    std::string text;
    for (int c = fgetc(shell); c != EOF; c = fgetc(shell))
        text += static_cast<char>(c);
    pclose(shell);
    unlink(name);
    return text;
}

TEST(NodeProgramTest, the_script_passes_words_and_variables_as_they_are)
{
    NodeProgramSpec spec;
    spec.words = {"/bin/sh", "-c", "printf '%s|' \"$1\" \"$A\"; cat; pwd", "sh",
                  "it's $HOME \"x\""};
    spec.variables = {"A=b='c' `d`\n$e", "EMPTY="};
    spec.limit_ms = 60000;
    EXPECT_EQ(output_of(node_program_script(spec) + "echo never\n"),
              "it's $HOME \"x\"|b='c' `d`\n$e|/\n");
}

TEST(NodeProgramTest, the_limit_is_whole_seconds)
{
    NodeProgramSpec spec;
    spec.words = {"/bin/true"};
    spec.limit_ms = 1001;
    EXPECT_NE(node_program_script(spec).find("timeout -k 5 2 '/bin/true'"), std::string::npos);
    spec.limit_ms = 0;
    EXPECT_NE(node_program_script(spec).find("timeout -k 5 1 "), std::string::npos);
}

TEST(NodeProgramTest, an_end_is_good_or_has_a_reason)
{
    auto problem = [](const StepExitFile &exit, const std::string &output = "") {
        return node_program_problem(exit, 60000, output);
    };
    EXPECT_EQ(problem({true, 0, ""}, "ready\n"), "");
    EXPECT_EQ(problem({true, 3, ""}, "one\nno disk\n"), "it ended with exit code 3: no disk");
    EXPECT_EQ(problem({true, 124, ""}), "it has not ended within 60 s");
    EXPECT_EQ(problem({true, 143, "the time limit of 95 s is reached"}),
              "it has not ended within 60 s");
    EXPECT_NE(problem({true, 137, ""}).find("was killed"), std::string::npos);
    EXPECT_EQ(problem({false, 127, "cannot run ssh"}), "it could not be started: cannot run ssh");
}

}  // namespace
}  // namespace elastic::rm
