/* A core that continues from a snapshot, and its queries after that. */

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

TEST(CoreTest, a_restored_core_goes_on_as_the_first_would_have)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(1, 8);
    spec.preferred = 3;
    JobId id = driver.submit(spec);
    driver.run(id);
    driver.submit(rigid(4, 60000));
    driver.send(Resize{"r1", id, 2});
    Json snapshot = driver.core.snapshot();
    Result<Core> again = Core::restore(Json::parse(snapshot.dump()));
    ASSERT_TRUE(again.ok()) << again.error();
    EXPECT_EQ(again.value().snapshot(), snapshot);
    Event event{driver.core.state().seq + 1, driver.now_ms + 5, StepCommitted{id, 1, 1, 1, 0}};
    Actions first = driver.core.handle(event), second = again.value().handle(event);
    ASSERT_EQ(first.size(), second.size());
    for (size_t i = 0; i < first.size(); i++)
        EXPECT_EQ(to_json(first[i]), to_json(second[i]));
    EXPECT_EQ(again.value().snapshot(), driver.core.snapshot());
    EXPECT_TRUE(driver.core.handle(event).empty());     /* handled already */
}

TEST(CoreTest, an_awaited_answer_can_be_requested_again)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(1, 8);
    spec.preferred = 2;
    JobId adapts = driver.submit(spec), ends = driver.submit(rigid(1));
    JobId starts = driver.submit(rigid(1));
    driver.run(adapts);
    driver.run(ends);
    driver.send(Resize{"r1", adapts, 1});
    driver.send(Cancel{{"c", ends}});
    std::map<std::string, JobId> found;
    for (const Action &action : driver.core.pending())
        found[name_of(action)] = to_json(action).value("job", JobId{0});
    EXPECT_EQ(found["resize_step"], adapts);
    EXPECT_EQ(found["signal_step"], ends);
    EXPECT_EQ(found["start_step"], starts);
    EXPECT_TRUE(found.contains("query_step"));
    EXPECT_TRUE(found.contains("set_timer"));
}

TEST(CoreTest, broken_snapshots_are_refused)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    driver.submit(rigid(2));
    auto refused = [&](auto change) {
        Json snapshot = driver.core.snapshot();
        change(snapshot);
        return !Core::restore(snapshot).ok();
    };
    EXPECT_FALSE(refused([](Json &) {}));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot = 7; }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["version"] = 2; }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["nodes"].clear(); }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["jobs"][0]["state"] = "ASLEEP"; }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["jobs"][0]["blocks"] = 1; }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["last_job"] = 0; }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["jobs"][0]["state"] = "DONE"; }));
    EXPECT_TRUE(refused([](Json &snapshot) { snapshot["jobs"].push_back(snapshot["jobs"][0]); }));
}

TEST(CoreTest, steps_are_queried_periodically)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(2));
    driver.run(id);
    driver.wait(driver.core.state().config.poll_interval_ms);
    ASSERT_TRUE(driver.last<QueryStep>());
    EXPECT_EQ(driver.last<QueryStep>()->job, id);
    EXPECT_TRUE(driver.last<SetTimer>());
}

/* Its joining processes were already being freed; now all are, and the first waiting job no
 * longer needs the idle node. */
TEST(CoreTest, who_ends_while_some_of_it_is_freed_lets_others_start)
{
    Config config = CoreDriver::config_of(PolicyKind::FILL);
    config.asynchronous_nodes = true;
    CoreDriver driver(config);
    driver.send(NodeUp{"n0", 4});
    JobSpec spec = malleable(4, 8);
    spec.size_rule = SizeRule::MULTIPLE;
    spec.size_multiple = 4;
    JobId ends = driver.submit(spec);
    driver.send(NodesAcquired{ends, 1, 0, {{"n0", 4}}});
    driver.run(ends);
    driver.send(NodeUp{"n1", 4});
    driver.send(NodesAcquired{ends, 1, 1, {{"n1", 4}}});
    ASSERT_EQ(driver.job(ends).state, JobState::ADAPTING);
    driver.send(NodeUp{"n2", 4});
    driver.send(StepBroken{ends, 1, "test"});
    JobId large = driver.submit(rigid(8)), small = driver.submit(rigid(4));
    EXPECT_EQ(driver.job(small).state, JobState::PENDING);
    driver.end(ends);
    EXPECT_EQ(driver.job(large).state, JobState::PENDING);
    EXPECT_EQ(driver.job(small).state, JobState::STARTING);
}

TEST(CoreTest, without_a_history_all_but_the_records_is_the_same)
{
    CoreDriver driver(PolicyKind::FILL, 2, 4);
    Core quiet;
    quiet.keep_no_history();
    JobId job = driver.submit(malleable(1, 8));
    driver.run(job);
    JobId other = driver.submit(rigid(6));
    driver.commit(job);
    driver.run(other);
    driver.end(job);
    driver.end(other);
    for (const Event &event : driver.log) {
        for (const Action &action : quiet.handle(event))
            EXPECT_FALSE(std::holds_alternative<Record>(action)) << to_json(action).dump();
    }
    EXPECT_GT(driver.core.state().records, 8u);
    EXPECT_EQ(quiet.snapshot(), driver.core.snapshot());
}

}  // namespace
}  // namespace elastic::rm
