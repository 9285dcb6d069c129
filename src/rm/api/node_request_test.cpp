/* A number of nodes on a machine with nodes of different sizes. */

#include "api/node_request.h"

#include "core/core_driver.h"

namespace elastic::rm {
namespace {

/* Nodes of 2, 8, 2, 4 and 4 cores; n5 has 8 cores and 2 GPUs. */
struct NodeRequestTest : testing::Test {
    NodeRequestTest() : driver(CoreDriver::config_of(PolicyKind::EASY))
    {
        int number = 0;
        for (int cores : {2, 8, 2, 4, 4, 8})
            driver.send(NodeUp{"n" + std::to_string(number++), cores});
        driver.send(NodeGpusSet{"n5", 2});
    }
    int capacity(const JobSpec &spec) const
    {
        return driver.core.state().capacity_when_empty(spec, false);
    }
    /* The number of nodes of a job with so many processes. */
    int nodes(int processes, NodeRange range, JobSpec spec = JobSpec())
    {
        BodyReader body("{}");
        spec.minimum = spec.maximum = processes;
        spec.elasticity = Elasticity::RIGID;
        int number = put_on_nodes(body, spec, range, [this](auto &any) { return capacity(any); },
                                  notes);
        EXPECT_EQ(number, spec.nodes);
        return number;
    }

    CoreDriver driver;
    std::vector<std::string> notes;
};

TEST_F(NodeRequestTest, a_range_becomes_as_many_of_the_largest_nodes_as_are_needed)
{
    for (auto [processes, wanted] : {std::pair(3, 2), {16, 2}, {17, 3}, {20, 3}, {21, 4}, {24, 4}})
        EXPECT_EQ(nodes(processes, {2, 4}), wanted) << processes;
    EXPECT_EQ(nodes(25, {2, 4}), 4) << "refused later";
    EXPECT_EQ(nodes(28, {1, 6}), 6);
    EXPECT_EQ(nodes(17, {2, 100}), 3) << "more than there are";
    EXPECT_EQ(nodes(2, {1, 4}), 1);
    EXPECT_TRUE(notes.empty());
    EXPECT_EQ(nodes(2, {3, 4}), 2);
    EXPECT_EQ(notes.size(), 1U) << "one process for each node";
}

TEST_F(NodeRequestTest, its_list_its_limits_and_its_gpus_count)
{
    JobSpec listed, excludes, few, wide, with_gpus;
    listed.nodelist = NodeSet({"n0", "n2"});
    EXPECT_EQ(nodes(4, {1, 4}, listed), 2);
    EXPECT_EQ(nodes(5, {1, 4}, listed), 3);
    excludes.exclude = NodeSet({"n1", "n5"});
    EXPECT_EQ(nodes(9, {1, 4}, excludes), 3);
    few.processes_per_node = 3;
    EXPECT_EQ(nodes(7, {1, 4}, few), 3);
    wide.cores_per_process = 3;
    EXPECT_EQ(nodes(5, {1, 4}, wide), 3);
    with_gpus.gpus_per_node = 1;
    EXPECT_EQ(nodes(8, {1, 4}, with_gpus), 1);
    EXPECT_EQ(nodes(9, {1, 4}, with_gpus), 4) << "refused later: one node has GPUs";
}

TEST_F(NodeRequestTest, without_a_size_a_job_fills_the_largest_nodes)
{
    auto all = [this](auto &any) { return capacity(any); };
    JobSpec spec;
    EXPECT_EQ(processes_on_nodes(spec, 3, all), 20);
    EXPECT_EQ(processes_on_nodes(spec, 7, all), 0) << "too few nodes";
    spec.processes_per_node = 3;
    EXPECT_EQ(processes_on_nodes(spec, 6, all), 16);
}

}  // namespace
}  // namespace elastic::rm
