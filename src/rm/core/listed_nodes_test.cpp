/* Jobs that name the nodes on which they must, or must not, run. */

#include "core/core_driver.h"
#include "core/forecast.h"
#include "core/placement.h"
#include "core/shortage.h"

namespace elastic::rm {
namespace {

JobSpec on(JobSpec spec, const std::vector<std::string> &nodelist,
           const std::vector<std::string> &exclude = {})
{
    spec.nodelist = NodeSet(nodelist);
    spec.exclude = NodeSet(exclude);
    return spec;
}

std::map<std::string, int> nodes_of(const Job &job)
{
    std::map<std::string, int> on;
    for (const Block &block : job.blocks)
        on[block.node.str()] += block.processes;
    return on;
}

using OnNodes = std::map<std::string, int>;
constexpr PolicyKind POLICIES[] = {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL,
                                   PolicyKind::EFFICIENT, PolicyKind::MEASURED};

TEST(ListedNodesTest, a_job_starts_on_all_of_them_and_on_others_if_needed)
{
    for (PolicyKind policy : POLICIES) {
        CoreDriver driver(policy, 4, 4);
        EXPECT_EQ(nodes_of(driver.job(driver.submit(on(rigid(3), {"n3", "n1"})))),
                  (OnNodes{{"n1", 2}, {"n3", 1}}));
        JobId large = driver.submit(on(rigid(6), {"n1"}));
        OnNodes found = nodes_of(driver.job(large));
        EXPECT_EQ(found["n1"], 2) << "what is left there";
        EXPECT_FALSE(found.contains("n3")) << "one node is enough for the rest";
        JobSpec whole = on(rigid(4), {"n2"});
        whole.whole_nodes = true;
        EXPECT_EQ(nodes_of(driver.job(driver.submit(whole))).size(),
                  found.contains("n2") ? 0U : 1U);
    }
}

TEST(ListedNodesTest, none_of_its_processes_is_on_an_excluded_node)
{
    for (PolicyKind policy : POLICIES) {
        CoreDriver driver(policy, 3, 4);
        JobId fixed = driver.submit(on(rigid(8), {}, {"n0"}));
        EXPECT_EQ(nodes_of(driver.job(fixed)), (OnNodes{{"n1", 4}, {"n2", 4}}));
        JobId waits = driver.submit(on(rigid(1), {}, {"n0"}));
        EXPECT_EQ(driver.job(waits).state, JobState::PENDING) << "n0 alone has free cores";
        driver.run(fixed);
        driver.end(fixed);
        EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
    }
}

TEST(ListedNodesTest, a_growth_leaves_excluded_nodes_free)
{
    CoreDriver driver(PolicyKind::FILL, 3, 4);
    JobId blocks = driver.submit(on(rigid(4), {"n2"}));
    JobId grows = driver.submit(on(malleable(1, 12), {}, {"n0"}));
    driver.run(blocks);
    driver.run(grows);
    EXPECT_EQ(nodes_of(driver.job(grows)), (OnNodes{{"n1", 4}}));
    driver.end(blocks);
    driver.wait(10000);
    ASSERT_TRUE(driver.job(grows).adaptation);
    driver.commit(grows);
    EXPECT_EQ(nodes_of(driver.job(grows)), (OnNodes{{"n1", 4}, {"n2", 4}}));
}

TEST(ListedNodesTest, an_elastic_job_grows_beside_a_full_listed_node_and_keeps_it)
{
    for (PolicyKind policy : {PolicyKind::FILL, PolicyKind::MEASURED}) {
        CoreDriver driver(policy, 2, 4);
        JobId other = driver.submit(on(rigid(3), {"n1"}));
        JobId elastic = driver.submit(on(malleable(2, 8), {"n1", "n0"}));
        driver.run(other);
        driver.run(elastic);
        EXPECT_EQ(nodes_of(driver.job(elastic)), (OnNodes{{"n0", 4}, {"n1", 1}}));
        driver.end(other);
        driver.wait(10000);
        ASSERT_TRUE(driver.job(elastic).adaptation);
        driver.commit(elastic);
        EXPECT_EQ(driver.job(elastic).size(), 8);
        driver.wait(10000);
        driver.submit(rigid(6));
        ASSERT_TRUE(driver.job(elastic).adaptation);
        driver.commit(elastic);
        EXPECT_EQ(nodes_of(driver.job(elastic)), (OnNodes{{"n0", 1}, {"n1", 1}}));
    }
}

TEST(ListedNodesTest, a_job_waits_for_its_node_and_others_pass_it_in_time)
{
    CoreDriver driver(PolicyKind::EASY, 2, 4);
    JobId holds = driver.submit(on(rigid(4, 30000), {"n1"}));
    driver.run(holds);
    int64_t now_ms = driver.now_ms;
    JobId waits = driver.submit(on(rigid(1, 1000), {"n1"}));
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
    Forecast expected = forecast(driver.core.state(), waits);
    EXPECT_EQ(expected.start_ms, now_ms + 30000);
    EXPECT_EQ(expected.waits_for, holds);
    auto missing = shortage(driver.core.state(), driver.job(waits));
    ASSERT_TRUE(missing);
    EXPECT_EQ(missing->capacity, 0);
    EXPECT_EQ(missing->full, std::vector<NodeName>{"n1"});
    JobId passes = driver.submit(rigid(3));
    EXPECT_EQ(nodes_of(driver.job(passes)), (OnNodes{{"n0", 3}})) << "it does not delay the first";
    driver.run(passes);
    driver.end(holds);
    EXPECT_EQ(nodes_of(driver.job(waits)), (OnNodes{{"n1", 1}}));
}

TEST(ListedNodesTest, others_pass_a_job_whose_node_is_taken_for_an_unknown_time)
{
    for (PolicyKind policy : {PolicyKind::EASY, PolicyKind::FILL, PolicyKind::MEASURED}) {
        CoreDriver driver(policy, 2, 4);
        JobId holds = driver.submit(on(rigid(4), {"n1"}));
        driver.run(holds);
        JobId waits = driver.submit(on(rigid(2), {"n0", "n1"})), fits = driver.submit(rigid(3)),
              takes = driver.submit(rigid(1));
        EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
        EXPECT_EQ(nodes_of(driver.job(fits)), (OnNodes{{"n0", 3}}));
        EXPECT_EQ(driver.job(takes).state, JobState::PENDING) << "the last core of n0 is reserved";
        driver.end(holds);
        EXPECT_EQ(nodes_of(driver.job(waits)), (OnNodes{{"n0", 1}, {"n1", 1}}));
    }
}

/* The first job gets n1 and n0 at 30 s: a longer job must not take its core of n0. */
TEST(ListedNodesTest, a_listed_node_is_reserved)
{
    CoreDriver driver(PolicyKind::EASY, 2, 2);
    driver.run(driver.submit(on(rigid(2, 30000), {"n1"})));
    JobId waits = driver.submit(on(rigid(2, 1000), {"n0", "n1"}));
    JobId fits = driver.submit(on(rigid(1), {"n0"})), late = driver.submit(on(rigid(1), {"n0"})),
          brief = driver.submit(on(rigid(1, 20000), {"n0"}));
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
    EXPECT_EQ(driver.job(fits).state, JobState::STARTING) << "one core of n0 is enough";
    EXPECT_EQ(driver.job(late).state, JobState::PENDING);
    driver.run(fits);
    EXPECT_EQ(driver.job(brief).state, JobState::STARTING) << "it ends before";
    EXPECT_EQ(driver.job(late).state, JobState::PENDING);
}

TEST(ListedNodesTest, only_jobs_on_its_nodes_give_way)
{
    CoreDriver driver(PolicyKind::FILL, 3, 4);
    std::vector<JobId> jobs;
    for (const char *node : {"n0", "n1", "n2"}) {
        jobs.push_back(driver.submit(on(malleable(1, 4), {node})));
        driver.run(jobs.back());
    }
    driver.submit(on(rigid(1), {"n1"}));
    EXPECT_FALSE(driver.job(jobs[0]).adaptation);
    EXPECT_TRUE(driver.job(jobs[1]).adaptation);
    EXPECT_FALSE(driver.job(jobs[2]).adaptation);
}

std::string refusal(const CoreDriver &driver, const JobSpec &spec, AnswerCode expected)
{
    AnswerCode code = AnswerCode::OK;
    std::string why = driver.core.refusal(spec, code);
    EXPECT_TRUE(why.empty() || code == expected) << why;
    return why;
}

TEST(ListedNodesTest, a_list_that_can_never_hold_the_job_is_refused)
{
    CoreDriver driver(PolicyKind::FILL, 2, 4);
    driver.send(NodeUp{"small", 1});
    EXPECT_EQ(refusal(driver, on(rigid(2), {"n0", "small"}), AnswerCode::OK), "");
    EXPECT_NE(refusal(driver, on(malleable(1, 8), {"n0", "n1"}), AnswerCode::FIELD)
                  .find("it names 2 nodes, and the job may have only 1 process"),
              std::string::npos);
    EXPECT_NE(refusal(driver, on(rigid(2), {"n0"}, {"n1", "n0"}), AnswerCode::FIELD)
                  .find("node n0 is in its node list, and is excluded"),
              std::string::npos);
    EXPECT_EQ(refusal(driver, on(rigid(1), {"n9"}), AnswerCode::CAPACITY),
              "there is no node n9, which its node list names");
    JobSpec wide = on(rigid(1), {"small"});
    wide.cores_per_process = 2;
    EXPECT_EQ(refusal(driver, wide, AnswerCode::CAPACITY),
              "node small of its node list has 1 cores, and a process needs 2");
    EXPECT_NE(refusal(driver, on(rigid(6), {}, {"n1"}), AnswerCode::CAPACITY)
                  .find("the nodes that it does not exclude can hold 5 such processes"),
              std::string::npos);
    EXPECT_EQ(refusal(driver, on(rigid(5), {}, {"n1"}), AnswerCode::OK), "");
}

TEST(ListedNodesTest, a_node_that_is_not_available_is_named)
{
    CoreDriver driver(PolicyKind::FILL, 3, 4);
    driver.send(Drain{"d", "n1", "new memory"});
    JobId waits = driver.submit(on(rigid(2), {"n0", "n1"}));
    JobId excludes = driver.submit(on(rigid(5), {}, {"n0"}));
    JobId runs = driver.submit(rigid(1));
    const State &state = driver.core.state();
    EXPECT_EQ(why_waiting(state, driver.job(waits)),
              "ReqNodeNotAvail: node n1 of its node list is draining (new memory)");
    EXPECT_EQ(why_waiting(state, driver.job(excludes)),
              "ReqNodeNotAvail: nodes that it does not exclude are down or draining");
    EXPECT_EQ(driver.job(runs).state, JobState::STARTING) << "they hold up nobody";
    EXPECT_EQ(forecast(state, waits).start_ms, NEVER);
    driver.send(Resume{"r", "n1"});
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
    EXPECT_EQ(driver.job(excludes).state, JobState::STARTING);
}

TEST(ListedNodesTest, a_snapshot_has_the_lists)
{
    CoreDriver driver(PolicyKind::FILL, 2, 2);
    driver.submit(rigid(4));
    JobId waits = driver.submit(on(rigid(1), {"n1"}, {"n0"}));
    auto again = Core::restore(driver.core.snapshot());
    ASSERT_TRUE(again) << again.error();
    const JobSpec &spec = again.value().state().jobs.at(waits).spec;
    EXPECT_EQ(spec.nodelist, NodeSet({"n1"}));
    EXPECT_EQ(spec.exclude, NodeSet({"n0"}));
    EXPECT_EQ(again.value().snapshot(), driver.core.snapshot());
    EXPECT_TRUE(violations(again.value().state()).empty());
}

TEST(ListedNodesTest, an_update_keeps_a_process_for_each_listed_node)
{
    CoreDriver driver(PolicyKind::FILL, 2, 2);
    driver.submit(rigid(4));
    JobId waits = driver.submit(on(malleable(2, 4), {"n0", "n1"}));
    Update update;
    update.request = "u";
    update.job = waits;
    update.minimum = 1;
    driver.send(update);
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::FIELD);
}

}  // namespace
}  // namespace elastic::rm
