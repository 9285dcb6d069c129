/* GPUs of elastic jobs: those of joining and leaving processes. */

#include "core/gpus_fixture.h"
#include "core/policy/policy_efficient_fixture.h"

namespace elastic::rm {
namespace {

constexpr PolicyKind FILLING[] = {PolicyKind::FILL, PolicyKind::EFFICIENT, PolicyKind::MEASURED};

struct Machine : GpuMachine {
    using GpuMachine::GpuMachine;
    AnswerCode resize(JobId id, int size)
    {
        send(Resize{"r" + std::to_string(++requests), id, size});
        return last<Answer>()->code;
    }
    /* A job that starts with two of four processes. */
    JobId run_of_two()
    {
        JobSpec spec = with_gpus(malleable(1, 4), 1);
        spec.preferred = 2;
        JobId id = submit(spec);
        run(id);
        return id;
    }
    int requests = 0;
};

TEST(ElasticGpusTest, joining_processes_get_free_ones_and_leaving_ones_release_theirs)
{
    Machine machine(PolicyKind::FCFS, {4, 1});
    JobId id = machine.run_of_two();
    JobId other = machine.submit(with_gpus(rigid(1), 1));
    EXPECT_EQ(machine.job(id).process_gpus, (ProcessGpus{0b1, 0b10}));
    EXPECT_EQ(machine.job(other).blocks, (Blocks{{"n1", 1}})) << "the node that fits best";
    JobId third = machine.submit(with_gpus(rigid(1), 1));
    EXPECT_EQ(machine.job(third).gpus, (std::vector<NodeGpus>{{"n0", 0b100}}));
    EXPECT_EQ(machine.resize(id, 4), AnswerCode::CAPACITY) << "one GPU is free";
    EXPECT_EQ(machine.resize(id, 3), AnswerCode::OK);
    ASSERT_TRUE(machine.last<ResizeStep>());
    EXPECT_EQ(machine.last<ResizeStep>()->gpus, (ProcessGpus{0b1000}));
    EXPECT_EQ(machine.node("n0").gpus_used, 0b1111U);
    machine.commit(id);
    EXPECT_EQ(machine.job(id).gpus, (std::vector<NodeGpus>{{"n0", 0b1011}}));
    machine.send(StepLeft{id, 1, 2, {0}});
    EXPECT_EQ(machine.job(id).process_gpus, (ProcessGpus{0b10, 0b1000})) << "rank 0 has left";
    EXPECT_EQ(machine.node("n0").gpus_used, 0b1110U);
    EXPECT_EQ(machine.resize(id, 1), AnswerCode::OK);
    machine.commit(id, false);
    EXPECT_EQ(machine.node("n0").gpus_used, 0b1110U) << "until they have really ended";
    machine.send(StepFreed{id, 1, 3});
    EXPECT_EQ(machine.node("n0").gpus_used, 0b110U);
    machine.end(id);
    EXPECT_EQ(machine.node("n0").gpus_used, 0b100U);
    EXPECT_TRUE(machine.job(id).process_gpus.empty());
}

TEST(ElasticGpusTest, a_growth_that_comes_to_nothing_releases_them)
{
    Machine machine(PolicyKind::FCFS, {4});
    JobId id = machine.run_of_two();
    EXPECT_EQ(machine.resize(id, 4), AnswerCode::OK);
    machine.send(StepWithdrawn{id, 1, 1, "a joining process died"});
    EXPECT_EQ(machine.node("n0").gpus_used, 0b11U);
    EXPECT_EQ(machine.job(id).process_gpus, (ProcessGpus{0b1, 0b10}));
    machine.wait(10 * MINUTE);
    EXPECT_EQ(machine.resize(id, 3), AnswerCode::OK);
    machine.send(StepBroken{id, 1, "test"});
    EXPECT_EQ(machine.node("n0").gpus_used, 0b111U) << "it may have joined";
}

TEST(ElasticGpusTest, no_policy_grows_a_job_beyond_the_free_ones)
{
    for (PolicyKind policy : FILLING) {
        Machine machine(policy, {2, 0, 3});
        JobId id = machine.submit(with_gpus(malleable(1, 12), 2));
        machine.run(id);
        machine.wait(10 * MINUTE);
        if (machine.job(id).adaptation)
            machine.commit(id);
        EXPECT_EQ(machine.job(id).size(), 2);
        EXPECT_EQ(machine.core.state().indices().nodes.used_gpus, 4);
    }
}

/* There are more cores than GPUs. */
TEST(ElasticGpusTest, elastic_jobs_that_need_gpus_share_them_equally)
{
    for (bool together : {false, true}) {
        Machine machine(PolicyKind::FILL, {4, 0, 0});
        JobId holds = together ? machine.submit(with_gpus(rigid(1), 4)) : 0;
        if (holds)
            machine.run(holds);
        JobId one = machine.submit(with_gpus(malleable(1, 8), 1)),
              two = machine.submit(with_gpus(malleable(1, 8), 1));
        if (holds) {
            machine.end(holds);
            EXPECT_EQ(machine.job(one).size(), 2);
        } else {
            EXPECT_EQ(machine.job(one).size(), 4);
            machine.run(one);
            machine.wait(10 * MINUTE);
            ASSERT_TRUE(machine.job(one).adaptation);
            machine.commit(one);
            EXPECT_EQ(machine.job(one).size(), 2);
        }
        EXPECT_EQ(machine.job(two).size(), 2);
    }
}

TEST(ElasticGpusTest, jobs_without_gpus_are_not_held_at_their_level)
{
    Machine machine(PolicyKind::FILL, {4, 0, 0});
    JobId holds = machine.submit(rigid(12));
    machine.run(holds);
    JobSpec elsewhere = malleable(1, 12);
    elsewhere.exclude = NodeSet({"n0"});
    JobId one = machine.submit(with_gpus(malleable(1, 8), 2)),
          two = machine.submit(with_gpus(malleable(1, 8), 1)), third = machine.submit(elsewhere);
    machine.end(holds);
    EXPECT_EQ(machine.job(one).size(), 1);
    EXPECT_EQ(machine.job(two).size(), 2);
    EXPECT_EQ(machine.job(third).size(), 8);
}

TEST(ElasticGpusTest, an_elastic_job_gives_gpus_to_one_that_waits_for_them)
{
    for (PolicyKind policy : {PolicyKind::FILL, PolicyKind::MEASURED}) {
        Machine machine(policy, {4});
        JobId id = machine.submit(with_gpus(malleable(1, 3), 1));
        machine.run(id);
        machine.wait(10 * MINUTE);
        if (machine.job(id).adaptation)
            machine.commit(id);
        EXPECT_EQ(machine.job(id).size(), 3);
        machine.wait(10 * MINUTE);
        JobId waits = machine.submit(with_gpus(rigid(1), 2));
        ASSERT_TRUE(machine.job(id).adaptation);
        EXPECT_EQ(machine.job(id).adaptation->whom, (std::vector<JobId>{waits}));
        machine.commit(id);
        EXPECT_EQ(machine.job(id).size(), 2);
        EXPECT_EQ(machine.job(waits).gpus, (std::vector<NodeGpus>{{"n0", 0b1100}}));
    }
}

/* Jobs on one node under policy `efficient`, all of which use their cores well. */
struct EfficientGpus : Efficient {
    EfficientGpus(int cores, int gpus) : Efficient(1, cores)
    {
        driver.send(NodeGpusSet{"n0", gpus});
    }
    JobId start_one(JobSpec spec, int64_t expect_ms = 0)
    {
        spec.expect_ms = expect_ms;
        return start(spec, [](int) { return 0.001; });
    }
};

TEST(ElasticGpusTest, efficient_gives_gpus_of_a_measured_job)
{
    EfficientGpus machine(8, 4);
    JobId id = machine.start_one(with_gpus(malleable(1, 4), 1));
    machine.go_on(10);
    EXPECT_EQ(machine.driver.job(id).size(), 4);
    JobId waits = machine.driver.submit(with_gpus(rigid(1), 2));
    machine.go_on(5);
    EXPECT_EQ(machine.driver.job(id).size(), 2);
    EXPECT_EQ(machine.driver.job(waits).state, JobState::STARTING);
}

/* The second one would end sooner with cores of the first one, but has no GPUs for them. */
TEST(ElasticGpusTest, efficient_takes_no_cores_for_processes_that_would_have_no_gpus)
{
    EfficientGpus machine(32, 16);
    JobId first = machine.start_one(malleable(1, 16, HOUR), 5 * MINUTE),
          second = machine.start_one(with_gpus(malleable(1, 32, HOUR), 1), 10 * MINUTE);
    machine.driver.submit(with_gpus(rigid(1, HOUR), 16));
    machine.go_on(4);
    EXPECT_EQ(machine.sizes[first], (std::vector<int>{16}));
    EXPECT_EQ(machine.sizes[second], (std::vector<int>{16}));
}

TEST(ElasticGpusTest, a_job_that_only_gpus_hold_shows_it)
{
    EfficientGpus machine(4, 2);
    JobId id = machine.start_one(with_gpus(malleable(1, 4), 1));
    auto why = [&](PolicyKind kind) {
        return policy(kind).explain(machine.driver.core.state(), machine.driver.job(id));
    };
    machine.go_on(60);
    EXPECT_EQ(machine.driver.job(id).size(), 2);
    EXPECT_EQ(machine.held(id), HeldBecause::CORES_WANTED);
    EXPECT_NE(why(PolicyKind::EFFICIENT).find("; not growing: no GPU idles"), std::string::npos);
    EXPECT_EQ(why(PolicyKind::FILL), "2 processes; not growing: no GPU idles");
    machine.driver.send(NodeGpusSet{"n0", 3});
    EXPECT_EQ(why(PolicyKind::FILL), "");
    EXPECT_NE(machine.held(id), HeldBecause::CORES_WANTED);
}

TEST(ElasticGpusTest, a_job_takes_others_when_it_leaves_a_draining_node)
{
    Machine machine(PolicyKind::FILL, {1, 1});
    JobSpec spec = with_gpus(malleable(1, 2), 1);
    spec.maximum = 1;
    JobId id = machine.submit(spec);
    machine.run(id);
    EXPECT_EQ(machine.job(id).gpus, (std::vector<NodeGpus>{{"n0", 1}}));
    machine.send(Drain{"d", "n0", "test"});
    machine.wait(10 * MINUTE);
    ASSERT_TRUE(machine.job(id).adaptation);
    EXPECT_EQ(machine.job(id).gpus.size(), 2U);
    machine.commit(id);
    EXPECT_EQ(machine.job(id).gpus, (std::vector<NodeGpus>{{"n1", 1}}));
    EXPECT_EQ(machine.node("n0").gpus_used, 0U);
}

TEST(ElasticGpusTest, a_snapshot_has_them_and_an_older_one_the_same)
{
    Machine machine(PolicyKind::FCFS, {4, 2});
    JobId id = machine.run_of_two();
    machine.resize(id, 4);
    auto again = Core::restore(machine.core.snapshot());
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again.value().snapshot(), machine.core.snapshot());
    EXPECT_TRUE(violations(again.value().state()).empty());
    machine.end(id);
    JobId rigid_one = machine.submit(with_gpus(rigid(3), 2));
    ProcessGpus all = machine.job(rigid_one).process_gpus;
    Json older = machine.core.snapshot();
    for (Json &job : older["jobs"])
        job.erase("process_gpus");
    again = Core::restore(older);
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again.value().state().jobs.at(rigid_one).process_gpus, all);
    for (Json &job : older["jobs"])
        job["process_gpus"] = {1};
    EXPECT_FALSE(Core::restore(older)) << "for another number of processes";
}

TEST(ElasticGpusTest, what_they_cannot_have_is_refused)
{
    Machine machine(PolicyKind::FILL, {4});
    AnswerCode code = AnswerCode::OK;
    auto why = [&](JobSpec spec) { return machine.core.refusal(with_gpus(spec, 1), code); };
    EXPECT_EQ(why(malleable(1, 4)), "");
    EXPECT_EQ(why(moldable(1, 4)), "");
    JobSpec spec = malleable(1, 4);
    spec.whole_nodes = true;
    EXPECT_NE(why(spec).find("shares its nodes"), std::string::npos);
    spec.whole_nodes = false;
    spec.extra_slots = 1;
    EXPECT_NE(why(spec).find("request none"), std::string::npos);
    spec.extra_slots = 0;
    spec.gpus_per_node = 1;
    EXPECT_NE(machine.core.refusal(spec, code).find("--gpus-per-task"), std::string::npos);
}

/* The step starts the number of processes in the entry of each node. */
TEST(ElasticGpusTest, a_growth_names_each_node_once)
{
    for (PolicyKind policy : {PolicyKind::FILL, PolicyKind::MEASURED}) {
        CoreDriver driver(policy, 2, 4);
        JobSpec other = rigid(1), spec = malleable(2, 2);
        other.nodelist = NodeSet({"n1"});
        driver.run(driver.submit(other));
        spec.nodelist = NodeSet({"n0", "n1"});
        JobId id = driver.submit(spec);
        driver.run(id);
        EXPECT_EQ(driver.job(id).blocks, (Blocks{{"n0", 1}, {"n1", 1}}));
        Update update;
        update.request = "u";
        update.job = id;
        update.maximum = 7;
        driver.send(update);
        EXPECT_EQ(driver.last<Answer>()->message, "");
        if (!driver.job(id).adaptation)
            driver.wait(10 * MINUTE);
        ASSERT_TRUE(driver.job(id).adaptation);
        std::set<std::string> nodes;
        for (const Block &block : driver.job(id).adaptation->joining)
            EXPECT_TRUE(nodes.insert(block.node).second) << block.node.str() << " is there twice";
    }
}

}  // namespace
}  // namespace elastic::rm
