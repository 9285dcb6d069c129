/* The reports to the core of Slurm's nodes and of waiting jobs. */

#include "backend/slurm/slurm_nodes.h"

#include "core/core_driver.h"

namespace elastic::rm {
namespace {

SlurmNode slurm_node(const std::string &name, SlurmNodeState state,
                     const std::string &word = "idle")
{
    SlurmNode node;
    node.name = name;
    node.cores = 4;
    node.state = state;
    node.word = word;
    return node;
}

SlurmJob slurm_job(SlurmId id, NodeNames nodes, std::optional<SlurmTag> tag = std::nullopt)
{
    SlurmJob job;
    job.id = id;
    job.state = SlurmJobState::RUNNING;
    job.user = "bob";
    job.nodes = std::move(nodes);
    job.tag = std::move(tag);
    return job;
}

SlurmJob waiting(SlurmId id, int nodes, int64_t priority, const std::string &reason = "Resources")
{
    SlurmJob job = slurm_job(id, {});
    job.state = SlurmJobState::PENDING;
    job.node_count = nodes;
    job.priority = priority;
    job.reason = reason;
    return job;
}

class SlurmNodesTest : public testing::Test {
  protected:
    SlurmNodesTest() : driver(config()) {}
    static Config config()
    {
        Config config = CoreDriver::config_of(PolicyKind::FILL);
        config.asynchronous_nodes = config.whole_nodes = true;
        return config;
    }
    /* Notifies the core, and returns the events. */
    std::string poll(const std::vector<SlurmNode> &nodes, const std::vector<SlurmJob> &jobs = {})
    {
        std::string text;
        for (const EventContent &event : node_events(driver.core.state(), nodes, jobs, "c")) {
            driver.send(event);
            text += (text.empty() ? "" : ", ") + std::string(name_of(event));
        }
        /* once is enough */
        EXPECT_TRUE(node_events(driver.core.state(), nodes, jobs, "c").empty());
        return text;
    }
    std::string why(const std::string &node) { return driver.node(node).why(); }
    CoreDriver driver;
};

TEST_F(SlurmNodesTest, others_use_them_and_leave)
{
    std::vector<SlurmNode> nodes = {
        slurm_node("h1", SlurmNodeState::IDLE), slurm_node("h2", SlurmNodeState::USED)};
    std::vector<SlurmJob> jobs = {slurm_job(17, {"h2"})};
    EXPECT_EQ(poll(nodes, jobs), "node_up, node_down");
    EXPECT_EQ(why("h2"), "in use by Slurm job 17 of bob");
    nodes[1].state = SlurmNodeState::IDLE;
    EXPECT_EQ(poll(nodes), "node_up");
    nodes[0].state = SlurmNodeState::USED;
    EXPECT_EQ(poll(nodes, {slurm_job(18, {"h1"})}), "node_suspect");
    EXPECT_EQ(driver.node("h1").free(), 0);
    EXPECT_EQ(why("h1"), "in use by Slurm job 18 of bob");
    EXPECT_EQ(poll({nodes[1]}), "node_removed");
}

TEST_F(SlurmNodesTest, a_node_belongs_to_a_job_from_the_newer_listing_on)
{
    std::vector<SlurmNode> nodes = {slurm_node("h1", SlurmNodeState::IDLE)};
    EXPECT_EQ(poll(nodes), "node_up");
    EXPECT_EQ(poll(nodes, {slurm_job(18, {"h1"})}), "node_suspect");
    EXPECT_EQ(why("h1"), "in use by Slurm job 18 of bob");
    EXPECT_EQ(poll(nodes, {waiting(19, 1, 5)}), "node_up");
}

/* Slurm's report may be older than the core's bookings. */
TEST_F(SlurmNodesTest, a_node_that_is_booked_is_never_others)
{
    std::vector<SlurmNode> nodes = {slurm_node("h1", SlurmNodeState::IDLE)};
    poll(nodes);
    JobId id = driver.submit(malleable(1, 4));
    nodes[0].state = SlurmNodeState::USED;
    EXPECT_EQ(poll(nodes, {slurm_job(17, {"h1"})}), "");
    driver.send(NodesAcquired{id, 1, 0, {{"h1", 4}}});
    driver.run(id);
    EXPECT_EQ(poll(nodes), "");
    nodes[0].draining = true;
    nodes[0].reason = "fan";
    EXPECT_EQ(poll(nodes), "node_suspect");
    EXPECT_EQ(why("h1"), "drained in Slurm: fan");
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    nodes[0] = slurm_node("h1", SlurmNodeState::GONE, "down");
    nodes[0].failed = true;
    EXPECT_EQ(poll(nodes), "node_down");
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
}

/* A node that an administrator drains, takes out of the partition, and puts back. */
TEST_F(SlurmNodesTest, a_node_that_leaves_the_partition_keeps_its_jobs)
{
    std::vector<SlurmNode> nodes = {slurm_node("h1", SlurmNodeState::IDLE),
                                    slurm_node("h2", SlurmNodeState::IDLE)};
    poll(nodes);
    JobId id = driver.submit(rigid(4));
    driver.send(NodesAcquired{id, 1, 0, driver.job(id).blocks});
    driver.run(id);
    std::string name = driver.job(id).blocks.front().node.str();
    std::vector<SlurmNode> other = {nodes[name == "h1"]};
    EXPECT_EQ(poll(other), "node_removed");
    EXPECT_EQ(why(name), "it is no longer in the configuration");
    EXPECT_EQ(driver.node(name).free(), 0);
    for (SlurmNode &node : nodes) {
        node.draining = node.name == name;
        node.state = node.name == name ? SlurmNodeState::USED : SlurmNodeState::IDLE;
    }
    EXPECT_EQ(poll(nodes), "node_up, node_suspect");
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    EXPECT_EQ(poll(other), "node_removed");
    nodes[name != "h1"].draining = false;
    EXPECT_EQ(poll(nodes), "node_up");
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
}

TEST_F(SlurmNodesTest, a_node_that_does_not_answer_ends_nobody_yet)
{
    poll({slurm_node("h1", SlurmNodeState::IDLE)});
    EXPECT_EQ(poll({slurm_node("h1", SlurmNodeState::GONE, "not answering")}), "node_suspect");
    EXPECT_EQ(why("h1"), "Slurm reports not answering");
    EXPECT_EQ(poll({slurm_node("h1", SlurmNodeState::IDLE)}), "node_up");
}

TEST_F(SlurmNodesTest, who_owns_a_slurm_job)
{
    poll({slurm_node("h1", SlurmNodeState::IDLE)});
    JobSpec spec = rigid(1);
    spec.uid = 1001;
    JobId id = driver.submit(spec);
    SlurmJob job = slurm_job(7, {"h1"}, SlurmTag{"c", id, 1, 0, false});
    /* another user has written the comment of this elasticd */
    EXPECT_FALSE(is_own(job, "c", driver.core.state()));
    job.uid = 1001;
    EXPECT_TRUE(is_own(job, "c", driver.core.state()));
    EXPECT_FALSE(is_own(job, "d", driver.core.state()));
    EXPECT_FALSE(is_own(slurm_job(8, {"h1"}), "c", driver.core.state()));
}

TEST_F(SlurmNodesTest, the_first_who_waits_is_heeded_and_not_for_ever)
{
    SlurmDemand demand(10, 60000);
    auto poll = [&](const std::vector<SlurmJob> &jobs, int64_t now_ms) {
        NodesWanted wanted = demand.poll(driver.core.state(), jobs, "c", now_ms);
        return std::to_string(wanted.nodes) + " " + wanted.by;
    };
    std::vector<SlurmJob> jobs = {waiting(1, 3, 50, "Priority"), waiting(2, 2, 60),
                                  waiting(3, 4, 99, "Dependency"), waiting(4, 4, 9)};
    EXPECT_EQ(poll({}, 0), "0 ");
    EXPECT_EQ(poll(jobs, 0), "2 Slurm job 2 of bob");
    EXPECT_EQ(poll(jobs, 59999), "2 Slurm job 2 of bob");
    EXPECT_EQ(poll(jobs, 60000), "3 Slurm job 1 of bob");       /* 2 waits for something else */
    EXPECT_EQ(poll(jobs, 120000), "0 ");
    jobs[1].state = SlurmJobState::RUNNING;
    EXPECT_EQ(poll(jobs, 120001), "0 ");
    jobs[1] = waiting(2, 2, 60);        /* requeued: it counts anew */
    EXPECT_EQ(poll(jobs, 120002), "2 Slurm job 2 of bob");
}

}  // namespace
}  // namespace elastic::rm
