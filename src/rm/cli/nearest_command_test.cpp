#include "cli/nearest_command.h"

#include <gtest/gtest.h>

namespace elastic {
namespace {

const std::vector<std::string> COMMANDS = {"run",   "submit", "queue", "cancel",
                                           "nodes", "ps",     "top"};

TEST(NearestCommandTest, slips_are_counted)
{
    EXPECT_EQ(edit_distance("queue", "queue"), 0);
    EXPECT_EQ(edit_distance("queue", "qeue"), 1);
    EXPECT_EQ(edit_distance("queue", "qeuue"), 1) << "two letters exchanged";
    EXPECT_EQ(edit_distance("", "run"), 3);
    EXPECT_EQ(edit_distance("cancle", "cancel"), 1);
    EXPECT_EQ(edit_distance("abc", "xyz"), 3);
}

TEST(NearestCommandTest, the_near_one_is_found)
{
    EXPECT_EQ(nearest_command("qeue", COMMANDS), "queue");
    EXPECT_EQ(nearest_command("sumbit", COMMANDS), "submit");
    EXPECT_EQ(nearest_command("squeue", COMMANDS), "queue");
    EXPECT_EQ(nearest_command("sbatch", COMMANDS), "submit");
    EXPECT_EQ(nearest_command("node", COMMANDS), "nodes");
    EXPECT_EQ(nearest_command("stop", COMMANDS), "cancel") << "not top";
    EXPECT_EQ(nearest_command("explode", COMMANDS), "");
    EXPECT_EQ(nearest_command("xy", COMMANDS), "") << "two of two letters are no slip";
    EXPECT_EQ(nearest_command(std::string(100000, 'q'), COMMANDS), "");
}

}  // namespace
}  // namespace elastic
