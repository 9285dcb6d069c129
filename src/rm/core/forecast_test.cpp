/* The expected start of a waiting job. */

#include "core/forecast.h"

#include "core/core_driver.h"

namespace elastic::rm {
namespace {

TEST(ForecastTest, a_job_starts_when_enough_has_ended)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 2);
    JobId one = driver.submit(rigid(2, 10000)), two = driver.submit(rigid(2, 30000));
    driver.run(one);
    driver.run(two);
    int64_t now_ms = driver.now_ms;
    JobId small = driver.submit(rigid(1, 5000)), large = driver.submit(rigid(4)),
          last = driver.submit(rigid(1));
    Forecast first = forecast(driver.core.state(), small);
    EXPECT_EQ(first.start_ms, now_ms + 10000);
    EXPECT_EQ(first.waits_for, one);
    Forecast second = forecast(driver.core.state(), large);
    EXPECT_EQ(second.start_ms, now_ms + 30000);
    EXPECT_EQ(second.waits_for, two);
    EXPECT_EQ(forecast(driver.core.state(), last).start_ms, NEVER)
        << "job " << large << " has no time limit";
    EXPECT_EQ(forecast(driver.core.state(), one).start_ms, NEVER) << "it runs";
    EXPECT_EQ(forecast(driver.core.state(), 99).start_ms, NEVER);
}

TEST(ForecastTest, of_a_job_that_is_not_submitted)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 2);
    JobId one = driver.submit(rigid(2, 10000)), two = driver.submit(rigid(2, 30000));
    driver.run(one);
    driver.run(two);
    driver.submit(rigid(4, 5000));
    JobSpec spec = rigid(1, 1000);
    Json before = driver.core.snapshot();
    const State &state = driver.core.state();
    EXPECT_EQ(forecast_of_new(state, spec).start_ms, driver.now_ms + 35000);
    spec.priority = 1000;
    Forecast first = forecast_of_new(state, spec);
    EXPECT_EQ(first.start_ms, driver.now_ms + 10000) << "it would be the first of the queue";
    EXPECT_EQ(first.waits_for, one);
    spec.begin_ms = driver.now_ms + 20000;
    EXPECT_EQ(forecast_of_new(state, spec).start_ms, driver.now_ms + 20000);
    spec.held = true;
    EXPECT_EQ(forecast_of_new(state, spec).start_ms, NEVER);
    EXPECT_EQ(driver.core.snapshot(), before);
    AnswerCode code;
    EXPECT_EQ(driver.core.refusal(rigid(4), code), "");
    EXPECT_NE(driver.core.refusal(rigid(5), code), "");
    EXPECT_EQ(code, AnswerCode::CAPACITY);
}

TEST(ForecastTest, a_job_waits_for_one_that_waits_itself)
{
    CoreDriver driver(PolicyKind::EASY, 1, 2);
    JobId one = driver.submit(rigid(2, 10000));
    driver.run(one);
    JobId two = driver.submit(rigid(2, 20000)), three = driver.submit(rigid(2, 1000));
    Forecast expected = forecast(driver.core.state(), three);
    EXPECT_EQ(expected.start_ms, driver.now_ms + 30000);
    EXPECT_EQ(expected.waits_for, two);
}

/* Equal to the reservation: the cores that malleable jobs can release are available at any time
 * (SPEC-performance Q7, X3). */
TEST(ForecastTest, malleable_jobs_give_what_they_can)
{
    for (PolicyKind policy : {PolicyKind::FILL, PolicyKind::MEASURED}) {
        CoreDriver driver(policy, 1, 8);
        JobId fixed = driver.submit(rigid(4, 10000));
        driver.run(fixed);
        JobId grown = driver.submit(malleable(1, 4, 50000));
        driver.run(grown);
        ASSERT_EQ(driver.job(grown).size(), 4);
        JobId waits = driver.submit(rigid(7, 5000)), later = driver.submit(rigid(8, 5000));
        Forecast first = forecast(driver.core.state(), waits);
        EXPECT_EQ(first.start_ms, driver.now_ms + 10000);
        EXPECT_EQ(first.waits_for, fixed);
        Forecast second = forecast(driver.core.state(), later);
        EXPECT_EQ(second.start_ms, driver.now_ms + 50000);
        EXPECT_EQ(second.waits_for, grown);
        driver.wait(10000);
        driver.end(fixed);
        driver.commit(grown);
        EXPECT_EQ(driver.job(waits).state, JobState::STARTING) << "the forecast was right";
    }
}

/* A job that the machine cannot run now delays no other. */
TEST(ForecastTest, a_job_that_cannot_run_is_not_waited_for)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 2);
    JobId one = driver.submit(rigid(2, 10000));
    driver.run(one);
    driver.send(Drain{"d", "n1", "test"});
    JobId large = driver.submit(rigid(4)), small = driver.submit(rigid(2));
    EXPECT_EQ(forecast(driver.core.state(), large).start_ms, NEVER);
    EXPECT_EQ(forecast(driver.core.state(), small).start_ms, driver.now_ms + 10000);
}

TEST(ForecastTest, a_long_queue_is_not_examined_whole)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 1);
    for (int i = 0; i < 150; i++)
        driver.submit(rigid(1, 1000));
    EXPECT_NE(forecast(driver.core.state(), 100).start_ms, NEVER);
    EXPECT_EQ(forecast(driver.core.state(), 150).start_ms, NEVER);
}

constexpr PolicyKind ALL[] = {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL,
                              PolicyKind::EFFICIENT, PolicyKind::MEASURED};

/* Two nodes of four cores and two GPUs; a job has one of the GPUs of n0. */
struct GpuQueue : CoreDriver {
    explicit GpuQueue(PolicyKind policy) : CoreDriver(policy, 2, 4)
    {
        for (const char *node : {"n0", "n1"})
            send(NodeGpusSet{node, 2});
        first = submit_with_gpus(rigid(3, 10000), 1);
        second = submit_with_gpus(rigid(1, 20000), 1);
        for (JobId id : {first, second})
            run(id);
    }
    JobId submit_with_gpus(JobSpec spec, int gpus)
    {
        spec.gpus_per_process = gpus;
        return submit(spec);
    }
    Forecast of(JobId id) const { return forecast(core.state(), id); }
    JobId first, second;
};

TEST(ForecastTest, a_job_needs_gpus)
{
    for (PolicyKind policy : ALL) {
        GpuQueue queue(policy);
        int64_t now_ms = queue.now_ms;
        JobId two = queue.submit_with_gpus(rigid(1, 5000), 2),
              four = queue.submit_with_gpus(rigid(2, 5000), 2);
        ASSERT_EQ(queue.job(two).state, JobState::PENDING) << "cores are free";
        EXPECT_EQ(queue.of(two).start_ms, now_ms + 10000) << to_string(policy);
        EXPECT_EQ(queue.of(two).waits_for, queue.first);
        EXPECT_EQ(queue.of(four).start_ms, now_ms + 20000);
        JobSpec spec = rigid(1, 5000);
        spec.gpus_per_process = 1;
        EXPECT_EQ(forecast_of_new(queue.core.state(), spec).start_ms, now_ms + 20000 + 5000)
            << "after the job that has all";
    }
}

TEST(ForecastTest, elastic_jobs_give_gpus)
{
    for (PolicyKind policy : {PolicyKind::FILL, PolicyKind::MEASURED}) {
        CoreDriver driver(policy, 2, 4);
        driver.send(NodeGpusSet{"n0", 4});
        JobSpec spec = malleable(1, 4, 50000);
        spec.gpus_per_process = 1;
        JobId grown = driver.submit(spec);
        driver.run(grown);
        ASSERT_EQ(driver.job(grown).size(), 4);
        spec = rigid(1, 5000);
        spec.gpus_per_process = 3;
        EXPECT_EQ(forecast_of_new(driver.core.state(), spec).start_ms, driver.now_ms);
        spec.gpus_per_process = 4;
        EXPECT_EQ(forecast_of_new(driver.core.state(), spec).start_ms, driver.now_ms + 50000);
    }
}

TEST(ForecastTest, a_job_needs_its_nodes)
{
    for (PolicyKind policy : ALL) {
        CoreDriver driver(policy, 2, 2);
        JobId one = driver.submit(rigid(2, 10000)), two = driver.submit(rigid(1, 30000));
        driver.run(one);
        driver.run(two);
        JobSpec spec = rigid(1, 1000);
        EXPECT_EQ(forecast_of_new(driver.core.state(), spec).start_ms, driver.now_ms);
        spec.nodelist = NodeSet({"n0"});
        EXPECT_EQ(forecast_of_new(driver.core.state(), spec).start_ms, driver.now_ms + 10000);
        spec.nodelist = NodeSet();
        spec.exclude = NodeSet({"n1"});
        EXPECT_EQ(forecast_of_new(driver.core.state(), spec).start_ms, driver.now_ms + 10000);
        spec.exclude = NodeSet();
        spec.cores_per_process = 2;     /* as for memory */
        EXPECT_EQ(forecast_of_new(driver.core.state(), spec).start_ms, driver.now_ms + 10000);
        spec.whole_nodes = true;
        spec.nodelist = NodeSet({"n1"});
        EXPECT_EQ(forecast_of_new(driver.core.state(), spec).start_ms, driver.now_ms + 30000);
    }
}

TEST(ForecastTest, a_partition_that_starts_no_jobs_has_no_forecast)
{
    Config config = CoreDriver::config_of(PolicyKind::FCFS);
    Partition closed, open;
    closed.name = "closed";
    closed.state = PartitionState::DOWN;
    open.name = "open";
    open.is_default = true;
    config.partitions = {closed, open};
    CoreDriver driver(config);
    driver.send(NodeUp{"n0", 2});
    JobId one = driver.submit(rigid(2, 10000));
    driver.run(one);
    JobSpec spec = rigid(1, 1000);
    spec.partition = "closed";
    JobId waits = driver.submit(spec);
    JobId next = driver.submit(rigid(1, 1000));
    EXPECT_EQ(forecast(driver.core.state(), waits).start_ms, NEVER);
    EXPECT_EQ(forecast_of_new(driver.core.state(), spec).start_ms, NEVER);
    EXPECT_EQ(forecast(driver.core.state(), next).start_ms, driver.now_ms + 10000);
}

/* n0 is reserved from the 100th second to the 200th. */
TEST(ForecastTest, a_job_waits_for_the_end_of_reservations)
{
    for (PolicyKind policy : ALL) {
        Config config = CoreDriver::config_of(policy);
        config.reservations = {{"course", NodeSet({"n0"}), 1100000, 1200000}};
        CoreDriver driver(config);
        for (const char *node : {"n0", "n1"})
            driver.send(NodeUp{node, 2});
        const State &state = driver.core.state();
        int64_t now_ms = driver.now_ms;
        EXPECT_EQ(forecast_of_new(state, rigid(4, 50000)).start_ms, now_ms);
        EXPECT_EQ(forecast_of_new(state, rigid(4, 150000)).start_ms, now_ms + 200000);
        EXPECT_EQ(forecast_of_new(state, rigid(2, 150000)).start_ms, now_ms) << "on the other";
        EXPECT_EQ(forecast_of_new(state, rigid(2)).start_ms, now_ms) << "on the other";
        EXPECT_EQ(forecast_of_new(state, rigid(3)).start_ms, now_ms + 200000);
        JobSpec own = rigid(1, 50000);
        own.reservation = "course";
        EXPECT_EQ(forecast_of_new(state, own).start_ms, now_ms + 100000);
        own.time_limit_ms = 150000;
        EXPECT_EQ(forecast_of_new(state, own).start_ms, NEVER) << "it is too long";
        JobId waits = driver.submit(rigid(4, 150000));
        EXPECT_EQ(forecast(state, waits).start_ms, now_ms + 200000);
        EXPECT_EQ(forecast(state, waits).waits_for, 0u);
    }
}

TEST(ForecastTest, a_job_waits_for_the_limits_of_its_user_and_group)
{
    Config config = CoreDriver::config_of(PolicyKind::FCFS);
    config.user_running_max = 1;
    config.groups = {{"lab", 0, 4, 0, 0}};
    CoreDriver driver(config);
    driver.send(NodeUp{"n0", 16});
    JobSpec spec = rigid(2, 10000);
    spec.uid = 1;
    JobId one = driver.submit(spec);
    driver.run(one);
    JobId two = driver.submit(spec), three = driver.submit(spec);
    const State &state = driver.core.state();
    int64_t now_ms = driver.now_ms;
    EXPECT_EQ(forecast(state, two).start_ms, now_ms + 10000);
    EXPECT_EQ(forecast(state, two).waits_for, one);
    EXPECT_EQ(forecast(state, three).start_ms, now_ms + 20000);
    spec.uid = 2;
    EXPECT_EQ(forecast_of_new(state, spec).start_ms, now_ms) << "of another user";
    spec.groups = {"lab"};
    spec.time_limit_ms = 30000;
    driver.run(driver.submit(spec));
    spec.uid = 3;
    EXPECT_EQ(forecast_of_new(state, spec).start_ms, now_ms);
    spec.minimum = spec.maximum = 3;
    EXPECT_EQ(forecast_of_new(state, spec).start_ms, now_ms + 30000) << "four cores";
}

}  // namespace
}  // namespace elastic::rm
