/* Partitions: nodes, limits and priorities of groups of jobs. */

#include "core/core_driver.h"
#include "core/forecast.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

using OnNodes = std::map<std::string, int>;
constexpr PolicyKind POLICIES[] = {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL,
                                   PolicyKind::EFFICIENT, PolicyKind::MEASURED};

OnNodes nodes_of(const Job &job)
{
    OnNodes on;
    for (const Block &block : job.blocks)
        on[block.node.str()] += block.processes;
    return on;
}

Partition partition(const std::string &name, const std::vector<std::string> &nodes)
{
    Partition partition;
    partition.name = name;
    partition.nodes = NodeSet(nodes);
    return partition;
}

JobSpec in(const std::string &name, JobSpec spec)
{
    spec.partition = name;
    return spec;
}

/* "left" has n0 and n1, "right" n2 and n3; "all" is the default. */
Config three_partitions(PolicyKind policy)
{
    Config config = CoreDriver::config_of(policy);
    config.partitions = {partition("left", {"n0", "n1"}), partition("right", {"n2", "n3"}),
                         partition("all", {})};
    config.partitions.back().is_default = true;
    return config;
}

class Machine : public CoreDriver {
  public:
    explicit Machine(const Config &config) : CoreDriver(config)
    {
        for (int i = 0; i < 4; i++)
            send(NodeUp{"n" + std::to_string(i), 4});
    }
    explicit Machine(PolicyKind policy) : Machine(three_partitions(policy)) {}

    std::string refusal(const JobSpec &spec)
    {
        send(Submit{"s" + std::to_string(++submits), spec});
        return last<Answer>()->message;
    }
    std::string reason(JobId id) { return why_waiting(core.state(), job(id)); }
};

TEST(PartitionsTest, jobs_run_on_the_nodes_of_their_partition)
{
    for (PolicyKind policy : POLICIES) {
        Machine machine(policy);
        EXPECT_EQ(nodes_of(machine.job(machine.submit(in("right", rigid(6))))),
                  (OnNodes{{"n2", 4}, {"n3", 2}}));
        EXPECT_EQ(nodes_of(machine.job(machine.submit(in("right", rigid(1))))),
                  (OnNodes{{"n3", 1}}));
        JobId waits = machine.submit(in("right", rigid(2)));
        EXPECT_EQ(machine.job(waits).state, JobState::PENDING);
        EXPECT_EQ(machine.reason(waits), "resources");
        JobSpec whole = in("left", rigid(5));
        whole.whole_nodes = true;
        EXPECT_EQ(nodes_of(machine.job(machine.submit(whole))), (OnNodes{{"n0", 4}, {"n1", 1}}))
            << "nobody in another partition blocks it";
        JobId unnamed = machine.submit(rigid(1));
        EXPECT_EQ(machine.job(unnamed).spec.partition, "all");
    }
}

TEST(PartitionsTest, the_first_job_in_a_partition_blocks_those_that_share_its_nodes)
{
    Machine machine(PolicyKind::FCFS);
    machine.submit(in("right", rigid(6)));
    JobId waits = machine.submit(in("right", rigid(4)));
    JobId shares = machine.submit(rigid(1)), left = machine.submit(in("left", rigid(1)));
    EXPECT_EQ(machine.job(waits).state, JobState::PENDING);
    EXPECT_EQ(machine.job(shares).state, JobState::PENDING);
    EXPECT_EQ(machine.job(left).state, JobState::STARTING);
}

TEST(PartitionsTest, a_long_queue_does_not_hide_the_jobs_of_another_partition)
{
    for (PolicyKind policy : {PolicyKind::EASY, PolicyKind::FILL, PolicyKind::MEASURED}) {
        Config config = three_partitions(policy);
        config.backfill_depth = 2;
        Machine machine(config);
        machine.run(machine.submit(in("right", rigid(8))));
        for (int i = 0; i < 10; i++)
            machine.submit(in("right", rigid(8)));
        EXPECT_EQ(machine.job(machine.submit(in("left", rigid(1)))).state, JobState::STARTING);
    }
}

TEST(PartitionsTest, elastic_jobs_grow_within_their_partition)
{
    for (PolicyKind policy : {PolicyKind::FILL, PolicyKind::MEASURED}) {
        Machine machine(policy);
        JobId blocks = machine.submit(in("left", rigid(8)));
        JobId grows = machine.submit(in("left", malleable(1, 16)));
        machine.run(blocks);
        machine.end(blocks);
        machine.run(grows);
        machine.wait(10000);
        if (machine.job(grows).adaptation)
            machine.commit(grows);
        EXPECT_EQ(nodes_of(machine.job(grows)), (OnNodes{{"n0", 4}, {"n1", 4}}));
        machine.send(Resize{"r", grows, 9, "", ""});
        EXPECT_NE(machine.last<Answer>()->message.find("for 0 more"), std::string::npos);
    }
}

TEST(PartitionsTest, an_elastic_job_gives_cores_to_its_partition_and_to_no_other)
{
    Machine machine(PolicyKind::FILL);
    JobId left = machine.submit(in("left", malleable(1, 16)));
    JobId right = machine.submit(in("right", malleable(1, 16)));
    machine.run(left);
    machine.run(right);
    EXPECT_EQ(machine.job(left).size(), 8);
    EXPECT_EQ(machine.job(right).size(), 8);
    machine.wait(10000);
    machine.submit(in("right", rigid(4)));
    EXPECT_FALSE(machine.job(left).adaptation);
    ASSERT_TRUE(machine.job(right).adaptation);
    EXPECT_LE(machine.job(right).adaptation->size, 4);
}

TEST(PartitionsTest, the_priority_of_a_partition_counts)
{
    Config config = three_partitions(PolicyKind::EASY);
    config.partitions[0].priority = 10;
    Machine machine(config);
    JobId blocks = machine.submit(rigid(16));
    JobId slow = machine.submit(rigid(16));
    machine.now_ms += 1000;
    JobId fast = machine.submit(in("left", rigid(8)));
    machine.run(blocks);
    machine.end(blocks);
    EXPECT_EQ(machine.job(fast).state, JobState::STARTING);
    EXPECT_EQ(machine.job(slow).state, JobState::PENDING);
}

TEST(PartitionsTest, submissions_are_checked)
{
    Config config = three_partitions(PolicyKind::EASY);
    Partition &left = config.partitions[0], &right = config.partitions[1];
    left.max_time_ms = 60000;
    left.max_cores = 6;
    right.state = PartitionState::DRAIN;
    Machine machine(config);
    EXPECT_EQ(machine.refusal(in("middle", rigid(1))),
              "there is no partition middle: choose one of left, right, all");
    EXPECT_EQ(machine.refusal(in("right", rigid(1))), "partition right takes no new jobs (drain)");
    EXPECT_EQ(machine.refusal(in("left", rigid(1))),
              "partition left allows a time limit of 60 s at most, and the job has none");
    EXPECT_EQ(machine.refusal(in("left", rigid(1, 61000))),
              "partition left allows a time limit of 60 s at most, and the job requests 61 s");
    EXPECT_EQ(machine.refusal(in("left", malleable(1, 7, 1000))),
              "partition left allows a job 6 cores at most, and this one may have 7: request a "
              "smaller maximum");
    JobSpec outside = in("left", rigid(1, 1000));
    outside.nodelist = NodeSet({"n2"});
    EXPECT_EQ(machine.refusal(outside), "node n2 of its node list is not in partition left");
    left.max_cores = 0;
    machine.send(Configure{config});
    EXPECT_EQ(machine.refusal(in("left", rigid(9, 1000))),
              "the job needs at least 9 processes, and the nodes of partition left can hold 8 such "
              "processes; request less");
    config.partitions[2].is_default = false;
    machine.send(Configure{config});
    EXPECT_EQ(machine.refusal(rigid(1)),
              "no partition is the default: name one of left, right, all");
    config.partitions.clear();
    machine.send(Configure{config});
    EXPECT_EQ(machine.refusal(in("left", rigid(1))),
              "there is no partition left: there are none at all");
}

TEST(PartitionsTest, jobs_of_other_nodes_do_not_delay_an_expected_start)
{
    Machine machine(PolicyKind::EASY);
    machine.run(machine.submit(in("right", rigid(8))));
    JobId limited = machine.submit(in("left", rigid(8, 5000)));
    machine.run(limited);
    machine.submit(in("right", rigid(8)));
    JobId waits = machine.submit(in("left", rigid(8, 5000)));
    EXPECT_EQ(forecast(machine.core.state(), waits).start_ms, machine.now_ms + 5000);
}

TEST(PartitionsTest, the_default_time_is_that_of_the_partition)
{
    Config config = three_partitions(PolicyKind::EASY);
    config.default_time_limit_ms = 7000;
    config.partitions[0].default_time_ms = 5000;
    Machine machine(config);
    JobId own = machine.submit(in("left", rigid(1))), other = machine.submit(rigid(1));
    machine.run(own);
    machine.run(other);
    EXPECT_EQ(machine.job(own).limit_at_ms, machine.now_ms + 5000);
    EXPECT_EQ(machine.job(other).limit_at_ms, machine.now_ms + 7000);
}

TEST(PartitionsTest, a_job_waits_while_its_partition_is_down)
{
    Config config = three_partitions(PolicyKind::EASY);
    config.partitions[0].state = PartitionState::DOWN;
    Machine machine(config);
    JobId waits = machine.submit(in("left", rigid(1)));
    EXPECT_EQ(machine.reason(waits), "PartitionDown: partition left is down");
    EXPECT_EQ(forecast(machine.core.state(), waits).start_ms, NEVER);
    config.partitions[0].state = PartitionState::UP;
    machine.send(Configure{config});
    EXPECT_EQ(machine.job(waits).state, JobState::STARTING);
}

TEST(PartitionsTest, a_job_whose_partition_is_deleted_waits_until_it_is_moved)
{
    Config config = three_partitions(PolicyKind::EASY);
    Machine machine(config);
    JobId runs = machine.submit(in("left", rigid(8)));
    machine.run(runs);
    JobId waits = machine.submit(in("left", rigid(1)));
    config.partitions.erase(config.partitions.begin());
    machine.send(Configure{config});
    EXPECT_EQ(machine.job(runs).state, JobState::RUNNING);
    EXPECT_EQ(machine.reason(waits),
              "PartitionNotAvail: there is no partition left any more ('elastic update JOB "
              "--partition NAME' moves it)");
    auto restored = Core::restore(machine.core.snapshot());
    ASSERT_TRUE(restored.ok()) << restored.error();
    EXPECT_EQ(why_waiting(restored.value().state(), restored.value().state().jobs.at(waits)),
              machine.reason(waits));
    Update update;
    update.request = "u";
    update.job = waits;
    update.partition = "left";
    machine.send(update);
    EXPECT_EQ(machine.last<Answer>()->code, AnswerCode::OK) << "nothing changes";
    update.partition = "right";
    machine.send(update);
    EXPECT_EQ(machine.job(waits).state, JobState::STARTING);
    EXPECT_EQ(machine.recorded(record::UPDATED)->data["partition"], "right");
    update.job = runs;
    machine.send(update);
    EXPECT_EQ(machine.last<Answer>()->code, AnswerCode::STATE) << "it stays in its partition";
}

TEST(PartitionsTest, a_node_that_leaves_a_partition_ends_no_job)
{
    Config config = three_partitions(PolicyKind::FILL);
    Machine machine(config);
    JobId runs = machine.submit(in("left", malleable(2, 16)));
    machine.run(runs);
    EXPECT_EQ(nodes_of(machine.job(runs)), (OnNodes{{"n0", 4}, {"n1", 4}}));
    config.partitions[0].nodes = NodeSet({"n0", "n2"});
    machine.send(Configure{config});
    machine.wait(10000);
    EXPECT_EQ(machine.job(runs).state, JobState::ADAPTING) << "it grows to the new node";
    machine.commit(runs);
    EXPECT_EQ(nodes_of(machine.job(runs)), (OnNodes{{"n0", 4}, {"n1", 4}, {"n2", 4}}));
}

TEST(PartitionsTest, a_configuration_is_checked)
{
    auto wrong = [](auto change) {
        Config config = three_partitions(PolicyKind::EASY);
        change(config.partitions);
        return check(config);
    };
    using All = std::vector<Partition>;
    EXPECT_EQ(wrong([](All &) {}), "");
    EXPECT_EQ(wrong([](All &all) { all[0].name = "right"; }), "there are two partitions right");
    EXPECT_NE(wrong([](All &all) { all[0].name = "a b"; }).find("is not a name"),
              std::string::npos);
    EXPECT_NE(wrong([](All &all) { all[0].name = "-x"; }).find("is not a name"), std::string::npos);
    EXPECT_EQ(wrong([](All &all) { all[0].is_default = true; }),
              "partitions left and all are both the default: there is one at most");
    EXPECT_NE(wrong([](All &all) { all[0].state = PartitionState::GONE; }), "");
    EXPECT_NE(wrong([](All &all) { all[0].priority = 2000000; }), "");
    EXPECT_NE(wrong([](All &all) {
                  all[0].max_time_ms = 1000;
                  all[0].default_time_ms = 2000;
              }),
              "");
    EXPECT_NE(wrong([](All &all) { all.resize(PARTITIONS_MAX + 1, all[0]); }), "");
}

TEST(PartitionsTest, a_specification_with_its_partition_is_stored)
{
    JobSpec spec = in("left", rigid(1));
    spec.in = std::make_shared<const Partition>(partition("left", {"n0"}));
    auto stored = parse<JobSpec>(write(spec));
    ASSERT_TRUE(stored.ok());
    EXPECT_EQ(stored.value().partition, "left");
    EXPECT_FALSE(stored.value().in) << "that follows from the configuration";
    Config config = three_partitions(PolicyKind::EASY);
    EXPECT_EQ(parse<Config>(write(config)).value(), config);
}

/* The nodes of "left" are the scarce ones. */
TEST(PartitionsTest, elastic_jobs_of_a_partition_share_its_nodes_equally)
{
    Machine machine(PolicyKind::FILL);
    JobId holds = machine.submit(in("left", rigid(8)));
    machine.run(holds);
    JobId one = machine.submit(in("left", malleable(1, 16))),
          two = machine.submit(in("left", malleable(1, 16)));
    machine.end(holds);
    EXPECT_EQ(machine.job(one).size(), 4);
    EXPECT_EQ(machine.job(two).size(), 4);
}

}  // namespace
}  // namespace elastic::rm
