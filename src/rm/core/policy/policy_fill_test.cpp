/* Policy `fill`: the jobs that start, grow and shrink. */

#include "core/policy/policy_fixture.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

TEST(FillTest, a_job_alone_takes_the_machine_and_gives_way)
{
    CoreDriver driver(PolicyKind::FILL, 2, 4);
    JobId first = driver.submit(malleable(2, 8));
    EXPECT_EQ(driver.job(first).size(), 8);
    driver.run(first);
    JobId second = driver.submit(malleable(2, 8));
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 4);      /* half of the machine each */
    driver.commit(first, false);
    EXPECT_EQ(state_of(driver, second), JobState::PENDING);     /* the cores are not free yet */
    driver.send(StepFreed{first, 1, 1});
    EXPECT_EQ(driver.job(second).size(), 4);
    driver.run(second);
    driver.wait(driver.core.state().config.offer_pause_ms);
    driver.end(second);
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 8);
    driver.commit(first);
    EXPECT_EQ(driver.job(first).size(), 8);
}

TEST(FillTest, one_change_serves_all_that_wait)
{
    CoreDriver driver(PolicyKind::FILL, 2, 4);
    JobId first = driver.submit(malleable(1, 8));
    driver.send(StepStarted{{first, 1}});
    JobId a = driver.submit(rigid(2)), b = driver.submit(rigid(2));     /* it is not adaptive yet */
    EXPECT_EQ(driver.job(first).state, JobState::RUNNING);
    driver.send(StepAdaptive{{first, 1}});
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 4);
    driver.commit(first);
    EXPECT_EQ(state_of(driver, a), JobState::STARTING);
    EXPECT_EQ(state_of(driver, b), JobState::STARTING);
    EXPECT_EQ(driver.job(first).requests, 1u);
}

/* It can have no more than its share, so that it need not release cores before others are below
 * theirs. */
TEST(FillTest, who_can_only_be_smaller_than_the_share_keeps_what_it_has)
{
    CoreDriver driver(PolicyKind::FILL, 1, 16);
    JobId small = driver.submit(malleable(1, 4));
    driver.run(small);
    driver.submit(rigid(10));
    /* 2 cores are free, and a third of the machine is 5 */
    driver.submit(malleable(3, 8));
    ASSERT_TRUE(driver.job(small).adaptation);
    EXPECT_EQ(driver.job(small).adaptation->size, 3)
        << "1 makes it start; 3 would make its share full";
}

TEST(FillTest, what_is_freed_for_one_is_not_taken_by_another)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId first = driver.submit(malleable(2, 6));
    driver.run(first);
    JobId big = driver.submit(rigid(5));        /* 2 are free: 3 must be released */
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 3);
    JobId small = driver.submit(rigid(2));      /* fits now, and would delay it */
    EXPECT_EQ(state_of(driver, small), JobState::PENDING);
    driver.commit(first);
    EXPECT_EQ(state_of(driver, big), JobState::STARTING);
}

TEST(FillTest, jobs_that_start_count_in_the_reservation)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId all = driver.submit(rigid(8));
    driver.run(all);
    JobId starts = driver.submit(rigid(4, 10 * MINUTE)), first = driver.submit(rigid(8, MINUTE));
    JobId too_long = driver.submit(rigid(2, 60 * MINUTE)),
          short_one = driver.submit(rigid(2, 9 * MINUTE));
    driver.end(all);
    EXPECT_EQ(state_of(driver, starts), JobState::STARTING);
    EXPECT_EQ(state_of(driver, first), JobState::PENDING);
    /* the first one has a reservation in 10 minutes */
    EXPECT_EQ(state_of(driver, too_long), JobState::PENDING);
    EXPECT_EQ(state_of(driver, short_one), JobState::STARTING);
}

/* Others can use a malleable job's cores that are reserved for the first job until then. */
TEST(FillTest, malleable_jobs_give_cores_to_a_backfilled_job_that_ends_in_time)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId grown = driver.submit(malleable(2, 8, 60 * MINUTE));
    driver.run(grown);
    EXPECT_EQ(driver.job(grown).size(), 8);
    JobId first = driver.submit(rigid(8, MINUTE));      /* reserved in 60 minutes */
    JobId too_long = driver.submit(rigid(4, 61 * MINUTE));
    EXPECT_FALSE(driver.last<ResizeStep>());
    JobId endless = driver.submit(rigid(4));
    EXPECT_FALSE(driver.last<ResizeStep>());
    JobId in_time = driver.submit(rigid(4, 59 * MINUTE));
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 4);
    JobId another = driver.submit(rigid(4, 59 * MINUTE));       /* 2 stay */
    driver.commit(grown);
    EXPECT_FALSE(driver.last<ResizeStep>());
    EXPECT_EQ(state_of(driver, in_time), JobState::STARTING);
    driver.run(in_time);
    for (JobId id : {first, too_long, endless, another})
        EXPECT_EQ(state_of(driver, id), JobState::PENDING) << id;
    driver.send(Cancel{{"c", another}});
    driver.end(grown);
    driver.end(in_time);
    EXPECT_EQ(state_of(driver, first), JobState::STARTING);
}

/* A job whose step has not reported yet whether it adapts was assumed to adapt. */
TEST(FillTest, who_turns_out_to_be_rigid_is_promised_to_nobody)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId malleable_one = driver.submit(malleable(2, 7, 60 * MINUTE));
    driver.send(StepStarted{{malleable_one, 1}});
    JobId first = driver.submit(rigid(6, MINUTE));      /* as soon as the other one releases 5 */
    JobId in_time = driver.submit(rigid(1, 30 * MINUTE));
    EXPECT_EQ(state_of(driver, in_time), JobState::PENDING);
    driver.send(StepRigid{{malleable_one, 1}});
    EXPECT_EQ(state_of(driver, in_time), JobState::STARTING);
    EXPECT_EQ(state_of(driver, first), JobState::PENDING);
}

/* It would end after the time when the cores are free: no job is delayed. */
TEST(FillTest, a_job_that_gets_cores_too_late_is_not_backfilled)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId grown = driver.submit(malleable(2, 8, 60 * MINUTE));
    driver.run(grown);
    driver.submit(rigid(8, MINUTE));
    JobId in_time = driver.submit(rigid(4, 60 * MINUTE));
    ASSERT_TRUE(driver.last<ResizeStep>());
    driver.now_ms += 1;
    driver.commit(grown);
    EXPECT_EQ(state_of(driver, in_time), JobState::PENDING);
}

TEST(FillTest, never_below_the_minimum_and_only_allowed_sizes)
{
    CoreDriver driver(PolicyKind::FILL, 4, 4);
    JobSpec powers = malleable(3, 16);
    powers.size_rule = SizeRule::POWER_OF_TWO;
    JobId first = driver.submit(powers);
    EXPECT_EQ(driver.job(first).size(), 16);
    driver.run(first);
    JobId big = driver.submit(rigid(13));       /* would need a size below 4 */
    EXPECT_FALSE(driver.last<ResizeStep>());
    JobId small = driver.submit(rigid(1));
    EXPECT_FALSE(driver.last<ResizeStep>()); /* the large one is first; this one may run for ever */
    driver.send(Cancel{{"c", big}});
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 8);
    driver.commit(first);
    EXPECT_EQ(state_of(driver, small), JobState::STARTING);
}

TEST(FillTest, who_refuses_is_left_alone_for_longer_and_longer)
{
    CoreDriver driver(PolicyKind::FILL, 1, 4);
    JobId first = driver.submit(malleable(1, 4));
    driver.run(first);
    driver.submit(rigid(1));
    int64_t pause_ms = driver.core.state().config.refusal_pause_ms;
    for (int i = 0; i < 3; i++) {
        uint64_t request = driver.job(first).requests;
        ASSERT_EQ(driver.job(first).state, JobState::ADAPTING);
        driver.send(StepRefused{{first, 1, request, "busy"}});
        EXPECT_EQ(driver.job(first).state, JobState::RUNNING);
        driver.wait((pause_ms << i) - 1);
        EXPECT_EQ(driver.job(first).requests, request);
        driver.wait(1);
        EXPECT_EQ(driver.job(first).requests, request + 1);
    }
}

TEST(FillTest, a_user_s_size_stays_while_nobody_waits)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId first = driver.submit(malleable(1, 8));
    driver.run(first);
    driver.send(Resize{"r", first, 3});
    driver.commit(first);
    driver.wait(100 * MINUTE);
    EXPECT_EQ(driver.job(first).size(), 3);
    EXPECT_EQ(driver.job(first).requests, 1u);
}

TEST(FillTest, malleable_jobs_leave_a_draining_node)
{
    CoreDriver driver(PolicyKind::FILL, 3, 4);
    JobId fixed = driver.submit(rigid(4));
    JobId moves = driver.submit(malleable(2, 6));
    driver.run(fixed);
    driver.run(moves);
    ASSERT_EQ(driver.job(moves).blocks, (Blocks{{"n1", 4}, {"n2", 2}}));
    driver.send(Drain{"d", "n1", ""});
    const ResizeStep *resize = driver.last<ResizeStep>();
    ASSERT_TRUE(resize);
    EXPECT_EQ(resize->leave, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(resize->joining, (Blocks{{"n2", 2}}));
    driver.commit(moves);
    EXPECT_EQ(driver.node("n1").used, 0);
    EXPECT_EQ(driver.job(moves).size(), 4);
    driver.wait(MINUTE);
    EXPECT_EQ(driver.job(moves).requests, 1u);
}

/* Without arrivals and ends, all sizes become stable. */
TEST(FillTest, no_oscillation)
{
    for (int wanted : {1, 3, 6, 10}) {
        CoreDriver driver(PolicyKind::FILL, 3, 4);
        std::vector<JobId> jobs;
        for (int i = 0; i < 4; i++)
            jobs.push_back(driver.submit(malleable(1, 12)));
        driver.submit(rigid(wanted));
        uint64_t changes = 0, at_rest = 0;
        for (int i = 0; i < 200; i++) {
            driver.wait(1000);
            const Jobs &all = driver.core.state().jobs;
            for (const auto &[id, job] : std::map<JobId, Job>(all.begin(), all.end())) {
                if (job.state == JobState::STARTING)
                    driver.run(id);
                if (driver.job(id).state == JobState::ADAPTING) {
                    driver.commit(id);
                    changes++;
                    at_rest = 0;
                }
            }
            at_rest++;
        }
        EXPECT_LE(changes, 12u);
        EXPECT_GT(at_rest, 150u);
    }
}

/* SPEC-performance X1, X3: a change shows for which job it is made. */
TEST(FillTest, a_donor_records_the_recipient)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId gives = driver.submit(malleable(1, 8));
    driver.run(gives);
    JobId waits = driver.submit(rigid(4));
    const Record *requested = driver.recorded(record::REQUESTED);
    ASSERT_TRUE(requested);
    EXPECT_EQ(requested->job, gives);
    EXPECT_EQ(requested->data.at("reason"), "cores for job " + std::to_string(waits));
    EXPECT_EQ(requested->data.at("why").at("rule"), "make_room");
    EXPECT_EQ(requested->data.at("why").at("for"), Json::array({waits}));
    driver.commit(gives);
    EXPECT_EQ(driver.job(gives).last_change->reason, "cores for job " + std::to_string(waits));
}

}  // namespace
}  // namespace elastic::rm
