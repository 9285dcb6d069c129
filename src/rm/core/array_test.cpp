/* Job arrays. */

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

JobSpec array_of(const std::string &indices)
{
    JobSpec spec = rigid(1);
    spec.array = indices;
    return spec;
}

std::vector<JobId> in_state(const CoreDriver &driver, JobState state)
{
    std::vector<JobId> jobs;
    for (const auto &[id, job] : driver.core.state().jobs) {
        if (job.state == state)
            jobs.push_back(id);
    }
    return jobs;
}

using Ids = std::vector<JobId>;

TEST(ArrayTest, indices_are_read_as_slurm_writes_them)
{
    auto indices = [](const char *text) { return parse_array(text).value().indices; };
    EXPECT_EQ(indices("1-3"), (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(indices("0-6:3,2"), (std::vector<int>{0, 2, 3, 6}));
    EXPECT_EQ(indices("7,5-6,6%2"), (std::vector<int>{5, 6, 7}));
    EXPECT_EQ(parse_array("1-9%4").value().limit, 4);
    EXPECT_EQ(parse_array("1-9:4").value().step(), 4);
    EXPECT_EQ(parse_array("1,2,4").value().step(), 1);
    EXPECT_EQ(parse_array("4-9:2").value().position(8), 2u);
    EXPECT_FALSE(parse_array("4-9:2").value().position(5));
    for (const char *text : {"", "%2", "a", "3-1", "1-", "-1", "1:2", "1-3:0", "1-3%0", "1-3%",
                             "1,,2", "0-1000", "1-4000001", "0-4000000"})
        EXPECT_FALSE(parse_array(text)) << text;
    EXPECT_TRUE(parse_array("1-1000")) << "as many as Slurm allows by default";
}

TEST(ArrayTest, each_index_is_a_job_of_its_own)
{
    CoreDriver driver(PolicyKind::FILL, 1, 2);
    JobId before = driver.submit(rigid(2)), first = driver.submit(array_of("5,7-8"));
    EXPECT_EQ(first, before + 1);
    EXPECT_EQ(driver.core.state().last_job, first + 2);
    EXPECT_EQ(driver.job(first + 2).task->index, 8);
    EXPECT_EQ(driver.job(first + 2).task->array, first);
    driver.send(Submit{"s2", array_of("5,7-8")});
    EXPECT_EQ(driver.last<Answer>()->job, first) << "the request is known";
    driver.run(before);
    driver.end(before);
    EXPECT_EQ(in_state(driver, JobState::STARTING), (Ids{first, first + 1}));
    driver.run(first);
    driver.end(first, 3);
    EXPECT_EQ(driver.job(first).state, JobState::FAILED);
    EXPECT_EQ(in_state(driver, JobState::STARTING), (Ids{first + 1, first + 2}));
}

TEST(ArrayTest, its_limit_holds_whatever_happens_to_its_tasks)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId first = driver.submit(array_of("1-6%2"));
    EXPECT_EQ(in_state(driver, JobState::STARTING), (Ids{first, first + 1}));
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(first + 2)),
              "the limit of its array: 2 tasks run at once");
    driver.send(Hold{{"h", first + 2}});
    driver.run(first);
    driver.end(first);
    EXPECT_EQ(in_state(driver, JobState::STARTING), (Ids{first + 1, first + 3}))
        << "a task on hold takes nobody's turn";
    driver.send(Release{{"r", first + 2}});
    EXPECT_EQ(driver.job(first + 2).state, JobState::PENDING);
    driver.send(Cancel{{"c", first + 3}});
    driver.end(first + 3);
    EXPECT_EQ(driver.job(first + 2).state, JobState::STARTING);
}

TEST(ArrayTest, one_that_waits_for_cores_and_is_held_gives_its_turn)
{
    CoreDriver driver(PolicyKind::FILL, 1, 1);
    JobId busy = driver.submit(rigid(1)), first = driver.submit(array_of("1-3%1"));
    EXPECT_FALSE(driver.job(first).task->waits);
    driver.send(Hold{{"h", first}});
    EXPECT_FALSE(driver.job(first + 1).task->waits);
    driver.send(Release{{"r", first}});
    EXPECT_NE(driver.job(first).task->waits, driver.job(first + 1).task->waits);
    driver.end(busy);
    EXPECT_EQ(in_state(driver, JobState::STARTING).size(), 1u);
}

TEST(ArrayTest, one_request_changes_many_tasks)
{
    CoreDriver driver(PolicyKind::FILL, 1, 1);
    JobId busy = driver.submit(rigid(1)), first = driver.submit(array_of("1-5"));
    driver.send(Hold{{"h", first, "2-3"}});
    EXPECT_TRUE(driver.job(first + 1).held);
    EXPECT_FALSE(driver.job(first + 3).held);
    driver.send(Cancel{{"c", first, "1,4"}});
    EXPECT_EQ(in_state(driver, JobState::CANCELLED), (Ids{first, first + 3}));
    driver.send(Cancel{{"c", first, "1,4"}});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::STATE);
    driver.send(Cancel{{"c", first, "x"}});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::FIELD);
    driver.send(Cancel{{"c", busy, ALL_TASKS}});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::UNKNOWN) << "it is no array";
    driver.send(Release{{"r", first, ALL_TASKS}});
    EXPECT_FALSE(driver.job(first + 1).held);
    driver.send(Cancel{{"c", first, ALL_TASKS}});
    EXPECT_EQ(in_state(driver, JobState::CANCELLED).size(), 5u);
}

TEST(ArrayTest, others_wait_for_all_tasks_or_for_one)
{
    CoreDriver driver(PolicyKind::FILL, 1, 2);
    JobId first = driver.submit(array_of("0-2"));
    auto after = [&](DependencyKind kind, JobId job, bool array) {
        JobSpec spec = rigid(1);
        spec.dependencies = {{kind, job, array}};
        return driver.submit(spec);
    };
    JobId started = after(DependencyKind::AFTER, first, true);
    JobId all = after(DependencyKind::AFTER_ANY, first, true);
    JobId well = after(DependencyKind::AFTER_OK, first, true);
    JobId one = after(DependencyKind::AFTER_ANY, first, false);
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(all)),
              "waits until each task of array 1 ends");
    driver.run(first);
    driver.run(first + 1);
    driver.end(first, 1);
    EXPECT_TRUE(driver.job(one).waits_for.empty());
    EXPECT_FALSE(driver.job(started).waits_for.empty()) << "the last task has not started";
    driver.run(first + 2);
    EXPECT_TRUE(driver.job(started).waits_for.empty());
    driver.end(first + 1);
    EXPECT_FALSE(driver.job(all).waits_for.empty());
    driver.end(first + 2);
    EXPECT_TRUE(driver.job(all).waits_for.empty());
    EXPECT_EQ(driver.job(well).state, JobState::CANCELLED);
    EXPECT_EQ(driver.job(well).reason,
              "it could never start: array 1 has ended as FAILED (after_ok:1)");
}

TEST(ArrayTest, it_is_known_as_long_as_one_of_its_tasks)
{
    Config config = CoreDriver::config_of(PolicyKind::FILL);
    config.finished_max = 1;
    CoreDriver driver(config);
    driver.send(NodeUp{"n0", 1});
    JobId first = driver.submit(array_of("1-3%1"));
    for (JobId id = first; id < first + 3; id++) {
        driver.run(id);
        driver.end(id);
        ASSERT_TRUE(Core::restore(driver.core.snapshot())) << id;
    }
    EXPECT_TRUE(driver.core.state().array(first));
    JobId last = driver.submit(rigid(1));
    driver.run(last);
    driver.end(last);
    driver.submit(rigid(1));
    EXPECT_FALSE(driver.core.state().array(first));
}

TEST(ArrayTest, a_snapshot_holds_it_and_one_without_it_is_broken)
{
    CoreDriver driver(PolicyKind::FILL, 1, 1);
    driver.submit(array_of("1-3%1"));
    Json snapshot = driver.core.snapshot();
    auto restored = Core::restore(snapshot);
    ASSERT_TRUE(restored) << restored.error();
    EXPECT_EQ(restored.value().snapshot(), snapshot);
    snapshot["arrays"] = Json::array();
    EXPECT_FALSE(Core::restore(snapshot));
}

/* In the format of older versions. */
TEST(ArrayTest, older_logs_and_snapshots_are_read)
{
    CoreDriver driver(PolicyKind::FILL, 1, 1);
    driver.submit(rigid(1));
    JobSpec waits = rigid(1);
    waits.dependencies = {{DependencyKind::AFTER, 1}};
    driver.submit(waits);
    Json snapshot = driver.core.snapshot();
    EXPECT_EQ(snapshot.erase("arrays"), 1u);
    for (Json &job : snapshot["jobs"]) {
        EXPECT_EQ(job.erase("task") + job["spec"].erase("array"), 2u);
        EXPECT_EQ(job["spec"].erase("singleton"), 1u);
        for (Json &each : job["waits_for"])
            EXPECT_EQ(each.erase("array"), 1u);
    }
    auto restored = Core::restore(snapshot);
    ASSERT_TRUE(restored) << restored.error();
    Json cancel = to_json(Event{1, 1, Cancel{{"c", 3}}});
    EXPECT_EQ(cancel.erase("tasks"), 1u);
    auto event = event_from_json(cancel);
    ASSERT_TRUE(event) << event.error();
    EXPECT_EQ(std::get<Cancel>(event.value().content).tasks, "");
}

TEST(ArrayTest, it_counts_against_the_number_of_jobs)
{
    Config config = CoreDriver::config_of(PolicyKind::FILL);
    config.jobs_max = 4;
    CoreDriver driver(config);
    driver.send(NodeUp{"n0", 1});
    driver.submit(array_of("1-3"));
    driver.send(Submit{"x", array_of("1-2")});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::LIMIT);
    driver.submit(rigid(1));
}

}  // namespace
}  // namespace elastic::rm
