/* Programs that change their own size (SPEC-dynamic-processes DM4, DM5), under each policy. */

#include "core/core_driver.h"
#include "core/policy/policy.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

class ModifyTest : public testing::TestWithParam<PolicyKind> {
  protected:
    ModifyTest() : driver(GetParam(), 2, 4) {}

    /* A program that calls MPI_Init, with capacity for `slots` more. */
    JobId run(int size, int extra_slots)
    {
        JobSpec spec = rigid(size);
        spec.extra_slots = extra_slots;
        JobId id = driver.submit(spec);
        driver.send(StepStarted{{id, 1}});
        driver.send(StepRigid{{id, 1}});
        return id;
    }
    void modify(JobId id, int size)
    {
        SizeRequest size_request;
        size_request.mpiexec = "4711";
        size_request.number = ++slot_requests;
        size_request.modify = true;
        size_request.size = size_request.minimum = size_request.maximum = size;
        driver.send(StepSizeRequest{id, driver.job(id).step, size_request});
    }
    void ended(JobId id, const std::string &result)
    {
        driver.send(
            StepSizeRequestEnded{id, driver.job(id).step, "4711", slot_requests, result, ""});
    }
    void report_slots(JobId id, int held, int wanted)
    {
        StepSlots slots;
        slots.job = id;
        slots.step = 1;
        slots.mpiexec = "4711";
        slots.reported = ++reported;
        slots.granted = held > 0 ? 1 : 0;
        if (held > 0)
            slots.held = {{"n0", held}};
        if (wanted > 0)
            slots.slot_requests = {{100, wanted, true, "", NEVER, ""}};
        driver.send(slots);
    }

    CoreDriver driver;
    uint64_t slot_requests = 0, reported = 0;
};

TEST_P(ModifyTest, a_rigid_program_grows_and_shrinks_at_its_own_word)
{
    JobId id = run(2, 3);
    modify(id, 5);
    const ResizeStep *resize = driver.last<ResizeStep>();
    ASSERT_TRUE(resize);
    EXPECT_EQ(resize->size, 5);
    EXPECT_EQ(count_processes(resize->joining), 3);
    EXPECT_EQ(driver.recorded(record::REQUESTED)->data.at("reason"), "its program waits for 5");
    driver.commit(id);
    ended(id, "granted");
    EXPECT_EQ(driver.job(id).size(), 5);
    driver.send(Resize{"r", id, 3});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::RIGID) << "by nobody else";
    modify(id, 3);
    resize = driver.last<ResizeStep>();
    ASSERT_TRUE(resize) << "at once, whatever the pauses";
    EXPECT_EQ(resize->leave, (std::vector<int>{3, 4})) << "the highest ranks";
    driver.commit(id);
    ended(id, "granted");
    EXPECT_EQ(driver.job(id).size(), 3);
    EXPECT_EQ(driver.core.state().indices().free_cores, 5);
}

TEST_P(ModifyTest, what_the_job_may_never_have_is_refused)
{
    JobId id = run(2, 3);
    modify(id, 6);
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_NE(driver.last<RefuseSizeRequest>()->reason.find("3 more slots"), std::string::npos);
    modify(id, 1);
    EXPECT_TRUE(driver.last<RefuseSizeRequest>()) << "below what it was submitted for";
    JobId large = run(1, 20);
    modify(large, 9);
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_EQ(driver.last<RefuseSizeRequest>()->reason,
              "all nodes together can hold 8 such processes");
}

TEST_P(ModifyTest, it_waits_until_all_fit)
{
    JobId id = run(1, 7), other = run(4, 0);
    modify(id, 6);
    EXPECT_FALSE(driver.last<ResizeStep>());
    driver.send(Resize{"r", id, 2});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::BUSY);
    for (int i = 0; i < 5; i++) {
        driver.wait(60000);
        EXPECT_FALSE(driver.last<ResizeStep>()) << "nothing less";
    }
    driver.end(other);
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->size, 6);
}

TEST_P(ModifyTest, the_first_job_that_waited_before_comes_first)
{
    JobId id = run(1, 7), other = run(4, 0);
    JobId waiting = driver.submit(rigid(6));
    modify(id, 4);
    EXPECT_FALSE(driver.last<ResizeStep>()) << "that job would have to wait for this one";
    driver.end(other);
    EXPECT_EQ(driver.job(waiting).state, JobState::STARTING);
    driver.send(StepStarted{{waiting, 1}});
    driver.end(waiting);
    EXPECT_TRUE(driver.last<ResizeStep>());
}

TEST_P(ModifyTest, an_adaptive_program_waits_for_one_size_and_nobody_changes_it_meanwhile)
{
    JobSpec spec = malleable(1, 8);
    spec.preferred = 4;
    JobId other = run(4, 0), id = driver.submit(spec);
    driver.run(id);
    for (int i = 0; i < 10; i++) {
        driver.wait(60000);
        if (driver.job(id).adaptation)
            driver.commit(id);
    }
    EXPECT_EQ(driver.job(id).size(), 4);
    modify(id, 6);
    JobId waiting = driver.submit(rigid(2));
    driver.wait(60000);
    EXPECT_FALSE(driver.job(id).adaptation) << "it cannot give way";
    EXPECT_EQ(driver.job(waiting).state, JobState::PENDING);
    driver.end(other);
    ASSERT_TRUE(driver.job(id).adaptation) << "it waits for longer";
    EXPECT_EQ(driver.job(id).adaptation->size, 6);
    driver.commit(id);
    ended(id, "granted");
    EXPECT_EQ(driver.job(id).size(), 6);
}

TEST_P(ModifyTest, a_change_that_came_to_nothing_ends_by_the_steps_word)
{
    JobId id = run(2, 3);
    modify(id, 4);
    ASSERT_TRUE(driver.job(id).adaptation);
    driver.send(StepFailed{{id, 1, driver.job(id).adaptation->request, "a joining process died"}});
    EXPECT_FALSE(driver.job(id).adaptation);
    EXPECT_FALSE(driver.last<ResizeStep>());
    ended(id, "refused");
    modify(id, 3);
    EXPECT_TRUE(driver.last<ResizeStep>()) << "another call is no offer that pauses";
}

TEST_P(ModifyTest, only_slots_that_are_released_delay_the_job)
{
    JobId id = run(1, 3);
    report_slots(id, 0, 2);
    report_slots(id, 2, 0);
    modify(id, 4);
    EXPECT_FALSE(driver.last<ResizeStep>());
    report_slots(id, 0, 0);
    ASSERT_TRUE(driver.last<ResizeStep>());
    driver.commit(id);
    ended(id, "granted");
    EXPECT_EQ(driver.job(id).size(), 4);
    JobId holder = run(1, 3);
    reported = 0;
    report_slots(holder, 0, 2);
    report_slots(holder, 2, 0);
    modify(holder, 3);
    EXPECT_FALSE(driver.last<RefuseSizeRequest>());
    driver.wait(5000);
    ASSERT_TRUE(driver.last<RefuseSizeRequest>());
    EXPECT_NE(driver.last<RefuseSizeRequest>()->reason.find("holds 2 slots"), std::string::npos);
}

TEST_P(ModifyTest, a_restored_core_goes_on)
{
    JobId id = run(1, 7), other = run(4, 0);
    modify(id, 6);
    auto restored = Core::restore(driver.core.snapshot());
    ASSERT_TRUE(restored) << restored.error();
    EXPECT_EQ(restored.value().snapshot(), driver.core.snapshot());
    driver.core = std::move(restored.value());
    driver.end(other);
    EXPECT_TRUE(driver.last<ResizeStep>());
}

INSTANTIATE_TEST_SUITE_P(Policies, ModifyTest,
                         testing::Values(PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL,
                                         PolicyKind::EFFICIENT, PolicyKind::MEASURED),
                         [](const auto &each) { return std::string(to_string(each.param)); });

}  // namespace
}  // namespace elastic::rm
