/* On which nodes and slots of its job a step of srun runs. */

#include "slurm/step_layout.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

const JobSlots TWO_NODES{{{"a", 4}, {"b", 4}}, 1};

SrunOptions wants(int tasks, int nodes = 0)
{
    SrunOptions options;
    options.tasks = tasks;
    options.nodes = nodes;
    return options;
}

/* "a:2,b:1 slots 0,1,4", "busy", or why it is impossible. */
std::string shown(const SrunOptions &options, const Used &used = {},
                  const JobSlots &allocated = TWO_NODES)
{
    StepAllocation result = allocate_step(allocated, options, used);
    if (result.result != StepAllocation::Result::OK)
        return result.result == StepAllocation::Result::BUSY ? "busy" : result.why;
    std::string text = format_blocks(result.layout) + " slots ";
    for (int slot : result.layout.slots)
        text += (text.ends_with(" ") ? "" : ",") + std::to_string(slot);
    return text;
}

TEST(StepLayoutTest, without_options_a_step_has_all_slots)
{
    EXPECT_EQ(shown({}), "a:4,b:4 slots 0,1,2,3,4,5,6,7");
}

TEST(StepLayoutTest, processes_are_distributed_over_the_nodes)
{
    EXPECT_EQ(shown(wants(2)), "a:1,b:1 slots 0,4");
    EXPECT_EQ(shown(wants(3)), "a:2,b:1 slots 0,1,4");
    EXPECT_EQ(shown(wants(1)), "a:1 slots 0");
    EXPECT_EQ(shown(wants(3, 1)), "a:3 slots 0,1,2");
    EXPECT_EQ(shown(wants(0, 1)), "a:4 slots 0,1,2,3");
}

TEST(StepLayoutTest, processes_of_a_node_are_limited)
{
    SrunOptions options;
    options.tasks_per_node = 2;
    EXPECT_EQ(shown(options), "a:2,b:2 slots 0,1,4,5");
    options.tasks = 5;
    EXPECT_NE(shown(options).find("more processors"), std::string::npos);
}

TEST(StepLayoutTest, a_cyclic_step_changes_the_node_after_each_rank)
{
    SrunOptions options = wants(3);
    options.cyclic = true;
    EXPECT_EQ(shown(options), "a:1,b:1,a:1 slots 0,1,4");
}

TEST(StepLayoutTest, nodes_are_named_excluded_or_left_out)
{
    SrunOptions options = wants(2);
    options.node_names = {"b"};
    EXPECT_EQ(shown(options), "b:2 slots 4,5");
    options.node_names = {"c"};
    EXPECT_EQ(shown(options), "node c does not belong to the job");
    options.node_names.clear();
    options.excluded = {"b"};
    EXPECT_EQ(shown(options), "a:2 slots 0,1");
    options.excluded = {"a", "b"};
    EXPECT_NE(shown(options).find("no node of the job is left"), std::string::npos);
    options.excluded.clear();
    options.relative = 1;
    EXPECT_EQ(shown(options), "b:2 slots 4,5");
}

TEST(StepLayoutTest, a_step_waits_for_slots_that_others_use)
{
    Used used = {true, true, true, false, true, true, true, true};
    EXPECT_EQ(shown(wants(1), used), "a:1 slots 3");
    EXPECT_EQ(shown(wants(2), used), "busy");
    EXPECT_EQ(shown(wants(2, 2), used), "busy");
    SrunOptions options = wants(8);
    options.overlap = true;
    EXPECT_EQ(shown(options, used), "a:4,b:4 slots ");
}

TEST(StepLayoutTest, more_than_the_job_has_is_impossible)
{
    EXPECT_NE(shown(wants(9)).find("more processors requested than permitted: 9"),
              std::string::npos);
    EXPECT_NE(shown(wants(2, 3)).find("more nodes requested than permitted: 3"),
              std::string::npos);
    SrunOptions options = wants(9);
    options.overcommit = true;
    EXPECT_EQ(shown(options), "a:5,b:4 slots 0,1,2,3,4,5,6,7");
}

TEST(StepLayoutTest, a_process_with_more_processors_has_more_slots)
{
    SrunOptions options = wants(2);
    options.cpus_per_task = 2;
    EXPECT_EQ(shown(options), "a:1,b:1 slots 0,1,4,5");
    options.tasks = 0;
    EXPECT_EQ(shown(options), "a:2,b:2 slots 0,1,2,3,4,5,6,7");
    options.tasks = 5;
    EXPECT_NE(shown(options).find("5 processes of 2 processors"), std::string::npos);
    JobSlots wide{{{"a", 2}}, 4};
    options.tasks = 2;
    options.cpus_per_task = 4;
    EXPECT_EQ(shown(options, {}, wide), "a:2 slots 0,1");
}

TEST(StepLayoutTest, a_rank_knows_its_node_and_its_rank_there)
{
    auto layout = parse_blocks("a:1,b:2,a:1");
    ASSERT_TRUE(layout);
    const TaskPosition expected[] = {
        {0, 0, "a"}, {1, 0, "b"}, {1, 1, "b"}, {0, 1, "a"}, {-1, -1, ""}};
    for (int rank = 0; rank < 5; rank++) {
        TaskPosition found = position_of(layout.value(), rank);
        EXPECT_EQ(found.node, expected[rank].node) << rank;
        EXPECT_EQ(found.local, expected[rank].local) << rank;
        EXPECT_EQ(found.name, expected[rank].name) << rank;
    }
    EXPECT_EQ(position_of(layout.value(), -1).node, -1);
}

TEST(StepLayoutTest, only_blocks_of_nodes_are_read)
{
    for (const char *text :
         {"a", "a:", "a:0", "a:-1", "a:2,,b:1", "a:x", ":2", "-a:2", "a:99999999999"})
        EXPECT_FALSE(parse_blocks(text)) << text;
}

}  // namespace
}  // namespace elastic::rm
