/* Rigid jobs on a number of whole nodes, on which their processes are spread evenly. */

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

/* Any numbers, on nodes of several sizes of which some are busy: it starts if and only if enough
 * nodes hold its share. */
TEST(NodeNumberTest, it_fits_if_enough_nodes_hold_its_share)
{
    int started = 0, refused = 0;
    for (int cores_per_process : {1, 2}) {
        for (int processes = 1; processes <= 24; processes++) {
            for (int nodes = 1; nodes <= std::min(processes, 8); nodes++) {
                CoreDriver driver(CoreDriver::config_of(PolicyKind::EASY));
                for (int i = 0; i < 9; i++)
                    driver.send(NodeUp{"n" + std::to_string(i), 2 + i});
                driver.submit(rigid(1));    /* on the smallest */
                JobSpec spec = on_nodes(processes, nodes);
                spec.cores_per_process = cores_per_process;
                int share = node_share(spec), large = 0;
                for (int i = 1; i < 9; i++)
                    large += (2 + i) / cores_per_process >= share;
                Space space(driver.core.state());
                ASSERT_EQ(space.fits(spec, processes), large >= nodes)
                    << processes << " on " << nodes << ", " << cores_per_process;
                ASSERT_EQ(space.nodes_for(spec), large);
                if (large < nodes) {
                    refused++;
                    continue;
                }
                JobId id = driver.submit(spec);
                const Blocks &blocks = driver.job(id).blocks;
                ASSERT_EQ(blocks.size(), static_cast<size_t>(nodes));
                ASSERT_EQ(count_processes(blocks), processes);
                Counts all = counts(blocks);
                ASSERT_TRUE(std::is_sorted(all.rbegin(), all.rend()));
                ASSERT_LE(all.front() - all.back(), 1);
                started++;
            }
        }
    }
    EXPECT_GT(started, 100);
    EXPECT_GT(refused, 50);
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
                  "the job needs 4 nodes for 2 processes with GPUs each, and there are 3 such "
                  "nodes; request less");
    }
}

TEST(NodeNumberTest, down_nodes_and_impossible_numbers)
{
    CoreDriver driver(PolicyKind::EASY, 3, 4);
    AnswerCode code;
    auto why = [&](const JobSpec &spec) { return driver.core.refusal(spec, code); };
    EXPECT_EQ(why(on_nodes(5, 4)),
              "the job needs 4 nodes for 2 processes each, and there are 3 such nodes; request "
              "less");
    EXPECT_EQ(code, AnswerCode::CAPACITY);
    EXPECT_EQ(why(on_nodes(5, 1)),
              "the job needs 1 node for 5 processes, and there are 0 such nodes; request less");
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
