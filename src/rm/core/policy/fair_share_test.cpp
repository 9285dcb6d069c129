/* Fair shares of jobs that may use different nodes. */

#include "core/core_driver.h"
#include "core/policy/fair_share.h"

namespace elastic::rm {
namespace {

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

/* Eight nodes n0 to n7 of four cores.  "few": n0, n1; "rest": the others; "left": n0 to n3,
 * "middle": n2 to n5; the default has all nodes. */
class Machine : public CoreDriver {
  public:
    explicit Machine(PolicyKind policy) : CoreDriver(config(policy))
    {
        for (int i = 0; i < 8; i++)
            send(NodeUp{"n" + std::to_string(i), 4});
    }
    /* The fair share of such a job. */
    int share(const std::string &partition)
    {
        JobSpec spec = in(partition, rigid(1));
        core.state().enter(spec);
        return FairShares(core.state()).size(spec);
    }
    JobId start(const JobSpec &spec)
    {
        JobId id = submit(spec);
        run(id);
        return id;
    }

  private:
    static Config config(PolicyKind policy)
    {
        Config config = config_of(policy);
        config.partitions = {partition("few", {"n0", "n1"}),
                             partition("rest", {"n2", "n3", "n4", "n5", "n6", "n7"}),
                             partition("left", {"n0", "n1", "n2", "n3"}),
                             partition("middle", {"n2", "n3", "n4", "n5"}), partition("all", {})};
        config.partitions.back().is_default = true;
        return config;
    }
};

TEST(FairShareTest, without_partitions_it_is_a_part_of_the_machine)
{
    CoreDriver driver(PolicyKind::FILL, 8, 4);
    for (int i = 0; i < 3; i++)
        driver.submit(rigid(2));
    FairShares shares(driver.core.state());
    EXPECT_EQ(shares.size(rigid(1)), 10);
    JobSpec two_cores = rigid(1);
    two_cores.cores_per_process = 2;
    EXPECT_EQ(shares.size(two_cores), 5);
    EXPECT_FALSE(shares.depend_on_jobs());
}

TEST(FairShareTest, each_partition_is_divided_among_its_jobs)
{
    Machine machine(PolicyKind::FILL);
    for (int i = 0; i < 4; i++)
        machine.submit(in("few", rigid(1)));
    machine.submit(in("rest", rigid(1)));
    machine.submit(in("rest", rigid(1)));
    EXPECT_EQ(machine.share("few"), 2);
    EXPECT_EQ(machine.share("rest"), 12);
}

TEST(FairShareTest, jobs_of_larger_partitions_use_the_other_nodes)
{
    Machine machine(PolicyKind::FILL);
    machine.submit(in("few", rigid(1)));
    machine.submit(rigid(1));
    EXPECT_EQ(machine.share("few"), 8);
    EXPECT_EQ(machine.share("all"), 24);
    for (int i = 0; i < 3; i++)
        machine.submit(rigid(1));
    EXPECT_EQ(machine.share("few"), 6) << "the few nodes are the larger part";
    EXPECT_EQ(machine.share("all"), 6);
}

TEST(FairShareTest, partitions_that_overlap_in_part_are_levelled)
{
    Machine machine(PolicyKind::FILL);
    machine.submit(in("left", rigid(1)));
    machine.submit(in("middle", rigid(1)));
    EXPECT_EQ(machine.share("left"), 12);
    EXPECT_EQ(machine.share("middle"), 12);
    machine.submit(in("few", rigid(1)));
    EXPECT_EQ(machine.share("few"), 8);
    EXPECT_EQ(machine.share("left"), 8);
    EXPECT_EQ(machine.share("middle"), 8);
}

TEST(FairShareTest, excluded_nodes_do_not_count)
{
    CoreDriver driver(PolicyKind::FILL, 4, 4);
    JobSpec spec = rigid(1);
    spec.exclude = NodeSet({"n0", "n1", "n2"});
    driver.submit(spec);
    driver.submit(rigid(1));
    FairShares shares(driver.core.state());
    EXPECT_EQ(shares.size(spec), 4);
    EXPECT_EQ(shares.size(rigid(1)), 12);
}

/* Its partition has room for two shares of the whole machine, but not for both jobs. */
TEST(FairShareTest, a_running_job_gives_its_partition_to_a_waiting_one)
{
    for (PolicyKind policy : {PolicyKind::FILL, PolicyKind::MEASURED}) {
        Machine machine(policy);
        JobId other = machine.start(in("rest", malleable(1, 24)));
        JobId has = machine.start(in("few", malleable(1, 8)));
        EXPECT_EQ(machine.job(has).size(), 8);
        machine.now_ms += 60000;
        machine.submit(in("few", malleable(1, 8)));
        ASSERT_TRUE(machine.job(has).adaptation);
        EXPECT_EQ(machine.job(has).adaptation->size, 4);
        EXPECT_FALSE(machine.job(other).adaptation);
    }
}

/* Many small jobs elsewhere do not make the share small. */
TEST(FairShareTest, jobs_of_other_partitions_do_not_count)
{
    for (PolicyKind policy : {PolicyKind::FILL, PolicyKind::MEASURED}) {
        Machine machine(policy);
        for (int i = 0; i < 8; i++)
            machine.start(in("few", rigid(1)));
        JobId has = machine.start(in("rest", malleable(1, 24)));
        EXPECT_EQ(machine.job(has).size(), 24);
        machine.now_ms += 60000;
        machine.submit(in("rest", malleable(1, 24)));
        ASSERT_TRUE(machine.job(has).adaptation);
        EXPECT_EQ(machine.job(has).adaptation->size, 12);
    }
}

/* Others release no more than the limit of its user allows it. */
TEST(FairShareTest, the_limit_of_the_user_counts)
{
    for (PolicyKind policy : {PolicyKind::FILL, PolicyKind::MEASURED}) {
        Config config = CoreDriver::config_of(policy);
        config.user_cores_max = 12;
        CoreDriver driver(config);
        for (int i = 0; i < 3; i++)
            driver.send(NodeUp{"n" + std::to_string(i), 4});
        JobSpec spec = malleable(1, 12);
        spec.uid = 1;
        JobId has = driver.submit(spec);
        driver.run(has);
        EXPECT_EQ(driver.job(has).size(), 12);
        JobSpec limited = malleable(1, 12);
        limited.uid = 2;
        limited.groups = {"small"};
        config.groups = {{"small", 0, 3}};
        driver.send(Configure{config});
        driver.now_ms += 60000;
        driver.submit(limited);
        ASSERT_TRUE(driver.job(has).adaptation);
        EXPECT_EQ(driver.job(has).adaptation->size, 9);
    }
}

}  // namespace
}  // namespace elastic::rm
