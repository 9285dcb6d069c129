/* Changes of the size of a running job, and of its processes through process sets. */

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

TEST(CoreTest, a_user_shrinks_and_grows_a_job)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(2, 8);
    spec.preferred = 6;
    JobId id = driver.submit(spec);
    driver.send(Resize{"early", id, 4});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::STATE);
    driver.run(id);
    driver.send(Resize{"r1", id, 3});
    const ResizeStep *resize = driver.last<ResizeStep>();
    ASSERT_TRUE(resize);
    EXPECT_EQ(resize->leave, (std::vector<int>{3, 4, 5}));
    EXPECT_EQ(resize->epoch, 0u);
    EXPECT_EQ(driver.job(id).state, JobState::ADAPTING);
    driver.send(Resize{"r2", id, 4});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::BUSY);
    driver.commit(id, false);
    EXPECT_EQ(driver.job(id).blocks, (Blocks{{"n0", 3}}));
    EXPECT_EQ(driver.node("n1").used, 2);       /* until they have ended */
    driver.send(StepFreed{id, 1, 1});
    EXPECT_EQ(driver.node("n1").used, 0);
    EXPECT_EQ(driver.node("n0").used, 3);
    driver.send(Resize{"r3", id, 8});
    EXPECT_EQ(driver.last<ResizeStep>()->joining, (Blocks{{"n0", 1}, {"n1", 4}}));
    driver.commit(id);
    EXPECT_EQ(driver.job(id).blocks, (Blocks{{"n0", 4}, {"n1", 4}}));
    EXPECT_EQ(driver.job(id).epoch, 2u);
    driver.send(Resize{"r4", id, 9});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::FIELD);
}

TEST(CoreTest, a_change_that_comes_to_nothing_leaves_all_as_it_was)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(1, 8);
    spec.preferred = 2;
    JobId id = driver.submit(spec);
    driver.run(id);
    driver.send(Resize{"r1", id, 5});
    EXPECT_EQ(driver.core.state().indices().free_cores, 3);
    driver.send(StepWithdrawn{id, 1, 1, "a joining process died"});
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    EXPECT_EQ(driver.job(id).size(), 2);
    EXPECT_EQ(driver.core.state().indices().free_cores, 6);
    driver.send(StepWithdrawn{id, 1, 1, "again"});      /* repeated */
    driver.send(StepCommitted{id, 1, 1, 1, 0});         /* and contradicted */
    EXPECT_EQ(driver.core.state().unexpected, 1u);
    EXPECT_EQ(driver.job(id).epoch, 0u);
}

TEST(CoreTest, a_job_that_ends_while_it_adapts_ends_the_request_too)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(1, 8);
    spec.preferred = 2;
    JobId id = driver.submit(spec);
    driver.run(id);
    driver.send(Resize{"r1", id, 5});
    driver.end(id);
    EXPECT_TRUE(driver.recorded(record::WITHDRAWN));
    EXPECT_EQ(driver.job(id).state, JobState::DONE);
    EXPECT_EQ(driver.core.state().indices().free_cores, 8);
}

TEST(CoreTest, a_slow_program_is_not_waited_for_for_ever)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(1, 8);
    spec.preferred = 2;
    JobId id = driver.submit(spec);
    driver.run(id);
    driver.send(Resize{"r1", id, 5});
    driver.wait(driver.core.state().config.answer_timeout_ms);
    ASSERT_TRUE(driver.last<ResizeStep>());     /* the answer may have been lost */
    EXPECT_EQ(driver.last<ResizeStep>()->request, 1u);
    driver.send(StepAccepted{id, 1, 1, 77});
    driver.wait(driver.core.state().config.adapt_patience_ms);
    ASSERT_TRUE(driver.last<CancelRequest>());
    EXPECT_EQ(driver.last<CancelRequest>()->step_request, 77u);
    EXPECT_TRUE(driver.last<QueryStep>());
    driver.send(StepCommitted{id, 1, 1, 1, 0}); /* it was agreed already */
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    EXPECT_EQ(driver.job(id).size(), 5);
}

TEST(CoreTest, a_job_is_not_resized_to_nothing)
{
    CoreDriver driver(PolicyKind::FILL, 1, 4);
    JobId job = driver.submit(malleable(1, 4));
    driver.run(job);
    driver.send(Resize{"r", job, 0});
    ASSERT_TRUE(driver.last<Answer>());
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::FIELD);
}

/* The author and the reason are in the record, in the action for the program, and in displays. */
TEST(CoreTest, who_resized_or_cancelled_a_job_and_why_is_recorded)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId job = driver.submit(malleable(1, 4));
    driver.run(job);
    driver.send(Resize{"r", job, 2, "alice", "the fine grid begins"});
    const Record *record = driver.recorded(record::REQUESTED);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->data.at("by"), "alice");
    EXPECT_EQ(record->data.at("reason"), "the fine grid begins");
    ASSERT_TRUE(driver.last<ResizeStep>());
    EXPECT_EQ(driver.last<ResizeStep>()->reason, "the fine grid begins");
    driver.commit(job);
    ASSERT_TRUE(driver.job(job).last_change);
    EXPECT_EQ(driver.job(job).last_change->reason, "the fine grid begins");
    driver.send(Cancel{{"c", job}, "bob", "wrong input"});
    EXPECT_EQ(driver.job(job).reason, "cancelled by bob: wrong input");
    driver.end(job);
    EXPECT_EQ(driver.recorded(record::ENDED)->data.at("reason"), "cancelled by bob: wrong input");
}

/* A change in progress may have happened: the job keeps its cores until its end, and its size
 * does not change any more. */
TEST(CoreTest, a_step_that_breaks_the_protocol_keeps_all_that_it_may_have)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId job = driver.submit(malleable(1, 4));
    driver.run(job);
    int before = driver.node("n0").used, size = driver.job(job).size();
    driver.send(Resize{"r", job, size == 1 ? 2 : size - 1});
    ASSERT_TRUE(driver.job(job).adaptation);
    uint64_t request = driver.job(job).adaptation->request;
    int booked = driver.node("n0").used;
    driver.send(StepAccepted{job, 1, request, 1});
    driver.send(StepBroken{job, 1, "lies"});
    EXPECT_TRUE(driver.recorded("step_broken"));
    EXPECT_FALSE(driver.job(job).adaptation);
    EXPECT_EQ(driver.node("n0").used, std::max(before, booked));
    driver.send(StepCommitted{job, 1, request, 1, 1});
    driver.send(StepFreed{job, 1, 1});
    EXPECT_EQ(driver.job(job).size(), size);
    EXPECT_EQ(driver.node("n0").used, std::max(before, booked));
    driver.send(Resize{"r2", job, 3});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::RIGID);
    driver.end(job);
    EXPECT_EQ(driver.node("n0").used, 0);
}

/* SM1, SL1, SW3: it has called MPI_Init, and then changes through process sets. */
TEST(CoreTest, processes_that_end_by_themselves_free_their_cores)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec spec = malleable(2, 6);
    JobId job = driver.submit(spec);
    driver.run(job);
    int size = driver.job(job).size(), used = driver.node("n0").used + driver.node("n1").used;
    ASSERT_GE(size, 2);
    driver.send(Resize{"r", job, size == 6 ? 5 : size + 1});
    driver.send(StepLeft{job, 1, 1, {0}});
    EXPECT_EQ(driver.job(job).size(), size - 1);
    EXPECT_EQ(driver.job(job).epoch, 1u);
    EXPECT_FALSE(driver.job(job).adaptation) << "it was requested with the old ranks";
    EXPECT_EQ(driver.node("n0").used + driver.node("n1").used, used - 1);
    EXPECT_TRUE(driver.recorded(record::LEFT));
    driver.send(StepLeft{job, 1, 1, {0}});
    EXPECT_EQ(driver.job(job).size(), size - 1) << "reported again";
    driver.send(StepLeft{job, 1, 3, {0}});
    driver.send(StepLeft{job, 1, 2, {size}});
    EXPECT_EQ(driver.job(job).epoch, 1u) << "they cannot be";
    driver.send(Resize{"r2", job, 3});
    driver.commit(job);
    EXPECT_EQ(driver.job(job).size(), 3);
    EXPECT_EQ(driver.job(job).epoch, 2u);
    driver.end(job);
    EXPECT_EQ(driver.node("n0").used + driver.node("n1").used, 0);
}

TEST(CoreTest, SM3_what_a_program_answers_to_changes_of_sets_is_counted)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId job = driver.submit(malleable(2, 6));
    driver.run(job);
    driver.send(Resize{"r", job, 3});
    uint64_t request = driver.job(job).adaptation->request;
    auto change = [&](uint64_t of, uint64_t number, SetStage stage, uint64_t uid) {
        driver.send(StepSetChange{job, 1, of, number, stage, uid});
    };
    change(request, 1, SetStage::NOTIFIED, 0);
    EXPECT_TRUE(driver.recorded(record::NOTIFIED));
    change(request, 2, SetStage::NOTIFIED, 1);
    change(request, 1, SetStage::NOTIFIED, 0);
    change(request + 1, 1, SetStage::NOTIFIED, 0);
    ASSERT_TRUE(driver.job(job).set_changes);
    EXPECT_EQ(driver.job(job).set_changes->reported, 2u) << "once each, and of what was requested";
    driver.commit(job);
    change(request, 3, SetStage::ACCEPTED, 1);
    EXPECT_TRUE(driver.recorded(record::ACCEPTED));
    const SetChanges &known = *driver.job(job).set_changes;
    EXPECT_EQ(known.accepted, 1u) << "a removal may be complete before";
    EXPECT_EQ(known.stage, SetStage::ACCEPTED);
    EXPECT_EQ(known.uid, 1u);
    driver.send(Resize{"r2", job, 4});
    change(driver.job(job).adaptation->request, 1, SetStage::NOTIFIED, 0);
    change(driver.job(job).adaptation->request, 2, SetStage::DECLINED, 0);
    EXPECT_EQ(driver.job(job).set_changes->declined, 1u);
    driver.end(job);
}

TEST(CoreTest, a_rigid_program_may_come_to_change_through_process_sets)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId job = driver.submit(malleable(1, 8));
    driver.send(StepStarted{job, 1});
    driver.send(StepRigid{job, 1});
    EXPECT_EQ(driver.job(job).mode, StepMode::RIGID);
    driver.send(StepAdaptive{job, 1});
    EXPECT_EQ(driver.job(job).mode, StepMode::ADAPTIVE);
    driver.send(StepRigid{job, 1});
    EXPECT_EQ(driver.job(job).mode, StepMode::ADAPTIVE) << "not the other way";
}

}  // namespace
}  // namespace elastic::rm
