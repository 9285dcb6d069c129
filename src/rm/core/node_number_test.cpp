/* Rigid jobs on a number of whole nodes, on which their processes are spread evenly if they fit. */

#include "core/core_driver.h"
#include "core/forecast.h"
#include "core/gpus_fixture.h"
#include "core/placement.h"
#include "core/shortage.h"

namespace elastic::rm {
namespace {

JobSpec on_nodes(int processes, int nodes, int64_t limit_ms = 0)
{
    JobSpec spec = rigid(processes, limit_ms);
    spec.whole_nodes = true;
    spec.nodes = nodes;
    return spec;
}

std::vector<int> counts(const Blocks &blocks)
{
    std::vector<int> all;
    for (const Block &block : blocks)
        all.push_back(block.processes);
    return all;
}

std::vector<std::string> names(const Blocks &blocks)
{
    std::vector<std::string> all;
    for (const Block &block : blocks)
        all.push_back(block.node.str());
    return all;
}

using Counts = std::vector<int>;
using Names = std::vector<std::string>;
constexpr PolicyKind POLICIES[] = {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL,
                                   PolicyKind::EFFICIENT, PolicyKind::MEASURED};

TEST(NodeNumberTest, the_first_nodes_have_one_process_more)
{
    const std::tuple<int, int, Counts> cases[] = {
        {4, 3, {2, 1, 1}},    {3, 3, {1, 1, 1}},       {5, 3, {2, 2, 1}},    {6, 3, {2, 2, 2}},
        {10, 4, {3, 3, 2, 2}}, {6, 5, {2, 1, 1, 1, 1}}, {16, 4, {4, 4, 4, 4}}, {4, 1, {4}},
    };
    for (PolicyKind policy : POLICIES) {
        for (const auto &[processes, nodes, expected] : cases) {
            CoreDriver driver(policy, 5, 4);
            JobId id = driver.submit(on_nodes(processes, nodes));
            EXPECT_EQ(counts(driver.job(id).blocks), expected) << processes << " on " << nodes;
            EXPECT_EQ(driver.core.state().booking(id).cores, int64_t{4} * nodes);
        }
    }
}

/* Any numbers, on nodes of several sizes of which some are busy: it starts if and only if some
 * choice of so many nodes holds it; evenly if nodes are large enough for that. */
TEST(NodeNumberTest, it_fits_if_its_number_of_nodes_can_hold_it)
{
    int started = 0, refused = 0, uneven = 0;
    for (int cores_per_process : {1, 2}) {
        for (int processes = 1; processes <= 24; processes++) {
            for (int nodes = 1; nodes <= std::min(processes, 8); nodes++) {
                CoreDriver driver(CoreDriver::config_of(PolicyKind::EASY));
                for (int i = 0; i < 9; i++)
                    driver.send(NodeUp{"n" + std::to_string(i), 2 + i});
                driver.submit(rigid(1));    /* on the smallest */
                JobSpec spec = on_nodes(processes, nodes);
                spec.cores_per_process = cores_per_process;
                int share = even_share(spec), large = 0, held = 0;
                for (int i = 1; i < 9; i++)
                    large += (2 + i) / cores_per_process >= share;
                for (int i = 9 - nodes; i < 9; i++)
                    held += i > 0 ? (2 + i) / cores_per_process : 0;
                Space space(driver.core.state());
                ASSERT_EQ(space.fits(spec, processes), held >= processes)
                    << processes << " on " << nodes << ", " << cores_per_process;
                ASSERT_EQ(space.nodes_for(spec, share), large);
                if (held < processes) {
                    refused++;
                    continue;
                }
                JobId id = driver.submit(spec);
                const Blocks &blocks = driver.job(id).blocks;
                ASSERT_EQ(blocks.size(), static_cast<size_t>(nodes));
                ASSERT_EQ(count_processes(blocks), processes);
                Counts all = counts(blocks);
                started++;
                uneven += large < nodes;
                if (large < nodes)
                    continue;
                ASSERT_TRUE(std::is_sorted(all.rbegin(), all.rend()));
                ASSERT_LE(all.front() - all.back(), 1);
            }
        }
    }
    EXPECT_GT(started, 100);
    EXPECT_GT(refused, 50);
    EXPECT_GT(uneven, 20);
}

/* As Slurm: each node has a process, and the rest is put on the nodes in turn. */
TEST(NodeNumberTest, small_nodes_have_fewer)
{
    const std::tuple<int, int, Counts, Counts> cases[] = {
        {4, 3, {4, 4, 1}, {2, 1, 1}},    {4, 3, {1, 4, 4}, {1, 2, 1}}, {9, 3, {4, 2, 4}, {4, 2, 3}},
        {10, 3, {4, 2, 4}, {4, 2, 4}},   {5, 2, {1, 2, 4}, {2, 3}},    {6, 3, {1, 2, 4}, {1, 2, 3}},
        {4, 2, {1, 2, 1, 3, 1}, {2, 2}},
    };
    for (PolicyKind policy : POLICIES) {
        for (const auto &[processes, nodes, cores, expected] : cases) {
            CoreDriver driver(CoreDriver::config_of(policy));
            for (size_t i = 0; i < cores.size(); i++)
                driver.send(NodeUp{"n" + std::to_string(i), cores[i]});
            AnswerCode code;
            EXPECT_EQ(driver.core.refusal(on_nodes(processes, nodes), code), "");
            JobId id = driver.submit(on_nodes(processes, nodes));
            EXPECT_EQ(counts(driver.job(id).blocks), expected) << processes << " on " << nodes;
        }
    }
}

/* It is not refused, and starts when its largest nodes are free. */
TEST(NodeNumberTest, it_waits_for_large_nodes)
{
    for (PolicyKind policy : POLICIES) {
        CoreDriver driver(CoreDriver::config_of(policy));
        for (int i = 0; i < 4; i++)
            driver.send(NodeUp{"n" + std::to_string(i), i < 2 ? 4 : 1});
        JobSpec whole = rigid(4, HOUR);
        whole.nodelist = NodeSet({"n0"});
        JobId first = driver.submit(whole);
        driver.run(first);
        JobId waits = driver.submit(on_nodes(7, 3, MINUTE));
        EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
        auto missing = shortage(driver.core.state(), driver.job(waits));
        ASSERT_TRUE(missing);
        EXPECT_EQ(missing->open_nodes, 3);
        EXPECT_EQ(missing->capacity, 6);
        EXPECT_EQ(forecast(driver.core.state(), waits).start_ms, driver.job(first).limit_at_ms);
        driver.end(first);
        EXPECT_EQ(counts(driver.job(waits).blocks), (Counts{3, 3, 1}));
        EXPECT_EQ(driver.core.state().booking(waits).cores, 9);
    }
}

TEST(NodeNumberTest, it_waits_for_all_its_nodes_and_reports_how_many_it_lacks)
{
    for (PolicyKind policy : POLICIES) {
        CoreDriver driver(policy, 3, 4);
        JobId first = driver.submit(rigid(2, HOUR));
        driver.run(first);
        JobId waits = driver.submit(on_nodes(4, 3, MINUTE));
        EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
        auto missing = shortage(driver.core.state(), driver.job(waits));
        ASSERT_TRUE(missing);
        EXPECT_EQ(missing->nodes, 3);
        EXPECT_EQ(missing->open_nodes, 2);
        EXPECT_LT(missing->capacity, 4);
        EXPECT_EQ(why_waiting(driver.core.state(), driver.job(waits)), "resources");
        Forecast found = forecast(driver.core.state(), waits);
        EXPECT_EQ(found.start_ms, driver.job(first).limit_at_ms);
        EXPECT_EQ(found.waits_for, first);
        driver.end(first);
        EXPECT_EQ(counts(driver.job(waits).blocks), (Counts{2, 1, 1}));
    }
}

/* Each node that becomes free may be one too few. */
TEST(NodeNumberTest, the_expected_start_is_that_of_its_last_node)
{
    CoreDriver driver(PolicyKind::EASY, 3, 4);
    JobId first = driver.submit(rigid(4, MINUTE)), last = driver.submit(rigid(4, HOUR));
    driver.run(first);
    driver.run(last);
    JobId waits = driver.submit(on_nodes(4, 3, MINUTE));
    Forecast found = forecast(driver.core.state(), waits);
    EXPECT_EQ(found.start_ms, driver.job(last).limit_at_ms);
    EXPECT_EQ(found.waits_for, last);
    driver.end(first);
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
    driver.end(last);
    EXPECT_EQ(counts(driver.job(waits).blocks), (Counts{2, 1, 1}));
}

/* Jobs behind it start only if they end before its nodes are free. */
TEST(NodeNumberTest, its_nodes_are_reserved)
{
    CoreDriver driver(PolicyKind::EASY, 3, 4);
    JobId first = driver.submit(rigid(2, 10 * MINUTE));
    driver.run(first);
    JobId waits = driver.submit(on_nodes(4, 3, MINUTE));
    JobId longer = driver.submit(rigid(1, HOUR)), shorter = driver.submit(rigid(1, MINUTE));
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
    EXPECT_EQ(driver.job(longer).state, JobState::PENDING);
    EXPECT_EQ(driver.job(shorter).state, JobState::STARTING);
}

TEST(NodeNumberTest, listed_nodes_are_among_them)
{
    for (PolicyKind policy : POLICIES) {
        CoreDriver driver(policy, 5, 4);
        JobSpec spec = on_nodes(4, 3);
        spec.nodelist = NodeSet({"n3", "n4"});
        spec.exclude = NodeSet({"n0"});
        const Job &job = driver.job(driver.submit(spec));
        EXPECT_EQ(names(job.blocks), (Names{"n1", "n3", "n4"}));
        EXPECT_EQ(counts(job.blocks), (Counts{2, 1, 1}));
    }
}

TEST(NodeNumberTest, each_node_has_the_gpus_of_its_processes)
{
    for (PolicyKind policy : POLICIES) {
        GpuMachine machine(policy, {1, 2, 0, 2, 2});
        const Job &job = machine.job(machine.submit(with_gpus(on_nodes(4, 3), 1)));
        EXPECT_EQ(names(job.blocks), (Names{"n1", "n3", "n4"})) << "n0 has too few GPUs";
        EXPECT_EQ(counts(job.blocks), (Counts{2, 1, 1}));
        Counts gpus;
        for (const NodeGpus &each : job.gpus)
            gpus.push_back(std::popcount(each.gpus));
        EXPECT_EQ(gpus, (Counts{2, 1, 1}));
        AnswerCode code;
        EXPECT_EQ(machine.core.refusal(with_gpus(on_nodes(5, 4), 1), code),
                  "");
        EXPECT_EQ(machine.core.refusal(with_gpus(on_nodes(5, 5), 1), code),
                  "the job needs 5 nodes with GPUs that can hold a process, and there are 4 such "
                  "nodes; request less");
    }
}

TEST(NodeNumberTest, a_process_with_more_cores_than_any_node_is_refused_with_the_cause)
{
    Config config = CoreDriver::config_of(PolicyKind::EASY);
    Partition small;
    small.name = "small";
    small.nodes = NodeSet({"n0"});
    config.partitions = {small, Partition()};
    config.partitions[1].name = "all";
    CoreDriver driver(config);
    driver.send(NodeUp{"n0", 4});
    driver.send(NodeUp{"n1", 8});
    AnswerCode code;
    JobSpec wide = rigid(1), listed;
    wide.partition = "all";
    wide.cores_per_process = 9;
    EXPECT_EQ(driver.core.refusal(wide, code),
              "no node has 9 cores: the largest has 8; request fewer cores for each process (-c), "
              "or less memory for it");
    EXPECT_EQ(code, AnswerCode::CAPACITY);
    wide.nodes = 1;
    wide.whole_nodes = true;
    EXPECT_EQ(driver.core.refusal(wide, code).substr(0, 38),
              "no node has 9 cores: the largest has 8");
    wide.partition = "small";
    wide.cores_per_process = 8;
    EXPECT_EQ(driver.core.refusal(wide, code).substr(0, 57),
              "no node of partition small has 8 cores: the largest has 4");
    wide.partition = "all";
    EXPECT_EQ(driver.core.refusal(wide, code), "");
}

TEST(NodeNumberTest, down_nodes_and_impossible_numbers)
{
    CoreDriver driver(PolicyKind::EASY, 3, 4);
    AnswerCode code;
    auto why = [&](const JobSpec &spec) { return driver.core.refusal(spec, code); };
    EXPECT_EQ(why(on_nodes(5, 4)),
              "the job needs 4 nodes that can hold a process, and there are 3 such nodes; request "
              "less");
    EXPECT_EQ(code, AnswerCode::CAPACITY);
    EXPECT_EQ(why(on_nodes(5, 1)),
              "the job needs 1 node for 5 processes, and the largest can hold 4; request less");
    EXPECT_EQ(why(on_nodes(9, 2)),
              "the job needs 2 nodes for 9 processes, and the largest 2 can hold 8; request less");
    EXPECT_NE(why(on_nodes(2, 3)), "") << "more nodes than processes";
    EXPECT_EQ(code, AnswerCode::FIELD);
    JobSpec elastic = on_nodes(4, 3), shared = on_nodes(4, 3), limited = on_nodes(5, 3);
    elastic.maximum = 8;
    elastic.elasticity = Elasticity::MALLEABLE;
    EXPECT_NE(why(elastic), "");
    shared.whole_nodes = false;
    EXPECT_NE(why(shared), "");
    limited.processes_per_node = 1;
    EXPECT_NE(why(limited), "");
    driver.send(NodeDown{"n1", "test"});
    JobId waits = driver.submit(on_nodes(4, 3));
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(waits)),
              "ReqNodeNotAvail: it needs 3 whole nodes, and nodes are down or draining");
    driver.send(NodeUp{"n1", 4});
    EXPECT_EQ(counts(driver.job(waits).blocks), (Counts{2, 1, 1}));
}

/* A waiting job keeps its number of nodes when its size changes. */
TEST(NodeNumberTest, another_size_is_spread_on_the_same_number)
{
    CoreDriver driver(PolicyKind::EASY, 3, 4);
    JobSpec spec = on_nodes(6, 3);
    spec.held = true;
    JobId id = driver.submit(spec);
    Update update;
    update.request = "u1";
    update.job = id;
    update.minimum = update.maximum = 7;
    driver.send(update);
    driver.send(Release{"r1", id});
    EXPECT_EQ(counts(driver.job(id).blocks), (Counts{3, 2, 2}));
}

/* Stores of older versions have no number. */
TEST(NodeNumberTest, a_specification_without_a_number_is_read)
{
    Json json = write(on_nodes(4, 3));
    JobSpec spec;
    read(json, spec, "");
    EXPECT_EQ(spec.nodes, 3);
    json.erase("nodes");
    JobSpec older;
    read(json, older, "");
    EXPECT_EQ(older.nodes, 0);
}

}  // namespace
}  // namespace elastic::rm
