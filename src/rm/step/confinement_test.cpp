/* Confinement, in a folder in place of the control groups: this does not test the kernel. */

#include "step/confinement.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace elastic::rm {
namespace {

class ConfinementTest : public testing::Test {
  protected:
    ConfinementTest()
    {
        char name[] = "/tmp/confinement-XXXXXX";
        base_ = mkdtemp(name);
        put(base_, "cgroup.controllers", "cpu cpuset memory pids\n");
        put(base_, "cgroup.subtree_control", "");
    }
    ~ConfinementTest() override { std::filesystem::remove_all(base_); }
    static void put(const std::string &folder, const char *name, const std::string &text)
    {
        std::ofstream(folder + "/" + name) << text;
    }
    static std::string get(const std::string &folder, const char *name)
    {
        std::ifstream file(folder + "/" + name);
        std::string text;
        std::getline(file, text, '\0');
        return text;
    }
    std::string group(const char *name)
    {
        std::string folder = base_ + "/" + name;
        std::filesystem::create_directory(folder);
        put(folder, "cpuset.cpus", "");
        put(folder, "memory.max", "");
        return folder;
    }
    static constexpr int64_t MEMORY = 1000000;
    std::string base_;
    Confinement confinement_{{true, MEMORY}};
};

TEST_F(ConfinementTest, controllers_are_turned_on_or_missed)
{
    EXPECT_EQ(confinement_.open(base_), "");
    EXPECT_NE(get(base_, "cgroup.subtree_control"), "");
    put(base_, "cgroup.controllers", "cpu pids\n");
    EXPECT_NE(confinement_.open(base_).find("has no controller cpuset"), std::string::npos);
    EXPECT_EQ(Confinement({false, 0}).open(base_), "");
}

TEST_F(ConfinementTest, nodes_are_parts_of_the_machine)
{
    EXPECT_EQ(confinement_.add_node("n0", 4, 6), "");
    EXPECT_NE(confinement_.add_node("n1", 4, 6).find("more cores than this machine"),
              std::string::npos);
    Confinement memory_alone({false, MEMORY});
    EXPECT_EQ(memory_alone.add_node("n0", 400, 6), "");
}

TEST_F(ConfinementTest, a_step_has_what_its_job_has_booked)
{
    confinement_.add_node("n0", 4, 8);
    confinement_.add_node("n1", 4, 8);
    std::string one = group("1.1"), two = group("2.1");
    EXPECT_EQ(confinement_.apply(1, {{"n0", 2}, {"n1", 1}}, one), "");
    EXPECT_EQ(get(one, "cpuset.cpus"), "0-1,4");
    EXPECT_EQ(get(one, "memory.max"), "3000000");
    EXPECT_FALSE(std::filesystem::exists(one + "/memory.swap.max"));
    put(one, "memory.swap.max", "");
    EXPECT_EQ(confinement_.apply(1, {{"n0", 2}, {"n1", 1}}, one), "");
    EXPECT_EQ(get(one, "memory.swap.max"), "0");
    EXPECT_EQ(confinement_.apply(2, {{"n0", 2}}, two), "");
    EXPECT_EQ(get(two, "cpuset.cpus"), "2-3");
    put(one, "cpuset.cpus", "");
    EXPECT_EQ(confinement_.apply(1, {{"n0", 1}, {"n1", 3}}, one), "");
    EXPECT_EQ(get(one, "cpuset.cpus"), "0,4-6");
    EXPECT_NE(confinement_.apply(2, {{"n0", 4}}, two), "") << "one of them is another's";
    confinement_.discard(1);
    EXPECT_EQ(confinement_.apply(2, {{"n0", 4}}, two), "");
    EXPECT_EQ(get(two, "cpuset.cpus"), "0-3");
}

TEST_F(ConfinementTest, what_a_step_had_is_known_after_a_restart)
{
    confinement_.add_node("n0", 4, 4);
    std::string one = group("1.1"), two = group("2.1");
    put(one, "cpuset.cpus", "1,3\n");
    confinement_.adopt(1, one);
    EXPECT_EQ(confinement_.apply(2, {{"n0", 2}}, two), "");
    EXPECT_EQ(get(two, "cpuset.cpus"), "0,2");
    EXPECT_EQ(confinement_.apply(1, {{"n0", 1}}, one), "");
    EXPECT_EQ(get(one, "cpuset.cpus").substr(0, 1), "1");
}

TEST_F(ConfinementTest, lists_of_processors)
{
    EXPECT_EQ(Confinement::format({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
    EXPECT_EQ(Confinement::parse("0-2,5,7-8\n"), (std::set<int>{0, 1, 2, 5, 7, 8}));
    for (const char *text : {"", "\n", "x", "-3", ",,"})
        EXPECT_TRUE(Confinement::parse(text).empty()) << text;
    EXPECT_EQ(Confinement::parse("0-999999999").size(), 1u << 16);
}

}  // namespace
}  // namespace elastic::rm
