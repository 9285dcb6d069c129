/* GPUs of nodes and of rigid jobs; elastic_gpus_test.cpp tests those of elastic ones. */

#include "core/forecast.h"
#include "core/gpus_fixture.h"
#include "core/placement.h"
#include "core/reserved_cores.h"

#include <random>

namespace elastic::rm {
namespace {

constexpr PolicyKind POLICIES[] = {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL,
                                   PolicyKind::EFFICIENT, PolicyKind::MEASURED};

struct Machine : GpuMachine {
    using GpuMachine::GpuMachine;
    std::map<std::string, GpuSet> gpus_of(JobId id) const
    {
        std::map<std::string, GpuSet> found;
        for (const NodeGpus &each : job(id).gpus)
            found[each.node.str()] = each.gpus;
        return found;
    }
};

using OnNodes = std::map<std::string, GpuSet>;

TEST(GpusTest, each_job_has_its_own)
{
    for (PolicyKind policy : POLICIES) {
        Machine machine(policy, {0, 4, 2});
        JobId first = machine.submit(with_gpus(rigid(2), 1)),
              second = machine.submit(with_gpus(rigid(1), 3)),
              third = machine.submit(with_gpus(rigid(1), 0, 2));
        EXPECT_EQ(machine.gpus_of(first), (OnNodes{{"n2", 0b11}})) << "the node that fits best";
        EXPECT_EQ(machine.gpus_of(second), (OnNodes{{"n1", 0b111}}));
        EXPECT_EQ(machine.job(third).state, JobState::PENDING) << "one GPU is left, and two needed";
        EXPECT_EQ(machine.core.state().indices().nodes.gpus, 6);
        EXPECT_EQ(machine.core.state().indices().nodes.used_gpus, 5);
        machine.run(first);
        machine.end(first);
        EXPECT_EQ(machine.gpus_of(third), (OnNodes{{"n2", 0b11}}));
        EXPECT_TRUE(machine.job(first).gpus.empty());
        JobId small = machine.submit(with_gpus(rigid(1), 1));
        EXPECT_EQ(machine.gpus_of(small), (OnNodes{{"n1", 0b1000}}));
    }
}

TEST(GpusTest, of_each_node_whatever_the_number_of_processes)
{
    Machine machine(PolicyKind::FILL, {2, 2, 2});
    JobId job = machine.submit(with_gpus(rigid(6), 0, 2));
    EXPECT_EQ(machine.gpus_of(job).size(), 2U);
    JobSpec whole = with_gpus(rigid(2), 0, 1);
    whole.whole_nodes = true;
    JobId other = machine.submit(whole);
    EXPECT_EQ(machine.gpus_of(other), (OnNodes{{"n2", 0b1}}));
}

TEST(GpusTest, jobs_without_gpus_pass_and_the_reason_is_gpus)
{
    Machine machine(PolicyKind::EASY, {1});
    JobId has = machine.submit(with_gpus(rigid(1, 10000), 1));
    machine.run(has);
    JobId waits = machine.submit(with_gpus(rigid(1, 5000), 1)), passes = machine.submit(rigid(2));
    EXPECT_EQ(machine.job(waits).state, JobState::PENDING);
    EXPECT_EQ(why_waiting(machine.core.state(), machine.job(waits)), "resources: GPUs");
    EXPECT_EQ(machine.job(passes).state, JobState::STARTING);
    Forecast expected = forecast(machine.core.state(), waits);
    EXPECT_EQ(expected.start_ms, machine.now_ms + 10000);
    EXPECT_EQ(expected.waits_for, has);
}

std::vector<std::string> nodes_of(const Job &job)
{
    std::vector<std::string> nodes;
    for (const Block &block : gathered(job.blocks))
        nodes.push_back(block.node.str());
    return nodes;
}

/* Also where another node fits better, and although one node with GPUs would suffice. */
TEST(GpusTest, jobs_without_gpus_leave_nodes_with_gpus_to_others)
{
    using Names = std::vector<std::string>;
    for (PolicyKind policy : POLICIES) {
        Machine machine(policy, {2, 0, 2, 0});
        JobId first = machine.submit(rigid(1)), second = machine.submit(rigid(4)),
              third = machine.submit(rigid(5));
        EXPECT_EQ(nodes_of(machine.job(first)), Names{"n1"});
        EXPECT_EQ(nodes_of(machine.job(second)), Names{"n3"});
        EXPECT_EQ(nodes_of(machine.job(third)), (Names{"n1", "n0"})) << "no other core is free";
        JobId with = machine.submit(with_gpus(rigid(2), 1));
        EXPECT_EQ(nodes_of(machine.job(with)), Names{"n0"});
    }
}

TEST(GpusTest, a_growing_job_leaves_nodes_with_gpus_to_others)
{
    using Names = std::vector<std::string>;
    for (bool whole : {false, true}) {
        Machine machine(PolicyKind::FILL, {2, 0, 2, 0});
        JobSpec spec = malleable(4, 8);
        spec.whole_nodes = whole;
        JobId grows = machine.submit(spec);
        EXPECT_EQ(nodes_of(machine.job(grows)), (Names{"n1", "n3"}));
        EXPECT_EQ(nodes_of(machine.job(machine.submit(with_gpus(rigid(4), 1)))),
                  (Names{"n0", "n2"}));
    }
}

/* Whole nodes, and a number of them. */
TEST(GpusTest, a_number_of_nodes_without_gpus)
{
    using Names = std::vector<std::string>;
    for (PolicyKind policy : POLICIES) {
        Machine machine(policy, {2, 0, 2, 0});
        JobSpec spec = rigid(3);
        spec.whole_nodes = true;
        spec.nodes = 2;
        EXPECT_EQ(nodes_of(machine.job(machine.submit(spec))), (Names{"n1", "n3"}));
        EXPECT_EQ(nodes_of(machine.job(machine.submit(spec))), (Names{"n0", "n2"}));
    }
}

/* The first job gets both GPUs at 30 s: no longer job takes one of them before. */
TEST(GpusTest, gpus_are_reserved)
{
    Machine machine(PolicyKind::EASY, {2});
    machine.run(machine.submit(with_gpus(rigid(1, 30000), 1)));
    JobId waits = machine.submit(with_gpus(rigid(1, 1000), 2)),
          longer = machine.submit(with_gpus(rigid(1), 1)),
          brief = machine.submit(with_gpus(rigid(1, 20000), 1)), plain = machine.submit(rigid(1));
    EXPECT_EQ(machine.job(waits).state, JobState::PENDING);
    EXPECT_EQ(machine.job(longer).state, JobState::PENDING);
    EXPECT_EQ(machine.job(brief).state, JobState::STARTING) << "it ends before";
    machine.run(brief);
    EXPECT_EQ(machine.job(plain).state, JobState::STARTING);
}

TEST(GpusTest, others_pass_a_job_whose_start_nobody_knows)
{
    for (PolicyKind policy : {PolicyKind::EASY, PolicyKind::FILL, PolicyKind::MEASURED}) {
        Machine machine(policy, {2});
        JobId holds = machine.submit(with_gpus(rigid(1), 1));
        machine.run(holds);
        JobId waits = machine.submit(with_gpus(rigid(1), 2)),
              takes = machine.submit(with_gpus(rigid(1), 1)), plain = machine.submit(rigid(2)),
              last_core = machine.submit(rigid(1)), brief = machine.submit(rigid(1, 1000));
        EXPECT_EQ(machine.job(waits).state, JobState::PENDING);
        EXPECT_EQ(machine.job(takes).state, JobState::PENDING) << "it needs one of both GPUs";
        EXPECT_EQ(machine.job(plain).state, JobState::STARTING);
        EXPECT_EQ(machine.job(last_core).state, JobState::PENDING) << "the first job needs a core";
        EXPECT_EQ(machine.job(brief).state, JobState::STARTING) << "it ends";
        machine.end(holds);
        EXPECT_EQ(machine.gpus_of(waits), (OnNodes{{"n0", 0b11}}));
    }
}

TEST(GpusTest, elastic_jobs_give_way_where_there_are_gpus)
{
    Machine machine(PolicyKind::FILL, {0, 1});
    std::vector<JobId> jobs;
    for (const char *node : {"n0", "n1"}) {
        JobSpec spec = malleable(1, 4);
        spec.nodelist = NodeSet({node});
        spec.exclude = NodeSet({*node == 'n' && node[1] == '0' ? "n1" : "n0"});
        jobs.push_back(machine.submit(spec));
        machine.run(jobs.back());
    }
    machine.submit(with_gpus(rigid(1), 1));
    EXPECT_FALSE(machine.job(jobs[0]).adaptation);
    EXPECT_TRUE(machine.job(jobs[1]).adaptation);
}

TEST(GpusTest, what_can_never_be_is_refused)
{
    Machine machine(PolicyKind::FILL, {0, 2, 4});
    AnswerCode code = AnswerCode::OK;
    auto why = [&](const JobSpec &spec) { return machine.core.refusal(spec, code); };
    EXPECT_EQ(why(with_gpus(rigid(6), 1)), "");
    EXPECT_NE(why(with_gpus(rigid(7), 1)).find("can hold 6 such processes: there are 6 GPUs"),
              std::string::npos);
    EXPECT_EQ(code, AnswerCode::CAPACITY);
    EXPECT_NE(why(with_gpus(rigid(1), 5)), "") << "no node has as many";
    EXPECT_EQ(why(with_gpus(rigid(8), 0, 2)), "");
    EXPECT_NE(why(with_gpus(rigid(9), 0, 2)), "");
    EXPECT_NE(why(with_gpus(rigid(1), 1, 1)), "");
    EXPECT_EQ(code, AnswerCode::FIELD);
    EXPECT_NE(why(with_gpus(rigid(1), -1)), "");
    EXPECT_NE(why(with_gpus(rigid(1), GPUS_MAX + 1)), "");
    JobSpec excludes = with_gpus(rigid(3), 1);
    excludes.exclude = NodeSet({"n2"});
    EXPECT_NE(why(excludes).find("the nodes that it does not exclude together can hold 2"),
              std::string::npos);
}

TEST(GpusTest, another_number_of_gpus_waits_for_the_jobs_that_use_them)
{
    Machine machine(PolicyKind::FILL, {4});
    JobId job = machine.submit(with_gpus(rigid(1), 3));
    machine.run(job);
    machine.send(NodeGpusSet{"n0", 3});
    EXPECT_EQ(machine.node("n0").gpus, 3) << "the fourth one is free";
    EXPECT_EQ(machine.node("n0").state(), NodeState::UP);
    machine.send(NodeGpusSet{"n0", 1});
    EXPECT_EQ(machine.node("n0").gpus, 3);
    EXPECT_EQ(machine.node("n0").state(), NodeState::DRAINING);
    EXPECT_NE(machine.node("n0").why().find("1 GPUs instead of 3"), std::string::npos);
    EXPECT_EQ(machine.job(job).state, JobState::RUNNING) << "it goes on";
    JobId waits = machine.submit(rigid(1));
    EXPECT_EQ(machine.job(waits).state, JobState::PENDING);
    machine.end(job);
    EXPECT_EQ(machine.node("n0").gpus, 1);
    EXPECT_EQ(machine.node("n0").state(), NodeState::UP);
    EXPECT_EQ(machine.job(waits).state, JobState::STARTING);
    machine.send(NodeGpusSet{"n0", 8});
    EXPECT_EQ(machine.node("n0").gpus, 8);
    uint64_t unexpected = machine.core.state().unexpected;
    machine.send(NodeGpusSet{"n7", 1});
    machine.send(NodeGpusSet{"n0", GPUS_MAX + 1});
    EXPECT_EQ(machine.core.state().unexpected, unexpected + 2);
}

TEST(GpusTest, a_node_that_drains_for_gpus_gives_none)
{
    Machine machine(PolicyKind::FILL, {2, 2});
    machine.send(Drain{"d", "n0", "test"});
    JobId first = machine.submit(with_gpus(rigid(1), 2)),
          second = machine.submit(with_gpus(rigid(1), 2));
    EXPECT_EQ(machine.gpus_of(first), (OnNodes{{"n1", 0b11}}));
    EXPECT_EQ(machine.job(second).state, JobState::PENDING);
    machine.send(Drain{"e", "n1", "test"});
    EXPECT_EQ(why_waiting(machine.core.state(), machine.job(second)),
              "ReqNodeNotAvail: nodes with GPUs are down or draining");
    machine.send(Resume{"r", "n0"});
    EXPECT_EQ(machine.gpus_of(second), (OnNodes{{"n0", 0b11}}));
}

TEST(GpusTest, a_job_that_waits_again_gives_its_gpus_back)
{
    Machine machine(PolicyKind::FILL, {2});
    JobSpec spec = with_gpus(rigid(1), 2);
    spec.requeue = true;
    JobId job = machine.submit(spec);
    machine.run(job);
    machine.send(NodeDown{"n0", "test"});
    machine.end(job, 1);
    EXPECT_EQ(machine.job(job).state, JobState::PENDING);
    EXPECT_TRUE(machine.job(job).gpus.empty());
    machine.send(NodeUp{"n0", 4});
    machine.wait(10000);
    EXPECT_EQ(machine.gpus_of(job), (OnNodes{{"n0", 0b11}}));
}

TEST(GpusTest, a_snapshot_has_them)
{
    Machine machine(PolicyKind::FILL, {2, 1});
    JobId job = machine.submit(with_gpus(rigid(2), 1));
    machine.run(job);
    machine.send(NodeGpusSet{"n0", 1});
    auto again = Core::restore(machine.core.snapshot());
    ASSERT_TRUE(again) << again.error();
    const State &state = again.value().state();
    EXPECT_EQ(state.jobs.at(job).gpus, machine.job(job).gpus);
    EXPECT_EQ(state.nodes.at("n0").gpus_used, machine.node("n0").gpus_used);
    EXPECT_EQ(state.nodes.at("n0").gpus_next, 1);
    EXPECT_EQ(again.value().snapshot(), machine.core.snapshot());
    EXPECT_TRUE(violations(state).empty());
}

/* Jobs of all kinds on nodes of all kinds: none has a GPU of another, whatever the order of starts
 * and ends; the driver checks that after each event. */
TEST(GpusTest, random_jobs)
{
    int started = 0, waited = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        std::mt19937_64 random(seed);
        auto upto = [&](int most) {
            return static_cast<int>(random() % static_cast<uint64_t>(most + 1));
        };
        Machine machine(POLICIES[seed % std::size(POLICIES)], {upto(4), upto(4), upto(2), 0});
        std::vector<JobId> running;
        for (int i = 0; i < 40; i++) {
            JobSpec spec = rigid(1 + upto(3), upto(1) ? 0 : 1000 + upto(10000));
            (upto(1) ? spec.gpus_per_process : spec.gpus_per_node) = upto(2);
            spec.whole_nodes = upto(4) == 0;
            AnswerCode code;
            if (machine.core.refusal(spec, code).empty()) {
                JobId id = machine.submit(spec);
                waited += machine.job(id).state == JobState::PENDING;
            }
            if (upto(3) == 0)
                machine.send(NodeGpusSet{"n" + std::to_string(upto(3)), upto(4)});
            for (JobId id : std::set<JobId>(machine.core.state().indices().allocated)) {
                if (machine.job(id).state == JobState::STARTING) {
                    machine.run(id);
                    started += needs_gpus(machine.job(id).spec);
                } else if (upto(2) == 0) {
                    machine.end(id);
                }
            }
        }
    }
    EXPECT_GT(started, 30);
    EXPECT_GT(waited, 30);
}

}  // namespace
}  // namespace elastic::rm
