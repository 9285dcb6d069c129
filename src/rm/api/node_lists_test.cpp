#include "api/node_lists.h"

#include "core/core_driver.h"

namespace elastic::rm {
namespace {

TEST(NodeListsTest, AWholeNodeIsTheLargestOfThePartition)
{
    Config config = CoreDriver::config_of(PolicyKind::EASY);
    Partition small;
    small.name = "small";
    small.nodes = NodeSet({"n0", "n1", "n9"});
    config.partitions = {small, Partition()};
    config.partitions[1].name = "all";
    CoreDriver driver(config);
    const State &state = driver.core.state();
    EXPECT_EQ(cores_of_largest_node(state, JobSpec()), 1) << "there are no nodes yet";
    for (int i = 0; i < 3; i++)
        driver.send(NodeUp{"n" + std::to_string(i), 1 << (i + 1)});
    JobSpec spec;
    for (const auto &[partition, cores] : {std::pair("small", 4), std::pair("all", 8)}) {
        spec.partition = partition;
        state.enter(spec);
        EXPECT_EQ(cores_of_largest_node(state, spec), cores) << partition;
    }
    EXPECT_EQ(cores_of_largest_node(state, JobSpec()), 8);
}

}  // namespace
}  // namespace elastic::rm
